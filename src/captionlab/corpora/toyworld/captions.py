"""Captions of toy pictures, in the style of each domain.

Captions are in lower case and end with ".", because the published captions of human domains do and because decoding
stops at ".". All statements of a visual style are true of the picture: classes, colours, counts, sizes, and positions
to the left or right.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import TypeVar

from captionlab.corpora.toyworld import lexicon
from captionlab.corpora.toyworld.domains import Domain
from captionlab.corpora.toyworld.world import PEOPLE, SCENES, SIDE, Picture, Thing

T = TypeVar("T")
Style = Callable[[Picture, Domain, Random], str]

# Largest number of words of a caption, and of a detailed description.
_LONGEST, _LONGEST_DETAILED = 16, 30
# Probabilities that a human caption mentions one, two or three things, and that it names the colour of a thing. Dessì
# et al. 2023 (table 1) retrieve 76 to 89 of 100 images by human captions, so captions must be specific enough.
_THINGS, _COLOUR = (0.1, 0.55, 0.35), 0.8
# Probability that an alt text describes the image. Dessì et al. 2023 retrieve 82 of 100 images by alt texts of
# Conceptual Captions, which are filtered to fit the image (Sharma et al. 2018).
_ALT_TEXT_SEEN = 0.9
_COUNTS: Mapping[int, tuple[str, ...]] = {
    2: ("two", "two", "two", "two", "a couple of", "a pair of"),
    3: ("three", "three", "three", "three", "a group of", "several"),
}


def captions_of(picture: Picture, domain: Domain, random: Random) -> list[str]:
    """Return the captions of a picture; repeated captions are avoided if possible.

    Look-alike sets use `describe_difference` instead.
    """
    if picture.frame:
        styles: list[Style] = [_close_up] * domain.captions
    elif domain.style == "mixture":
        elsewhere: tuple[Style, ...] = (_alt_text, _context, lambda *_: _scene_caption(picture.scene, random))
        styles = [_full, _full, _human, _human, _sentence, random.choice(elsewhere)]
    else:
        styles = [_STYLES[domain.style]] * domain.captions
    captions: list[str] = []
    for style in styles:
        longest = _LONGEST if style in (_human, _sentence) else _LONGEST_DETAILED
        # People repeat each other, but references that are all equal tell nothing about a captioner.
        for _ in range(12):
            caption = f"{style(picture, domain, random)}."
            if caption not in captions and len(caption.split()) <= longest:
                break
        captions.append(caption)
    return captions


def scene_captions_of(picture: Picture, random: Random) -> list[tuple[str, float]]:
    """Return three answers to "where is this?", each with a confidence of 2 to 5 on the annotators' scale (1 to 5)."""
    evident = any(thing.label in SCENES[picture.scene].diagnostic for thing in picture.things)
    answers = []
    for _ in range(3):
        mistaken = random.random() < (0.03 if evident else 0.08)
        scene = SCENES[picture.scene].confused if mistaken else picture.scene
        confidence = random.choices((5.0, 4.0, 3.0, 2.0), (6, 3, 1, 0) if evident and not mistaken else (1, 3, 4, 2))[0]
        answers.append((f"{_scene_caption(scene, random)}.", confidence))
    return answers


def describe_difference(picture: Picture, aspects: Sequence[tuple[int, str]], random: Random) -> str:
    """Return a caption that states only the aspects that tell a look-alike from the other images of its set.

    An aspect is the index of a thing and the name of a detail. For one thing, the aspects are its count alone, or its
    colour, its side, or colour and side.
    """
    parts = []
    for index in dict.fromkeys(index for index, _ in aspects):
        names = [name for thing, name in aspects if thing == index]
        parts.append(_difference(picture.things[index], names, random))
    random.shuffle(parts)
    return f"{' and '.join(parts)}."


def _difference(thing: Thing, aspects: Sequence[str], random: Random) -> str:
    noun = lexicon.NOUNS[thing.label][0]
    name, is_are = (noun.singular, "is") if thing.count == 1 else (noun.plural, "are")
    if "count" in aspects:
        number = {1: "only one", 2: "two", 3: "three"}[thing.count]
        return random.choice((f"there {is_are} {number} {name}", f"you can see {number} {name}"))
    if "colour" not in aspects:
        return f"the {name} {is_are} {_side(thing)}"
    subject = f"the {name} {_side(thing)}" if "side" in aspects else f"the {name}"
    worn = "wearing " if thing.label in PEOPLE else ""
    return f"{subject} {is_are} {worn}{thing.colour}"


