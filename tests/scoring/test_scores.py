"""Scores and differences, held against the workflow's tables, pycocoevalcap and the files that people mix up."""

import random

import numpy as np
import pandas as pd
import pytest
from pycocoevalcap.cider.cider import Cider
from pycocoevalcap.meteor.meteor import Meteor
from pycocoevalcap.rouge.rouge import Rouge

import captionlab
from captionlab.evaluation.java import JavaError
from captionlab.evaluation.metrics.nlg import metric as nlg
from captionlab.evaluation.metrics.sacrebleu import metric as sacrebleu
from captionlab.evaluation.ptb import tokenize
from captionlab.evaluation.summary import Job, comparison_columns, summary_columns
from captionlab.scoring.measuring import METRICS
from captionlab.scoring.scores import ScoringError
from captionlab.storage.tables import write_table

WORDS = [
    "a",
    "the",
    "dog",
    "cat",
    "man",
    "woman",
    "red",
    "blue",
    "on",
    "in",
    "with",
    "ball",
    "tree",
    "house",
    "sitting",
    "running",
    "big",
    "small",
    "street",
]


def texts(seed, images=40):
    """Captions of two captioners, and three references for each image."""
    generator = random.Random(seed)

    def text():
        return " ".join(generator.choices(WORDS, k=generator.randint(4, 9))).capitalize() + "."

    references = {image: [text() for _ in range(3)] for image in range(images)}
    base = {image: text() for image in references}
    near = {image: generator.choice([base[image], references[image][0]]) for image in references}
    return {"base": base, "near": near}, references


def tokens_of(references):
    """The tokens of all references, by image, from one process as in rule tokenize_references."""
    tokens = iter(tokenize([text for of_image in references.values() for text in of_image]))
    return {str(image): [next(tokens) for _ in of_image] for image, of_image in references.items()}


@pytest.fixture(scope="module")
def material():
    return texts(3)


@pytest.fixture(scope="module")
def summary(material, tmp_path_factory):
    """The workflow's tables of values and differences of the same captions, made by the functions of its rules."""
    captions, references = material
    path = tmp_path_factory.mktemp("nlg") / "nlg.parquet"
    tokens = tokens_of(references)
    rows = []
    said = {
        name: dict(zip([(str(i), 0) for i in of_captioner], tokenize([*of_captioner.values()]), strict=True))
        for name, of_captioner in captions.items()
    }
    texts = [text for of_one in said.values() for text in of_one.values()]
    texts += [text for of_image in tokens.values() for text in of_image]
    with nlg.meteor_process(texts) as meteor:
        for name, own in said.items():
            columns = nlg.score_corpus(name, "c", own, tokens, meteor)
            rows += [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    write_table(path, nlg.NLG, rows)
    results = []
    for name in captions:
        results += nlg.results(Job(name, "e", "given", {"c": "test"}), str(path), 1)
    return summary_columns(results, {}), comparison_columns(results, {"base": "near"}, {}, {})


def test_values_are_those_of_the_workflow(material, summary):
    captions, references = material
    for name, of_captioner in captions.items():
        found = captionlab.score(of_captioner, references)
        rows = [dict(zip(summary[0], row, strict=True)) for row in zip(*summary[0].values(), strict=True)]
        expected = [row for row in rows if row["captioner"] == name]
        assert list(found["metric"]) == [row["metric"] for row in expected]
        for column in ("value", "ci_low", "ci_high", "n"):
            assert list(found[column]) == [row[column] for row in expected]


def test_differences_are_those_of_the_workflow(material, summary):
    captions, references = material
    found = captionlab.compare(captions, references)
    for column in ("metric", "difference", "ci_low", "ci_high", "p_value", "test", "n"):
        assert list(found[column]) == summary[1][column]
    assert list(found["p_holm"]) == list(found["p_value"])  # of a single pair


def test_values_are_those_of_pycocoevalcap(material):
    captions, references = material
    found = captionlab.score(captions["near"], references).set_index("metric")["value"]
    truths = tokens_of(references)
    results = {image: [text] for image, text in zip(truths, tokenize([*captions["near"].values()]), strict=True)}
    for name, scorer in (("METEOR", Meteor()), ("ROUGE-L", Rouge()), ("CIDEr", Cider())):
        assert found[name] == pytest.approx(100 * scorer.compute_score(truths, results)[0], abs=1e-9)


def test_only_the_asked_metrics_in_one_order(material):
    captions, references = material
    found = captionlab.score(captions["base"], references, metrics=["sacrebleu", "cider"])
    assert list(found["metric"]) == ["CIDEr", "SacreBLEU"]


def test_three_captioners_and_holm():
    captions, references = texts(5)
    found = captionlab.compare({**captions, "again": captions["base"]}, references, metrics=["cider"])
    assert list(zip(found["captions"], found["against"], strict=True)) == [
        ("base", "near"),
        ("base", "again"),
        ("near", "again"),
    ]
    assert found["difference"][1] == 0
    assert found["p_value"][1] == found["p_holm"][1] == 1
    assert found["p_holm"][0] == pytest.approx(3 * found["p_value"][0])


@pytest.mark.parametrize(
    ("captions", "message"),
    [
        ({"9": "x"}, "1 image ids .'9'. of 1 have no references in references, whose ids are like '0'"),
        ({f"00{image}": "x" for image in range(3)}, "without zeros at the beginning they would fit"),
        ({f"val/{image}.jpg": "x" for image in range(3)}, "without the folders of their paths they would fit"),
        ({"1": "x", "2": "x"}, "1 image ids .'0'. of 3 in references have no caption.*captioned-only"),
        ([{"image_id": 1, "caption": "x"}] * 2, "more than one caption.*They come last"),
        ({"1": "x", "1.jpg": "x"}, "two ids stand for the image '1'"),
    ],
)
def test_captions_and_references_of_other_images(captions, message):
    references = {image: ["a dog"] for image in range(3)}
    with pytest.raises(ValueError, match=message):
        captionlab.score(captions, references, metrics=["sacrebleu"])


def test_names_of_image_files_are_ids():
    references = {"42": ["a dog"], "7": ["a cat"]}
    captions = {"COCO_val2014_000000000042.jpg": "a dog", "7.jpg": "a cat"}
    assert captionlab.score(captions, references, metrics=["sacrebleu"])["n"].tolist() == [2]


def test_only_captioned_images():
    references = {image: ["a dog runs on the street"] for image in range(3)}
    found = captionlab.score({1: "a dog"}, references, metrics=["sacrebleu"], captioned_only=True)
    assert found["n"].tolist() == [1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metrics": ["bertscore"]}, "there is no metric 'bertscore'; there are bleu, meteor"),
        ({"metrics": ["clipscore"]}, "clipscore needs `images`"),
        ({"metrics": ["chair"]}, "chair needs `objects`"),
    ],
)
def test_a_metric_that_cannot_be_had(options, message):
    with pytest.raises(ScoringError, match=message):
        captionlab.score({1: "a"}, {1: ["a"]}, **options)


