"""Captions that are lists written as text."""

import json

import numpy as np
import pytest

from captionlab.jobs.progress import log_counts
from captionlab.userfiles.lists import listed_texts

TEXTS = ["A dog runs .", 'It\'s a "dog" .', "[a], [b]\n\\ 🐕"]
READ = "captions that are lists written as text, read as lists of captions"
KEPT = "captions that begin like a list and are none, kept as they are"


@pytest.fixture
def counts(caplog):
    """The lines of the log about what was counted."""
    log_counts()
    caplog.clear()
    caplog.set_level("INFO")

    def lines() -> list[str]:
        log_counts()
        return caplog.messages

    return lines


@pytest.mark.parametrize("write", [str, json.dumps, lambda texts: str(np.array(texts)), lambda texts: f" {texts}\n"])
@pytest.mark.parametrize("texts", [TEXTS, TEXTS[:1], TEXTS[1:2], ["a", "b"]])
def test_lists_that_programs_write(counts, write, texts):
    assert listed_texts(write(texts)) == texts
    assert counts() == [f"{READ}: 1"]


def test_an_empty_list_has_no_caption(counts):
    assert listed_texts("[]") == []
    assert counts() == [f"{READ}: 1"]


@pytest.mark.parametrize("text", ["A dog.", "", "[UNK] dog [UNK]", "[1, 2]", "[", "[a dog]", '"A dog."', "a ['b']"])
def test_other_texts_stay(counts, text):
    assert listed_texts(text) == [text]
    assert counts() == []


@pytest.mark.parametrize("text", ["['A dog.', None]", '["A dog.", null]', "[nan, 'A dog.']"])
def test_missing_values_of_a_list_are_no_captions(counts, text):
    assert listed_texts(text) == ["A dog."]
    assert counts() == [f"{READ}: 1"]


@pytest.mark.parametrize("text", ['["a", 1]', "['Stop' said the dog]", r"['\x']", "['a'b]"])
def test_what_only_looks_like_a_list_is_counted(counts, text):
    assert listed_texts(text) == [text]
    assert counts() == [f"{KEPT}: 1"]