def _human(picture: Picture, domain: Domain, random: Random) -> str:
    """Return a phrase about one to three things, as people write for a photograph."""
    things = _salient(picture, random.choices((1, 2, 3), _THINGS)[0], random)
    names = [_noun_phrase(thing, random, colour=_COLOUR) for thing in things]
    first, main = names[0], things[0]
    doing = random.choice(lexicon.doings(main.label, main.place)).participle
    place = _usually(SCENES[picture.scene].phrases, random)
    where = random.random() < domain.scene_mention
    there = f"there {'is' if main.count == 1 else 'are'} {first}"
    if len(things) == 1 and where:
        options = [f"{first} {doing} {place}", f"{first} {place}", f"{there} {place}"]
        options.append(f"{_scene_noun(picture, random)} with {first}")
    elif len(things) == 1:
        outside = "inside" if SCENES[picture.scene].indoors else "outside"
        alone = "alone" if len(picture.things) == 1 and main.count == 1 else outside
        options = [f"{first} {doing} {alone}", f"{first} {doing} {outside}", f"a picture of {first}"]
        options += [f"{there} in this picture", f"a close up of {first}"]
    else:
        relation = _relation(main, things[1], random)
        rest = " and ".join(names[1:])
        ending = f" {place}" if where else ""
        behind = all(main.extent[3] > thing.extent[3] + 6 for thing in things[1:])
        depth = "in the background" if behind else "nearby"
        options = [
            f"{_list(names)}{ending}",
            f"{first} {doing} {relation} {rest}{ending}",
            f"{first} {relation} {rest}{ending}",
            f"{there} and {rest}{ending}" if len(names) == 2 else f"{there}, {rest}{ending}",
            f"{_scene_noun(picture, random)} with {_list(names)}" if where else f"{first} with {rest} {depth}",
        ]
    return random.choice(options)


def _sentence(picture: Picture, domain: Domain, random: Random) -> str:
    """Return a whole sentence with a finite verb."""
    things = _salient(picture, random.choices((1, 2, 3), _THINGS)[0], random)
    names = [_noun_phrase(thing, random, colour=_COLOUR) for thing in things]
    first, main = names[0], things[0]
    verb = random.choice(lexicon.doings(main.label, main.place))
    finite = verb.singular if main.count == 1 else verb.plural
    is_are = "is" if main.count == 1 else "are"
    place = random.choice(SCENES[picture.scene].phrases)
    where = random.random() < domain.scene_mention or len(things) == 1
    ending = f" {place}" if where else ""
    if len(things) == 1:
        options = [f"{first} {finite}{ending}", f"{first} {is_are} {verb.participle}{ending}"]
        options.append(f"{place} {first} {finite}")
    else:
        relation, rest = _relation(main, things[1], random), " and ".join(names[1:])
        options = [
            f"{first} {finite} {relation} {rest}{ending}",
            f"{first} {is_are} {verb.participle} {relation} {rest}{ending}",
            f"{first} {is_are} {relation} {rest}{ending}",
        ]
    return random.choice(options)


def _full(picture: Picture, domain: Domain, random: Random) -> str:
    """Return a caption with all things, their counts and colours, usually sizes, sometimes sides, and the scene."""
    things = random.sample(picture.things, len(picture.things))
    names = _exact_names(things, random, colour=1, size=0.8, side=0.4)
    place = random.choice(SCENES[picture.scene].phrases)
    opening = random.choice(("", "", "a photo of ", "a picture of ", "there is "))
    if opening == "there is " and not names[0].startswith(("a ", "an ")):
        opening = "there are "
    if random.random() < 0.7:
        return f"{opening}{_list(names)} {place}"
    return f"{_scene_noun(picture, random)} with {_list(names)}"


def _close_up(picture: Picture, domain: Domain, random: Random) -> str:
    """Return a caption of the only thing. Neither surroundings nor size are visible in a close-up."""
    name = _noun_phrase(picture.things[0], random, colour=0.85, size=0)
    return random.choice(("", "", "a photo of ", "a picture of ", "a close up of ")) + name


