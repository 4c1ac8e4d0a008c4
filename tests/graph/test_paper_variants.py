"""Ablations on top of config/paper.yaml and of the toy world: trainings that differ in what an ablation is about."""

import pytest
from support.plans import ROOT, config_of

from captionlab.config.families import captioners
from captionlab.config.papers import listed
from captionlab.graph.graph import Graph

# What self-critical training has that REINFORCE has not, and does nothing or is not used where a beam search learns.
OF_SELF_CRITICAL = {"scale": 1.0, "kl": 0.0}
UNUSED = {"samples", "temperature"}


@pytest.fixture(scope="module")
def paper():
    return Graph(config_of("paper", "paper_variants"), ROOT)


@pytest.fixture(scope="module")
def toy():
    return Graph(config_of("config", "variants"), ROOT)


def variants(graph):
    """By group of variants its evaluation, its corpora, and its captioners by label."""
    return {
        group: (
            graph.config["evaluations"][block["evaluation"]],
            {*block["corpora"].values()},
            {label: listed(names) for label, names in block["captioners"].items()},
        )
        for group, block in graph.config["papers"]["discritune"]["variants"].items()
    }


def different(block, reference) -> set[str]:
    """Keys of a captioner, of its objective where both have one, that are not as in the reference."""
    # What a family does of itself is not in the block of an objective.
    usual = {"reinforce": captioners()["clipcap"].finetuned_as}
    objectives = [{**usual.get(one["objective"]["kind"], {}), **one["objective"]} for one in (block, reference)]
    keys = {key for key in {*objectives[0], *objectives[1]} if objectives[0].get(key) != objectives[1].get(key)}
    others = {key for key in {*block, *reference} - {"objective"} if block.get(key) != reference.get(key)}
    return keys | others


def test_an_image_always_has_99_distractors(paper):
    blocks = paper.config["captioners"]
    _, _, found = variants(paper)["hard-distractors"]
    for block in (blocks[name] for names in found.values() for name in names if "objective" in blocks[name]):
        reward = block["objective"]["reward"]
        assert block["optimizer"]["batch"] + reward.get("hard_negatives", 0) == reward["candidates"] == 100


def test_captioners_differ_from_the_reference_in_one_thing(paper):
    blocks = paper.config["captioners"]
    reference = blocks["flickr-running-mean"]
    for name, key in {"no-baseline": "baseline", "similarity": "reward", "accuracy": "reward"}.items():
        assert different(blocks[f"flickr-{name}"], reference) == {key}
    of_greedy = {"kind", "baseline", "search", *OF_SELF_CRITICAL, *UNUSED}
    assert different(blocks["flickr-greedy"], reference) == of_greedy
    for rate in ("5e-7", "1e-6"):
        of_rate = blocks[f"flickr-rate-{rate}"]
        assert different(of_rate, reference) == {"optimizer"}
        assert {**of_rate["optimizer"], "lr": 1e-7} == reference["optimizer"]
        assert of_rate["optimizer"]["lr"] == float(rate)


@pytest.mark.parametrize("name", ["paper", "toy"])
def test_tables_8_and_9_are_the_papers_experiment(request, name):
    """Appendix B of Dessì et al. 2023: trained on Flickr for ten epochs, judged on its validation split, by five beams;
    the greedy baseline is that of captions from a beam of five."""
    graph = request.getfixturevalue(name)
    config = graph.config
    for group in ("baselines", "rewards", "learning-rates"):
        evaluation, (corpus,), found = variants(graph)[group]
        assert "flickr" in corpus
        assert config["corpora"][corpus]["evaluation_split"] == "val"
        decoding = config["decodings"][evaluation["decoding"]]
        assert (decoding["kind"], decoding["beams"]) == ("beam", 5)
        for captioner in (one for names in found.values() for one in names):
            block = config["captioners"][captioner]
            assert (block["corpus"], block["optimizer"]["epochs"]) == (corpus, 10)
    _, _, found = variants(graph)["baselines"]
    objective = config["captioners"][found["greedy decoding"][0]]["objective"]
    search = config["decodings"][objective["search"]]
    assert (objective["baseline"], search["kind"], search["beams"]) == ("greedy", "beam", 5)
    assert OF_SELF_CRITICAL.items() <= objective.items()


@pytest.mark.parametrize("names", [("paper",), ("config", "toy_discritune")])
def test_every_captioner_of_the_paper_is_decoded_by_five_beams(names):
    """Section 4.1 and appendix B of Dessì et al. 2023."""
    config = Graph(config_of(*names), ROOT).config
    block = config["papers"]["discritune"]
    captioners = {*block["captioners"].values()} - {"human"}
    shown = [config["evaluations"][name] for name in block.get("evaluations", config["evaluations"])]
    found = {name: set() for name in captioners}
    for evaluation in shown:
        for name in captioners & {*evaluation["captioners"]}:
            decoding = config["decodings"][evaluation["decoding"]]
            found[name].add((decoding["kind"], decoding.get("beams")))
    assert found == {name: {("beam", 5)} for name in captioners}


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_captioners_of_the_toy_world_differ_from_the_reference_in_one_thing(toy, seed):
    trainings = {names[seed - 1]: name for name, names in toy.trainings["captioners"].items()}
    of_seed = {name: toy.config["captioners"][training] for training, name in trainings.items()}
    more = {"kind", "baseline", *OF_SELF_CRITICAL, *UNUSED}
    on_flickr = {
        "no-baseline": {"baseline"}, "similarity": {"reward"}, "accuracy": {"reward"},
        "rate-3e-5": {"optimizer"}, "rate-3e-4": {"optimizer"}, "greedy": {"search", *more}, "leave-one-out": more,
    }  # fmt: skip
    on_coco = {
        "other-retriever": {"reward"}, "in-turn": {"reward"}, "hard-5": {"reward", "optimizer"},
        "hard-10": {"reward", "optimizer"},
    }  # fmt: skip
    for reference, expected in (("running-mean", on_flickr), ("random-distractors", on_coco)):
        assert {name: different(of_seed[name], of_seed[reference]) for name in expected} == expected
    assert different(of_seed["random-distractors"], of_seed["running-mean"]) == {"corpus", "optimizer"}
    leave_one_out = of_seed["leave-one-out"]["objective"]
    assert (leave_one_out["temperature"], leave_one_out["samples"]) == (1.0e-3, 5)  # greedy under dropout, five times
    assert different(of_seed["divergence"], of_seed["no-penalty"]) == {"kl"}
