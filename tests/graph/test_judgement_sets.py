"""Sets of judgements in a config: each is a captioner, a corpus and an evaluation, and no captioner of tables."""

import copy
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from support.plans import ROOT, config_of, plan

from captionlab.config.families import judgement_readers
from captionlab.config.plugins import plugin_models
from captionlab.config.whole import ConfigError, checked
from captionlab.graph.graph import Graph
from captionlab.storage import paths

EVERY = yaml.safe_load((ROOT / "tests" / "graph" / "every_kind.yaml").read_text(encoding="utf-8"))
SIMULATED = {"reader": "simulated", "corpus": "toy", "images": 8, "scorers": ["own-uniter", "clip"]}
# Files that the readers of EVERY look for by a pattern.
PATTERNS = ["web.tar", "hub/test.parquet"]


def with_sets(**sets):
    config = {**copy.deepcopy(EVERY), "judgements": sets}
    del config["papers"]["valse"]  # it names a set that is not among them
    return config


def test_files_of_a_reader_are_keys_of_its_block():
    for name, model in plugin_models("judgements.readers").items():
        assert {*judgement_readers()[name].files, *judgement_readers()[name].folders} <= model.model_fields.keys()


def test_every_metric_that_a_set_asks_for_is_had_by_the_rules_of_evaluations(planned):
    sets = {
        "mine": {**SIMULATED, "clipscore": ["clip"]},
        "plain": {"reader": "simulated", "corpus": "toy", "images": 8},
    }
    config = with_sets(**sets)
    graph = Graph(copy.deepcopy(config), ROOT)
    asked = {name: graph.score_tables(name) for name in sets}
    assert {*asked["plain"]} == {"nlg", "spice"}
    assert {*asked["mine"]} == {"nlg", "spice", "alignment", "clipscore"}
    assert asked["mine"]["nlg"] == [paths.nlg("mine")]
    assert graph.images_for("scorers", "own-uniter", "mine") == [paths.regions("boxes", "mine", "0-of-1")]
    assert "mine" in graph.names_of("corpora", "judged").split("|")
    assert "mine" not in graph.names_of("corpora", "read", "rendered").split("|")
    kinds = ("pretrained", "imported", "finetuned", "file", "human")
    assert "mine" not in graph.names_of("captioners", *kinds).split("|")
    plan = planned(config, present=PATTERNS)
    judged, others = (plan.job("score_nlg", evaluation=name) for name in ("mine", "main"))
    assert judged.inputs["judged"] == ["results/judgements/mine/candidates.parquet"]
    assert others.inputs["judged"] == []
    assert judged.params["captioners"] == judged.params["corpora"] == ["mine"]
    assert "mine" not in others.params["captioners"]
    assert plan.job("tokenize_references", corpus="mine").params["split"] == "judged"
    inputs = plan.job("correlate_judgements", judgements="mine").inputs
    tables = ("candidates", "ratings", "preferences")
    assert inputs == {**asked["mine"], **{of: [f"results/judgements/mine/{of}.parquet"] for of in tables}}


def test_tables_of_captioners_have_no_judged_captions_and_do_not_change_with_them(planned):
    plain, judged = (planned(with_sets(**sets), present=PATTERNS) for sets in ({}, {"mine": SIMULATED}))
    for rule in ("summarise_evaluation", "measure_validity", "collect_checklist", "build_browser"):
        before, after = plain.job(rule), judged.job(rule)
        assert (after.inputs, without(after.params, "judgements")) == (
            before.inputs,
            without(before.params, "judgements"),
        )


def without(params, name):
    return {key: value for key, value in params.items() if key != name}


def test_a_config_may_have_judgements_alone(planned):
    config = {"seed": 1, "spice": "off", "corpora": {"toy": EVERY["corpora"]["toy"]}}
    judged = {"reader": "simulated", "corpus": "toy", "images": 8}
    plan = planned({**config, "judgements": {"mine": judged}})
    inputs = plan.job("correlate_judgements", judgements="mine").inputs
    assert inputs.keys() == {"nlg", "candidates", "ratings", "preferences"}
    assert plan.job("collect_tables").params["pages"] == {}


