"""Our categories of objects against the list of CHAIR's authors, on the references of the example of coco-caption.

The list is `data/synonyms.txt` of github.com/LisaAnne/Hallucination. It is no part of this repository: CHAIR_LIST names
a copy of the file, without which the test is skipped.
"""

import json
import os
import re
from pathlib import Path

import pytest

from captionlab.evaluation.categories import read_categories
from captionlab.storage.paths import CATEGORIES
from captionlab.texts.tagging import load_tagger, tag

ROOT = Path(__file__).parents[2]
PLURALS = [("men", "man"), ("ies", "y"), ("ves", "fe"), ("ves", "f"), ("es", ""), ("s", "")]
IRREGULAR = {"people": "person", "children": "child", "geese": "goose", "mice": "mouse"}
# Names of young and grown animals, and of trains with people in them: no baby, no adult and no passenger is meant.
ANIMALS = ("bird", "cat", "dog", "horse", "sheep", "cow", "elephant", "bear", "zebra", "giraffe", "animal", "cub")
QUALIFIED = {"baby": ANIMALS, "adult": ANIMALS, "passenger": ("jet", "train")}

Phrases = dict[tuple[str, ...], str]


@pytest.fixture(scope="module")
def listed() -> Phrases:
    """The category of each word and compound of the authors' list, whose lines begin with the category."""
    if not (path := os.environ.get("CHAIR_LIST")):
        pytest.skip("CHAIR_LIST names no copy of the list of CHAIR's authors")
    lines = [line.split(",") for line in Path(path).read_text(encoding="utf-8").splitlines() if line.strip()]
    return {tuple(name.split()): names[0].strip() for names in lines for name in names}


def singular(word: str, known: set[str]) -> str:
    if word in known:
        return word
    stems = [IRREGULAR.get(word), *(word.removesuffix(end) + stem for end, stem in PLURALS if word.endswith(end))]
    return next((stem for stem in stems if stem in known), word)


def by_the_authors(caption: str, listed: Phrases) -> set[str]:
    """Categories that a caption names by the authors' list and rules: singular forms, and compounds of two words."""
    known = {word for phrase in listed for word in phrase} | {*ANIMALS}
    words = [singular(word, known) for word in re.findall("[a-z]+", caption.lower())]
    if "toilet" in words:
        words = [word for word in words if word != "seat"]
    found, place = set(), 0
    while place < len(words):
        pair = tuple(words[place : place + 2])
        if pair[1:] and pair[1] in QUALIFIED.get(pair[0], ()):
            place += 1
            continue
        phrase = pair if pair in listed else pair[:1]
        found.add(listed.get(phrase))
        place += len(phrase)
    return {category for category in found if category}


def test_categories_of_captions_of_people(shared_data, listed):
    annotated = json.loads((shared_data / "coco-caption" / "captions_val2014.json").read_text())["annotations"]
    captions = [entry["caption"] for entry in annotated]
    assert len(captions) == 5005
    categories = read_categories(ROOT / CATEGORIES["coco"])
    theirs = [by_the_authors(caption, listed) for caption in captions]
    ours = [
        {mention.category for mention in categories.mentions(words, tags)}
        for words, _, tags in tag(load_tagger("en_ewt_sm"), captions)
    ]
    both = [*zip(theirs, ours, strict=True)]
    sizes = [sum(map(len, sets)) for sets in (theirs, ours, [one & other for one, other in both])]
    alike = sum(one == other for one, other in both)
    assert sizes == [6884, 6805, 6549]
    assert alike == 4473  # 89 of 100
