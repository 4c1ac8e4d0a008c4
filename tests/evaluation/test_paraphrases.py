"""METEOR with the paraphrases of a few texts is METEOR with all of them."""

import gzip
import inspect
import re
from itertools import chain
from pathlib import Path

import pytest
from pycocoevalcap.meteor.meteor import Meteor

from captionlab.evaluation import paraphrases
from captionlab.evaluation.metrics.nlg import meteor_process
from captionlab.evaluation.paraphrases import LONGEST, paraphrases_of, write_paraphrases
from captionlab.evaluation.schemas import PARAPHRASES
from captionlab.tables import write_table

ALL = Path(inspect.getfile(Meteor)).parent / "data" / "paraphrase-en.gz"
# Captions beside references that say the same in other words; capitals, quotes, hyphens and letters of other scripts.
CAPTIONS = {
    "a large number of people riding a bike": ["lots of persons ride bicycles", "many people on a bike"],
    "in front of the house , a kid 's toy": ["before the home is the toy of a child", "the child 's toy"],
    "Two well-known men talking to each other": ["two famous men speak with one another", "men chat"],
    "it isn't a cafe , it's a `` café ''": ["it is not a coffee shop , but a café", "no cafe"],
    "&quot;in front of&quot; the house &amp; home": ["before the &lt;home&gt; , on the left &apos; hand side"],
    "日本 food on the left hand side": ["japanese food to the left", "meal on the left side"],
    "": ["nothing at all"],
}


def pairs(path):
    """Probability and both phrases of every pair of a file of paraphrases."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        lines = file.read().split("\n")[:-1]
    return zip(map(float, lines[::3]), lines[1::3], lines[2::3], strict=True)


def spaced(text):
    return " ".join(["", *re.findall("[0-9a-z]+", text.lower()), ""])


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """The table of paraphrases of all references."""
    path = tmp_path_factory.mktemp("paraphrases") / "paraphrases.parquet"
    write_table(path, PARAPHRASES, paraphrases_of(chain.from_iterable(CAPTIONS.values()), ALL))
    return path


def occurring(phrases, texts):
    """Those of the phrases, which are given with their words, that have these one after the other in a text."""
    every = [*map(spaced, texts), *(spaced(re.sub("&[a-z]+;", " ", text)) for text in texts)]
    return {phrase for phrase, words in phrases.items() if any(words in text for text in every)}


def test_the_paraphrases_are_those_that_a_caption_and_a_reference_share(table, tmp_path):
    kept = write_paraphrases(CAPTIONS, table, tmp_path / "few.gz")
    phrases = {phrase: spaced(phrase) for phrase in {phrase for pair in pairs(ALL) for phrase in pair[1:]}}
    assert max(len(words.split()) for words in phrases.values()) == LONGEST
    known = {*spaced(str(CAPTIONS)).split()}
    possible = {phrase: words for phrase, words in phrases.items() if known.issuperset(words.split())}
    here, there = occurring(possible, CAPTIONS), occurring(possible, [*chain.from_iterable(CAPTIONS.values())])
    wanted = [
        (probability, one, other)
        for probability, one, other in pairs(ALL)
        if (one in here and other in there) or (one in there and other in here)
    ]
    assert [*pairs(tmp_path / "few.gz")] == wanted
    assert kept == len(wanted) > 100


def test_meteor_gives_the_same_statistics(table, tmp_path):
    write_paraphrases(CAPTIONS, table, tmp_path / "few.gz")
    with meteor_process() as whole, meteor_process(tmp_path / "few.gz") as few:
        statistics = [[meteor._stat(*pair) for pair in CAPTIONS.items()] for meteor in (whole, few)]
        (tmp_path / "none.gz").write_bytes(gzip.compress(b""))
        with meteor_process(tmp_path / "none.gz") as without:
            unmatched = [without._stat(*pair) for pair in CAPTIONS.items()]
    assert statistics[0] == statistics[1]
    assert sum(one != other for one, other in zip(statistics[0], unmatched, strict=True)) >= 4


@pytest.mark.parametrize(
    ("lines", "fault"),
    [
        (b"0.5\na dog\n", "2 lines are not a probability and two phrases each"),
        (b"", "0 lines are not a probability and two phrases each"),
        (b"0.5\na dog\n1, 2-3 4 5 6 7 8 9 ten\n", "'1  2 3 4 5 6 7 8 9 ten' has more than 9 words"),
    ],
)
def test_a_file_that_is_no_table_of_paraphrases_is_named(lines, fault, tmp_path):
    (tmp_path / "bad.gz").write_bytes(gzip.compress(lines))
    with pytest.raises(ValueError, match=f"bad.gz: {fault}"):
        paraphrases_of(["a dog"], tmp_path / "bad.gz")


def test_so_many_texts_at_a_time_make_no_difference(monkeypatch, tmp_path):
    lines = b"0.5\na dog\nthe dog\n0.25\na cat\nthe cat\n0.125\none two three\nfour\n0.5\nthe cat\n!\n"
    (tmp_path / "all.gz").write_bytes(gzip.compress(lines))
    references, captions = ["a dog", "the dog and the cat", "a dog", "four"], ["the dog", "one two", "three, a cat", ""]
    tables, kept = [], []
    for texts in (100, 2, 1):
        monkeypatch.setattr(paraphrases, "AT_ONCE", texts)
        columns = paraphrases_of(references, tmp_path / "all.gz")
        tables.append({name: list(map(str, column)) for name, column in columns.items()})
        write_table(tmp_path / f"{texts}.parquet", PARAPHRASES, columns)
        write_paraphrases(captions, tmp_path / f"{texts}.parquet", tmp_path / "few.gz")
        kept.append([*pairs(tmp_path / "few.gz")])
    assert tables[0]["pair"] == ["0", "1", "2", "3"]
    assert tables[0]["phrase_occurs"] == ["True", "False", "False", "True"]
    assert tables[0]["paraphrase_occurs"] == ["True", "True", "True", "True"]
    assert tables == [tables[0]] * 3
    assert kept == [[(0.5, "a dog", "the dog"), (0.25, "a cat", "the cat"), (0.5, "the cat", "!")]] * 3


def test_no_texts_have_the_paraphrases_of_nothing(tmp_path):
    (tmp_path / "all.gz").write_bytes(gzip.compress(b"0.5\na dog\nthe dog\n0.5\nthe cat\n!\n"))
    assert paraphrases_of([], tmp_path / "all.gz")["pair"].to_pylist() == [1]
