"""Cards of models: of every family, read back by huggingface_hub, with nothing invented and nothing of this machine."""

from dataclasses import replace

import numpy as np
import pytest
from huggingface_hub import ModelCard
from huggingface_hub.repocard_data import eval_results_to_model_index, model_index_to_eval_results
from safetensors.numpy import save_file
from support.reporting_run import compared, retrieved, row

from captionlab.plugins import facts, headline
from captionlab.reporting.documents.card_results import Results, hub_results
from captionlab.reporting.documents.facts import Counts, Trained, Validated, counts, parameters, updates, validated
from captionlab.reporting.documents.model_cards import TOY, UNKNOWN, Context, card_text
from captionlab.reporting.tables.formats.csv import read_records
from captionlab.storage.schemas import CAPTIONS, IMAGES, REJECTS, TRAINING
from captionlab.storage.tables import write_table

SECTIONS = ("captioners", "encoders", "scorers")
FAMILIES = [(section, family) for section in SECTIONS for family in facts(section)]
CORPUS = {"reader": "karpathy", "toy": False, "split": "test", "hub": "me/pictures", "sources": []}
MADE = {
    "commit": "abc", "device": "GPU_1 <x>", "python": "3.11.7",
    "params": {
        "seed": 7, "versions": {"torch": "2"},
        "config": {"lr": 0.1, "list": "/home/me/secret.txt", "lists": ["/home/me/my own/a.txt", "b/c.txt"]},
    },
}  # fmt: skip
SUMMARY = [
    row("mine", "coco", "CIDEr", 50.0),
    row("mine", "coco", "BLEU@1", 40.0),
    row("mine", "coco", "CIDEr", 51.0, seeds=3),
    retrieved("mine", "coco", 70.0),
    retrieved("mine", "coco", 30.0, candidates="full"),
    row("other", "coco", "CIDEr", 99.0),
    retrieved("people", "coco", 61.0, retriever="mine"),
]
COMPARISONS = [compared("mine", "base", "coco", "CIDEr", 2.5, 1.0)]


def described(section="captioners", family="clipcap", **changes):
    line = [
        {"name": "mine", "way": "finetuned", "corpus": "coco"}, {"name": "base", "way": "imported", "corpus": None},
    ]  # fmt: skip
    return {
        "section": section, "name": "mine", "family": family, "headline": headline(section, family),
        "reads": "pixels" if section == "encoders" else facts(section)[family].reads, "job": "train/mine",
        "line": line if section == "captioners" else line[:1], "names": {"encoder": "clip"}, "rewards": [],
        "select": True, "snapshot_of": None, "trainings": [], "papers": {"paper": ["A|B"]},
        "sources": [{"what": "weights", "licence": "MIT", "repository": "them/base"}], **changes,
    }  # fmt: skip


def trained(**changes):
    of = changes.pop("described", described())
    cost = {"seconds": 61.0, "cpu_seconds": 30.0, "memory_mb": 5.0, "gpu_seconds": 0.0, "gpu_memory_mb": 0.0}
    config = {"architecture": {"width": 8}}
    return Trained(of, config, 1234, MADE, **{"cost": cost, "updates": 20, "validated": None, **changes})


def context(corpus=CORPUS, validity=()):
    results = Results(SUMMARY, COMPARISONS, ["people"], {"coco": corpus["hub"]})
    software = {"title": "captionlab", "version": "1", "repository-code": "https://example.org"}
    found = {"coco": Counts({"train": 1000, "test": 5}, {"train": 5000, "test": 25}, {"broken": 2})}
    carded = frozenset({("captioners", "mine"), ("encoders", "clip")})
    return Context({"coco": corpus}, found, carded, results, validity, {"paper": "Them, *Paper*"}, software)


@pytest.mark.parametrize(("section", "family"), FAMILIES)
def test_every_family_has_a_card_that_hubs_read(section, family, tmp_path):
    (tmp_path / "README.md").write_text(card_text(trained(described=described(section, family)), context()))
    card = ModelCard.load(tmp_path / "README.md")
    assert card.data.tags == ["captionlab", section[:-1], family]
    assert (card.data.language, card.data.library_name, card.data.base_model) == ("en", "captionlab", ["them/base"])
    assert card.data.datasets == ["me/pictures"]
    assert card.data.pipeline_tag == {"captioners": "image-to-text", "encoders": "image-feature-extraction"}.get(
        section
    )
    assert str(card) == (tmp_path / "README.md").read_text()