def test_a_comparison_of_one():
    with pytest.raises(ScoringError, match="two captioners or more"):
        captionlab.compare({"a": {1: "x"}}, {1: ["a"]})


def test_without_java_a_sentence_says_what_runs(monkeypatch):
    monkeypatch.setenv("JAVA", "/no/java")
    captions, references = {1: "a dog", 2: "a cat"}, {1: ["a dog"], 2: ["a cat"]}
    with pytest.raises(JavaError, match=r"bleu, meteor, rouge-l, cider need Java, and sacrebleu, .* do without"):
        captionlab.score(captions, references)
    assert captionlab.score(captions, references, metrics=["sacrebleu"])["n"].tolist() == [2]


def test_chair_names_objects_that_are_not_there(tmp_path):
    instances = tmp_path / "instances.json"
    instances.write_text(
        '{"images": [{"id": 1}, {"id": 2}], "categories": [{"id": 5, "name": "dog"}], "annotations": '
        '[{"image_id": 1, "category_id": 5, "bbox": [0, 0, 1, 1]}, '
        '{"image_id": 2, "category_id": 5, "bbox": [0, 0, 1, 1]}]}'
    )
    captions, references = {1: "a dog", 2: "a dog and a cat"}, {1: ["a dog"], 2: ["the dog"]}
    found = captionlab.score(captions, references, metrics=["chair"], objects=instances).set_index("metric")["value"]
    assert found["CHAIRs"] == 50
    assert found["CHAIRi"] == pytest.approx(100 / 3)


def test_a_metric_of_the_workflow_is_there():
    assert {"bleu", "meteor", "rouge-l", "cider", "spice", "clipscore", "chair"} <= {*METRICS}
    assert sacrebleu.METRICS.keys() == {"SacreBLEU"}


@pytest.mark.parametrize(("options", "named"), [({"metrics": "bleu"}, r"\['bleu'\]"), ({"seed": -1}, "seed is -1")])
def test_wrong_options_are_named(options, named):
    with pytest.raises(ScoringError, match=named):
        captionlab.score({1: "a dog"}, {1: ["a dog"]}, **options)


def test_ids_of_numpy_are_whole_numbers():
    captions, ids = ["a dog", "a cat"], np.arange(2)
    by_image = dict(zip(ids, captions, strict=True))
    records = [{"image_id": image, "caption": text} for image, text in by_image.items()]
    for source in (by_image, records):
        assert captionlab.score(source, {0: ["a dog"], 1: ["a cat"]}, metrics=["sacrebleu"])["n"].tolist() == [2]


def test_sources_of_other_types_are_named():
    references = {1: ["a dog"]}
    with pytest.raises(ValueError, match="captions are a Series"):
        captionlab.score(pd.Series({1: "a dog"}), references)
    with pytest.raises(ScoringError, match="captions are a list"):
        captionlab.compare([{1: "a dog"}, {1: "a cat"}], references)
