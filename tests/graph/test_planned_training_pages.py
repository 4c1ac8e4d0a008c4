"""Training pages in the plan: what they read, what they say of models, and runs that have none."""

from graph.test_toy_models import on_top
from support.plans import config_of


def job_of(planned, config):
    return planned(config).job("write_training_pages")


def test_the_tables_wait_for_the_pages_and_name_them(planned):
    job = planned(config_of("config")).job("collect_tables")
    assert "results/training" in job.inputs["pages"]
    assert "results/training/index.html" in job.params["pages"]


def test_every_log_has_its_card(planned):
    job = job_of(planned, config_of("config"))
    folders = [[path.rpartition("/")[0] for path in job.inputs[name]] for name in ("training", "cards")]
    assert folders[0] == folders[1]
    assert "results/captioners/toy-scened@4" in folders[0]
    assert "results/captioners/toy-scened@4/training_captions.parquet" not in job.inputs["training_captions"]


def test_captions_of_snapshots_are_the_ones_that_an_evaluation_scores_anyway(planned):
    job = job_of(planned, config_of("config"))
    times = {**{f"toy-scened@{number}": f"epoch {number}" for number in (1, 2, 4, 6, 8)}, "toy-scened": "the end"}
    assert job.params["snapshots"] == {"toy-scened": times}
    assert job.inputs["captions"] == [f"results/captions/{captioner}/scenes.parquet" for captioner in times]


def test_rewards_name_the_models_that_they_ask(planned):
    models = {model["name"]: model for model in job_of(planned, config_of("config")).params["models"]}
    assert models["toy-fc-clip"]["rewarded"] == [
        {"kind": "scorer", "section": "scorers", "name": "toy-clip", "encoder": "toy-clip-a"}
    ]
    assert models["toy-fc-questions"]["rewarded"][0]["name"] == "toy-questions"
    assert models["toy-clipcap-coco"]["origin"] == ["models/toy-clipcap-coco"]
    assert (models["toy-fc"]["rewarded"], models["toy-fc"]["seed"]) == ([], 1)


def test_encoders_and_scorers_that_are_trained_have_pages(planned):
    training = job_of(planned, on_top()).inputs["training"]
    assert {path.split("/")[1] for path in training} == {"captioners", "encoders", "scorers"}


def test_a_run_without_trainings_has_no_pages(planned):
    config = config_of("judgements")
    folders = [config["judgements"][name]["folder"] for name in ("nebula", "longcap-descriptiveness")]
    plan = planned(config, present=[f"{folder}/test.parquet" for folder in folders])
    assert "write_training_pages" not in plan.rules()
    assert "results/training" not in plan.job("collect_tables").inputs["pages"]
