import random

import pytest
from pycocoevalcap.tokenizer.ptbtokenizer import PTBTokenizer
from support.java_path import java_on_path

from captionlab.evaluation.java import JavaError
from captionlab.evaluation.ptb import tokenize

ORDINARY = [
    "A man's dog isn't here, is it?",
    'A sign saying "STOP" (red) - near 1/2 of a U.S. flag; two 2-year-olds...',
    "Ünïcödé café straße, it's $5.00 & 10% off!",
    "  two   spaces\tand a tab ",
    "http://example.org/a?b=c #tag @someone a/b",
    "1 1/2 cups, call 555 123-4567",
    "🐕 first, then 🐈",
]
STRANGE = [
    ("", ""),
    ("   ", ""),
    ("...", ""),
    (". , ! -- ;", ""),
    ("?!", "?!"),  # a token of its own, not among those that pycocoevalcap drops
    ("a dog 🐕 runs 👨‍👩‍👧", "a dog runs"),
    ("😀", ""),
    ("رجل يركب حصانا", "رجل يركب حصانا"),
    ("one\ntwo\r\nthree\rfour", "one two three four"),
    ("one\u2028two\u2029three\x0bfour\x0cfive\x85six", "one two three four five six"),
    ("tab\there", "tab here"),
    ("\n", ""),
    ("back\\slash \\", "back \\ slash \\"),
]


@pytest.fixture(params=["found", "bundled"])
def java(request, monkeypatch):
    monkeypatch.setenv("JAVA", "bundled" if request.param == "bundled" else "")


@pytest.mark.usefixtures("java")
def test_strange_captions_stay_aligned():
    given = [caption for caption, _ in STRANGE]
    assert tokenize(given) == [expected for _, expected in STRANGE]
    # wherever they are in the list
    assert tokenize([*reversed(given), *given]) == [expected for _, expected in [*reversed(STRANGE), *STRANGE]]


def test_ordinary_captions_are_tokenised_as_by_pycocoevalcap():
    with java_on_path():
        theirs = PTBTokenizer().tokenize({i: [{"caption": caption}] for i, caption in enumerate(ORDINARY)})
    assert [tokens for (tokens,) in theirs.values()] == tokenize(ORDINARY)


def test_no_character_shifts_the_captions_after_it():
    planes = [*range(1, 0xD800), *range(0xE000, 0x10000), *range(0x1F300, 0x1FB00)]
    numbers = random.Random(0).sample(planes, 20_000)
    captions = [f"caption{i} {chr(number)} end{chr(number)}" for i, number in enumerate(numbers)]
    assert [tokens.split()[0] for tokens in tokenize(captions)] == [f"caption{i}" for i in range(len(captions))]


def test_a_long_caption_and_no_captions():
    assert tokenize(["word " * 10_000]) == [" ".join(["word"] * 10_000)]
    assert tokenize([]) == []


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("echo 'no memory' >&2; exit 3", "the tokeniser ended with exit status 3; Java wrote: no memory"),
        ("kill -9 $$", r"ended with signal 9 \(Killed\); memory may have run out, raise `mem_mb`"),
        ("kill -11 $$", r"ended with signal 11 \(Segmentation fault\); Java wrote nothing"),
        ("echo only one line", "given 2 captions .* 1 lines"),
    ],
)
def test_a_java_that_fails_is_an_error(monkeypatch, tmp_path, program, message):
    java = tmp_path / "java"
    java.write_text(f'#!/bin/sh\n[ "$1" = -version ] && exit 0\ncat > /dev/null\n{program}\n')
    java.chmod(0o755)
    monkeypatch.setenv("JAVA", str(java))
    with pytest.raises(JavaError, match=message):
        tokenize(["one", "two"])
