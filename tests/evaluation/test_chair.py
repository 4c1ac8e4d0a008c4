"""CHAIR and recall of objects, against captions judged by hand and counts that are as naive as can be."""

import logging
from pathlib import Path

import numpy as np
import pytest
from support.running import run_script

from captionlab.corpora.readers.coco import reader as coco_reader
from captionlab.corpora.toyworld.domains import DOMAINS
from captionlab.corpora.toyworld.lexicon import NOUNS
from captionlab.corpora.toyworld.render import render, write_corpus
from captionlab.corpora.toyworld.world import CLASSES
from captionlab.evaluation.categories import read_categories, toyworld_categories
from captionlab.evaluation.metrics.chair.config import FACTS
from captionlab.evaluation.metrics.chair.metric import SCORES, judged, of_captions, of_labels, results
from captionlab.evaluation.naming import names_any
from captionlab.evaluation.summary import Job
from captionlab.storage.paths import CATEGORIES
from captionlab.storage.schemas import CAPTIONS, GENERATED, IMAGES, OBJECTS, TAGGED
from captionlab.storage.tables import read_table, write_table
from captionlab.texts.tagging import load_tagger, tag

ROOT = Path(__file__).parents[2]
JOB = Job("me", "main", "greedy", {"toy": "test", "coco": "val2017", "bare": "test"})
# Twenty captions of images of COCO, written and judged by hand while looking at these: the categories that each names,
# with ! those that are not in its image.
JUDGED = [
    (802, "a kitchen with a white fridge, a stove and a toaster", "refrigerator, oven, toaster!"),
    (17627, "two men wait at a bus stop near parked cars", "person, car"),
    (18575, "a hamburger with french fries and a hot dog on a table", "sandwich, hot dog!, dining table"),
    (22192, "a pit bull sits on a messy bed", "dog, bed"),
    (22892, "a cat watches two dogs from the dining room table", "cat, dog, dining table"),
    (25560, "an orange and white cat on top of a tv stand beside a remote", "cat, remote!"),
    (73326, "an open refrigerator full of bottles, apples and a carrot cake", "refrigerator, bottle, apple!, cake!"),
    (87038, "a skateboarder and a man on a bike at a skate park", "person, person, bicycle"),
    (109313, "a man with a wii remote stands near a stuffed bear", "person, remote, teddy bear!"),
    # Nobody annotated skis, but people speak of them.
    (117645, "a snowboarder and two skiers going down a ski slope on skis", "person, person, skis"),
    (126107, "seagulls fly above a ship", "bird, boat"),
    (136334, "a man skiing past a dog", "person, dog!"),
    (153797, "a pitcher throws a baseball to the batter, who holds a bat", "person, baseball bat!"),
    (174231, "a kitten asleep in a lap top, a mouse beside it", "cat, laptop, mouse!"),
    (174482, "a bicycle on a sidewalk, near a truck and a fire hydrant", "bicycle, truck, fire hydrant!"),
    (181666, "some shepherds with sheep and cows", "sheep, cow!"),
    (205401, "a seaplane next to small boats under an umbrella", "airplane, boat, umbrella!"),
    (217285, "two baseball players and an umpire, one with a bat", "person, person, baseball bat"),
    (219578, "a puppy and a cat on an orange sofa", "dog, cat, couch"),
    (229997, "a baby elephant and a black bear among vultures", "elephant!, bear, bird"),
]


@pytest.fixture(scope="module")
def tagger():
    return load_tagger("en_ewt_sm")


def tagged_rows(tagger, corpus, keys, texts):
    """Rows of TAGGED of captions by (image, index)."""
    found = tag(tagger, texts)
    return [
        {"corpus": corpus, "image_id": image, "caption_index": index, "words": words, "lemmas": lemmas, "tags": tags}
        for (image, index), (words, lemmas, tags) in zip(keys, found, strict=True)
    ]


def values_of(path):
    return {(one.corpus, one.metric): one for one in results(JOB, str(path), 7)}


# --- twenty captions judged by hand ---------------------------------------------------------------------------------


def test_twenty_captions_of_coco(tagger, shared_data, tmp_path):
    config = {
        "annotations": {"val2017": "annotations/captions_val2017.json"},
        "images": {"val2017": "val2017"},
        "instances": {"val2017": "annotations/instances_val2017.json"},
    }
    wanted = {str(image) for image, _, _ in JUDGED}
    entries = [one for one in coco_reader.read(config, shared_data / "coco-mini") if one.image_id in wanted]
    categories = read_categories(ROOT / CATEGORIES["coco"])
    objects = [{"image_id": one.image_id, "label": thing.label} for one in entries for thing in one.objects]
    texts = {(one.image_id, index): text for one in entries for index, text in enumerate(one.captions)}
    captions = tagged_rows(tagger, "coco", [(str(image), 0) for image, _, _ in JUDGED], [text for _, text, _ in JUDGED])
    references = tagged_rows(tagger, "coco", texts, texts.values())
    columns = judged(captions, references, of_labels("coco", objects, categories), categories)

    expected = [[name.strip() for name in names.split(",")] for _, _, names in JUDGED]
    shown = zip(columns["categories"], columns["hallucinated"], strict=True)
    assert [[f"{n}{'!' * w}" for n, w in zip(*row, strict=True)] for row in shown] == expected

    write_table(tmp_path / "chair.parquet", SCORES, columns)
    found = values_of(tmp_path / "chair.parquet")
    every = [name for names in expected for name in names]
    wrong = [name for name in every if name.endswith("!")]
    assert found["coco", "CHAIRi"].value == pytest.approx(100 * len(wrong) / len(every))
    with_wrong = sum(any(name.endswith("!") for name in names) for names in expected)
    assert found["coco", "CHAIRs"].value == pytest.approx(100 * with_wrong / 20)
    there = {image: {row["label"] for row in objects if row["image_id"] == image} for image in wanted}
    hits = sum(len(there[str(image)] & {*names}) for (image, _, _), names in zip(JUDGED, expected, strict=True))
    assert found["coco", "object recall"].value == pytest.approx(100 * hits / sum(map(len, there.values())))


# --- the toy world --------------------------------------------------------------------------------------------------


def own_nouns(label):
    """Nouns, singular, that no other class has."""
    others = {noun for other, nouns in NOUNS.items() if other != label for noun in nouns}
    return [noun for noun in NOUNS[label] if noun not in others]


@pytest.mark.parametrize("domain", DOMAINS)
def test_references_of_the_toy_world_name_what_is_drawn(tagger, domain):
    images = list(render(domain, 5, {"test": 20}))
    texts = {(one.image_id, index): text for one in images for index, text in enumerate(one.captions)}
    drawn = {one.image_id: sorted({label for label, _, _ in one.objects}) for one in images}
    columns = judged(tagged_rows(tagger, domain, texts, texts.values()), [], drawn, toyworld_categories())
    assert sum(map(sum, columns["hallucinated"])) == 0
    nouns = {label: [name for n in own_nouns(label) for name in (n.singular, n.plural)] for label in CLASSES}
    named = [{label for label in CLASSES if names_any(text, nouns[label])} for text in texts.values()]
    assert [{*row} for row in columns["categories"]] == named
    assert columns["recall"] == [
        [len(drawn[image]), len({*drawn[image]} & names)] for (image, _), names in zip(texts, named, strict=True)
    ]


@pytest.fixture(scope="module")
def toy(tmp_path_factory):
    """Files of a run on two corpora of the toy world, of which one has no objects, with what was said of each image.

    The first caption of an image names all that is drawn, the second two things that are not, and one that is.
    """
    folder = tmp_path_factory.mktemp("toy")
    rows, said = [], {}
    for corpus in ("toy", "bare"):
        images = list(render("coco", 3, {"train": 2, "test": 12}))
        tables = {name: folder / corpus / f"{name}.parquet" for name in ("images", "captions", "objects")}
        tables |= {name: folder / corpus / f"{name}.parquet" for name in ("scene_captions", "rejects")}
        write_corpus(images, tables)
        for image in (one for one in images if one.split == "test"):
            drawn = sorted({label for label, _, _ in image.objects})
            absent = [label for label in CLASSES if label not in drawn][image.position % 7 :][:2]
            true = [own_nouns(label)[-1].singular for label in drawn]
            false = [own_nouns(absent[0])[0].plural, own_nouns(absent[1])[-1].singular]
            captions = [f"a {' and a '.join(true)}", f"two {false[0]}, a {false[1]} and a {true[0]}"]
            said[corpus, image.image_id] = drawn, absent
            rows += [
                {"corpus": corpus, "image_id": image.image_id, "caption_index": index, "caption": caption}
                for index, caption in enumerate(captions)
            ]
    write_table(folder / "bare" / "objects.parquet", OBJECTS, [])
    write_table(folder / "captions.parquet", GENERATED, [{**row, "log_prob": None, "confidence": None} for row in rows])
    tags = {"tags": folder / "tags.parquet"}
    run_script("measure_language", {"captions": folder / "captions.parquet"}, tags, tagger="en_ewt_sm")
    for corpus in ("toy", "bare"):
        tables = {name: folder / corpus / f"{name}.parquet" for name in ("images", "captions")}
        options = {"split": "test", "tagger": "en_ewt_sm", "wildcards": {"corpus": corpus}}
        run_script("tag_references", tables, [folder / corpus / "tags.parquet"], **options)
    return folder, said


