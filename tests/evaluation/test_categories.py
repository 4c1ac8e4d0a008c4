"""Which words of captions name which objects, and what is said of lists that cannot be used."""

from pathlib import Path

import pytest

from captionlab.corpora.toyworld.world import CLASSES
from captionlab.evaluation.categories import CategoriesError, read_categories, toyworld_categories
from captionlab.storage.files import RepeatedKeyError, read_yaml
from captionlab.storage.paths import CATEGORIES
from captionlab.texts.tagging import load_tagger, tag

ROOT = Path(__file__).parents[2]
# COCO's names, as its files of instances have them.
COCO = """
person, bicycle, car, motorcycle, airplane, bus, train, truck, boat, traffic light, fire hydrant, stop sign,
parking meter, bench, bird, cat, dog, horse, sheep, cow, elephant, bear, zebra, giraffe, backpack, umbrella, handbag,
tie, suitcase, frisbee, skis, snowboard, sports ball, kite, baseball bat, baseball glove, skateboard, surfboard,
tennis racket, bottle, wine glass, cup, fork, knife, spoon, bowl, banana, apple, sandwich, orange, broccoli, carrot,
hot dog, pizza, donut, cake, chair, couch, potted plant, bed, dining table, toilet, tv, laptop, mouse, remote, keyboard,
cell phone, microwave, oven, toaster, sink, refrigerator, book, clock, vase, scissors, teddy bear, hair drier,
toothbrush
"""


@pytest.fixture(scope="module")
def tagger():
    return load_tagger("en_ewt_sm")


@pytest.fixture(scope="module")
def coco():
    return read_categories(ROOT / CATEGORIES["coco"])


def test_the_list_has_the_categories_of_coco(coco):
    names = [" ".join(name.split()) for name in COCO.split(",")]
    assert {category for category in coco.phrases.values() if category} == {*names}
    assert [coco.of_label(name) for name in names] == names
    assert len(names) == 80


def test_no_compound_is_listed_in_vain(coco):
    """What names nothing has a word that would name something; another compound says what its last word does not."""
    of_word = {phrase[0]: category for phrase, category in coco.phrases.items() if len(phrase) == 1}
    document = read_yaml(ROOT / CATEGORIES["coco"])
    listed = [*(word for words in document["categories"].values() for word in words), *document["nothing"]]
    for phrase in (tuple(word.split()) for word in listed):
        category = coco.phrases[phrase]
        if len(phrase) == 1 or phrase == tuple((category or "").split()):
            continue
        named = {of_word[word] for word in phrase if word in of_word}
        assert named if category is None else of_word.get(phrase[-1]) != category or len(named) > 1, phrase


@pytest.mark.parametrize(
    ("caption", "named"),
    [
        # plurals, regular or not, and synonyms
        ("Two men and three women ride their ponies.", ["men>person", "women>person", "ponies>horse"]),
        ("knives and glasses of wine next to a TV", ["knives>knife", "glasses of wine>wine glass", "tv>tv"]),
        # the longest compound counts, hyphens are spaces
        ("a hot dog and a teddy bear", ["hot dog>hot dog", "teddy bear>teddy bear"]),
        ("a dog looks at a bear", ["dog>dog", "bear>bear"]),
        ("a fire-hydrant", ["fire hydrant>fire hydrant"]),
        ("a fire truck stops at traffic lights", ["truck>truck", "traffic lights>traffic light"]),
        # compounds that name none of their parts
        ("a person at a bus stop, under a toilet paper roll", ["person>person"]),
        ("a hot dog stand", []),
        # side by side only the last counts
        ("a baby elephant and a bus driver", ["elephant>elephant", "driver>person"]),
        ("a man, a dog and a cat", ["man>person", "dog>dog", "cat>cat"]),
        # what is a verb or an adjective here
        ("an orange cat eats two oranges", ["cat>cat", "oranges>orange"]),
        ("people skiing on skis", ["people>person", "skis>skis"]),
        ("a person riding skis", ["person>person", "skis>skis"]),
        # a word that the tagger takes for an adjective, and that is none
        ("A sheep grazing on grass in a field. ", ["sheep>sheep"]),
        ("nothing to see", []),
        ("", []),
        ("-", []),
    ],
)
def test_what_a_caption_names(tagger, coco, caption, named):
    [tagged] = tag(tagger, [caption])
    assert [f"{one.words}>{one.category}" for one in coco.mentions(tagged[0], tagged[2])] == named


# The plurals of words that a tagger's lemmas miss, and others; what each names counted by hand.
COUNTED = [
    ("three vases and two wine glasses on tables", ["vases>vase", "wine glasses>wine glass", "tables>dining table"]),
    ("sofas, couches and loveseats", ["sofas>couch", "couches>couch", "loveseats>couch"]),
    ("yellow taxis, SUVs and minibuses", ["taxis>car", "suvs>car", "minibuses>bus"]),
    ("geese and ostriches near TVs", ["geese>bird", "ostriches>bird", "tvs>tv"]),
    ("ladies under colorful umbrellas", ["ladies>person", "umbrellas>umbrella"]),
    ("men , women and children with kids", ["men>person", "women>person", "children>person", "kids>person"]),
    ("policemen and firefighters", ["policemen>person", "firefighters>person"]),
    ("oxen , calves and sheep", ["oxen>cow", "calves>cow", "sheep>sheep"]),
    ("knives , forks and toothbrushes", ["knives>knife", "forks>fork", "toothbrushes>toothbrush"]),
    ("mice and huskies", ["mice>mouse", "huskies>dog"]),
    ("glasses of wine with sandwiches", ["glasses of wine>wine glass", "sandwiches>sandwich"]),
    ("hot dogs , teddies and fire hydrants", ["hot dogs>hot dog", "teddies>teddy bear", "fire hydrants>fire hydrant"]),
    ("ferries , canoes and dinghies", ["ferries>boat", "canoes>boat", "dinghies>boat"]),
    ("flamingos and flamingoes", ["flamingos>bird", "flamingoes>bird"]),
    ("bus stops and ski poles", []),
    ("oranges beside remotes", ["oranges>orange", "remotes>remote"]),
]


