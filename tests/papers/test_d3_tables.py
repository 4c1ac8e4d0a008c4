"""Tables and claims of the D3 paper on made-up scores, and what the paper asks of a run."""

import csv

import numpy as np
import pytest
from support.interval_ranges import intervals_outside
from support.paper_jobs import PAPERS, judged, published, run_paper, table_files
from support.plans import config_of

from captionlab.evaluation.metrics.nlg.metric import NLG
from captionlab.evaluation.schemas import ROLE_DIFFERENCES, ROLE_VALUES
from captionlab.papers.d3.config import run_mistakes
from captionlab.papers.d3.evidence import evidence
from captionlab.papers.d3.values import bag_measures, roles_of
from captionlab.reporting.claims.claims import read_claims
from captionlab.storage.schemas import RETRIEVAL
from captionlab.storage.tables import read_table, write_table

IMAGES = 60
CORPORA = {"COCO": "photos", "ImageCoDe": "alike"}
CAPTIONERS = {
    "COCO": {"MLE": "mle", "SR": "sr", "BagCurri": ["bags", "bags-2"]},
    "HolisticCap": {"MLE": "long", "BagCurri": "whole"},
}
BLOCK = {"comparable": True, "evaluations": ["main", "sets"], "corpora": CORPORA, "captioners": CAPTIONERS}
# How many of ten images a captioner's captions find among 100, and in bags of 3 and of 7.
FOUND = {
    "mle": (5, 4, 2),
    "sr": (6, 5, 3),
    "bags": (7, 8, 6),
    "bags-2": (7, 8, 6),
    "long": (6, 6, 4),
    "whole": (8, 9, 8),
}
IN_BAGS = {3: 30, 7: 14}
TABLES = ["d3_truematch", "d3_retrieval"]


def ranks(captioner, corpus):
    """Rows of a caption for each image: by sets or among 100, among all, and in bags of 3 and 7 of the first images."""
    protocols = [("set", 10, IMAGES), ("full", IMAGES, IMAGES)]
    if corpus == "photos":
        protocols = [("file-order", 100, IMAGES), ("full", IMAGES, IMAGES)]
        protocols += [(f"bags of {size}", size, number) for size, number in IN_BAGS.items()]
    good = {"file-order": 0, "set": 0, "full": 0, "bags of 3": 1, "bags of 7": 2}
    return [
        {
            "corpus": corpus,
            "image_id": f"i{image}",
            "caption_index": 0,
            "retriever": retriever,
            "protocol": protocol,
            "candidates": size,
            "rank": 1 if image % 10 < FOUND[captioner][good[protocol]] else 2,
            "chosen": f"i{image}",
        }
        for retriever in ("a", "b")
        for protocol, size, number in protocols
        for image in range(number)
    ]


def nlg_rows(captioner, corpus, cider):
    nothing = {name: [0.0] * IMAGES for name in NLG.columns}
    nothing |= {"bleu_counts": [[0] * 10] * IMAGES, "meteor_statistics": [[0.0] * 23] * IMAGES}
    key = {"corpus": [corpus] * IMAGES, "image_id": [f"i{n}" for n in range(IMAGES)], "caption_index": [0] * IMAGES}
    spread = cider + 0.1 * np.random.default_rng(IMAGES).standard_normal(IMAGES).clip(-1, 1)
    return {**nothing, **key, "captioner": [captioner] * IMAGES, "cider": spread}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Inputs and parameters of the job that measures."""
    inputs, cells, folder = {"nlg": [], "retrieval": []}, [], tmp_path_factory.mktemp("scored")
    for role, names in roles_of(CAPTIONERS).items():
        for name in names:
            for evaluation, corpus in zip(BLOCK["evaluations"], CORPORA.values(), strict=True):
                rows, kinds = ranks(name, corpus), {"retrieval": RETRIEVAL, "nlg": NLG}
                columns = {column: [row[column] for row in rows] for column in RETRIEVAL.columns}
                # A captioner that is rewarded for telling images apart loses similarity.
                content = {"retrieval": columns, "nlg": nlg_rows(name, corpus, 1.0 - FOUND[name][0] / 20)}
                for table, kind in kinds.items():
                    inputs[table].append(str(folder / f"{name}_{corpus}_{table}.parquet"))
                    write_table(inputs[table][-1], kind, content[table])
                job = {"captioner": name, "evaluation": evaluation, "decoding": "greedy", "splits": {corpus: "test"}}
                cells.append({"role": role, "corpus": corpus, "job": job})
    return inputs, cells


@pytest.fixture(scope="module")
def measured(made, tmp_path_factory):
    (inputs, cells), folder = made, tmp_path_factory.mktemp("measured")
    outputs = {table: folder / f"{table}.parquet" for table in ("values", "differences")}
    run_paper("summarise", "d3", inputs, outputs, cells=cells, seed=1)
    return outputs


def tabulated(measured, cells, folder, block=BLOCK):
    files = table_files(folder, TABLES)
    run_paper("tabulate", "d3", measured, {"tables": [*files.values()]}, config=block, cells=cells)
    return files


def records(path):
    with open(path, newline="") as file:
        return {(row["subject"], row["corpus"], row["measure"], row["scorer"]): row for row in csv.DictReader(file)}


def share(captioner, place, number):
    return 100 * sum(image % 10 < FOUND[captioner][place] for image in range(number)) / number


def test_retrieval_in_bags_is_a_measure_for_each_size(measured):
    rows = read_table(measured["values"], ROLE_VALUES).to_pylist()
    found = {(row["subject"], row["corpus"], row["measure"], row["scorer"]): row for row in rows}
    assert {measure for *_, measure, _ in found} == {"CIDEr", "P@1", "bags of 3", "bags of 7"}
    assert ("COCO SR", "alike", "bags of 3", "a") not in found
    for size, place in ((3, 1), (7, 2)):
        for role, name in (("COCO SR", "sr"), ("HolisticCap BagCurri", "whole")):
            row = found[role, "photos", f"bags of {size}", "b"]
            assert row["value"] == pytest.approx(share(name, place, IN_BAGS[size]))
            assert (row["n"], row["seeds"]) == (IN_BAGS[size], 1)
            assert row["ci_low"] < row["value"] < row["ci_high"]
    twice = found["COCO BagCurri", "photos", "P@1", "a"]
    assert (twice["value"], twice["seeds"], twice["n"]) == (pytest.approx(70), 2, IMAGES)
    assert found["COCO SR", "alike", "P@1", "a"]["value"] == pytest.approx(60)
    assert found["COCO MLE", "photos", "CIDEr", None]["value"] == pytest.approx(75, abs=3)


def test_tables_have_the_roles_in_the_order_of_the_paper(measured, made, tmp_path):
    files = tabulated(measured, made[1], tmp_path)
    bags = records(files["d3_truematch", "csv"])
    assert {(corpus, measure) for _, corpus, measure, _ in bags} == {("photos", "bags of 3"), ("photos", "bags of 7")}
    assert float(bags["COCO SR", "photos", "bags of 7", "a"]["value"]) == pytest.approx(share("sr", 2, 14))
    others = records(files["d3_retrieval", "csv"])
    assert {(corpus, measure) for _, corpus, measure, _ in others} == {
        (corpus, measure) for corpus in CORPORA.values() for measure in ("P@1", "CIDEr")
    }
    for table, blocks in ((TABLES[0], 1), (TABLES[1], 2)):
        lines = [line.split("|")[1].strip() for line in files[table, "md"].read_text().splitlines() if line[:2] == "| "]
        assert [line for line in lines if line in roles_of(CAPTIONERS)] == [*roles_of(CAPTIONERS)] * blocks
    found, intervals = intervals_outside(tmp_path)
    assert found == []
    assert intervals > 20
    page = files["d3_truematch", "html"].read_text()
    assert (
        "corpus=photos&amp;evaluation=main&amp;a=sr&amp;metric=P%401&amp;retriever=a&amp;candidates=bags+of+3" in page
    )


def test_claims_are_judged_as_they_come_out(measured):
    inputs = {"differences": measured["differences"], "published": PAPERS / "d3" / "published.csv"}
    found = evidence(inputs, {"config": BLOCK})
    claims = read_claims(PAPERS / "d3" / "claims.yaml", "d3")
    rows = judged(claims, found.differences, "d3", published("d3")).records
    verdicts = {(row["claim"], row["scope"]): row["verdict"] for row in rows}
    assert verdicts["method-beats-previous", "by a"] == verdicts["method-beats-previous-imagecode", "by b"] == "holds"
    assert verdicts["bags-beat-random-batches", "by a, bags of 3"] == "holds"
    assert verdicts["self-retrieval-less-faithful", "all comparisons"] == "holds"
    assert verdicts["boosted-method-beats-generic", "by b, bags of 7"] != "fails"
    printed = {
        (row["subject"], row["against"], row["corpus"], row["measure"]): found.printed(row) for row in found.differences
    }
    assert {place: value for place, value in printed.items() if value is not None} == {
        ("HolisticCap BagCurri", "COCO SR", "COCO", "P@1"): 8.9,
        ("HolisticCap BagCurri", "COCO SR", "ImageCoDe", "P@1"): 7.6,
    }


def test_a_captioner_that_finds_less_fails_the_claim(measured):
    claims = read_claims(PAPERS / "d3" / "claims.yaml", "d3")
    rows = read_table(measured["differences"], ROLE_DIFFERENCES).to_pylist()
    labels = {corpus: label for label, corpus in CORPORA.items()}
    swapped = {"HolisticCap BagCurri": "COCO SR", "COCO SR": "HolisticCap BagCurri"}
    turned = [
        {
            **row,
            "corpus": labels[row["corpus"]],
            **{side: swapped.get(row[side], row[side]) for side in ("subject", "against")},
        }
        for row in rows
    ]
    found = {(row["claim"], row["scope"]): row["verdict"] for row in judged(claims, turned, "d3").records}
    assert found["method-beats-previous", "by a"] == "does not hold"


def test_sizes_of_bags_are_in_the_order_of_numbers():
    assert bag_measures(["CIDEr", "bags of 10", "bags of 3", "P@1", "bags of 3"]) == ["bags of 3", "bags of 10"]


# --- the plan ---


def test_the_overlay_asks_for_the_tables(planned):
    plan = planned(config_of("config", "toy_d3"))
    assert plan.tables("d3") == TABLES
    cells = plan.job("summarise_d3").params["cells"]
    assert {(cell["role"], cell["corpus"]) for cell in cells} == {
        (role, corpus)
        for role in (
            "COCO MLE",
            "COCO SR",
            "COCO BagCurri",
            "COCO CIDEr+SR",
            "HolisticCap MLE",
            "HolisticCap BagCurri",
        )
        for corpus in ("toy-coco", "toy-lookalikes")
    }
    job = plan.job("retrieve_images", captioner="toy-d3-coco", evaluation="d3")
    assert job.inputs["bag_features"] == ["results/features/toy-clip-b/toy-coco/0-of-1.parquet"]
    assert job.params["config"]["bags"] == {"encoder": "toy-clip-b", "sizes": [3, 5, 7], "number": 100}
    job = plan.job("finetune_captioner", captioner="toy-d3-coco")
    assert job.inputs["bag_features"] == ["results/features/toy-clip-a/toy-coco/0-of-1.parquet"]
    assert plan.job("check_claims").inputs.keys() >= {"d3_differences", "d3_claims", "d3_published", "d3_cells"}


def test_a_run_without_the_paper_has_no_bags(planned):
    plan = planned(config_of("config"))
    assert not plan.of("summarise_d3")
    job = plan.job("retrieve_images", captioner="human", evaluation="main")
    assert job.inputs["bag_features"] == []
    assert job.params["config"] == {"candidate_sets": "file-order", "candidates": 100}
    finetuning = plan.job("finetune_captioner", captioner="toy-discritune-coco")
    assert finetuning.inputs["bag_features"] == []
    assert "bags" not in finetuning.params["config"]["objective"]


def test_the_full_scale_is_planned(planned):
    plan = planned(config_of("paper", "d3"))
    bags = plan.job("finetune_captioner", captioner="d3-coco").params["config"]["objective"]["bags"]
    # From the first epoch on that the code's `curricullum`, which has last epochs, gives a size to.
    last, expected = {3: 2, 8: 3, 10: 5, 12: 7, 14: 10, 17: 15, 20: 20}, {}
    for epoch in range(20):
        expected[epoch + 1] = next(size for end, size in last.items() if end > epoch)
    found = {epoch: [one["size"] for one in bags["sizes"] if one["epoch"] <= epoch][-1] for epoch in expected}
    assert found == expected
    assert plan.tables("d3") == TABLES


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"evaluations": ["questions"]}, "evaluations has 'questions', which has no retrievers"),
        ({"evaluations": ["d3-lookalikes"]}, "evaluations has none with `bags` on corpus 'toy-coco'"),
        ({"corpora": {"COCO": "toy-flickr"}}, "corpora.COCO is 'toy-flickr', which none of its evaluations has"),
        ({"captioners": {"COCO": {"SR": "toy-fc"}}}, "captioners.COCO.SR is 'toy-fc': exactly one of its evaluations"),
    ],
)
def test_mistakes_are_sentences(change, sentence):
    config = config_of("config", "toy_d3")
    config["evaluations"]["questions"].setdefault("retrievers", [])
    assert any(sentence in found for found in run_mistakes(config, "papers.d3", {**config["papers"]["d3"], **change}))