def score_toy(folder, corpora, output, **settings):
    of_captions = {"captions": GENERATED, "tags": TAGGED}
    for name, kind in of_captions.items():
        rows = [row for row in read_table(folder / f"{name}.parquet", kind).to_pylist() if row["corpus"] in corpora]
        write_table(output.parent / f"{name}.parquet", kind, rows)
    inputs = {
        **{name: output.parent / f"{name}.parquet" for name in of_captions},
        "reference_tags": [folder / corpus / "tags.parquet" for corpus in corpora],
        "objects": [folder / corpus / "objects.parquet" for corpus in corpora],
        "categories": settings.pop("categories", ROOT / CATEGORIES["toyworld"]),
    }
    assert {*inputs} == {"captions", *FACTS.reads}
    params = {
        "module": "captionlab.evaluation.metrics.chair.metric",
        "people": False,
        "splits": ["test"] * len(corpora),
    }
    params |= {"corpora": corpora, "references_per_image": None, "settings": {"objects": "toyworld"}} | settings
    run_script("score_captions", inputs, [output], **params)
    return output


def test_true_and_false_objects_of_the_toy_world(toy, tmp_path, caplog):
    folder, said = toy
    with caplog.at_level(logging.WARNING):
        path = score_toy(folder, ["toy", "bare"], tmp_path / "chair.parquet")
    assert "bare is left out" in caplog.text
    scores = read_table(path, SCORES).to_pylist()
    assert len(scores) == 24
    for row in scores:
        drawn, absent = said["toy", row["image_id"]]
        first = row["caption_index"] == 0
        assert row["categories"] == (drawn if first else [*absent, drawn[0]])
        assert row["hallucinated"] == ([False] * len(drawn) if first else [True, True, False])
        assert row["annotated"] == drawn
        assert {*row["referenced"]} <= {*drawn}

    # Of each image the two captions.
    named = [len(drawn) + 3 for (corpus, _), (drawn, _) in said.items() if corpus == "toy"]
    sizes = [len(drawn) for (corpus, _), (drawn, _) in said.items() if corpus == "toy"]
    found = values_of(path)
    assert {corpus for corpus, _ in found} == {"toy"}
    assert found["toy", "CHAIRi"].value == pytest.approx(100 * 24 / sum(named))
    assert found["toy", "CHAIRs"].value == pytest.approx(50)
    np.testing.assert_array_equal(found["toy", "CHAIRs"].shares, [0.5] * 12)
    assert found["toy", "object recall"].value == pytest.approx(100 * (sum(sizes) + 12) / (2 * sum(sizes)))
    by_caption = {one.metric: dict(zip(one.keys, one.values, strict=True)) for one in of_captions(str(path), {})}
    for row in scores:
        key, (drawn, _) = (row["corpus"], row["image_id"], row["caption_index"]), said["toy", row["image_id"]]
        wrong = row["caption_index"] == 1
        assert by_caption["CHAIRi"][key] == pytest.approx(2 / 3 if wrong else 0)
        assert by_caption["CHAIRs"][key] == wrong
        assert by_caption["object recall"][key] == pytest.approx(1 / len(drawn) if wrong else 1)


def test_no_corpus_with_objects(toy, tmp_path, answers):
    folder, _ = toy
    with pytest.raises(ValueError, match="CHAIR needs") as caught:
        score_toy(folder, ["bare"], tmp_path / "chair.parquet")
    answers.hold("`objects: toyworld` and a corpus without objects", caught.value, "bare")
    assert not (tmp_path / "chair.parquet").exists()


def test_labels_that_no_category_has(toy, tmp_path, answers, caplog):
    folder, _ = toy
    (tmp_path / "mine.yaml").write_text("categories: {unicorn: []}")
    options = {"categories": tmp_path / "mine.yaml", "settings": {"objects": "mine.yaml"}}
    with caplog.at_level(logging.WARNING), pytest.raises(ValueError, match="CHAIR needs") as caught:
        score_toy(folder, ["toy"], tmp_path / "chair.parquet", **options)
    answers.hold("a list of categories that objects of a corpus are not of", caught.value, "mine.yaml")
    assert "objects are of no category, most of them" in caplog.text


