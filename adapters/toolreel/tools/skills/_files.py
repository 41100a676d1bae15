"""Read files inside a skill's folder, and no others: paths come from the model, and folders are untrusted.

A path is resolved first, including symbolic links, and must stay inside the folder. It is then opened one
component at a time without following links, so that a link created in the meantime is rejected.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Final

_DRIVE: Final = re.compile(r"[a-zA-Z]:")  # of Windows
_FLAGS: Final = (
    os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
)
"""``O_NONBLOCK``, because opening a named pipe would block until another process writes to it."""


class UnreadableFile(Exception):
    """A path that cannot be read; the text says why, and which paths are valid."""

    def __init__(self, message: str, *, missing: bool = False, too_large: bool = False) -> None:
        super().__init__(message)
        self.missing = missing
        """The file does not exist."""
        self.too_large = too_large
        """The file is larger than the limit."""


def read_inside(folder: Path, path: str, limit: int) -> bytes:
    """Read a file in a folder.

    :param path: relative to the folder, with ``/`` between its parts
    :param limit: maximum size in bytes
    :raises Unreadable: if it is outside the folder, not a file, too large, or cannot be read
    """
    _check(path)
    try:
        root = Path(os.path.realpath(folder, strict=True))
        real = Path(os.path.realpath(root / PurePosixPath(path), strict=True))
        if not real.is_relative_to(root):
            raise UnreadableFile(f"{path!r} is a link that leaves the skill's folder, and is not followed")
        with _opened(root, real.relative_to(root).parts) as file:
            return _content(file, path, limit)
    except FileNotFoundError:
        raise UnreadableFile(f"there is no file {path!r}", missing=True) from None
    except (OSError, ValueError) as error:  # ValueError: a lone surrogate
        raise UnreadableFile(f"{path!r} cannot be read: {_why(error)}") from None


def _check(path: str) -> None:
    if not path.strip():
        raise UnreadableFile("the path is empty; give that of a file, relative to the skill's folder")
    if "\0" in path or "\\" in path:
        raise UnreadableFile(f"{path!r}: a path has neither '\\' nor NUL; put '/' between its parts")
    if path.startswith("/") or _DRIVE.match(path):
        raise UnreadableFile(f"{path!r} is absolute; give a path relative to the skill's folder")
    if ".." in path.split("/"):
        raise UnreadableFile(f"{path!r} goes up with '..'; give a path inside of the skill's folder")


@contextmanager
def _opened(root: Path, parts: tuple[str, ...]) -> Generator[int]:
    """Open a file component by component, without following links."""
    if os.open not in os.supports_dir_fd:  # Windows: rely on the path that was just resolved
        file = os.open(root.joinpath(*parts), _FLAGS)
    else:
        file = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
        for part in parts:
            above, flags = file, _FLAGS
            try:
                file = os.open(part, flags, dir_fd=above)
            finally:
                os.close(above)
    try:
        yield file
    finally:
        os.close(file)


def _content(file: int, path: str, limit: int) -> bytes:
    found = os.fstat(file)
    if stat.S_ISDIR(found.st_mode):
        raise UnreadableFile(f"{path!r} is a folder; give the path of a file in it")
    if not stat.S_ISREG(found.st_mode):
        raise UnreadableFile(f"{path!r} is no ordinary file")
    content = b""
    while len(content) <= limit and (chunk := os.read(file, limit + 1 - len(content))):
        content += chunk
    if len(content) > limit:
        size = max(found.st_size, len(content))
        raise UnreadableFile(f"{path!r} has {size} bytes; at most {limit} are read", too_large=True)
    return content


def _why(error: OSError | ValueError) -> str:
    if not isinstance(error, OSError):
        return "its name cannot be one of a file"
    if error.errno == errno.ELOOP:
        return "it is a link"
    return error.strerror or str(error)