def test_the_shipped_config_has_judgements_alone_and_needs_no_images():
    config = config_of("judgements")
    checked(config, ROOT)
    # Without images, as its header says, metrics against references remain.
    for name in ("encoders", "papers"):
        del config[name]
    for section in ("corpora", "judgements"):
        for name in [name for name in config[section] if name.startswith(("nebula", "longcap"))]:
            del config[section][name]
    for corpus in config["corpora"].values():
        corpus["images"] = None
    for block in config["judgements"].values():
        del block["clipscore"]
    assert {*Graph(config, ROOT).score_tables("expert")} == {"nlg", "spice"}


def test_validity_depends_on_no_set_that_it_does_not_name(planned):
    added = config_of("config")
    added["judgements"]["mine"] = added["judgements"]["simulated"]
    plain, judged = (planned(config).job("measure_validity") for config in (config_of("config"), added))
    assert (judged.inputs, judged.params) == (plain.inputs, plain.params)


def test_factors_are_those_of_the_scorers_of_a_set(planned):
    sets = {"mine": SIMULATED, "plain": {**SIMULATED, "scorers": []}}
    targets = [f"results/judgements/{name}/correlations.parquet" for name in sets]
    plan = planned(with_sets(**sets), *targets, present=PATTERNS)
    factors = {name: plan.job("correlate_judgements", judgements=name).params["factors"] for name in sets}
    assert [*factors["mine"]] == ["clip", "own-uniter"]
    assert factors["plain"] == {}


def test_memory_of_correlations_goes_with_the_square_of_the_images(tmp_path):
    images = [f"image{number}" for number in range(2000) for _ in range(3)]
    folder = tmp_path / "run" / "results" / "judgements" / "mine"
    folder.mkdir(parents=True)
    for table in ("ratings", "preferences", "candidates"):
        pq.write_table(pa.table({"image_id": images}), folder / f"{table}.parquet")
    plain = {"reader": "simulated", "corpus": "toy", "images": 8}
    config = {"seed": 1, "spice": "off", "corpora": {"toy": EVERY["corpora"]["toy"]}, "judgements": {"mine": plain}}
    scores = tmp_path / "run" / paths.nlg("mine")
    scores.parent.mkdir(parents=True)
    pq.write_table(pa.table({"image_id": images}), scores)
    job = plan(config, tmp_path, "results/judgements/mine/correlations.parquet").job("correlate_judgements")
    assert 0 <= job.resources["mem_mb"] - (4000 + int(24 * 2000**2 / 1e6)) <= 1  # and the rows of the ratings


def test_simulated_sets_are_those_of_a_reader_that_says_so(planned):
    foil = {"reader": "foil", "corpus": "coco", "annotations": "foil.json"}
    plan = planned(with_sets(mine=SIMULATED, foil=foil), "results/reporting/judgements.csv", present=PATTERNS)
    assert plan.job("collect_judgements").params["simulated"] == ["mine"]
    assert {name for name, reader in judgement_readers().items() if reader.simulated} == {"simulated", "toyworld-foils"}


def test_reading_a_set_does_not_depend_on_who_scores_it(planned):
    more = {"scorers": [], "clipscore": ["clip"]}
    foil = {"reader": "foil", "corpus": "coco", "annotations": "foil.json", "references_per_image": 1}
    sets = {"mine": SIMULATED, "other": {**SIMULATED, **more}, "foil": foil}
    targets = [f"results/judgements/{name}/ratings.parquet" for name in sets]
    plan = planned(with_sets(**sets), *targets, present=PATTERNS)
    jobs = {name: plan.job("read_judgements", judgements=name) for name in sets}
    blocks = {name: job.params["config"] for name, job in jobs.items()}
    assert blocks["mine"] == blocks["other"] == {"reader": "simulated", "images": 8, "seed": 1, "split": "test"}
    assert blocks["foil"]["references_per_image"] == 1
    assert jobs["foil"].inputs["files"] == [str(plan.data / "foil.json")]
    assert jobs["foil"].inputs["captions"] == paths.corpus("captions", "coco")


def test_files_of_regions_are_those_of_the_judged_corpus():
    config = with_sets(mine={**SIMULATED, "scorers": ["uniter"]})
    graph = Graph(config, ROOT)
    assert config["regions"]["files"]["files"] == {"toy": "toy.tsv"}
    assert graph.config["regions"]["files"]["files"] == {"toy": "toy.tsv", "mine": "toy.tsv"}


