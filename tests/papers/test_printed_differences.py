"""The papers' own differences, worked out by hand from the numbers that they print."""

import pytest
from support.paper_jobs import printer, published
from support.reporting_run import BLOCK, LINEAGE, row

from captionlab.papers.discritune.evidence import lookalike_rows, printed_colours
from captionlab.reporting.runs.reproduction import Reproduction
from captionlab.reporting.tables.cells import place_name

PARENTS = {
    "DiscriTune-COCO": "ClipCap-COCO", "DiscriTune-ConCap": "ClipCap-ConCap", "DiscriTune-BLIP": "BLIP",
    "DiscriTune-CaMEL": "CaMEL",
}  # fmt: skip
GAIN = "the gain on Concadia-Captions"
MUCH, LITTLE = "station, road, sea, resort", "room, house, restaurant"
# What of a row most tests leave alone.
DEFAULTS = {"source": None, "level": None, "corpus": "COCO", "scorer": None}


def printed(paper, **row):
    return printer(paper, published(paper), parents=PARENTS)({**DEFAULTS, **row})


@pytest.mark.parametrize(
    ("subject", "against", "corpus", "measure", "expected"),
    [
        ("DiscriTune-COCO", "ClipCap-COCO", "Flickr", "CIDEr", 44.78 - 41.65),
        ("DiscriTune-COCO", "ClipCap-COCO", "COCO", "BLEU@4", 32.31 - 32.60),
        ("DiscriTune-COCO", "DiscriTune-ConCap", "nocaps out", "METEOR", 20.49 - 17.03),
        ("DiscriTune-COCO, 5 hard distractors", "DiscriTune-COCO", "ConCap", "SPICE", 8.50 - 9.00),
        ("DiscriTune-ConCap", "Human captions", "ConCap", "accuracy", 47.6 - 42.8),
        ("DiscriTune-COCO", "ClipCap-COCO", "COCO", "non-inferiority of perplexity", None),
        ("DiscriTune-COCO", "ClipCap-COCO", "elsewhere", "CIDEr", None),
        ("DiscriTune-COCO", "nobody", "COCO", "CIDEr", None),
    ],
)
def test_numbers_of_a_column_of_discritune(subject, against, corpus, measure, expected):
    found = printed(
        "discritune", experiment="any", subject=subject, against=against, corpus=corpus, measure=measure
    )  # fmt: skip
    assert found is None if expected is None else found == pytest.approx(expected)


def test_only_the_papers_own_retriever_has_numbers():
    row = {"experiment": "baselines", "subject": "no baseline", "against": "running mean", "corpus": "Flickr"}
    assert printed("discritune", **row, measure="P@1", scorer="clip") == pytest.approx(34.3 - 97.8)
    assert printed("discritune", **row, measure="P@1", scorer="other") is None


def test_retrieval_by_blip_is_that_of_the_other_captioners():
    """Tables 1 and 4 are one test, of other captioners: 80.8 by BLIP finetuned, 88.7 by people, on Flickr."""
    row = {"experiment": "any", "measure": "P@1", "scorer": "clip", "corpus": "Flickr"}
    found = printed("discritune", subject="DiscriTune-BLIP", against="Human captions", **row)
    assert found == pytest.approx(-7.9)


@pytest.mark.parametrize(
    ("subject", "measure", "expected"),
    [
        ("DiscriTune-COCO", "CIDEr", 0.49),  # 16.70 - 14.99 on descriptions, 5.57 - 4.35 on captions
        ("DiscriTune-ConCap", "BLEU@4", 0.70),  # 1.12 - 0.62 and 0.30 - 0.50
        ("DiscriTune-BLIP", "CIDEr", 0.31),  # 27.20 - 26.02 and 10.84 - 9.97, Table 5
        ("DiscriTune-CaMEL", "CIDEr", None),  # not evaluated on Concadia
        ("DiscriTune of nobody", "CIDEr", None),
    ],
)
def test_a_gain_against_a_gain(subject, measure, expected):
    row = {"experiment": "gains", "against": GAIN, "corpus": "Concadia-Descriptions"}
    found = printed("discritune", subject=subject, measure=measure, **row)
    assert found is None if expected is None else found == pytest.approx(expected)


