"""The toy world is the same in every run, draws objects where it says they are, and its captions are true."""

import hashlib
import io
import os
import re
import subprocess
import sys
import time
from collections import defaultdict
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from random import Random

import numpy as np
import pytest
from PIL import Image
from support.running import run_script

from captionlab.corpora.toyworld.domains import DOMAINS
from captionlab.corpora.toyworld.drawing import draw
from captionlab.corpora.toyworld.lexicon import GARMENT, HEIGHTS, NOUNS, SIZES
from captionlab.corpora.toyworld.pen import Pen
from captionlab.corpora.toyworld.render import ToyImage, render, write_corpus
from captionlab.corpora.toyworld.world import (
    CLASSES,
    COLOURS,
    COMMON,
    DIAGNOSTIC,
    NOVEL,
    SCENES,
    SIDE,
    Picture,
    Thing,
    sprite_size,
)
from captionlab.storage.schemas import CAPTIONS, IMAGES, OBJECTS, REJECTS, SCENE_CAPTIONS
from captionlab.storage.tables import read_table

VISUAL = ("coco", "flickr", "nocaps-near", "nocaps-out", "concadia-descriptions", "scenes")


@pytest.fixture(scope="module")
def corpora() -> dict[str, list[ToyImage]]:
    return {domain: list(render(domain, 17, {"train": 40, "test": 80})) for domain in DOMAINS}


# --- the same in every run ------------------------------------------------------------------------------------------


def test_same_bytes_in_another_process():
    program = (
        "import hashlib; from captionlab.corpora.toyworld.render import render\n"
        "print(hashlib.sha256(repr(list(render('web', 5, {'train': 12}))).encode()).hexdigest())"
    )
    digests = [
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed in ("1", "2")
    ]
    here = hashlib.sha256(repr(list(render("web", 5, {"train": 12}))).encode()).hexdigest()
    assert digests == [here, here]


@pytest.mark.parametrize("domain", DOMAINS)
def test_image_does_not_depend_on_how_many_there_are(domain):
    few = {image.image_id: image for image in render(domain, 3, {"test": 10})}
    many = {image.image_id: image for image in render(domain, 3, {"train": 20, "test": 30})}
    for image_id, image in few.items():
        assert replace(many[image_id], position=image.position) == image


def test_seed_and_split_change_the_images():
    first, other_seed, other_split = (
        [image.data for image in render("coco", seed, {split: 20})]
        for seed, split in ((1, "train"), (2, "train"), (1, "test"))
    )
    assert not set(first) & set(other_seed)
    assert not set(first) & set(other_split)


# --- what is drawn --------------------------------------------------------------------------------------------------


def changed(picture: Picture, without: Picture) -> np.ndarray:
    """Which pixels (y, x) differ between the two images."""
    images = [np.asarray(draw(p), int) for p in (picture, without)]
    return (images[0] != images[1]).any(-1)


@pytest.mark.parametrize("label", CLASSES)
@pytest.mark.parametrize("size", ["large", "small"])
def test_box_is_where_the_object_is_drawn(label, size):
    width, height = sprite_size(label, size)
    box = (17, 60 - height, 17 + width, 60)
    for colour, place, mirrored in (("purple", "ground", False), ("orange", "air", True)):
        thing = Thing(label, colour, size, place, (box,), mirrored)
        # Noise is the same in both images, so only the object differs.
        picture = Picture("field", 1, (thing,), "clear", 9)
        rows, columns = np.nonzero(changed(picture, replace(picture, things=())))
        drawn = columns.min(), rows.min(), columns.max() + 1, rows.max() + 1
        assert drawn[0] >= box[0]
        assert drawn[1] >= box[1]
        assert drawn[2] <= box[2]
        assert drawn[3] <= box[3]
        # A faint edge may vanish in rounding, more than that may not.
        assert np.abs(np.subtract(drawn, box)).max() <= 1


def test_removing_a_thing_changes_its_boxes_only(corpora):
    for image in [image for image in corpora["web"] if not image.picture.frame] + corpora["flickr"]:
        for index, thing in enumerate(image.picture.things):
            others = image.picture.things[:index] + image.picture.things[index + 1 :]
            difference = changed(image.picture, replace(image.picture, things=others))
            assert difference.any()
            for x1, y1, x2, y2 in thing.boxes:
                assert 0 <= x1 < x2 <= SIDE
                assert 0 <= y1 < y2 <= SIDE
                assert difference[y1:y2, x1:x2].any()
                difference[y1:y2, x1:x2] = False
            assert not difference.any()