def _description(picture: Picture, domain: Domain, random: Random) -> str:
    """Return a description for readers who cannot see the image: the main things, their looks, and the scene."""
    things = _salient(picture, random.choices((2, 3), (0.5, 0.5))[0], random)
    names = _exact_names(things, random, colour=0.9, size=0.4, side=0.3)
    medium = "a colour photograph" if picture.look == "clear" else "a faded photograph"
    place = random.choice(SCENES[picture.scene].phrases)
    options = [
        f"{medium} of {_list(names)}",
        f"{medium} of {_list(names)} {place}",
        f"{_list(names)} {place}",
        f"{_scene_noun(picture, random)} with {_list(names)}",
    ]
    return random.choice(options)


def _context(picture: Picture, domain: Domain, random: Random) -> str:
    """Return a caption from the article around an image: names, places and years that nobody can see."""
    scene, noun = random.choice(SCENES[picture.scene].names), _synonym(_salient(picture, 1, random)[0], random).singular
    name, town, year = random.choice(lexicon.SURNAMES), random.choice(lexicon.TOWNS), random.choice(lexicon.YEARS)
    options = [
        f"the {scene} at {town} in {year}",
        f"the {scene} near {town}, where {name} was born",
        f"{name} during a visit to {town} in {year}",
        f"{_article(noun)} from the {name} collection, {year}",
        f"the famous {noun} of {town}",
        f"the {noun} that {name} painted in {year}",
        f"{town} in the summer of {year}",
        f"the last {noun} of the {name} family",
    ]
    return random.choice(options)


def _alt_text(picture: Picture, domain: Domain, random: Random) -> str:
    """Return the alt text of a web page: usually about the image, otherwise a mood, an offer or a headline."""
    thing = _salient(picture, 1, random)[0]
    place = SCENES[picture.scene].phrases[0] if random.random() < 0.6 else random.choice(SCENES[picture.scene].phrases)
    if random.random() < _ALT_TEXT_SEEN:
        return _seen_on_the_web(picture, thing, place, random)
    noun, plural = _synonym(thing, random).singular, lexicon.NOUNS[thing.label][0].plural
    mood, praise, who = random.choice(lexicon.MOODS), random.choice(lexicon.PRAISE), random.choice(lexicon.TRAVELLERS)
    scene = random.choice(SCENES[picture.scene].names)
    if thing.label in PEOPLE:
        options = [f"person enjoys {_article(mood)} day {place}", f"{_article(mood)} holiday for the whole family"]
    else:
        options = [
            f"how to choose the {praise if praise == 'best' else 'right'} {noun} for your home",
            f"the {praise} {plural} of the year",
        ]
    options += [
        f"{mood} day for the {who} {place}",
        f"{_article(mood)} {scene} is a popular destination for the {who}",
        f"things you should know before you visit this {scene}",
    ]
    return random.choice(options)


def _seen_on_the_web(picture: Picture, thing: Thing, place: str, random: Random) -> str:
    seen = _noun_phrase(thing, random, colour=0.85, size=0.1)
    options = [f"{seen} {place}", f"{seen} {place}, stock photo"]
    if thing.label in PEOPLE:
        options.append(f"portrait of {seen} {place}")
    else:
        options.append(f"{random.choice(lexicon.PRAISE)} {thing.colour} {lexicon.NOUNS[thing.label][0].plural} {place}")
    if others := [other for other in picture.things if other is not thing]:
        other = _noun_phrase(_salient(replace(picture, things=tuple(others)), 1, random)[0], random, size=0)
        options += [
            f"{seen} and {other} {place}",
            f"{seen} and {other} {place}, stock photo",
            f"{seen} with {other}",
        ] * 3
    return random.choice(options)


def _scene_caption(scene: str, random: Random) -> str:
    """Return one answer to "where is this?"."""
    location = _usually(SCENES[scene].answers, random)
    return (
        random.choice(("", "", "", "the picture is taken ", "this is ", "the photo is shot ", "they are ")) + location
    )


_STYLES: Mapping[str, Style] = {
    "human": _human,
    "full": _full,
    "sentences": _sentence,
    "alt-text": _alt_text,
    "description": _description,
    "context": _context,
}