def test_what_the_log_says_of_a_corpus(toy, tmp_path, caplog):
    folder, _ = toy
    captions = [row for row in read_table(folder / "captions.parquet", GENERATED).to_pylist() if row["corpus"] == "toy"]
    (tmp_path / "toy").mkdir()
    objects = read_table(folder / "toy" / "objects.parquet", OBJECTS).to_pylist()
    first = captions[0]["image_id"]
    write_table(tmp_path / "toy" / "objects.parquet", OBJECTS, [row for row in objects if row["image_id"] == first])
    silent = {"words": ["nothing"], "lemmas": ["nothing"], "tags": ["PRON"]}
    tags = [{name: row[name] for name in TAGGED.key} | silent for row in captions]
    write_table(tmp_path / "tags.parquet", TAGGED, tags)
    for table in ("captions.parquet", "toy/tags.parquet"):
        (tmp_path / table).write_bytes((folder / table).read_bytes())
    (tmp_path / "made").mkdir()
    with caplog.at_level(logging.WARNING):
        score_toy(tmp_path, ["toy"], tmp_path / "made" / "chair.parquet")
    assert "toy: 11 of 12 images have no annotated object and are judged by their references alone" in caplog.text
    assert "toy: no caption names an object, so CHAIRi is 0" in caplog.text


# --- single captions ------------------------------------------------------------------------------------------------


def rows_of(*captions):
    """Rows of TAGGED of captions whose words are all nouns, one for each image."""
    return [
        {"corpus": "toy", "image_id": str(image), "caption_index": 0, "words": words, "lemmas": words, "tags": tags}
        for image, words, tags in ((n, text.split(), ["NOUN"] * len(text.split())) for n, text in enumerate(captions))
    ]


@pytest.fixture
def pets(tmp_path):
    (tmp_path / "pets.yaml").write_text("categories: {dog: [puppy], cat: [], fish: []}")
    return read_categories(tmp_path / "pets.yaml")


def test_references_count_and_so_does_each_mention(pets):
    captions = rows_of("cat , puppy , dog", "cat , fish")
    columns = judged(captions, rows_of("one cat", "one dog"), {"0": ["fish"], "1": ["cat"]}, pets)
    assert columns["hallucinated"] == [[False, True, True], [False, True]]
    assert columns["mentions"] == [[3, 2], [2, 1]]
    assert columns["referenced"] == [["cat"], ["dog"]]
    assert columns["recall"] == [[1, 0], [1, 1]]


def test_captions_that_name_nothing_score_0(pets, tmp_path):
    columns = judged(rows_of("a b", "a", ""), [], {"0": ["fish"]}, pets)
    write_table(tmp_path / "chair.parquet", SCORES, columns)
    assert [one.value for one in values_of(tmp_path / "chair.parquet").values()] == [0, 0, 0]
    for one in of_captions(str(tmp_path / "chair.parquet"), {}):
        assert one.values.tolist() == [0, 0, 0]
    for one in values_of(tmp_path / "chair.parquet").values():
        assert np.isfinite(one.resampled).all()


def test_only_so_many_references_as_the_evaluation_has(toy, tmp_path):
    folder, _ = toy
    limited = read_table(score_toy(folder, ["toy"], tmp_path / "a.parquet", references_per_image=1), SCORES)
    every = read_table(score_toy(folder, ["toy"], tmp_path / "b.parquet"), SCORES)
    counts = [sum(map(len, table["referenced"].to_pylist())) for table in (limited, every)]
    assert counts[0] < counts[1]
    split = {row["image_id"]: row["split"] for row in read_table(folder / "toy" / "images.parquet", IMAGES).to_pylist()}
    texts = {}
    for row in read_table(folder / "toy" / "captions.parquet", CAPTIONS).to_pylist():
        if row["caption_index"] == 0 and split[row["image_id"]] == "test":
            texts[row["image_id"]] = row["caption"]
    nouns = {label: [name for n in own_nouns(label) for name in (n.singular, n.plural)] for label in CLASSES}
    for row in limited.to_pylist():
        named = [label for label in CLASSES if names_any(texts[row["image_id"]], nouns[label])]
        assert row["referenced"] == sorted(named)