def test_things_hardly_hide_each_other(corpora):
    for image in corpora["coco"]:
        for i, first in enumerate(image.picture.things):
            for second in image.picture.things[i + 1 :]:
                for a in first.boxes:
                    for b in second.boxes:
                        common = np.zeros((SIDE, SIDE), int)
                        common[a[1] : a[3], a[0] : a[2]] += 1
                        common[b[1] : b[3], b[0] : b[2]] += 1
                        smaller = min((x2 - x1) * (y2 - y1) for x1, y1, x2, y2 in (a, b))
                        assert (common == 2).sum() <= 0.15 * smaller


def test_colours_can_be_told_apart():
    """The mean colour of an object's box is nearest to that of its own colour, whatever the noise."""
    box = (20, 30, 37, 47)
    means = {}
    for seed in (1, 2):
        for colour in COLOURS:
            picture = Picture("road", 0, (Thing("ball", colour, "large", "ground", (box,)),), "clear", seed)
            means[seed, colour] = np.asarray(draw(picture), float)[30:47, 20:37].mean((0, 1))
    for colour in COLOURS:
        nearest = min(COLOURS, key=lambda other: np.abs(means[1, colour] - means[2, other]).sum())
        assert nearest == colour


def test_what_is_no_shape_is_named():
    pen = Pen(Image.new("RGB", (10, 10)), (1, 1), {"base": "#ff0000"}, Random(1))
    with pytest.raises(ValueError, match=r"no shape such as \{'ovall': 'base', 'at': \[0, 0, 1, 1\]\}"):
        pen.draw([{"ovall": "base", "at": [0, 0, 1, 1]}])
    with pytest.raises(ValueError, match="bse"):
        pen.draw([{"oval": "bse", "at": [0, 0, 1, 1]}])
    pen.draw([{"box": "base", "at": [0, 0, 1, 1], "x": [1, 8], "y": {"from": 2, "to": 7, "step": 3}}])
    drawn = np.zeros((10, 10), bool)
    drawn[np.ix_((2, 3, 5, 6), (1, 2, 8, 9))] = True
    assert ((np.asarray(pen.image) == (255, 0, 0)).all(-1) == drawn).all()


# --- which objects there are ----------------------------------------------------------------------------------------


def test_classes_of_the_world():
    assert len(DIAGNOSTIC) == len(set(DIAGNOSTIC)) == 16
    assert len(COMMON) == 8
    assert len(NOVEL) == 6
    assert len(SCENES) == 8
    assert set(DIAGNOSTIC) | set(COMMON) | set(NOVEL) == set(CLASSES) == set(NOUNS)


def test_novel_classes_are_in_the_domains_that_are_about_them(corpora):
    share = {
        domain: np.mean([thing.label in NOVEL for image in images for thing in image.picture.things])
        for domain, images in corpora.items()
    }
    assert all(share[d] == 0 for d in ("coco", "concap", "flickr", "scenes", "lookalike", "concadia-captions"))
    assert 0.1 < share["web"] < 0.3
    assert share["nocaps-near"] < share["nocaps-out"] - 0.15
    for image in corpora["nocaps-near"] + corpora["nocaps-out"]:
        assert any(thing.label in NOVEL for thing in image.picture.things)


def test_most_scenes_show_in_an_object_but_not_all():
    images = [image.picture for image in render("coco", 2, {"train": 400})]
    evident = np.mean([any(t.label in SCENES[p.scene].diagnostic for t in p.things) for p in images])
    assert 0.75 < evident < 0.95
    assert {p.scene for p in images} == set(SCENES)
    assert {len(p.things) for p in images} == {1, 2, 3, 4}
    assert {t.count for p in images for t in p.things} == {1, 2, 3}


# --- what is said ---------------------------------------------------------------------------------------------------

SURFACES = {
    surface: (label, number)
    for label, nouns in NOUNS.items()
    for noun in nouns
    for surface, number in ((noun.plural, "several"), (noun.singular, "one"))
}
LABELS = defaultdict(set)
for _label, _nouns in NOUNS.items():
    for _noun in _nouns:
        LABELS[_noun.singular].add(_label)
        LABELS[_noun.plural].add(_label)
