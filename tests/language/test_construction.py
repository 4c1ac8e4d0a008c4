"""Constructed captions: the paper's own examples, and every replacement checked against its definition."""

import csv
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from captionlab.language.construction import (
    ANY,
    Plan,
    Template,
    TemplateError,
    Vocabulary,
    construct,
    template_of,
    visual_words,
)
from captionlab.language.mining import mine

PUBLISHED = Path(__file__).parents[2] / "config" / "published" / "probing_templates.csv"
TAGS = {
    **dict.fromkeys(["a", "the", "this", "his"], "DET"),
    **dict.fromkeys(["of", "near", "at", "on", "in"], "ADP"),
    **dict.fromkeys(["but", "and"], "CCONJ"),
    **dict.fromkeys(["riding", "sitting"], "VERB"),
    **dict.fromkeys(["red", "brown"], "ADJ"),
    "is": "AUX", "that": "PRON", ".": "PUNCT",
}  # fmt: skip
PLURALS = {"dogs": "dog", "horses": "horse"}


def caption(text: str):
    """Words, lemmas and tags; what is not listed is a noun."""
    words = text.replace(".", " .").split()
    lower = [word.lower() for word in words]
    return words, [PLURALS.get(word, word) for word in lower], [TAGS.get(word, "NOUN") for word in lower]


def tagged(text: str):
    words, _, tags = caption(text)
    return list(zip(words, tags, strict=True))


def published() -> dict[str, Template]:
    with open(PUBLISHED, encoding="utf-8", newline="") as file:
        return {row["model"]: Template.read(row["template"]) for row in csv.DictReader(file)}


CAPTION = "A man riding a horse in a field."
REFERENCES = [caption("a brown horse and his man"), caption("a man on horses near the fence")]
CORPUS = [*REFERENCES, *map(caption, ("a dog and dogs", "the red boat of a dog", "this kite is near a sitting dog"))]


def made(plan: Plan, text: str = CAPTION, image: str = "7", vocabulary: Vocabulary | None = None):
    vocabulary = vocabulary or Vocabulary(CORPUS)
    return list(construct(image, text, caption(text), REFERENCES, plan, vocabulary))


# ------------------------------------------------------------------------------------------------- templates
@pytest.mark.parametrize(
    ("model", "nouns", "expected"),  # Table 6 of the paper, and Table 7 where 6 differs from it
    [
        ("UNITER", "man horse field", "a man of the horse field"),
        ("ROSITA", "man horse field", "a image image that is a a man but a a horse but a a field"),
        ("ViLBERT", "man horse field", "a man that the horse at the field"),
        ("CLIP", "man horse field", "a image image of man near a horse near a field"),
        ("LXMERT", "man horse field", "a man of a horse of a field"),
        ("UNITER", "tracks person guy background bicycle", "a tracks of the person guy background bicycle"),
        (
            "ViLBERT",
            "tracks person guy background bicycle",
            "a tracks that the person at the guy at the background at the bicycle",
        ),
        ("UNITER", "man", "a man"),
        ("ViLBERT", "man horse", "a man that the horse"),
        ("CLIP", "man", "a image image of man"),
    ],
)
def test_published_templates(model, nouns, expected):
    assert published()[model].fill(nouns.split()) == expected


@pytest.mark.parametrize("model", ["UNITER", "ROSITA", "ViLBERT", "CLIP", "LXMERT"])
def test_a_template_is_found_again_in_captions_that_follow_it(model):
    template = published()[model]
    nouns = ["dog", "cat", "man", "horse", "field", "table", "road", "tree", "bike", "boat"]
    draw = np.random.default_rng(1)
    captions = [tagged(template.fill(draw.permutation(nouns)[: 3 + n % 3].tolist())) for n in range(60)]
    (pattern,) = mine(captions, max_patterns=1)
    found = template_of(pattern, captions)
    for count in (1, 2, 3, 4, 7):
        assert found.fill(nouns[:count]) == template.fill(nouns[:count])


