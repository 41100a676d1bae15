"""Counting tokens exactly: a model's ``tokenizer.json`` as a token estimator, by Hugging Face tokenizers."""

from __future__ import annotations

from pathlib import Path

from toolreel._errors import MissingExtra, TokenizerError
from toolreel_core._jsontext.canonical import sound
from toolreel_core._settings.token_estimates import bytes_per_4, register_estimator

try:
    from tokenizers import Tokenizer
except ImportError:
    raise MissingExtra.of("tokens", "tokenizers") from None

__all__ = ["register_tokenizer"]


def register_tokenizer(name: str, path: Path | str) -> None:
    """Give a model's tokenizer a name among :mod:`toolreel_core._settings.token_estimates`.

    A plan holds the name only: where its run is replayed, the name has to mean the same file.

    :param path: the ``tokenizer.json`` that lies beside a model's weights
    :raises TokenizerError: if the file is not there, or is no tokenizer
    :raises ConfigError: if the name is taken, or is none
    """
    tokenizer = _loaded(Path(path))

    def tokens(text: str) -> int:
        try:
            return len(tokenizer.encode(sound(text), add_special_tokens=False).ids)
        except Exception:  # noqa: BLE001 - of no class of its own: a text with a part that has no token
            return bytes_per_4(text)

    register_estimator(name, tokens, about=f"Counted with {Path(path).name}.")


def _loaded(path: Path) -> Tokenizer:
    try:
        tokenizer = Tokenizer.from_str(path.read_text("utf-8"))
    except OSError as error:
        raise TokenizerError(f"{path}: cannot be read: {error.strerror}") from None
    except Exception as error:  # noqa: BLE001 - tokenizers raises nothing more exact
        raise TokenizerError(f"{path}: no tokenizer.json of a model: {error}") from None
    # A file may ask for a fixed length, which is about training and would make every long text equal.
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer
