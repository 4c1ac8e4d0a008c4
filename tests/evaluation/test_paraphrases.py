"""METEOR's paraphrases without those that texts cannot contain: against a plain search, and by METEOR's own scores."""

import gzip
import random
import re
from importlib.resources import files
from itertools import islice

import pytest
from pycocoevalcap.meteor.meteor import Meteor
from support.java_path import java_on_path

from captionlab.evaluation.metrics.nlg.metric import meteor_process, score_corpus
from captionlab.evaluation.paraphrases import beginnings, write_possible

TABLE = files("pycocoevalcap.meteor") / "data" / "paraphrase-en.gz"


def write_table(path, pairs):
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(f"{number / 7}\n{one}\n{other}\n" for number, (one, other) in enumerate(pairs))


def read_pairs(path):
    with gzip.open(path, "rt", encoding="utf-8") as file:
        lines = file.read().splitlines()
    return list(zip(lines[1::3], lines[2::3], strict=True))


def kept_of(pairs, texts, folder):
    write_table(folder / "all.gz", pairs)
    number = write_possible(beginnings(texts), folder / "all.gz", folder / "kept.gz")
    kept = read_pairs(folder / "kept.gz")
    assert len(kept) == number
    return kept


def words_of(text):
    return re.sub("[^0-9a-z]+", " ", text.lower()).split()


def occurs(phrase, text):
    """Whether the words of a phrase stand in a text one after the other."""
    words, wanted = words_of(text), words_of(phrase)
    return any(words[start : start + len(wanted)] == wanted for start in range(len(words) + 1))


@pytest.mark.parametrize("block", [30, 1 << 18])
def test_no_pair_is_lost_that_texts_contain(block, tmp_path, monkeypatch):
    monkeypatch.setattr("captionlab.evaluation.paraphrases.BLOCK", block)
    draw = random.Random(3)
    words = [
        "a",
        "an",
        "one",
        "person",
        "persons",
        "t-shirt",
        "u.s.",
        "it's",
        "at",
        "the",
        "2nd",
        "caf\u00e9",
        "people",
    ]
    phrases = [" ".join(draw.choices(words, k=draw.randint(1, 4))) for _ in range(400)]
    pairs = [*zip(phrases[::2], phrases[1::2], strict=True)]
    texts = [" ".join(draw.choices(words, k=5)) for _ in range(12)]
    kept = kept_of(pairs, texts, tmp_path)
    wanted = [pair for pair in pairs if all(any(occurs(phrase, text) for text in texts) for phrase in pair)]
    assert [pair for pair in pairs if pair in {*kept}] == kept
    assert {*wanted} <= {*kept}
    assert 10 < len({*wanted}) <= len({*kept}) < len({*pairs})


@pytest.mark.parametrize(
    ("pair", "text", "stays"),
    [
        (("a dog", "dogs"), "two dogs and a dog", True),
        (("a dog", "dogs"), "a dog alone", False),
        (("dog", "do"), "a dog", False),  # a short phrase is a part of the text from word to word
        (("sitting down", "sitting downstairs"), "sitting down", True),  # alike in the letters that are compared
        (("sitting up", "sitting down"), "sitting down", False),
        (("it is", "it's"), "IT'S, it is", True),
        (("a b", "ab"), "a&quot;b", True),
        (("...", "a dog"), "a dog", True),  # neither letter nor digit
        (("caf\u00e9 bar", "caf bar"), "a caf\u00e9 bar", True),
    ],
)
def test_phrases_are_compared_by_letters_and_digits(pair, text, stays, tmp_path):
    other = ("zebra crossing", "pedestrian crossing")
    assert kept_of([other, pair, other], [text], tmp_path) == [pair] * stays


def test_without_texts_no_phrase_with_letters_stays(tmp_path):
    assert kept_of([("a", "b"), ("-", "...")], [], tmp_path) == [("-", "...")]


WHOLE = gzip.compress(b"0.5\na dog\ndogs\n", mtime=0)  # workers of pytest name tests by it, so it has no time


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (gzip.compress(b"0.5\na dog\n", mtime=0), "it ends within a pair"),
        (gzip.compress(b"0.5\na dog\ndogs\n0.5", mtime=0), "it ends within a pair"),
        (WHOLE[:-9], "Compressed file ended"),
        (b"not gzip", "Not a gzipped file"),
        (WHOLE[:10] + b"\xff" * 20, "invalid"),
    ],
)
def test_a_damaged_table_is_an_error_that_says_what_to_do(content, why, tmp_path):
    (tmp_path / "all.gz").write_bytes(content)
    with pytest.raises(ValueError, match=rf"all\.gz is damaged \(.*{why}.*pip install --force-reinstall"):
        write_possible(beginnings(["a dog"]), tmp_path / "all.gz", tmp_path / "kept.gz")


@pytest.mark.timeout(300)
def test_scores_of_meteor_are_those_with_all_paraphrases(tmp_path):
    """Compared with pycocoevalcap. All texts are made of phrases of METEOR's own table, so that paraphrases match."""
    with gzip.open(TABLE, "rt", encoding="utf-8") as file:
        lines = [line.rstrip("\n") for line in islice(file, 900_000)]
    draw = random.Random(5)
    chosen = draw.sample(range(len(lines) // 3), 600)
    captions, references = {}, {}
    for image in range(0, len(chosen), 2):
        (one, other), (first, second) = (lines[3 * chosen[image + n] + 1 : 3 * chosen[image + n] + 3] for n in (0, 1))
        captions[f"i{image}", 0] = f"a {one} and {first} here"
        references[f"i{image}"] = [f"the {other} or {second}", f"there {first} and {other}."]
    texts = [*captions.values(), *(text for of_image in references.values() for text in of_image)]

    def scored(given):
        with meteor_process(given) as meteor:
            return score_corpus("base", "toy", captions, references, meteor)["meteor"]

    with java_on_path():  # pycocoevalcap's METEOR has all paraphrases
        ids = {image: [text] for (image, _), text in captions.items()}
        _, every = Meteor().compute_score(references, ids)
    assert scored(texts) == every
    without = scored(["a"])
    assert sum(one != other for one, other in zip(every, without, strict=True)) > 100, "paraphrases matched nothing"