def test_determiners_stay_and_modifiers_go():
    texts = [f"a brown {one} near the red {two} {one} near the {two}" for one in ["dog", "cat"] for two in ("x", "y")]
    captions = list(map(tagged, texts))
    (pattern,) = mine(captions, max_patterns=1)
    assert template_of(pattern, captions).text == "a+NOUN+near+the+NOUN+(near+the+NOUN)*"


def test_a_caption_of_another_pattern_is_named():
    captions = [tagged("a dog near a cat")] * 2
    (pattern,) = mine(captions, max_patterns=1)
    with pytest.raises(ValueError, match="the caption 'riding on' does not start as its pattern says"):
        template_of(pattern, [captions[0], tagged("riding on")])


@pytest.mark.parametrize("text", ["a+NOUN", "a+NOUN+(of)*", "(a+NOUN+NOUN)*", "a++(NOUN)*", "a+(NOUN)*+b", ""])
def test_what_is_no_template(text):
    with pytest.raises(TemplateError, match="is no template"):
        Template.read(text)


def test_a_template_needs_a_noun():
    with pytest.raises(ValueError, match="needs a noun"):
        published()["CLIP"].fill([])


# ---------------------------------------------------------------------------------------------- replacements
def test_visual_words_are_different_nouns_in_order():
    assert visual_words([caption("A dog near dogs"), caption("a Dog on the boat")]) == ["dog", "dogs", "boat"]


@pytest.mark.parametrize("image", list("abcdefgh"))
def test_replaced_nouns_are_wrong_and_all_else_stays(image):
    (one,) = [c for c in made(Plan(shares=[1.0]), image=image) if c.subject == "nouns"]
    words = one.caption.removesuffix(".").split()
    assert [words[place] for place in (0, 2, 3, 5, 6)] == ["A", "riding", "a", "in", "a"]
    assert one.caption.endswith(".")
    # Right are the nouns of caption and references, in singular and plural.
    assert {words[place] for place in (1, 4, 7)} <= {"dog", "dogs", "boat", "kite"}
    assert list(one.words) == [words[place] for place in (1, 4, 7)]


@pytest.mark.parametrize("others", [{"others": "same-part-of-speech"}, {"others": "any"}, {}])
@pytest.mark.parametrize("image", list("abcdefgh"))
def test_replaced_other_words(image, others):
    (one,) = [c for c in made(Plan(shares=[1.0], **others), image=image) if c.subject == "others"]
    words = one.caption.removesuffix(".").split()
    before = CAPTION.removesuffix(".").split()
    assert [words[place] for place in (1, 4, 7)] == ["man", "horse", "field"]
    for place in (0, 2, 3, 5, 6):
        assert words[place] != before[place].lower()
        assert words[place] in {word.lower() for tagged in CORPUS for word in tagged[0]}
        if others == {"others": "same-part-of-speech"}:
            assert TAGS[words[place]] == TAGS[before[place].lower()]


def test_replacements_are_nested_and_the_share_holds_on_average():
    shares = [0.25, 0.5, 0.75, 1.0]
    counts = {share: [] for share in shares}
    for image in range(400):
        found = [c for c in made(Plan(shares=shares), image=str(image)) if c.subject == "nouns"]
        changed = [{(n, w) for n, w in enumerate(c.caption.split()) if w != CAPTION.split()[n]} for c in found]
        assert all(fewer <= more for fewer, more in pairwise(changed))
        for share, places in zip(shares, changed, strict=True):
            counts[share].append(len(places))
    for share, of_share in counts.items():
        # Standard deviation of one count is at most a half.
        assert np.mean(of_share) == pytest.approx(3 * share, abs=4 * 0.5 / 20)


def test_what_is_drawn_depends_on_seed_and_image_alone():
    plan = Plan(shares=[1.0], seed=3)
    assert made(plan, image="a") == made(plan, image="a")
    drawn = {
        tuple(c.caption for c in made(Plan(shares=[1.0], seed=seed), image=image)) for seed in (1, 2) for image in "abc"
    }
    assert len(drawn) > 2