NUMBERS = {"a": 1, "an": 1, "two": 2, "a couple of": 2, "a pair of": 2, "three": 3, "a group of": 3, "several": 3}
SIZE_OF = {word: size for words in (SIZES, HEIGHTS) for size, names in words.items() for word in names}


def one_of(words) -> str:
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))


MENTION = re.compile(
    rf"\b(?P<number>{one_of(NUMBERS)}) (?:(?P<size>{one_of(SIZE_OF)}) )?(?:(?P<colour>{one_of(COLOURS)}) )?"
    rf"(?P<noun>{one_of(SURFACES)})\b"
    rf"(?: (?:in|wearing) (?:a |an )?(?P<worn>{one_of(COLOURS)})"
    rf"(?: (?:{one_of(w for pair in GARMENT.values() for w in pair)}))?\b)?"
    r"(?: (?P<side>on the left|on the right|in the middle)\b)?"
)


def fits(mention: re.Match, thing: Thing) -> bool:
    """Is what the caption says true of the thing?"""
    colour = mention["colour"] or mention["worn"]
    x = (min(b[0] for b in thing.boxes) + max(b[2] for b in thing.boxes)) / 2
    return (
        thing.label in LABELS[mention["noun"]]
        and NUMBERS[mention["number"]] == len(thing.boxes)
        and colour in (None, thing.colour)
        and (mention["size"] is None or SIZE_OF[mention["size"]] == thing.size)
        and (mention["side"] != "on the left" or x < SIDE / 2)
        and (mention["side"] != "on the right" or x > SIDE / 2)
        and (mention["side"] != "in the middle" or SIDE / 4 < x < 3 * SIDE / 4)
    )


def mentioned(caption: str, image: ToyImage) -> list[Thing]:
    """The things that a caption is about, each once; fails when it says something that is not so."""
    mentions = list(MENTION.finditer(caption))
    assignments = [
        things
        for things in permutations(image.picture.things, len(mentions))
        if all(fits(mention, thing) for mention, thing in zip(mentions, things, strict=True))
    ]
    assert assignments, (caption, image.objects)
    # Nothing that the pattern does not see: no further class, no further colour.
    rest = MENTION.sub(" ", caption)
    assert not re.search(rf"\b({one_of(SURFACES)}|{one_of(COLOURS)})\b", rest), (rest, caption)
    return list(assignments[0])


@pytest.mark.parametrize("domain", VISUAL)
def test_visual_captions_are_true(corpora, domain):
    for image in corpora[domain]:
        for caption in image.captions:
            assert mentioned(caption, image), caption


def test_detailed_captions_of_web_mention_everything(corpora):
    for image in corpora["web"]:
        if image.picture.frame:
            continue
        for caption in image.captions[:2]:
            things = mentioned(caption, image)
            assert sorted(map(repr, things)) == sorted(map(repr, image.picture.things))
            for mention in MENTION.finditer(caption):
                assert mention["colour"] or mention["worn"], caption
        for caption in image.captions[2:5]:
            assert mentioned(caption, image)


def test_close_ups_show_and_name_one_thing(corpora):
    near = [image for image in corpora["web"] if image.picture.frame]
    assert 0.35 < len(near) / len(corpora["web"]) < 0.65
    assert not any(image.picture.frame for domain in corpora if domain != "web" for image in corpora[domain])
    for image in near:
        (thing,) = image.picture.things
        for caption in image.captions:
            assert mentioned(caption, image) == [thing]
            assert not re.search(r" on the | in the | in a (?!\w+ (shirt|dress)\b)", caption), caption
        boxes = np.array([box for _, box, _ in image.objects])
        assert boxes.min() >= 0
        assert boxes.max() <= 64
        # Its things fill the image but for the margin, which is as wide as it was, times the enlargement.
        across = image.picture.frame[2] - image.picture.frame[0]
        assert (boxes[:, 2].max() - boxes[:, 0].min()) * across == pytest.approx(
            64 * (thing.extent[2] - thing.extent[0]), abs=across
        )
        # Without the thing the picture changes where the boxes are, and as far around as bicubic resizing looks.
        changes = changed(image.picture, replace(image.picture, things=()))
        assert changes.any()
        blur = 1 + 2 * 64 // min(across, image.picture.frame[3] - image.picture.frame[1])
        for x1, y1, x2, y2 in boxes:
            changes[max(0, y1 - blur) : y2 + blur, max(0, x1 - blur) : x2 + blur] = False
        assert not changes.any()


