"""METEOR with the paraphrases of a few texts is METEOR with all of them."""

import gzip
import inspect
import re
from pathlib import Path

import pytest
from pycocoevalcap.meteor.meteor import Meteor

from captionlab.evaluation.metrics.nlg import meteor_process
from captionlab.evaluation.paraphrases import index_paraphrases, write_paraphrases
from captionlab.evaluation.schemas import PARAPHRASES, PHRASES
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


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    folder = tmp_path_factory.mktemp("paraphrases")
    phrases, paraphrases = index_paraphrases(ALL)
    write_table(folder / "phrases.parquet", PHRASES, phrases)
    write_table(folder / "paraphrases.parquet", PARAPHRASES, paraphrases)
    return folder / "phrases.parquet", folder / "paraphrases.parquet"


def test_the_paraphrases_are_those_of_which_both_phrases_occur(tables, tmp_path):
    def spaced(text):
        return " ".join(["", *re.findall("[0-9a-z]+", text.lower()), ""])

    texts = [text for caption, references in CAPTIONS.items() for text in (caption, *references)]
    kept = write_paraphrases(texts, *tables, tmp_path / "few.gz")
    every = [*map(spaced, texts), *(spaced(re.sub("&[a-z]+;", " ", text)) for text in texts)]
    words = {word for text in every for word in text.split()}

    def occurs(phrase):
        return words.issuperset(phrase.split()) and any(phrase in text for text in every)

    wanted = [pair for pair in pairs(ALL) if all(occurs(spaced(phrase)) for phrase in pair[1:])]
    found = list(pairs(tmp_path / "few.gz"))
    assert found == wanted
    assert kept == len(wanted) > 100


def test_meteor_gives_the_same_statistics(tables, tmp_path):
    texts = [text for caption, references in CAPTIONS.items() for text in (caption, *references)]
    write_paraphrases(texts, *tables, tmp_path / "few.gz")
    with meteor_process() as whole, meteor_process(tmp_path / "few.gz") as few:
        statistics = [[meteor._stat(*pair) for pair in CAPTIONS.items()] for meteor in (whole, few)]
        (tmp_path / "none.gz").write_bytes(gzip.compress(b""))
        with meteor_process(tmp_path / "none.gz") as without:
            unmatched = [without._stat(*pair) for pair in CAPTIONS.items()]
    assert statistics[0] == statistics[1]
    assert sum(one != other for one, other in zip(statistics[0], unmatched, strict=True)) >= 4


def test_a_file_that_is_cut_off_is_named(tmp_path):
    (tmp_path / "cut.gz").write_bytes(gzip.compress(b"0.5\na dog\n"))
    with pytest.raises(ValueError, match=r"cut.gz: 2 lines are not a probability and two phrases each"):
        index_paraphrases(tmp_path / "cut.gz")