def test_numbers_are_those_of_the_tables():
    text = card_text(trained(), context())
    assert "| CIDEr |  | 50.00 | [49.00, 51.00] | 500 | +2.50 [+1.50, +3.50] | p &lt; 0.001 |" in text
    assert "99.0" not in text
    results = {(one.metric_name, one.metric_value) for one in ModelCard(text).data.eval_results}
    assert results == {("CIDEr", 50.0), ("P@1, clip-a, 100 file-order", 70.0)}
    several = card_text(trained(described=described(trainings=["mine", "mine-2", "mine-3"])), context())
    assert "mean of 3 trainings" in several
    assert "51.00 [50.00, 52.00]" in several
    encoder = card_text(trained(described=described("encoders", "clip")), context())
    assert "| P@1 | mine, 100 file-order | 61.0 |" in encoder
    assert "CIDEr" not in encoder


def test_the_card_of_adapters_names_their_parent_and_shows_their_settings():
    made = {**MADE, "params": {**MADE["params"], "config": {"lora": {"rank": 4, "alpha": 8, "merge": False}}}}
    adapters = Trained(
        described(), {"lora": {"r": 4, "target_modules": ["c_attn"]}}, 12, made, cost=None, updates=20, validated=None
    )
    text = card_text(adapters, context())
    assert "- Its weights are adapters (LoRA) alone, which change those of base; both folders are needed" in text
    assert "| lora.rank | 4 |" in text
    assert "| target\\_modules |" in text or "| target_modules |" in text
    assert "run: FOLDER" not in text
    assert "`snakemake results/exports/mine`" in text
    assert 'load_captioner("FOLDER")' in text
    assert "adapters (LoRA)" not in card_text(trained(), context())


def test_the_card_of_a_snapshot_names_its_training():
    snapshot = described(name="mine@2", snapshot_of="mine")
    for passed, after in (({"epochs": 2, "updates": 2000}, "epoch 2"), ({"updates": 2000}, "update 2,000")):
        config = {"architecture": {}, "origin": {"snapshot": passed}}
        text = card_text(Trained(snapshot, config, 1234, MADE, None, 2000, None), context())
        assert f"- Snapshot: the training of [mine](../mine/README.md) after {after}; time" in text
        assert "# mine@2\n" in text
        assert "  mine-2: {run: FOLDER, encoder: clip}" in text  # as names in a config have no @
        assert ModelCard(text).data.model_name == "mine@2"
    assert "Snapshot" not in card_text(trained(), context())


def test_scorers_are_judged_by_pairs():
    pair = {"split": "test", "negatives": "hard", "measure": "accuracy", "value": 0.75, "ci_low": 0.7, "ci_high": 0.8}
    text = card_text(trained(described=described("scorers", "uniter"), matching=[{**pair, "n": 9}]), context())
    assert "| accuracy | an image that is alike | 75.0 | [70.0, 80.0] | 9 |" in text
    assert ModelCard(text).data.eval_results[0].metric_args["n"] == 9


def test_what_is_unknown_is_said_and_texts_are_escaped():
    text = card_text(trained(cost=None), context())
    assert f"Time and memory: {UNKNOWN}" in text
    assert f"What base was trained on is {UNKNOWN} here" in text
    assert "unknown: resources/sources.yaml knows none of its files" in text
    assert "license" not in ModelCard(text).data.to_dict()
    assert "GPU\\_1 &lt;x&gt;" in text
    assert "A\\|B" in text
    assert "| list | secret.txt |" in text
    assert "/home" not in text
    assert "b/c.txt" in text
    assert "/home/me" not in text
    assert TOY not in text


def test_the_toy_world_is_called_that():
    text = card_text(trained(), context({**CORPUS, "toy": True}))
    assert TOY in text
    assert "toy" in ModelCard(text).data.tags


def test_numbers_with_a_caveat_are_not_for_hubs():
    text = card_text(trained(), replace(context(), caveats=["these numbers mean nothing"]))
    assert "Of all numbers on this card: these numbers mean nothing." in text
    assert ModelCard(card_text(trained(), context())).data.eval_results
    assert not ModelCard(text).data.eval_results


