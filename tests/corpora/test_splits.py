"""Splits and numbers of images that trainings and evaluations need are checked before work on images starts."""

import copy
from dataclasses import asdict, replace

import pytest
from support.plans import config_of

from captionlab.config.needs import Need
from captionlab.corpora.inputs import CorpusError
from captionlab.corpora.splits import check_splits
from captionlab.storage.schemas import IMAGES
from captionlab.storage.tables import write_table

EVALUATED = Need(
    "evaluations.main", "a set of candidates", "photos", "test", 10, "corpora.photos.evaluation_split",
    "evaluations.main.candidates",
)  # fmt: skip
TRAINED = Need("captioners.fc", "a batch", "photos", "train", 4, number_key="captioners.fc.optimizer.batch")


def checked(tmp_path, splits, *needs, image_set=None):
    rows = [
        {**dict.fromkeys(IMAGES.columns), "image_set": image_set,
         "image_id": f"{split}-{rank}", "split": split, "position": rank, "width": 1,
         "height": 1}
        for split, number in splits.items() for rank in range(number)
    ]  # fmt: skip
    write_table(tmp_path / "images.parquet", IMAGES, rows)
    check_splits(tmp_path / "images.parquet", [asdict(need) for need in needs])


def test_a_corpus_with_what_is_needed_passes(tmp_path):
    checked(tmp_path, {"train": 4, "test": 10}, EVALUATED, TRAINED)


def test_sets_of_look_alikes_are_candidates_themselves(tmp_path):
    need = replace(EVALUATED, or_sets=True)
    checked(tmp_path, {"test": 9}, need, image_set="a")
    with pytest.raises(CorpusError, match="to 9 or less"):
        checked(tmp_path, {"test": 9}, need)


@pytest.mark.parametrize(
    ("splits", "need", "names"),
    [
        ({"train": 4, "val": 9}, EVALUATED, ["'test'", "'train' (4), 'val' (9)", EVALUATED.split_key]),
        ({"train": 4, "test": 9}, EVALUATED, ["evaluations.main.candidates to 9 or less"]),
        ({"test": 9}, TRAINED, ["captioners.fc: a batch", "'train'", "'test' (9)"]),
        ({"train": 3}, TRAINED, ["captioners.fc.optimizer.batch to 3 or less"]),
    ],
)
def test_what_is_missing_is_named_with_the_key_to_change(tmp_path, splits, need, names):
    with pytest.raises(CorpusError) as raised:
        checked(tmp_path, splits, need)
    assert all(name in str(raised.value) for name in names), raised.value


def config():
    """The config flickr8k, with a captioner that learns on it and is evaluated on another corpus, too."""
    whole = copy.deepcopy(config_of("flickr8k"))
    corpus = next(iter(whole["corpora"]))
    whole["corpora"]["other"] = {"reader": "folder", "images": "other", "evaluation_split": "dev"}
    evaluation = next(iter(whole["evaluations"].values()))
    evaluation["corpora"] = [corpus]
    whole["evaluations"]["elsewhere"] = {
        "captioners": [name for name in evaluation["captioners"] if name != "human"],
        "corpora": ["other"], "decoding": evaluation["decoding"], "retrievers": evaluation["retrievers"],
    }  # fmt: skip
    return whole, corpus


def test_trainings_wait_for_the_checks_of_all_corpora_that_they_are_evaluated_on(planned):
    whole, corpus = config()
    plan = planned(whole)
    checks = {f"results/corpora/{name}/checked" for name in (corpus, "other")}
    trainings = [job for rule in ("pretrain_captioner", "finetune_captioner", "train_encoder") for job in plan.of(rule)]
    assert {job.rule for job in trainings} >= {"pretrain_captioner", "finetune_captioner"}
    for job in trainings:
        assert checks <= {*job.reads}, job
    needs = plan.job("check_corpus", corpus="other").params["needs"]
    assert {(need["split"], need["images"]) for need in needs} == {("dev", 100)}


def test_work_of_imported_and_served_models_on_images_waits_for_the_check(planned):
    whole = {
        "seed": 1,
        "corpora": {"photos": {"reader": "folder", "images": "photos", "captions": "captions.csv"}},
        "encoders": {"clip": {"run": "resources/toyworld/models/toy-clip-a"}},
        "captioners": {
            "toy": {"run": "resources/toyworld/models/toy-clipcap-coco", "encoder": "clip"},
            "served": {"family": "endpoint", "model": "tiny", "prompt": "Describe."},
            "people": {"family": "human"},
        },
        "decodings": {"greedy": {"kind": "greedy", "max_tokens": 8}},
        "evaluations": {
            "main": {
                "captioners": ["toy", "served", "people"], "corpora": ["photos"], "decoding": "greedy",
                "retrievers": ["clip"],
            },
        },
    }  # fmt: skip
    plan = planned(whole)
    for rule in ("embed_images", "generate_captions", "request_captions", "import_captions"):
        assert "results/corpora/photos/checked" in plan.job(rule).reads, rule


def test_candidates_change_the_check_and_no_training(planned):
    whole, _ = config()
    fewer = copy.deepcopy(whole)
    fewer["evaluations"]["elsewhere"]["candidates"] = 10
    before, after = planned(whole), planned(fewer)
    for rule in ("pretrain_captioner", "finetune_captioner"):
        assert [(job.params, job.reads) for job in before.of(rule)] == [
            (job.params, job.reads) for job in after.of(rule)
        ]
    changed = [one.job("check_corpus", corpus="other").params["needs"] for one in (before, after)]
    assert changed[0] != changed[1]


def test_the_toy_world_needs_no_check(planned):
    assert "check_corpus" not in planned(config_of("config")).rules()
