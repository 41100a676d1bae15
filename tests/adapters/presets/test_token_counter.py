from __future__ import annotations

from pathlib import Path

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from tests.samples import complaint
from toolreel._internal import TokenizerError
from toolreel.presets import register_tokenizer
from toolreel_core._errors import ConfigError
from toolreel_core._settings import estimator

CORPUS = ["the cat sat on the mat", "the cat ate the rat", "the mat sat"]


def trained() -> Tokenizer:
    """A tokenizer as models have them, byte pairs over bytes, only small."""
    small = Tokenizer(models.BPE())
    small.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    small.train_from_iterator(CORPUS, trainers.BpeTrainer(vocab_size=300, initial_alphabet=alphabet))
    return small


@pytest.fixture
def path(tmp_path: Path) -> Path:
    saved = tmp_path / "tokenizer.json"
    trained().save(str(saved))
    return saved


def test_a_text_has_the_tokens_that_the_model_would_see(path: Path) -> None:
    register_tokenizer("small", path)
    tokens = estimator("small")
    assert [tokens(text) for text in ("", "the", "the cat sat", "zzz", "漢")] == [0, 1, 3, 3, 3]
    assert tokens("\ud83d") == tokens("\ufffd") == 3
    told = complaint(ConfigError, lambda: register_tokenizer("small", str(path)))
    assert "'small' already" in told
    words = Tokenizer(models.WordLevel({"cat": 0}))
    words.save(str(path))
    register_tokenizer("words", str(path))
    assert estimator("words")("cat") == 1
    assert estimator("words")("twelve bytes") == 3, "it has no token for it, so that bytes are counted"


def test_the_length_that_a_file_asks_for_does_not_count(path: Path) -> None:
    cut = trained()
    cut.enable_truncation(2)
    cut.enable_padding(length=50)
    cut.save(str(path))
    register_tokenizer("uncut", path)
    assert estimator("uncut")("the cat sat on the mat") == 6


def test_a_file_that_is_not_there_or_is_none_is_named(tmp_path: Path) -> None:
    gone, odd = tmp_path / "gone.json", tmp_path / "odd.json"
    odd.write_text("{}")
    assert complaint(TokenizerError, lambda: register_tokenizer("gone", gone)) == (
        f"{gone}: cannot be read: No such file or directory"
    )
    assert complaint(TokenizerError, lambda: register_tokenizer("odd", odd)).startswith(
        f"{odd}: no tokenizer.json of a model: Model missing"
    )
    odd.write_bytes(b"\xff")
    assert "no tokenizer.json" in complaint(TokenizerError, lambda: register_tokenizer("odd", odd))
