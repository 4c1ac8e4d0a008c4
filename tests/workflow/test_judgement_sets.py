"""Sets of judgements in a config: each is a captioner, a corpus and an evaluation, and no captioner of tables."""

import copy
import importlib
import json
import re
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from conftest import ROOT

from captionlab import paths
from captionlab.papers import PAPERS, paper_class
from captionlab.workflow.config import SCHEMA, ConfigError, checked
from captionlab.workflow.experiments import Experiments
from captionlab.workflow.families import judgement_readers

EVERY = yaml.safe_load((ROOT / "tests" / "workflow" / "every_kind.yaml").read_text(encoding="utf-8"))
TOY = yaml.safe_load((ROOT / "config" / "config.yaml").read_text(encoding="utf-8"))
SIMULATED = {"reader": "simulated", "corpus": "toy", "images": 8, "scorers": ["own-uniter", "clip"]}


def with_sets(**sets):
    return {**copy.deepcopy(EVERY), "judgements": sets}


def job(**wildcards):
    return SimpleNamespace(**wildcards)


def test_what_readers_declare_is_what_their_modules_have():
    for name, declaration in judgement_readers().items():
        module = importlib.import_module(f"captionlab.judgements.readers.{name.replace('-', '_')}")
        assert declaration == module.DECLARATION
        assert {*declaration.required, *declaration.files} <= declaration.keys.keys()


def test_every_metric_that_a_set_asks_for_is_had_by_the_rules_of_evaluations():
    sets = {
        "mine": {**SIMULATED, "clipscore": ["clip"]},
        "plain": {"reader": "simulated", "corpus": "toy", "images": 8},
    }
    lab = Experiments(with_sets(**sets), ROOT)
    asked = {name: lab.judgements.scored(job(judgements=name)) for name in sets}
    always = {"nlg", *(["spice"] if lab.config["spice"] not in ("off", False) else [])}
    assert {*asked["plain"]} == always
    assert {*asked["mine"]} == {*always, "alignment", "clipscore"}
    assert asked["mine"]["nlg"] == [paths.nlg("mine")]
    assert lab.judgements.candidates(job(evaluation="mine")) == ["results/judgements/mine/candidates.parquet"]
    assert lab.judgements.candidates(job(evaluation="main")) == []
    assert lab.referring_captioners(job(evaluation="mine")) == ["mine"]
    assert "mine" not in lab.referring_captioners(job(evaluation="main"))
    assert lab.evaluated_corpora(job(evaluation="mine")) == ["mine"]
    assert lab.evaluation_split("mine") == "judged"
    assert lab.scoring.features("own-uniter", "mine") == [paths.regions("boxes", "mine", "0-of-1")]
    assert "mine" in lab.of_kind("corpora", "judged").split("|")
    assert "mine" not in lab.of_kind("corpora", "read", "rendered").split("|")
    assert "mine" not in lab.of_kind("captioners", "pretrained", "imported", "finetuned", "file", "human").split("|")


def test_tables_of_captioners_have_no_judged_captions_and_do_not_change_with_them():
    plain, judged = (Experiments(with_sets(**sets), ROOT) for sets in ({}, {"mine": SIMULATED}))
    assert judged.score_tables() == plain.score_tables()
    assert judged.scored_captions() == plain.scored_captions()
    assert judged.lineage() == plain.lineage()
    assert judged.evaluation_contexts() == plain.evaluation_contexts()
    assert judged.validity.references() == plain.validity.references()
    assert judged.validity.captions() == plain.validity.captions()
    assert judged.validity.toyworld() == plain.validity.toyworld()


def test_sets_that_are_pooled():
    sets = {"mine": {**SIMULATED, "clipscore": ["clip"]}, "plain": {**SIMULATED, "scorers": ["own-uniter"]}}
    judgements = Experiments(with_sets(**sets), ROOT).judgements
    pool = job(judgements="mine+plain")
    assert judgements.scored(pool)["nlg"] == [paths.nlg("mine"), paths.nlg("plain")]
    assert judgements.scored(pool)["clipscore"] == judgements.scored(job(judgements="mine"))["clipscore"]
    assert judgements.pooled("ratings")(pool) == [f"results/judgements/{name}/ratings.parquet" for name in sets]
    assert [*judgements.factors(pool)] == ["clip", "own-uniter"]
    names = ("mine", "mine+plain", "mine+", "m")
    assert [name for name in names if re.fullmatch(judgements.any_pooled(), name)] == ["mine", "mine+plain"]


def test_a_config_may_have_judgements_alone():
    config = {"seed": 1, "spice": "off", "corpora": {"toy": EVERY["corpora"]["toy"]}}
    plain = {"reader": "simulated", "corpus": "toy", "images": 8}
    lab = Experiments({**config, "judgements": {"mine": plain}}, ROOT)
    assert {*lab.judgements.scored(job(judgements="mine"))} == {"nlg"}
    assert {path.split("/")[-1].split(".")[0] for path in lab.tables()} == {"judgements", "cost", "checklist"}
    assert lab.pages() == []


def test_the_shipped_config_has_judgements_alone_and_every_table_of_the_paper():
    config = yaml.safe_load((ROOT / "config" / "judgements.yaml").read_text(encoding="utf-8"))
    lab = Experiments(config, ROOT)
    assert {path.split("/")[-1] for path in lab.tables() if path.endswith(".csv")} == {
        "judgements.csv", "claims.csv", "reproduction.csv", "cost.csv", "checklist.csv", "clipscore_table1_expert.csv",
        "clipscore_table2_cf.csv", "clipscore_table3_composite.csv", "clipscore_table4_pascal.csv",
        "clipscore_table5_foil.csv",
    }  # fmt: skip
    # Without images, as its header says, metrics against references remain.
    for name in ("encoders", "papers"):
        del config[name]
    for corpus in config["corpora"].values():
        corpus["images"] = None
    for block in config["judgements"].values():
        del block["clipscore"]
    lab = Experiments(config, ROOT)
    assert {*lab.judgements.scored(job(judgements="expert"))} == {"nlg", "spice"}