@pytest.mark.parametrize(
    ("subject", "against", "expected"),
    [
        ("DiscriTune-ConCap", "chance", 37.6),  # 47.6 of 100, ten images
        ("ClipCap-ConCap", "chance", 26.2),
        ("Human captions", "half of the answers", -7.2),
        ("BLIP", "chance", None),
    ],
)
def test_people_against_a_fixed_share(subject, against, expected):
    row = {"experiment": "study", "measure": "accuracy", "corpus": "ConCap"}
    found = printed("discritune", subject=subject, against=against, **row)
    assert found is None if expected is None else found == pytest.approx(expected)


@pytest.mark.parametrize(
    ("measure", "expected"),
    [
        ("non-inferiority of BLEU@4", 0.05 * 32.60 - 0.29),
        ("non-inferiority of METEOR", 0.05 * 27.50 - 1.45),  # below 0: it falls by 5.3 %
        ("non-inferiority of CIDEr", 0.05 * 108.55 - 3.15),
        ("non-inferiority of SPICE", 0.05 * 20.33 - 0.30),
    ],
)
def test_what_finetuning_costs_in_domain(measure, expected):
    row = {"experiment": "in-domain", "subject": "DiscriTune-COCO", "against": "ClipCap-COCO", "measure": measure}
    assert printed("discritune", **row) == pytest.approx(expected)
    gain = {**row, "subject": "ClipCap-COCO", "against": "DiscriTune-COCO", "measure": "non-inferiority of CIDEr"}
    assert printed("discritune", **gain) == pytest.approx(0.05 * 105.40 + 3.15)  # a gain is no loss


def test_look_alikes_against_the_best_result_before():
    row = {"experiment": "look-alikes", "against": "the best result before", "corpus": "ImageCoDe", "scorer": "clip"}
    assert printed("discritune", subject="DiscriTune-COCO", measure="P@1", **row) == pytest.approx(34.0 - 29.9)
    assert printed("discritune", subject="nobody", measure="P@1", **row) is None


def test_only_a_comparable_run_is_held_against_the_best_result_before():
    """By the first retriever alone: 34.0 of 100 sets are 4.1 above 29.9."""
    rows = [
        row(name, "sets", "P@1", value, 1.0, retriever=retriever, candidates="10 set")
        for retriever, shift in (("clip-a", 0.0), ("clip-b", -20.0))
        for name, value in (("tuned", 34.0 + shift), ("clipcap", 28.7 + shift))
    ]
    for comparable, corpora, expected in (
        (True, {"ImageCoDe": "sets"}, {"ClipCap-COCO": -1.2, "DiscriTune-COCO": 4.1}),
        (False, {"ImageCoDe": "sets"}, {}),
        (True, {"COCO": "sets"}, {}),
    ):
        paper = Reproduction({**BLOCK, "comparable": comparable, "corpora": corpora}, LINEAGE)
        found = [*lookalike_rows(paper, paper.run(rows), "clip-a")]
        assert {one["subject"]: one["difference"] for one in found} == pytest.approx(expected)
        for one in found:
            assert (one["ci_low"], one["ci_high"]) == pytest.approx((one["difference"] - 1, one["difference"] + 1))
            assert (one["corpus"], one["scorer"], one["n"]) == ("ImageCoDe", "clip-a", 500)
            assert one["places"][one["subject"]] == place_name(
                {"experiment": "generated", "subject": paper.captioners[one["subject"]], "corpus": "sets",
                 "measure": "P@1", "scorer": "clip-a"}
            )  # fmt: skip


@pytest.mark.parametrize(
    ("against", "expected"), [("ClipCap-ConCap", 7 - 1), ("Human captions", 7 - 0), ("BLIP", None)]
)
def test_colours_of_table_7_counted_by_hand(against, expected):
    """Red, green, blue, black, pink, yellow and purple of DiscriTune; white of ClipCap; people's list has none."""
    row = {"subject": "DiscriTune-ConCap", "against": against, "corpus": "ConCap"}
    assert printed_colours(published("discritune"), row) == expected
    assert printed_colours(published("discritune"), {**row, "corpus": "COCO"}) is None