@pytest.mark.parametrize(("draw", "share"), [("frequency", 0.5), ("uniform", 0.25)])
def test_draws_follow_the_distribution(draw, share):
    vocabulary = Vocabulary([caption("dog dog dog dog kite boat horse horse cat cat")], draw)
    generator = np.random.default_rng(0)
    drawn = Counter(vocabulary.word("PROPN", {"cat"}, generator) for _ in range(2000))
    assert set(drawn) == {"dog", "kite", "boat", "horse"}
    assert drawn["dog"] / 2000 == pytest.approx(share, abs=0.04)


def test_a_word_that_is_hardly_ever_drawn_is_found():
    vocabulary = Vocabulary([caption(" ".join(["dog"] * 5000 + ["kite"]))])
    assert vocabulary.word("NOUN", {"dog"}, np.random.default_rng(0)) == "kite"
    assert vocabulary.word("NOUN", {"dog", "kite"}, np.random.default_rng(0)) is None
    assert vocabulary.word("ADV", frozenset(), np.random.default_rng(0)) is None


def test_other_words_become_any_words_by_default():
    """Each as often as in the references, whatever its part of speech, but for the word that it takes the place of."""
    counts = Counter(word.lower() for words, _, _ in CORPUS for word in words)
    drawn = Counter(made(Plan(shares=[1.0]), "red man", str(image))[1].words[0] for image in range(4000))
    total = counts.total() - counts["red"]
    assert drawn.keys() <= counts.keys() - {"red"}
    for word in ("a", "dog", "near", "man"):
        share = counts[word] / total
        assert drawn[word] / 4000 == pytest.approx(share, abs=4 * (share * (1 - share) / 4000) ** 0.5)


def test_a_word_with_several_parts_of_speech_is_one_of_any():
    words = (["orange", "orange", "very"], ["orange", "orange", "very"], ["ADJ", "NOUN", "ADV"])
    drawn = Counter(Vocabulary([words]).word(ANY, frozenset(), np.random.default_rng(n)) for n in range(900))
    assert drawn["orange"] / 900 == pytest.approx(2 / 3, abs=0.06)


# ------------------------------------------------------------------------------------------- left out, counts
def test_a_caption_without_nouns_is_left_out():
    plan = Plan(shares=[1.0], templates={("CLIP", "published"): published()["CLIP"]}, counts=[1])
    assert made(plan, "is that red") == []


def test_without_a_wrong_noun_none_is_replaced():
    found = made(Plan(shares=[1.0]), vocabulary=Vocabulary([caption("a man on a fence is near dogs")]))
    assert {c.subject for c in found} == {"nouns", "others"}
    found = made(Plan(shares=[1.0]), vocabulary=Vocabulary([caption("a man on horses is near a fence")]))
    assert {c.subject for c in found} == {"others"}


def test_counts_take_nouns_of_the_caption_first():
    templates = {(model, "published"): published()[model] for model in ("UNITER", "LXMERT")}
    templates["LXMERT", "mined"] = published()["CLIP"]
    found = [c for c in made(Plan(templates=templates, counts=[2, 4, 5, 6])) if c.experiment == "count"]
    # man, horse, field; then horses and fence of the references: five in all, so no caption has six.
    assert [(c.subject, c.source, c.level) for c in found] == [
        (model, "published", count) for model in ("UNITER", "LXMERT") for count in (2, 4, 5)
    ]
    assert found[0].caption == "a man of the horse"
    assert found[2].caption == "a man of the horse field horses fence"
    assert found[3].words == ("man", "horse")


def test_templates_take_the_nouns_of_the_caption():
    templates = {("CLIP", "published"): published()["CLIP"], ("CLIP", "mined"): published()["LXMERT"]}
    found = made(Plan(templates=templates))
    assert [(c.source, c.level, c.caption) for c in found] == [
        ("published", 3, "a image image of man near a horse near a field"),
        ("mined", 3, "a man of a horse of a field"),
    ]