def test_no_paper_and_no_validity_depends_on_sets_that_it_does_not_name():
    sets = TOY["judgements"]
    added = {**sets, "mine": next(iter(sets.values()))}
    plain, judged = (Experiments({**copy.deepcopy(TOY), "judgements": of}, ROOT) for of in (sets, added))
    of_validity = ("humans", "rewarding", "learned", "toyworld", "captions", "references", "objects", "matching")
    for name in of_validity:
        assert getattr(judged.validity, name)() == getattr(plain.validity, name)()
    assert judged.provenance() == plain.provenance()
    compared = 0
    for name in PAPERS:
        papers = [paper_class(name)(lab) for lab in (plain, judged)]
        for needs in ("summarised", "tabulated"):
            first, second = (getattr(paper, needs)() if paper.block else None for paper in papers)
            compared += first is not None
            assert second == first, (name, needs)
    assert compared > 3


def test_parents_of_a_paper_are_those_of_its_roles_and_their_ancestors():
    lab = Experiments(copy.deepcopy(TOY), ROOT)
    asked = paper_class("probing")(lab).summarised()
    of_roles, parents = {*asked.params["captioners"]}, asked.params["parents"]
    assert parents == {name: lab.captioners[name].get("parent") for name in parents}
    assert parents.keys() == of_roles | {parent for parent in parents.values() if parent}


def test_factors_are_those_of_the_scorers_of_a_set():
    sets = {"mine": SIMULATED, "plain": {**SIMULATED, "scorers": []}}
    judgements = Experiments(with_sets(**sets), ROOT).judgements
    assert [*judgements.factors(job(judgements="mine"))] == ["clip", "own-uniter"]
    assert judgements.factors(job(judgements="plain")) == {}


def test_memory_of_correlations_goes_with_the_square_of_the_images(tmp_path):
    images = [f"image{number}" for number in range(50) for _ in range(3)]
    pq.write_table(pa.table({"image_id": images}), tmp_path / "ratings.parquet")
    judgements = Experiments(with_sets(mine=SIMULATED), ROOT).judgements
    file = str(tmp_path / "ratings.parquet")
    for ratings, images in (([file], 50), ([file, file], 100)):
        assert judgements.pairs(job(judgements="mine"), {"ratings": ratings}) == 24 * images**2


def test_simulated_sets_are_those_of_a_reader_that_says_so():
    foil = {"reader": "foil", "corpus": "coco", "annotations": "foil.json"}
    judgements = Experiments(with_sets(mine=SIMULATED, foil=foil), ROOT).judgements
    assert [judgements.simulated(name) for name in ("mine", "foil")] == [True, False]
    assert {name for name, reader in judgement_readers().items() if reader.simulated} == {"simulated"}


def test_reading_a_set_does_not_depend_on_who_scores_it():
    blocks = [
        Experiments(with_sets(mine={**SIMULATED, **scored}), ROOT).judgements.block(job(judgements="mine"))
        for scored in ({}, {"scorers": [], "clipscore": ["clip"]})
    ]
    assert blocks[0] == blocks[1] == {"reader": "simulated", "images": 8, "seed": 1, "split": "test"}
    foil = with_sets(mine={"reader": "foil", "corpus": "coco", "annotations": "foil.json", "references_per_image": 1})
    read = Experiments(foil, ROOT)
    assert read.judgements.block(job(judgements="mine"))["references_per_image"] == 1
    assert [path.endswith("/foil.json") for path in read.judgements.files(job(judgements="mine"))] == [True]
    assert read.judgements.table("captions")(job(judgements="mine")) == paths.corpus("captions", "coco")


def test_files_of_regions_are_those_of_the_judged_corpus():
    config = with_sets(mine={**SIMULATED, "scorers": ["uniter"]})
    lab = Experiments(config, ROOT)
    assert config["regions"]["files"]["files"] == {"toy": "toy.tsv"}
    assert lab.config["regions"]["files"]["files"] == {"toy": "toy.tsv", "mine": "toy.tsv"}


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
        ({"mine": {"reader": "foil", "corpus": "coco"}}, "judgements.mine lacks the key 'annotations'"),
        ({"toy": SIMULATED}, "judgements.toy is to be one of the corpora, which have a 'toy' already"),
        ({"own-clipcap": SIMULATED}, "judgements.own-clipcap is to be one of the captioners"),
        ({"main": SIMULATED}, "judgements.main is to be one of the evaluations"),
    ):
        with pytest.raises(ConfigError) as raised:
            checked(with_sets(**sets), ROOT / SCHEMA)
        answers.hold(f"`judgements: {json.dumps(sets)}`", raised.value, sentence)


def test_a_file_that_is_not_there_is_named(tmp_path, answers):
    config = with_sets(mine={"reader": "foil", "corpus": "coco", "annotations": "foil.json"}) | {"data": str(tmp_path)}
    with pytest.raises(ConfigError) as raised:
        Experiments(config, ROOT).check_files()
    answers.hold("judgements whose file is missing", raised.value, "judgements.mine.annotations: no such file")
