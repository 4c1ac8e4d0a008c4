"""The results browser in the plan: what it reads, which words are known to whom, and that tables wait for it."""

from pathlib import Path

from support.plans import config_of

from captionlab.storage import paths


def test_it_reads_every_scored_caption_with_its_scores(planned):
    config = config_of("config")
    job = planned(config).job("build_browser")
    inputs, shown = job.inputs, job.params["shown"]
    main = config["evaluations"]["main"]
    for captioner in main["captioners"]:
        assert paths.captions(captioner, "main") in inputs["captions"]
        assert paths.evaluation("retrieval", captioner, "main") in inputs["retrieval"]
    assert not [path for path in inputs["captions"] if "toy-constructed" in path or "simulated" in path]
    assert {*shown["tables"]} <= inputs.keys()
    assert shown["evaluations"]["main"]["captioners"] == main["captioners"]
    assert {*main["corpora"]} <= {*shown["corpora"]}
    for name in ("images", "captions_of_corpora", "objects", "scenes"):
        assert [Path(path).parent.name for path in inputs[name]] == shown["corpora"]
    assert [Path(path).parent.name for path in inputs["training_captions"]] == shown["training"]


def test_words_are_known_of_captioners_that_were_trained_here(planned):
    captioners = planned(config_of("config")).job("build_browser").params["shown"]["captioners"]
    assert captioners["toy-fc-uniter"] == {"parent": "toy-fc", "family": "newfc", "trained": ["toy-coco"]}
    # Its parent came from elsewhere, so nobody knows all that it learned from.
    assert captioners["toy-discritune-concap"]["trained"] == []
    assert captioners["toy-discritune-concap"]["parent"] == "toy-clipcap-concap"
    assert captioners["human"] == {"parent": None, "family": "human", "trained": []}


def test_candidates_are_drawn_by_the_seed_only_where_they_are_random(planned):
    config = config_of("config")
    config["seed"] = 5
    config["evaluations"]["study"]["candidate_sets"] = "random"
    evaluations = planned(config).job("build_browser").params["shown"]["evaluations"]
    assert (evaluations["main"]["seed"], evaluations["study"]["seed"]) == (0, 5)
    seeds = {job.params["seed"] for job in planned(config).of("retrieve_images", evaluation="main")}
    assert seeds == {0}


def test_tables_wait_for_it(planned):
    assert "results/browser" in planned(config_of("config")).job("collect_tables").inputs["pages"]