def test_nearness_of_retrieval():
    """97.4 and 97.8 are 0.4 apart, 5 % of 97.8 are 4.89; without a baseline 34.3 is far off."""
    row = {"experiment": "baselines", "against": "running mean", "corpus": "Flickr", "measure": "nearness of P@1"}
    assert printed("discritune", subject="greedy decoding", scorer="clip", **row) == pytest.approx(4.49)
    assert printed("discritune", subject="no baseline", scorer="clip", **row) == pytest.approx(4.89 - 63.5)
    assert printed("discritune", subject="greedy decoding", scorer="other", **row) is None


@pytest.mark.parametrize(
    ("subject", "against", "measure", "scorer", "expected"),
    [
        ("UNITER", "CE", "BLEU@4", None, 6.0 - 28.7),
        ("ROSITA", "CE", "nouns", None, 6.6 - 3.4),
        ("CLIP", "CE", "score", "LXMERT", 79.7 - 80.1),
        ("ROSITA", "CE", "repeated nouns", None, 2.2),  # 6.6 - 4.2 against 3.4 - 3.2
        ("UNITER", "half of the images", "first pattern", None, 37.2),
        ("CLIP", "half of the images", "published pattern", None, 4.0),
        ("CLIP", "half of the images", "published prefix", None, 24.6),
        ("ROSITA", "half of the images", "published prefix", None, 6.7),
        ("ROSITA", "half of the images", "published second prefix", None, -21.1),
        ("CE", "half of the images", "first pattern", None, None),  # no patterns are printed for it
        ("CLIP", "CE", "published pattern", None, None),
        ("LXMERT", "UNITER", "verbs of the top words", None, None),  # four verbs, and no number for others
        ("UNITER", "half of the neighbouring noun phrases", "connected noun phrases", None, None),
    ],
)
def test_numbers_of_generated_captions(subject, against, measure, scorer, expected):
    found = printed(
        "probing", experiment="generated", subject=subject, against=against, measure=measure, scorer=scorer
    )  # fmt: skip
    assert found is None if expected is None else found == pytest.approx(expected)


def test_a_template_is_compared_with_the_captions_of_table_7():
    row = {"experiment": "template", "source": "published", "subject": "CLIP", "scorer": "CLIP"}
    assert printed("probing", measure="score", against="CE", **row) == pytest.approx(28.6 - 27.8)
    assert printed("probing", measure="preferred", against="half of the images", **row) is None


@pytest.mark.parametrize("measure", ["score", "nearness of score"])
@pytest.mark.parametrize(("experiment", "against"), [("count", "the fewest nouns"), ("replacement", "CE")])
def test_what_the_probing_paper_shows_in_figures_only(experiment, against, measure):
    row = {"experiment": experiment, "subject": "UNITER", "scorer": "UNITER"}
    assert printed("probing", measure=measure, against=against, **row) is None


