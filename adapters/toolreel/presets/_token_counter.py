"""Count tokens exactly: use a model's ``tokenizer.json`` as a token estimator."""

from __future__ import annotations

from pathlib import Path

from toolreel._internal import MissingExtra, TokenizerError
from toolreel_core._jsontext import encodable_text
from toolreel_core._settings import estimate_tokens_by_bytes, register_estimator

try:
    from tokenizers import Tokenizer
except ImportError:
    raise MissingExtra.of("tokens", "tokenizers") from None


def register_tokenizer(name: str, path: Path | str) -> None:
    """Register a model's tokenizer as a token estimator under a name.

    A plan stores only the name. To replay its runs, register the same file under this name.

    :param path: the ``tokenizer.json`` next to a model's weights
    :raises TokenizerError: if the file is missing, or is not a tokenizer
    :raises ConfigError: if the name is invalid, or registered already
    """
    tokenizer = _load_tokenizer(Path(path))

    def tokens(text: str) -> int:
        try:
            return len(tokenizer.encode(encodable_text(text), add_special_tokens=False).ids)
        except Exception:  # noqa: BLE001 - tokenizers raises plain Exception: the text has a part without a token
            return estimate_tokens_by_bytes(text)

    register_estimator(name, tokens)


def _load_tokenizer(path: Path) -> Tokenizer:
    try:
        tokenizer = Tokenizer.from_str(path.read_text("utf-8"))
    except OSError as error:
        raise TokenizerError(f"{path}: cannot be read: {error.strerror}") from None
    except Exception as error:  # noqa: BLE001 - tokenizers raises plain Exception
        raise TokenizerError(f"{path}: no tokenizer.json of a model: {error}") from None
    # A file can set truncation and padding for training, which would give all long texts the same count.
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer
