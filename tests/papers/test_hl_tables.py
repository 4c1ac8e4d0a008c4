"""The table and claims of the HL paper on made-up captions, scored for real, and what the paper asks of a run."""

import csv

import numpy as np
import pytest
import sacrebleu
from support.answers import Answers
from support.interval_ranges import intervals_outside
from support.paper_jobs import PAPERS, ROOT, judged, published, run_paper, table_files
from support.plans import config_of

from captionlab.evaluation.metrics.nlg.metric import NLG
from captionlab.evaluation.metrics.sacrebleu.metric import SCORES, score_corpus
from captionlab.evaluation.schemas import ROLE_DIFFERENCES, ROLE_VALUES
from captionlab.papers.hl.config import run_mistakes
from captionlab.papers.hl.evidence import evidence
from captionlab.reporting.claims.claims import read_claims
from captionlab.storage.schemas import GENERATED
from captionlab.storage.tables import read_table, write_table

CORPORA = {"scene": "places", "rationale": "reasons", "object": "things"}
REFERENCES = ["in a big red car at night", "the man is at the beach today"]
# How many of ten captions of a captioner say what people said.
GOOD = {"clip": 9, "clip-2": 9, "blip": 5, "git": 1}
MODELS = {"ClipCap": ["clip", "clip-2"], "BLIP": ["blip"], "GIT": ["git"]}
IMAGES = 60


def captions(captioner, corpus):
    texts = {f"i{n}": REFERENCES[n % 2] for n in range(IMAGES)}
    return [
        {
            "corpus": corpus,
            "image_id": image,
            "caption_index": 0,
            "caption": text if n % 10 < GOOD[captioner] else "a red car",
            "log_prob": None,
            "confidence": None,
        }
        for n, (image, text) in enumerate(texts.items())
    ], {image: [text] for image, text in texts.items()}


def nlg_rows(captioner, rows):
    """A row for each caption whose CIDEr and ROUGE-L say whether it is a good one, and nothing else."""
    good = np.array([row["caption"] != "a red car" for row in rows], dtype=float)
    nothing = {name: [0.0] * len(rows) for name in NLG.columns}
    nothing |= {"bleu_counts": [[0] * 10] * len(rows), "meteor_statistics": [[0.0] * 23] * len(rows)}
    key = {name: [row[name] for row in rows] for name in ("corpus", "image_id", "caption_index")}
    return {**nothing, **key, "captioner": [captioner] * len(rows), "cider": good * 2, "rouge_l": good / 2}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Inputs and parameters of the job that measures: three axes, and a GIT that describes no objects."""
    inputs, cells, folder = {"nlg": [], "sacrebleu": [], "captions": []}, [], tmp_path_factory.mktemp("scored")
    for axis, corpus in CORPORA.items():
        for model, names in MODELS.items():
            for name in names if (axis, model) != ("object", "GIT") else []:
                rows, references = captions(name, corpus)
                others, _ = captions(name, "elsewhere")
                parts = {
                    "nlg": (NLG, nlg_rows(name, [*rows, *others])),
                    "sacrebleu": (SCORES, score_corpus(corpus, [*rows, *others], references)),
                    "captions": (GENERATED, rows),
                }
                for table, (kind, content) in parts.items():
                    inputs[table].append(str(folder / f"{name}_{axis}_{table}.parquet"))
                    write_table(inputs[table][-1], kind, content)
                splits = {corpus: "test", "elsewhere": "val"}
                job = {"captioner": name, "evaluation": axis, "decoding": "beam5", "splits": splits}
                cells.append({"axis": axis, "corpus": corpus, "model": model, "job": job})
    return inputs, cells


BLOCK = {"comparable": True, "corpora": CORPORA, "models": {name: {} for name in MODELS}}


@pytest.fixture(scope="module")
def measured(made, tmp_path_factory):
    (inputs, cells), folder = made, tmp_path_factory.mktemp("measured")
    outputs = {table: folder / f"{table}.parquet" for table in ("values", "differences")}
    run_paper("summarise", "hl", inputs, outputs, cells=cells, seed=1)
    return outputs


def tabulated(measured, cells, folder, block=BLOCK):
    files = table_files(folder, ["hl_baselines"])
    versions = {"sacrebleu": sacrebleu.__version__}
    run_paper("tabulate", "hl", measured, {"tables": [*files.values()]}, config=block, cells=cells, versions=versions)
    return files


def test_metrics_are_those_of_the_corpus_of_the_axis_and_means_over_trainings(measured):
    rows = read_table(measured["values"], ROLE_VALUES).to_pylist()
    found = {(row["subject"], row["corpus"], row["measure"]): row for row in rows}
    assert {corpus for _, corpus, _ in found} == {*CORPORA.values()}
    assert {measure for *_, measure in found} == {"CIDEr", "SacreBLEU", "ROUGE-L"}
    assert ("GIT", "things", "CIDEr") not in found
    clip = found["ClipCap", "places", "CIDEr"]
    assert (clip["value"], clip["seeds"], clip["n"]) == (pytest.approx(100 * 2 * 0.9), 2, IMAGES)
    assert found["BLIP", "reasons", "ROUGE-L"]["value"] == pytest.approx(25)
    said, references = captions("blip", "places")
    streams = [[references[row["image_id"]][0] for row in said]]
    assert found["BLIP", "places", "SacreBLEU"]["value"] == sacrebleu.corpus_bleu(
        [row["caption"] for row in said], streams
    ).score  # fmt: skip


def test_every_model_is_held_against_every_other(measured):
    rows = read_table(measured["differences"], ROLE_DIFFERENCES).to_pylist()
    found = {(row["subject"], row["against"], row["corpus"], row["measure"]): row for row in rows}
    assert len(found) == (6 + 6 + 2) * 3
    row, back = found["BLIP", "GIT", "places", "CIDEr"], found["GIT", "BLIP", "places", "CIDEr"]
    assert row["difference"] == pytest.approx(100 * 2 * 0.4) == pytest.approx(-back["difference"])
    assert 0 < row["ci_low"] < row["difference"] < row["ci_high"]
    # On the same images: narrower than if of different ones.
    values = {
        (one["subject"], one["corpus"]): one["ci_high"] - one["ci_low"]
        for one in read_table(measured["values"], ROLE_VALUES).to_pylist()
        if one["measure"] == "CIDEr"
    }
    apart = np.hypot(values["BLIP", "places"], values["GIT", "places"])
    assert row["ci_high"] - row["ci_low"] < apart


def test_numbers_stand_beside_the_published_ones(measured, made, tmp_path):
    files = tabulated(measured, made[1], tmp_path)
    with open(files["hl_baselines", "csv"], newline="") as file:
        rows = {(row["subject"], row["corpus"], row["measure"]): row for row in csv.DictReader(file)}
    assert rows["ClipCap", "places", "CIDEr"]["published"] == "145.00"
    assert rows["ClipCap", "places", "CIDEr"]["verdict"] == "differs"
    assert rows["GIT", "reasons", "SacreBLEU"]["published"] == "5.90"
    assert rows["BLIP", "things", "CIDEr"]["published"] == ""
    text = files["hl_baselines", "md"].read_text()
    lines = [line.split("|")[1].strip() for line in text.splitlines() if line.startswith("| ")]
    blocks = [f"**{axis} (here {CORPORA[axis]}, {IMAGES} images)**" for axis in CORPORA]
    models = ["GIT", "BLIP", "ClipCap"]
    assert lines[-12:] == [line for block in blocks for line in (block, *models)]
    assert "Trainings of a model: 1 to 2." in text
    library = sacrebleu.BLEU()
    library.corpus_score(["a"], [["a"]])
    assert library.get_signature().format().removeprefix("nrefs:1|") in text.replace("\\", "")
    page = files["hl_baselines", "html"].read_text()
    assert "corpus=places&amp;evaluation=scene&amp;a=clip&amp;metric=SacreBLEU" in page
    context = tabulated(measured, made[1], tmp_path, {**BLOCK, "comparable": False})["hl_baselines", "csv"].read_text()
    assert "differs" not in context


def verdicts(measured):
    inputs = {"differences": measured["differences"], "published": PAPERS / "hl" / "published.csv"}
    found = evidence(inputs, {"config": BLOCK})
    claims = read_claims(PAPERS / "hl" / "claims.yaml", "hl")
    return {
        (row["claim"], row["scope"]): row for row in judged(claims, found.differences, "hl", published("hl")).records
    }


def test_no_interval_lies_outside_of_the_range_of_its_measure(measured, made, tmp_path):
    tabulated(measured, made[1], tmp_path)
    found, intervals = intervals_outside(tmp_path)
    assert found == []
    assert intervals > 10


def test_claims_are_judged_on_each_axis(measured):
    found = verdicts(measured)
    ahead = found["clipcap-ahead-on-axes", "scene"]
    assert (ahead["verdict"], ahead["comparisons"], ahead["as_claimed"]) == ("holds", 6, 6)
    assert "the paper's +" in ahead["smallest_difference"]
    assert found["blip-ahead-of-git", "rationale"]["verdict"] == "holds"
    assert found["blip-ahead-of-git", "rationale"]["comparisons"] == 2
    assert ("clipcap-ahead-on-axes", "object") not in found
    narrative = found["clipcap-behind-on-narratives", "all comparisons"]
    assert (narrative["comparisons"], narrative["evidence"]) == (0, "tested with narratives (`config/hl.yaml`)")


def test_numbers_that_are_others_on_the_pages_of_the_weights_have_a_note():
    """Looked up on all twelve pages; docs/fidelity.md lists the same."""
    found = {place: value for place, value in published("hl").values.items() if value.note}
    assert {(row, column, metric): (value.text, value.note) for (_, row, column, metric), value in found.items()} == {
        ("GIT", "action", "ROUGE-L"): ("30.43", "30.45 on the page of its weights"),
        ("GIT", "rationale", "ROUGE-L"): ("18.57", "18.55 on the page of its weights"),
        ("BLIP", "scene", "CIDEr"): ("116.00", "116.70 on the page of its weights"),
        ("ClipCap", "scene", "CIDEr"): ("145.00", "145.93 on the page of its weights"),
    }
    page = (ROOT / "docs" / "fidelity.md").read_text(encoding="utf-8")
    assert all(value.note.partition(" ")[0] in page for value in found.values())


def test_what_is_published_bears_the_claims_out():
    """Each claim is read off the published table: its numbers, put in the place of ours, are on its side."""
    with open(PAPERS / "hl" / "published.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    value = {(row["row"], row["column"], row["metric"]): float(row["value"]) for row in rows}
    assert len(value) == len(rows) == 3 * 4 * 3
    differences = [
        {
            **dict.fromkeys(ROLE_DIFFERENCES.columns), "subject": one, "against": other, "corpus": axis,
            "measure": measure, "experiment": "generated", "difference": apart, "ci_low": apart - 0.1,
            "ci_high": apart + 0.1, "seeds": 1, "n": 1499,
        }
        for one, axis, measure in value for other in MODELS if other != one
        for apart in [value[one, axis, measure] - value[other, axis, measure]]
    ]  # fmt: skip
    claims = read_claims(PAPERS / "hl" / "claims.yaml", "hl")
    assert [row["verdict"] for row in judged(claims, differences, "hl").records] == ["holds"] * (3 + 1 + 4)


# --- the plan ---


@pytest.fixture
def config():
    """The toy world with its overlay."""
    return config_of("config", "toy_hl")


def cells(plan):
    return plan.job("summarise_hl").params["cells"]


def test_the_overlay_asks_for_the_table(config, planned):
    plan = planned(config)
    assert plan.tables("hl") == ["hl_baselines"]
    assert [(cell["axis"], cell["model"], cell["job"]["captioner"]) for cell in cells(plan)] == [
        ("object", "BLIP", "toy-blip-object"), ("scene", "BLIP", "toy-blip-scene"),
        ("object", "ClipCap", "toy-clipcap-object"), ("scene", "ClipCap", "toy-clipcap-scene"),
        ("object", "GIT", "toy-git-object"), ("scene", "GIT", "toy-git-scene"),
    ]  # fmt: skip
    sacrebleu = plan.job("summarise_hl").inputs["sacrebleu"]
    assert sacrebleu[1] == "results/evaluation/toy-blip-scene/scene-axis/sacrebleu.parquet"
    assert plan.job("tabulate_hl").inputs["values"] == "results/reporting/hl/values.parquet"
    assert plan.job("check_claims").inputs.keys() >= {"hl_differences", "hl_claims", "hl_published", "hl_cells"}


def test_the_published_models_are_planned_on_every_axis(planned):
    """config/hl.yaml, with all files that it names in their places."""
    plan = planned(config_of("hl"))
    found = {(cell["model"], cell["axis"]): cell["job"] for cell in cells(plan)}
    rows, columns = published("hl").rows("baselines"), published("hl").columns("baselines")
    assert found.keys() == {(model, axis) for model in rows for axis in columns}
    assert {model: {job["decoding"] for (name, _), job in found.items() if name == model} for model in MODELS} == {
        "ClipCap": {"beam5"}, "BLIP": {"nucleus"}, "GIT": {"nucleus"},
    }  # fmt: skip
    assert (len(plan.of("import_captioner")), len(plan.of("import_encoder"))) == (12, 9)
    assert len(plan.of("score_captions", table="sacrebleu")) == 12


def test_only_evaluations_that_ask_for_it_have_sacrebleu(config, planned):
    jobs = planned(config).of("score_captions", table="sacrebleu")
    assert {job.wildcards["evaluation"] for job in jobs} == {"scene-axis", "object-axis"}
    assert not planned(config_of("config")).of("score_captions", table="sacrebleu")


def test_several_trainings_of_a_model(config, planned):
    config["captioners"]["toy-blip-scene"]["seeds"] = [1, 2]
    plan = planned(config, "results/reporting/hl/values.parquet")
    names = [cell["job"]["captioner"] for cell in cells(plan) if cell["model"] == "BLIP"]
    assert names == ["toy-blip-object", "toy-blip-scene", "toy-blip-scene-2"]


@pytest.mark.parametrize(
    ("what", "change", "names"),
    [
        (
            "a model of an axis without a corpus",
            lambda paper, evaluations: paper["corpora"].pop("scene"),
            "papers.hl.models.BLIP.scene has no corpus",
        ),
        (
            "a model that no evaluation has SacreBLEU of",
            lambda paper, evaluations: evaluations["scene-axis"].update(sacrebleu=False),
            "papers.hl.models.BLIP.scene",
        ),
        (
            "a model that two evaluations have SacreBLEU of",
            lambda paper, evaluations: evaluations.update(again=evaluations["scene-axis"]),
            "again, scene-axis",
        ),
    ],
)
def test_a_mistake_is_a_sentence(config, answers: Answers, what, change, names):
    change(config["papers"]["hl"], config["evaluations"])
    said, *_ = run_mistakes(config, "papers.hl", config["papers"]["hl"])
    answers.hold(what, said, names)