@pytest.mark.parametrize(
    ("experiment", "subject", "level", "measure", "against", "expected"),
    [
        ("probes", "finetuned", 0.5, "macro-F1", "pretrained", 0.96 - 0.67),
        ("probes", "finetuned", 0.1, "macro-F1", "pretrained", 1.00 - 0.71),
        ("probes", "finetuned", 0.5, "macro-F1", "mlp", 0.96 - 0.91),
        ("probes", "pretrained", 0.5, "micro-F1", "random", 0.94 - 0.16),
        ("probes", "pretrained", 0.1, "micro-F1", "random", None),  # Table 6 has one split
        ("probes without diagnostic objects", "finetuned", 0.5, "macro-F1", "test share 0.1", 0.88 - 0.99),
        ("probes", "finetuned", 0.5, "macro-F1", "random", 0.96 - 0.12),
        ("probes without diagnostic objects", "pretrained", 0.5, "macro-F1", "mlp", 0.0),
        ("probes without diagnostic objects", "finetuned", 0.5, "nearness of micro-F1", "intact inputs", 0.0395),
        ("probes without diagnostic objects", "pretrained", 0.3, "nearness of micro-F1", "intact inputs", 0.037),
        ("probes", "finetuned", 0.5, "F1 of rare scenes", "pretrained", None),
        ("probes", "pretrained", 0.5, "macro-F1", "halfway from chance to finetuned", 0.67 - (0.96 + 0.12) / 2),
        ("probes", "pretrained", 0.3, "macro-F1", "halfway from chance to finetuned", None),
        ("probes", "pretrained", 0.5, "F1 of rare scenes", "one half", None),
        ("probes", "finetuned", 0.5, "macro-F1", "what the paper has not", None),
    ],
)
def test_probes(experiment, subject, level, measure, against, expected):
    row = {"experiment": experiment, "subject": subject, "source": "random-forest", "level": level}
    found = printed("scenes", measure=measure, against=against, **row)
    assert found is None if expected is None else found == pytest.approx(expected)


@pytest.mark.parametrize(
    ("measure", "against", "expected"),
    [
        ("nearness of CIDEr", "the end of the finetuning", 2.2),  # 161.8 and 168.0, 5 % are 8.4
        ("nearness of SPICE", "the end of the finetuning", -0.08),  # 32.6 and 34.4, 5 % are 1.72
        ("nearness of BLEU@4", "the end of the finetuning", 2.255),  # 49.3 and 49.1, 5 % are 2.455
        ("CIDEr", "pretrained", None),  # not in Table 1
    ],
)
def test_epochs_of_the_finetuning(measure, against, expected):
    row = {"experiment": "scene captions", "subject": "2", "corpus": "hl-scenes"}
    found = printed("scenes", measure=measure, against=against, **row)
    assert found is None if expected is None else found == pytest.approx(expected)


@pytest.mark.parametrize(
    ("subject", "level", "measure", "much", "expected"),
    [
        ("finetuned", 3.0, "RBO", MUCH, 0.47),  # 3.48 / 4 and 1.20 / 3
        ("finetuned", 5.0, "IoU", MUCH, 2.40 / 4 - 0.95 / 3),
        ("finetuned", 3.0, "RBO", "station, sea", 0.48),  # 0.88 and 0.88, of the scenes that a run has
        ("finetuned", 4.0, "RBO", MUCH, None),
        ("pretrained", 3.0, "RBO", MUCH, None),
    ],
)
def test_overlap_of_two_kinds_of_scenes(subject, level, measure, much, expected):
    row = {"experiment": "overlap of scenes", "subject": subject, "source": much, "against": LITTLE}
    found = printed("scenes", level=level, measure=measure, **row)
    assert found is None if expected is None else found == pytest.approx(expected)


def test_overlaps_of_all_scenes():
    row = {"experiment": "overlap", "subject": "finetuned"}
    assert printed("scenes", measure="r", against="no correlation", **row) == pytest.approx(0.81)
    assert printed("scenes", measure="r", against="no correlation", experiment="overlap", subject="pretrained") is None
    # Chance depends on how many objects a scene has, which the paper does not print.
    assert printed("scenes", measure="RBO", level=3.0, against="chance", **row) is None


@pytest.mark.parametrize(
    ("source", "level", "measure", "expected"),
    [
        ("test", None, "changed", -28.0),  # 13 and 41 per cent
        ("train", None, "changed", None),
        ("test", 1.0, "changed", None),
        ("test", None, "confidence", None),
    ],
)
def test_captions_that_ablation_changes(source, level, measure, expected):
    row = {"experiment": "ablation", "subject": "finetuned", "against": "pretrained"}
    assert printed("scenes", source=source, level=level, measure=measure, **row) == expected


def test_without_published_numbers_there_are_none():
    row = {**DEFAULTS, "experiment": "any", "subject": "DiscriTune-COCO", "against": "ClipCap-COCO", "measure": "CIDEr"}
    assert printer("discritune", None)(row) is None