def test_left_and_right_are_as_in_the_picture(corpora):
    found = 0
    for domain in VISUAL:
        for image in corpora[domain]:
            for caption in image.captions:
                if not (side := re.search(r" to the (left|right) of ", caption)):
                    continue
                pattern = [list(MENTION.finditer(part)) for part in caption.split(side[0])]
                first = [t for t in image.picture.things if fits(pattern[0][-1], t)]
                second = [t for t in image.picture.things if fits(pattern[1][0], t)]
                order = [(a.centre[0] < b.centre[0]) for a in first for b in second if a is not b]
                assert (side[1] == "left") in order
                found += 1
    assert found > 50


@pytest.mark.parametrize("domain", DOMAINS)
def test_form_of_captions(corpora, domain):
    for image in corpora[domain]:
        assert len(image.captions) == DOMAINS[domain].captions
        assert len(image.scene_captions) == 3
        for caption in [*image.captions, *(text for text, _ in image.scene_captions)]:
            assert re.fullmatch(r"[a-z][a-z0-9 ,]*[a-z0-9]\.", caption), caption
            assert not re.search(r"\ba [aeiou]|\ban [^aeiou]|  | ,|\b(\w+) \1\b", caption), caption
        assert all(1 <= confidence <= 5 for _, confidence in image.scene_captions)


def test_references_vary(corpora):
    for domain, references in (("coco", 5), ("flickr", 5), ("scenes", 5), ("nocaps-near", 10), ("nocaps-out", 10)):
        assert DOMAINS[domain].captions == references
        assert np.mean([len(set(image.captions)) for image in corpora[domain]]) > references - 0.1
        lengths = [len(caption.split()) for image in corpora[domain] for caption in image.captions]
        assert 8 <= np.mean(lengths) <= 12  # COCO's have 10.5 words
        assert 14 <= max(lengths) <= 18
    words = {w for images in corpora.values() for i in images for c in i.captions for w in re.findall(r"\w+", c)}
    assert 200 <= len(words) <= 400


def test_the_scenes_domain_keeps_scenes_for_the_scene_captions(corpora):
    names = re.compile(
        r"\b(beach|sea|kitchen|road|street|station|platform|restaurant|room|field|grass|resort|pool|hotel)\b"
    )
    share = {d: np.mean([bool(names.search(c)) for i in corpora[d] for c in i.captions]) for d in ("coco", "scenes")}
    assert share["scenes"] < 0.15 < 0.35 < share["coco"]
    answers = [text for image in corpora["scenes"] for text, _ in image.scene_captions]
    assert np.mean([bool(names.search(text)) for text in answers]) > 0.6


def test_some_alt_texts_and_most_contexts_are_not_about_what_is_seen(corpora):
    for domain, least, most in (("concap", 0.6, 0.9), ("concadia-captions", 0.0, 0.6)):
        described = [bool(MENTION.search(image.captions[0])) for image in corpora[domain]]
        assert least <= np.mean(described) < most


# --- domains that come together -------------------------------------------------------------------------------------


def test_concadia_twins_share_their_images(corpora):
    descriptions, captions = corpora["concadia-descriptions"], corpora["concadia-captions"]
    assert [(i.image_id, i.data, i.objects) for i in descriptions] == [
        (i.image_id, i.data, i.objects) for i in captions
    ]
    assert not {i.captions[0] for i in descriptions} & {i.captions[0] for i in captions}


def test_scene_captions_are_about_the_images_of_scenes(corpora):
    objects, scenes = corpora["scenes"], corpora["scene-captions"]
    assert [(i.image_id, i.data, i.scene_captions) for i in objects] == [
        (i.image_id, i.data, i.scene_captions) for i in scenes
    ]
    assert all(i.captions == [caption for caption, _ in i.scene_captions] for i in scenes)


def true_of(statement: str, image: ToyImage) -> bool:
    """Is a statement of a look-alike caption true of an image?"""
    if match := re.fullmatch(r"(?:there (?:is|are)|you can see) (only one|two|three) (.+)", statement):
        number = {"only one": 1, "two": 2, "three": 3}[match[1]]
        return any(t.label in LABELS[match[2]] and t.count == number for t in image.picture.things)
    pattern = (
        rf"the ({one_of(SURFACES)}) ?(on the left|on the right|in the middle)? "
        rf"(?:is|are) ?(?:wearing )?({one_of(COLOURS)})? ?(on the left|on the right|in the middle)?"
    )
    match = re.fullmatch(pattern, statement)
    assert match, statement
    noun, side, colour = match[1], match[2] or match[4], match[3]
    return any(
        t.label in LABELS[noun]
        and colour in (None, t.colour)
        and (side is None or (t.centre[0] < SIDE / 2) == (side == "on the left"))
        for t in image.picture.things
    )