def test_validity_of_the_model_alone():
    of = {"condition": "naming", "value": "0.5", "relation": "≥", "wanted": "0.8", "unit": "", "n": "9", "met": "False"}
    text = card_text(trained(), context(validity=[{**of, "of": "mine"}, {**of, "of": "other", "met": "True"}]))
    assert text.count("Not met by it") == 1
    assert "Of the 2 conditions that this run checked for its experiments to mean something, 1 are met" in text


def test_the_table_of_evaluations_in_the_format_of_hubs(tmp_path):
    """Records of evaluation.csv, where every value is a text, give the same results as rows of the summary."""
    keys = list(SUMMARY[0])
    lines = [",".join("" if row[key] is None else str(row[key]) for key in keys) for row in SUMMARY]
    (tmp_path / "evaluation.csv").write_text("\n".join([",".join(keys), *lines]))
    rows = [row for row in SUMMARY if row["captioner"] == "mine" and row["seeds"] == 1]
    records = [row for row in read_records(tmp_path / "evaluation.csv") if row["captioner"] == "mine"]
    results = hub_results(rows, {"coco": "me/pictures"}, "image-to-text")
    assert results == hub_results(
        [row for row in records if row["seeds"] == "1"], {"coco": "me/pictures"}, "image-to-text"
    )
    first = results[0]
    assert (first.task_type, first.dataset_type, first.dataset_name) == ("image-to-text", "me/pictures", "coco")
    assert (first.dataset_config, first.dataset_split, first.metric_type) == ("main", "test", "cider")
    assert first.metric_value == 50.0
    assert first.metric_args == {"decoding": "beam5", "ci_low": 49.0, "ci_high": 51.0, "n": 500}
    assert [one.metric_name for one in results] == ["CIDEr", "P@1, clip-a, 100 file-order"]
    assert hub_results(rows, {}, "image-to-text")[0].dataset_type == "coco"
    index = eval_results_to_model_index("mine", results)
    assert model_index_to_eval_results(index)[1] == results


# --------------------------------------------------------------------------------------------------------- facts
def test_parameters_are_all_numbers(tmp_path):
    save_file({"a": np.zeros((2, 3), "float32"), "b": np.zeros((), "float32")}, tmp_path / "model.safetensors")
    assert parameters(tmp_path / "model.safetensors") == 7


def test_counts_by_split(tmp_path):
    images = [
        {"image_id": f"{n}", "position": n, "split": split, "path": None, "offset": None, "length": None,
         "data": b"x", "width": 1, "height": 1, "image_set": None}
        for n, split in enumerate(["train", "train", "test"])
    ]  # fmt: skip
    captions = [{"image_id": i, "caption_index": n, "caption": "a"} for i, n in (("0", 0), ("0", 1), ("1", 0))]
    rejects = [{"position": 3, "image_id": "3", "path": None, "reason": "broken", "detail": "x"}]
    files = [tmp_path / f"{name}.parquet" for name in "abc"]
    for file, schema, rows in zip(files, (IMAGES, CAPTIONS, REJECTS), (images, captions, rejects), strict=True):
        write_table(file, schema, rows)
    found = counts(*files)
    assert found == Counts({"train": 2, "test": 1}, {"train": 3, "test": 0}, {"broken": 1})


@pytest.mark.parametrize(("select", "expected"), [(True, (0.9, 10)), (False, (0.5, 20))])
def test_the_validation_of_the_kept_weights(tmp_path, select, expected):
    log = [(0, 2.0), (10, 0.9), (20, 0.5)]
    rows = [{"step": s, "epoch": 0, "statistic": "validation_cider", "value": v} for s, v in log]
    write_table(tmp_path / "t.parquet", TRAINING, [*rows, {**rows[-1], "statistic": "loss"}])
    assert validated(tmp_path / "t.parquet", select) == Validated("cider", *expected, select)
    assert updates(tmp_path / "t.parquet") == 20


def test_no_validation(tmp_path):
    write_table(tmp_path / "t.parquet", TRAINING, [{"step": 1, "epoch": 0, "statistic": "loss", "value": 1.0}])
    assert validated(tmp_path / "t.parquet", False) is None