@pytest.mark.parametrize(("caption", "named"), COUNTED)
def test_plurals_are_found_without_the_tagger(coco, caption, named):
    """Whatever it says of words that are no verbs; canoes are tagged as they should be."""
    words = caption.replace(",", " ,").split()
    for tag_of_all in ("NOUN", "VERB", "X"):
        tags = ["NOUN" if word == "canoes" else tag_of_all for word in words]
        assert [f"{one.words}>{one.category}" for one in coco.mentions(words, tags)] == named


@pytest.mark.parametrize(
    ("caption", "tag_of_word", "named"),
    [
        ("a skateboard", "VERB", True),
        ("a boy on a skateboard", "VERB", True),
        ("a boy on skateboard", "VERB", True),
        ("the old skateboard", "VERB", True),
        ("his skateboard", "ADJ", True),
        ("men skateboard", "VERB", False),
        ("men skateboard", "NOUN", True),
        ("he likes to skateboard", "VERB", False),
        ("a man skateboards", "VERB", False),
        ("the skateboards", "VERB", True),
        ("two skateboards", "VERB", True),
        ("several old skateboards", "VERB", True),
        ("skateboard", "VERB", False),
    ],
)
def test_a_word_that_is_a_verb_too_is_told_by_what_stands_before_it(coco, caption, tag_of_word, named):
    tags = {"old": "ADJ", "skateboard": tag_of_word, "skateboards": tag_of_word}
    found = coco.mentions(caption.split(), [tags.get(word, "X") for word in caption.split()])
    assert ("skateboard" in [one.category for one in found]) is named


def test_the_longest_compound_is_found_in_singular_and_plural(tmp_path):
    (tmp_path / "a.yaml").write_text("categories: {net: [], goal: [goal net post], post: []}")
    categories = read_categories(tmp_path / "a.yaml")
    words = ["Goal", "net", "posts", "goal", "net"]
    found = categories.mentions(words, ["NOUN"] * 5)
    # The last three stand side by side: a net is what they are.
    assert [(one.words, one.category) for one in found] == [("net", "net")]
    found = categories.mentions(words[:3], ["VERB"] * 3)
    assert [(one.words, one.category) for one in found] == [("goal net posts", "goal")]


def test_words_of_the_toy_world_name_one_class_each():
    categories = toyworld_categories()
    assert {*categories.phrases.values()} == {*CLASSES}
    assert categories.of_label("wine glass") == "wine glass"
    # A person may be a man or a woman, an animal a cow or a dog.
    assert [categories.of_label(word) for word in ("person", "people", "animal")] == [None] * 3
    assert [categories.of_label(word) for word in ("lady", "puppies", "fridge")] == ["woman", "dog", "fridge"]


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ("[a, b]", "list of categories"),
        ("categories: {dog: [puppy}", "mine.yaml"),
        ("categories: {}", "list of categories"),
        ("{categories: {dog: []}, colours: [red]}", "unknown key 'colours'"),
        ("categories: [dog, cat]", "`categories`"),
        ("categories: {dog: puppy}", "'dog'"),
        ("categories: {dog: [puppy, 3]}", "'dog'"),
        ("categories: {dog: [''], cat: []}", "'dog'"),
        ("categories: {no: [none]}", "False"),
        ("categories: {'': [none]}", "''"),
        ("categories: {dog: [puppy, pet], cat: [Pet]}", "'Pet'"),
        ("{categories: {dog: [pet]}, nothing: [hot dog, pet]}", "'pet'"),
        ("{categories: {dog: [pet]}, verbs: [orange]}", "'orange'"),
        ("{categories: {dog: [pet]}, adjectives: [orange]}", "'orange'"),
        ("{categories: {dog: [pet]}, plurals: {mouse: [mice]}}", "'mouse'"),
        ("{categories: {dog: [pet]}, plurals: {pet: pets}}", "'pet'"),
        ("{categories: {dog: [pet]}, plurals: [pets]}", "`plurals`"),
        ("{categories: {dog: [pet]}, ambiguous: [pet]}", "unknown key 'ambiguous'; write its words under `verbs`"),
        ("{categories: {dog: [pet]}, nothing: hot dog}", "'nothing'"),
    ],
)
def test_a_list_that_cannot_be_used(answers, tmp_path, given, names):
    (tmp_path / "mine.yaml").write_text(given)
    with pytest.raises(CategoriesError) as caught:
        read_categories(tmp_path / "mine.yaml")
    answers.hold(f"categories `{given}`", caught.value, names)


def test_a_category_twice(tmp_path):
    (tmp_path / "mine.yaml").write_text("categories:\n  dog: [puppy]\n  dog: [hound]\n")
    with pytest.raises(RepeatedKeyError, match=r"categories.dog stands in line 2 and in line 3"):
        read_categories(tmp_path / "mine.yaml")