def test_lookalikes_come_in_tens_and_captions_tell_them_apart(corpora):
    sets = defaultdict(list)
    for image in corpora["lookalike"]:
        sets[image.image_set].append(image)
    assert len(sets) == 12
    for images in sets.values():
        assert len(images) == 10
        assert [i.position for i in images] == list(range(images[0].position, images[0].position + 10))
        assert len({i.scene for i in images}) == 1
        for image in images:
            statements = image.captions[0].removesuffix(".").split(" and ")
            matching = [other.image_id for other in images if all(true_of(s, other) for s in statements)]
            assert matching == [image.image_id], image.captions


def test_only_lookalikes_have_sets(corpora):
    for domain, images in corpora.items():
        assert all((image.image_set is None) == (domain != "lookalike") for image in images)


# --- tables ---------------------------------------------------------------------------------------------------------


def corpus_paths(directory: Path) -> dict[str, Path]:
    return {
        name: directory / f"{name}.parquet" for name in ("images", "captions", "objects", "scene_captions", "rejects")
    }


@pytest.mark.parametrize("domain", DOMAINS)
def test_tables(corpora, domain, tmp_path):
    paths = corpus_paths(tmp_path / "corpus")
    write_corpus(iter(corpora[domain]), paths)
    images = read_table(paths["images"], IMAGES).to_pylist()
    assert [row["image_id"] for row in images] == [image.image_id for image in corpora[domain]]
    assert [row["position"] for row in images] == list(range(120))
    assert [row["split"] for row in images] == ["train"] * 40 + ["test"] * 80
    for row in images[::29]:
        assert row["path"] is None
        picture = Image.open(io.BytesIO(row["data"]))
        assert (picture.format, picture.mode, picture.size) == ("PNG", "RGB", (row["width"], row["height"]))
        assert picture.size == (64, 64)
    captions = read_table(paths["captions"], CAPTIONS).to_pylist()
    assert [row["caption"] for row in captions] == [c for image in corpora[domain] for c in image.captions]
    objects = read_table(paths["objects"], OBJECTS).to_pylist()
    last = corpora[domain][-1]
    rows = [row for row in objects if row["image_id"] == last.image_id]
    assert [row["object_index"] for row in rows] == list(range(len(rows)))
    assert [row["attributes"] for row in rows] == [[t.colour, t.size] for t in last.picture.things for _ in t.boxes]
    assert [(r["x1"], r["y1"], r["x2"], r["y2"]) for r in rows] == [b for t in last.picture.things for b in t.boxes]
    scenes = read_table(paths["scene_captions"], SCENE_CAPTIONS).to_pylist()
    assert [row["scene"] for row in scenes] == [image.picture.scene for image in corpora[domain] for _ in range(3)]
    assert read_table(paths["rejects"], REJECTS).num_rows == 0


def test_script(tmp_path):
    paths = corpus_paths(tmp_path)
    config = {"reader": "toyworld", "domain": "flickr", "seed": 4, "images": {"val": 5, "test": 3}}
    run_script("render_toyworld", {}, paths, config=config)
    expected = [image.data for image in render("flickr", 4, {"val": 5, "test": 3})]
    assert read_table(paths["images"], IMAGES)["data"].to_pylist() == expected


def test_errors():
    with pytest.raises(ValueError, match=r"no domain 'cocoa'; it has coco, concap, flickr"):
        next(render("cocoa", 1, {"test": 1}))
    with pytest.raises(ValueError, match="number of test images must be a multiple of 10, the size of a set, not 15"):
        next(render("lookalike", 1, {"train": 10, "test": 15}))


def test_names_of_domains_are_cheap_to_import():
    program = (
        "import sys; from captionlab.corpora.toyworld.domains import DOMAINS\n"
        "print(sorted({'numpy', 'PIL', 'pyarrow', 'torch'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_speed():
    start = time.process_time()
    count = sum(1 for _ in render("web", 99, {"train": 300}))
    # A few milliseconds each; the bound is for slow and busy machines.
    assert (time.process_time() - start) / count < 0.03