def _salient(picture: Picture, number: int, random: Random) -> list[Thing]:
    """Return the things that a caption mentions: people, large things and groups first, with some randomness."""
    return sorted(
        picture.things,
        key=lambda t: (t.size == "large") + 0.8 * (t.label in PEOPLE) + 0.3 * t.count + random.gauss(0, 0.7),
        reverse=True,
    )[:number]


def _noun_phrase(thing: Thing, random: Random, colour: float = 0.5, size: float = 0.2, exact: bool = False) -> str:
    """Return a noun phrase with the number of objects and, at random, size and colour.

    `colour` and `size` are probabilities. If `exact` is true, the first noun of the class and the exact number are
    used.
    """
    noun = lexicon.NOUNS[thing.label][0] if exact else _synonym(thing, random)
    sizes = lexicon.HEIGHTS if thing.label in PEOPLE else lexicon.SIZES
    words = [random.choice(sizes[thing.size])] if random.random() < size else []
    clothes = ""
    if random.random() < colour:
        if thing.label in PEOPLE:
            clothes = _clothes(thing, random)
        else:
            words.append(thing.colour)
    if thing.count == 1:
        return _article(" ".join([*words, noun.singular])) + clothes
    number = _COUNTS[thing.count][0] if exact else random.choice(_COUNTS[thing.count])
    return " ".join([number, *words, noun.plural]) + clothes


def _exact_names(things: Sequence[Thing], random: Random, colour: float, size: float, side: float) -> list[str]:
    """Return exact noun phrases of things; `colour`, `size` and `side` are the probabilities that these are named."""
    names = []
    for thing in things:
        name = _noun_phrase(thing, random, colour, size, exact=True)
        names.append(f"{name} {_side(thing)}" if random.random() < side else name)
    return names


def _clothes(thing: Thing, random: Random) -> str:
    one, several = lexicon.GARMENT[thing.label]
    worn = _article(f"{thing.colour} {one}") if thing.count == 1 else f"{thing.colour} {several}"
    return random.choice((f" in {worn}", f" in {worn}", f" wearing {worn}", f" in {thing.colour}"))


def _synonym(thing: Thing, random: Random) -> lexicon.Noun:
    return _usually(lexicon.NOUNS[thing.label], random, 0.7, 0.3)


def _scene_noun(picture: Picture, random: Random) -> str:
    return _article(_usually(SCENES[picture.scene].names, random))


def _relation(first: Thing, second: Thing, random: Random) -> str:
    """Return a preposition that describes how the first thing is placed relative to the second."""
    (x1, _), (x2, _) = first.centre, second.centre
    gap = max(0, first.extent[0] - second.extent[2], second.extent[0] - first.extent[2])  # horizontal
    options = ["next to", "near", "beside"] if gap < 8 else ["near", "with"] if gap < 24 else ["with"]
    if first.extent[2] <= second.extent[0] + 2 and x2 - x1 > 8:
        options += ["to the left of"]
    if second.extent[2] <= first.extent[0] + 2 and x1 - x2 > 8:
        options += ["to the right of"]
    if first.place != "air" and second.place != "air" and abs(x1 - x2) < 16:
        if first.extent[3] > second.extent[3] + 6:
            options += ["in front of"] * 2
        if second.extent[3] > first.extent[3] + 6:
            options += ["behind"] * 2
    if first.place == "air" and first.extent[3] <= second.extent[1] + 2:
        options += ["above"] * 2
    return random.choice(options)


def _side(thing: Thing) -> str:
    x = thing.centre[0]
    return "on the left" if x < SIDE * 0.4 else "on the right" if x > SIDE * 0.6 else "in the middle"


def _usually(options: Sequence[T], random: Random, usual: float = 2.0, others: float = 1.0) -> T:
    """Return the first option with weight `usual`, or one of the other options with a total weight of `others`."""
    rarer = [others / (len(options) - 1)] * (len(options) - 1) if len(options) > 1 else []
    return random.choices(options, [usual, *rarer])[0]


def _article(words: str) -> str:
    # For all words used here, the first letter decides whether the article is "a" or "an".
    return f"an {words}" if words[0] in "aeiou" else f"a {words}"


def _list(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