def test_a_mistake_in_a_set_is_a_sentence(answers):
    foil = {"reader": "foil", "corpus": "coco", "annotations": "foil.json"}
    for sets, sentence in (
        ({"mine": {**SIMULATED, "reader": "flickr9k"}}, "judgements.mine.reader is 'flickr9k'"),
        ({"mine": {**SIMULATED, "corpus": "toys"}}, "judgements.mine.corpus is 'toys', which is not among the corpora"),
        ({"mine": {**SIMULATED, "images": 1}}, "judgements.mine.images is 1; it must be at least 2"),
        ({"mine": {**SIMULATED, "annotations": "x"}}, "judgements.mine has no key 'annotations'"),
        ({"mine": {**SIMULATED, "split": "dev"}}, "judgements.mine: a judge needs 2 images of the split 'dev'"),
        ({"mine": {**SIMULATED, "corpus": "coco", "scorers": []}}, "coco is not of the toy world"),
        ({"mine": {**foil, "scorers": ["uniter"]}}, "the scorer reads regions.files, which has no files of 'coco'"),
        ({"mine": {**foil, "corpus": "karpathy", "scorers": ["blip"]}}, "the corpus 'karpathy' is text only"),
        ({"mine": {"reader": "foil", "corpus": "coco"}}, "judgements.mine lacks the key annotations"),
        ({"toy": SIMULATED}, "judgements.toy also makes corpora.toy, which is there already"),
        ({"own-clipcap": SIMULATED}, "judgements.own-clipcap also makes captioners.own-clipcap"),
        ({"main": SIMULATED}, "judgements.main also makes evaluations.main"),
    ):
        with pytest.raises(ConfigError) as raised:
            checked(with_sets(**sets), ROOT)
        answers.hold(f"`judgements: {json.dumps(sets)}`", raised.value, sentence)


def test_a_file_that_is_not_there_is_named(tmp_path, answers):
    config = with_sets(mine={"reader": "foil", "corpus": "coco", "annotations": "foil.json"}) | {"data": str(tmp_path)}
    with pytest.raises(ConfigError) as raised:
        Graph(config, ROOT).check_files()
    answers.hold("judgements whose file is missing", raised.value, "judgements.mine.annotations: no such file")


def test_foils_are_scored_on_images_that_nobody_described(planned):
    config = with_sets(
        pairs={"reader": "winoground", "corpus": "photos", "annotations": "pairs.jsonl", "scorers": ["clip"]}
    )
    config["corpora"]["photos"] = {"reader": "folder", "images": "photos"}
    graph = Graph(copy.deepcopy(config), ROOT)
    assert {*graph.score_tables("pairs")} == {"alignment"}
    job = planned(config, "results/judgements/pairs/foil_measures.parquet", present=PATTERNS).job("measure_foils")
    assert job.inputs["alignment"] == graph.score_tables("pairs")["alignment"]
    assert job.params["thresholds"] == {}


def test_measures_on_foils_read_no_metric_against_references_alone_and_know_which_scores_are_probabilities(planned):
    foil = {"reader": "foil", "corpus": "coco", "annotations": "foil.json", "scorers": ["own-uniter", "clip"]}
    config = with_sets(first=foil, second={**foil, "clipscore": ["clip"]})
    plan = planned(config, "results/judgements/first+second/foil_measures.parquet", present=PATTERNS)
    job = plan.job("measure_foils")
    assert job.params["tables"] == ["alignment", "clipscore"]
    assert job.params["thresholds"] == {"own-uniter": 50.0}
    assert [len(job.inputs[name]) for name in ("alignment", "clipscore", "preferences")] == [2, 1, 2]
    assert job.inputs["model"] == ["results/language/model.arpa"]
    assert len(job.inputs["tokens"]) == 2


def test_the_language_model_judges_no_foils_of_another_language(planned):
    foil = {"reader": "foil", "corpus": "coco", "annotations": "foil.json", "scorers": ["clip"]}
    config = with_sets(foil=foil)
    config["corpora"]["coco"]["language"] = "de"
    job = planned(config, "results/judgements/foil/foil_measures.parquet", present=PATTERNS).job("measure_foils")
    assert job.inputs["model"] == job.inputs["tokens"] == []
