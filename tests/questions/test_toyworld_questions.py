"""Questions of the toy world and their answerer, against what is known of rendered images."""

import random

import pytest
from support.toy_questions import toy_images, toy_questions

from captionlab.corpora.toyworld.lexicon import NOUNS
from captionlab.corpora.toyworld.world import COLOURS, SCENES
from captionlab.plugins import defined
from captionlab.questions.entries import Question, is_correct
from captionlab.questions.toyworld import COLOUR, COLOUR_OF, COUNT, COUNT_OF, OBJECT, SCENE, WHERE, WHICH

ANSWERER = defined("questions.answerers", "toyworld", "build")({"kind": "toyworld"}, "questions.mine")
OWN_NOUN = {
    label: [noun for noun in nouns if sum(noun in others for others in NOUNS.values()) == 1]
    for label, nouns in NOUNS.items()
}


def answer(caption, text, options=()):
    return ANSWERER.answer([caption], [Question("", text, options)])[0]


def test_questions_ask_what_an_image_shows():
    images = toy_images("coco", 60)
    by_image = {image.image_id: [] for image in images}
    for entry in toy_questions(images):
        by_image[entry.image_id].append((entry.question, entry.answer))
    for image in images:
        asked, things = by_image[image.image_id], image.picture.things
        said = {(question.kind, question.text, right) for question, right in asked}
        expected = {(SCENE, WHERE, SCENES[image.scene].names[0])}
        for thing in things:
            expected.add((OBJECT, WHICH, thing.label))
            expected.add((COLOUR, COLOUR_OF[thing.label], thing.colour))
            expected.add((COUNT, COUNT_OF[thing.label], ["one", "two", "three"][thing.count - 1]))
        assert said == expected
        assert len(asked) == 3 * len(things) + 1
        shown = {thing.label for thing in things}
        for question, right in asked:
            assert question.options.count(right) == 1
            assert len({*question.options}) == len(question.options) == (3 if question.kind == COUNT else 4)
            assert question.kind != OBJECT or {*question.options} & shown == {right}


def test_questions_depend_on_the_seed_and_the_image_alone():
    images = toy_images("coco", 12)
    asked = toy_questions(images)
    assert asked == toy_questions(images)
    assert asked != toy_questions(images, seed=2)
    mixed = random.Random(0).sample(images, 6)
    kept = {image.image_id for image in mixed}
    assert {str(entry) for entry in toy_questions(mixed)} == {str(one) for one in asked if one.image_id in kept}


@pytest.mark.parametrize("domain", ["coco", "flickr", "nocaps-out", "concadia-descriptions", "lookalike"])
def test_no_reference_that_says_what_is_seen_is_answered_wrongly(domain):
    images = toy_images(domain, 200)
    references = {image.image_id: image.captions for image in images}
    asked = [(caption, entry) for entry in toy_questions(images) for caption in references[entry.image_id]]
    answers = ANSWERER.answer([caption for caption, _ in asked], [entry.question for _, entry in asked])
    wrong = [
        (caption, entry, given)
        for (caption, entry), given in zip(asked, answers, strict=True)
        if given is not None and not is_correct(given, entry.answer, entry.question.options)
    ]
    assert wrong == []
    assert sum(given is not None for given in answers) > 0.4 * len(answers)


def whole_sentences(thing, place):
    """Captions that state class, number, colour and scene of a thing, by each noun that no other class has."""
    number = {1: ["a"], 2: ["two", "a couple of", "a pair of"], 3: ["three", "a group of", "several"]}[thing.count]
    for noun in OWN_NOUN[thing.label]:
        word = noun.singular if thing.count == 1 else noun.plural
        for some in number:
            if thing.label in ("man", "woman"):
                garment = {"man": "shirt", "woman": "dress"}[thing.label]
                worn = (
                    f"a {thing.colour} {garment}"
                    if thing.count == 1
                    else f"{thing.colour} {garment}{'es' if garment == 'dress' else 's'}"
                )
                yield f"{some} {word} in {worn} standing {place}."
                yield f"{some} tall {word} wearing {worn} on the left {place}."
                yield f"{some} {word} in {thing.colour} {place}."
            else:
                yield f"{some} {thing.colour} {word} {place}."
                yield f"A photo of {some} big {thing.colour}  {word.upper()} on the right {place}"


def test_what_a_caption_states_is_answered():
    kinds = set()
    for image in toy_images("nocaps-out", 150):
        asked = toy_questions([image])
        phrases = [words for words in SCENES[image.scene].phrases if words != "in a house"]
        for thing in image.picture.things:
            for place in phrases:
                for caption in whole_sentences(thing, place):
                    about = [
                        entry for entry in asked
                        if entry.question.text in (COLOUR_OF[thing.label], COUNT_OF[thing.label], WHERE)
                        or (entry.question.kind == OBJECT and entry.answer == thing.label)
                    ]  # fmt: skip
                    given = ANSWERER.answer([caption] * len(about), [entry.question for entry in about])
                    assert given == [entry.answer for entry in about], caption
                    kinds |= {entry.question.kind for entry in about}
    assert kinds == {OBJECT, COLOUR, COUNT, SCENE}


def test_what_a_caption_does_not_state_is_not_answered():
    colour, count = COLOUR_OF["dog"], COUNT_OF["dog"]
    assert answer("a red car", colour) is answer("a red car", count) is None
    assert answer("a dog next to a red car", colour) is None
    assert answer("a red dog and a blue dog", colour) is None, "two answers"
    assert answer("a dog and two dogs", count) is None, "two answers"
    assert answer("cheap red dogs", count) is None
    assert answer("cheap red dogs", colour) == "red"
    assert answer("a red animal", colour) is None, "a cow is an animal, too"
    assert answer("a man in a red car", COLOUR_OF["man"]) is None
    assert answer("a man in red", COLOUR_OF["man"]) == "red"
    assert answer("a train station", COUNT_OF["train"]) is None
    assert answer("a car in a house", WHERE) is None, "a kitchen and a room are in a house"
    assert answer("a car on the beach in a field", WHERE) is None
    assert answer("a dog and a car", WHICH, ("dog", "car", "boat", "cat")) is None
    assert answer("a dog and a car", WHICH, ("dog", "tree", "boat", "cat")) == "dog"
    assert answer("", WHERE) is None
    assert answer("a dog", "does the dog bark?", ("yes", "no")) is None


def test_a_wrong_statement_is_a_wrong_answer():
    assert answer("a blue dog", COLOUR_OF["dog"], ("red", "green")) == "blue"
    assert answer("two dogs in a kitchen", COUNT_OF["dog"], ("one", "three")) == "two"
    assert answer("two dogs in a kitchen", WHERE, ("road", "field")) == "kitchen"


def test_any_words_are_read():
    generator = random.Random(1)
    words = [
        *COLOURS,
        "a",
        "two",
        "dog",
        "dogs",
        "people",
        "fish",
        "in",
        "is",
        "wearing",
        "on the left",
        "station",
        "é",
    ]
    captions = [" ".join(generator.choices(words, k=generator.randrange(12))) for _ in range(500)]
    questions = [Question("", generator.choice([WHERE, *COLOUR_OF.values(), *COUNT_OF.values()])) for _ in captions]
    assert ANSWERER.answer(captions, questions) == ANSWERER.answer(captions, questions)
