"""The probing paper's tables and figures from a made-up run: each value in its place, in all four formats."""

# ruff: noqa: RUF001 (an en dash stands where a number is missing)

import base64
import csv
import io
import re
from functools import partial
from statistics import fmean
from types import SimpleNamespace

import pytest
from matplotlib.colors import to_hex
from PIL import Image
from support.figure_checks import STYLE, assert_readable, drawn
from support.interval_ranges import intervals_outside
from support.paper_jobs import PAPERS, judged, published
from support.probing_run import (
    CORPUS,
    FIGURES,
    IDS,
    ROLES,
    ROOT,
    SCORERS,
    TABLES,
    THINGS,
    Made,
    caption,
    score,
    tags_of,
    things,
)

from captionlab.evaluation.schemas import ROLE_DIFFERENCES, ROLE_VALUES
from captionlab.language.following import pattern_rows, read_patterns
from captionlab.language.patterns import tagged
from captionlab.language.schemas import CONSTRUCTED
from captionlab.papers.probing.figures import MEASURES, draw_patterns, draw_unigrams, draw_visual_words
from captionlab.papers.probing.scores import PATTERN_SHARES_TABLE, kept, matching_table, reward_text
from captionlab.papers.probing.values import ProbingRun
from captionlab.reporting.claims.claims import read_claims
from captionlab.reporting.runs.values import COORDINATES, Measured
from captionlab.reporting.tables.figures import looks
from captionlab.storage.schemas import GENERATED
from captionlab.storage.tables import read_metadata, read_table, write_table


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Made:
    run = Made(tmp_path_factory.mktemp("probing"))
    # Words of the same part of speech: among any words there are nouns, and these scorers do not like wrong ones.
    replacements = {"shares": [0.5, 1.0], "others": "same-part-of-speech"}
    run.construct(replacements=replacements, templates=["published", "mined"], nouns=[3, 4, 9])
    return run


@pytest.fixture(scope="module")
def summary(made):
    return made.summarise()


@pytest.fixture(scope="module")
def tables(made, summary):
    return made.collect(*summary)


def test_the_tables_say_what_made_captions_and_scores(summary):
    assert [read_metadata(path) for path in summary] == [{"device": "abacus, typewriter"}] * 2


def test_no_interval_lies_outside_of_the_range_of_its_measure(made, tables):
    """All captions of a role follow one pattern, and many differences are the same on all images."""
    found, intervals = intervals_outside(made.folder)
    assert found == []
    assert intervals > 300


def lines(text: str) -> list[list[str]]:
    """Cells of the rows of Markdown tables, headings and rules included."""
    return [line[2:-2].split(" | ") for line in text.splitlines() if line.startswith("| ")]


def row(text: str, first: str, *more: str) -> list[str]:
    """The first row that starts with these cells."""
    return next(cells for cells in lines(text) if cells[: 1 + len(more)] == [first, *more])


def records(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def mean_score(scorer: str, *captioners: str) -> float:
    return fmean(
        SCORERS[scorer]["factor"] * score(scorer, caption(captioner, number), number)
        for captioner in captioners
        for number in range(len(IDS))
    )


def test_constructed_captions(made):
    captions = read_table(made.paths["made"]["captions"], GENERATED).to_pylist()
    origins = read_table(made.paths["made"]["constructions"], CONSTRUCTED).to_pylist()
    assert [row["caption_index"] for row in captions if row["image_id"] == IDS[1]] == list(range(4 + 7 + 10))
    # Every tenth caption has no noun.
    assert len({row["image_id"] for row in captions}) == 27
    found = {
        (origin["experiment"], origin["subject"], origin["source"], origin["level"]): row["caption"]
        for row, origin in zip(captions, origins, strict=True)
        if row["image_id"] == IDS[1]
    }
    first, second, third = things(1)
    assert found["template", "UNITER", "published", 2.0] == f"a {first} of the {second}"
    assert found["template", "CLIP", "mined", 2.0] == f"a image image of a {first} near a {second}"
    assert found["count", "LXMERT", "published", 3.0] == f"a {first} of a {second} of a {third}"
    assert not any(level == 9.0 for *_, level in found)  # no image has so many nouns
    replaced = found["replacement", "nouns", None, 1.0].split()
    assert replaced[0::2] == ["a", "a"] or replaced[:1] + replaced[2:4] == ["a", "on", "a"]
    assert not {first, second, third} & set(replaced)


@pytest.mark.parametrize("name", [f"probing_{name}" for name in (*TABLES, "effects")])
def test_every_table_has_rows_and_says_where_it_was_made(tables, name):
    found = records(tables[name, "csv"])
    assert found
    assert {record["config"] for record in found} == {"toy"}
    assert "\\begin{tabular}" in tables[name, "tex"]
    assert "<table>" in tables[name, "html"]
    assert "Made from the config 'toy'" in tables[name, "md"]


def test_what_rewards_do_to_metrics_of_their_own_tables(tables):
    text = tables["probing_effects", "md"]
    assert "CLIPScore by clip-b" in text
    assert "RefCLIPScore" not in text  # nothing was held against references
    for role, value, apart in (("CLIP", "**75.0 (own)** [", "+25.0 ["), ("UNITER", "50.0 [", "+0.0 [")):
        reward, here, difference = row(text, role)[1:4]
        assert (reward, here[: len(value)], difference[: len(apart)]) == (f"toy-{role.lower()}", value, apart)


def test_scores(tables):
    text = tables["probing_table2_scores", "md"]
    cells = row(text, "UNITER")
    assert cells[1].startswith(f"{mean_score('toy-uniter', 'uniter-1', 'uniter-2'):.1f}")
    assert cells[2] == "90.4 ○"
    assert row(text, "CLIP")[3].startswith(f"**{mean_score('toy-clip', 'clip-1', 'clip-2'):.1f} ↑** [")
    # A role that the paper does not have stands alone, after the paper's.
    assert [cells[0] for cells in lines(text)][3:7] == ["UNITER", "CLIP", "CE", "UNITER + KL"]
    assert row(text, "UNITER + KL")[2] == "–"
    found = {(r["subject"], r["measure"], r["scorer"]): r for r in records(tables["probing_table2_scores", "csv"])}
    record = found["CE", "score", "CLIP"]
    assert float(record["value"]) == pytest.approx(mean_score("toy-clip", "ce-1", "ce-2"))
    assert (record["published"], record["verdict"], record["seeds"], record["n"]) == (
        "27.8",
        "not comparable",
        "2",
        "30",
    )
    assert "SPICE is not in this run." in text


def test_statistics(tables):
    found = {(r["subject"], r["measure"]): r for r in records(tables["probing_table4_statistics", "csv"])}
    lengths = [len(caption(name, n).split()) for name in ("uniter-1", "uniter-2") for n in range(len(IDS))]
    assert float(found["UNITER", "length"]["value"]) == pytest.approx(fmean(lengths))
    assert found["UNITER", "length"]["published"] == "6.7"
    cells = row(tables["probing_table4_statistics", "md"], "CLIP")
    assert cells[2] == "131.2 ○"


def test_words(tables):
    found = {(r["subject"], r["measure"]): r for r in records(tables["probing_figure4_words", "csv"])}
    # "a image image of a dog near a cat near a boat": each of three pairs of phrases has a preposition between them.
    assert float(found["CLIP", "connected noun phrases"]["value"]) == pytest.approx(100.0)
    # "a dog dog of the cat boat" has two phrases.
    assert float(found["UNITER", "connected noun phrases"]["value"]) == pytest.approx(100.0)
    assert float(found["UNITER", "noun phrases connected by and"]["value"]) == 0.0
    # A third of the pairs each: "a dog of the cat", "a dog a cat" and "a dog and a cat".
    for measure in ("connected noun phrases", "noun phrases connected by and"):
        assert float(found["UNITER + KL", measure]["value"]) == pytest.approx(100 / 3)
    printed = {(subject, measure): r["published"] for (subject, measure), r in found.items() if r["published"]}
    assert printed == {("UNITER", "nouns of the top words"): "6"}


def test_patterns(tables):
    text = tables["probing_table5_patterns", "md"]
    assert any(cells[:2] == ["sentence", "mined"] for cells in lines(text))
    assert any("paper 74.6" in cell for cells in lines(text) for cell in cells)
    rows = records(tables["probing_figure1_patterns", "csv"])
    found = {(r["subject"], r["measure"]): r for r in rows if not r["against"]}
    assert (found["CLIP", "published prefix"]["value"], found["CLIP", "published prefix"]["published"]) == (
        "100.0",
        "74.6",
    )


def test_the_second_prefix_of_rosita_has_a_verdict():
    row = {name: None for name in COORDINATES} | {"experiment": "generated", "subject": "ROSITA", "corpus": "coco"}
    shares = {"published prefix": (57.0, 56.0, 58.0), "published second prefix": (40.0, 38.0, 42.0)}
    names = ("value", "ci_low", "ci_high")
    values = [
        {**row, "measure": measure, "seeds": 1, "n": 5000, **dict(zip(names, ends, strict=True))}
        for measure, ends in shares.items()
    ]
    block = {"comparable": True, "corpora": {"COCO": "coco"}, "captioners": {"ROSITA": "fc-rosita"}, "scorers": {}}
    run = ProbingRun(values, [], published("probing"), block)
    found = {
        record["measure"]: record
        for record in PATTERN_SHARES_TABLE.table(run, {"config": "made up", "seed": 1}).records
        if record["against"] is None
    }
    assert found["published prefix"]["verdict"] == "agrees"
    second = found["published second prefix"]
    assert (second["published"], second["ci_low"], second["verdict"]) == ("28.9", 38.0, "differs")


def test_templates(tables):
    text = tables["probing_table7_templates", "md"]
    cells = row(text, "UNITER", r"a+NOUN+of+the+(NOUN)\*")
    nouns = [n for n in range(len(IDS)) if n % 10]
    texts = {n: " of the ".join(dict.fromkeys(things(n)[:2])) for n in nouns}  # some have one noun
    rebuilt = fmean(100 * score("toy-uniter", f"a {text}", n) for n, text in texts.items())
    before = fmean(100 * score("toy-uniter", caption("ce-1", n), n) for n in nouns)
    assert cells[4].startswith(f"{rebuilt:.1f} [")
    assert (cells[3], cells[5]) == ("71.6 ○", "80.5 ○")
    assert cells[6].startswith(f"{rebuilt - before:+.1f} [")
    assert row(text, "CLIP", r"a+image+image+of+a+NOUN+(near+a+NOUN)\*")


def test_figures_as_tables(tables):
    found = {
        (r["experiment"], r["subject"], r["level"], r["scorer"], r["against"]): r
        for name in ("probing_figure2_replacements", "probing_figure3_visual_words")
        for r in records(tables[name, "csv"])
    }
    assert float(found["replacement", "nouns", "1.0", "CLIP", "others"]["value"]) < -10
    assert float(found["replacement", "others", "1.0", "UNITER", "CE"]["value"]) > -3
    three, four = (found["count", "CLIP", level, "CLIP", ""] for level in ("3.0", "4.0"))
    there = [len({*things(n), THINGS[n % 10]}) for n in range(len(IDS)) if n % 10]
    assert [int(three["n"]), int(four["n"])] == [sum(count >= k for count in there) for k in (3, 4)]
    assert ("count", "CLIP", "9.0", "CLIP", "") not in found


def test_the_claim_on_visual_words_is_about_templates_with_more_and_fewer(summary):
    """More nouns lower the scores here, and still templates are better than the captions that they are made of."""
    claims = read_claims(PAPERS / "probing" / "claims.yaml", "probing")
    chosen = [claim for claim in claims if claim.claim == "more-visual-words-preferred"]
    (record,) = judged(chosen, read_table(summary[1], ROLE_DIFFERENCES).to_pylist(), "probing").records
    assert (record["scope"], record["verdict"], record["comparisons"]) == ("by CLIP", "does not hold", 1)
    assert "CLIP score, published, 4 against the next fewer nouns -3.00" in record["evidence"]


def test_choices(tables):
    text = tables["probing_table1_choices", "md"]
    shown = [cells for cells in lines(text) if re.fullmatch(r"\([a-f]\)", cells[0])]
    letters = {"(a)": "CE", "(b)": "UNITER", "(c)": "ROSITA", "(d)": "ViLBERT", "(e)": "CLIP", "(f)": "LXMERT"}
    assert {cells[0]: cells[1] for cells in shown[:6]} == letters
    assert sum("✓" in cell for cells in shown for cell in cells) == len(SCORERS)
    shares = [r for r in records(tables["probing_table1_choices", "csv"]) if r["part"] == "chosen, % of images"]
    for label in ("UNITER", "CLIP"):
        assert sum(float(r["score"]) for r in shares if r["scorer"] == label) == pytest.approx(100.0)


def test_examples_have_their_images(tables):
    page = tables["probing_table3_examples", "html"]
    pictures = re.findall(r'src="data:image/png;base64,([^"]+)" alt="">COCO, image', page)
    assert len(pictures) == 3
    colours = {Image.open(io.BytesIO(base64.b64decode(picture))).getpixel((0, 0)) for picture in pictures}
    assert colours == {(8 * number, 100, 50) for number in (0, 10, 20)}
    assert "<img" not in tables["probing_table3_examples", "md"]
    assert row(tables["probing_table3_examples", "md"], "UNITER")[1] == caption("uniter-1", 0)
    assert "<img" in tables["probing_table1_choices", "html"]
    assert "<img" in tables["probing_table6_constructed", "html"]


def test_constructed_examples(tables):
    text = tables["probing_table6_constructed", "md"]
    first, second = [cells for cells in lines(text) if cells[0] == "visual words"]
    assert len(first[1].split(", ")) == 2  # no CE caption has three
    assert len(second[1].split(", ")) == 4
    assert row(text, "CE")[1] == caption("ce-1", 1)


def test_rewards(tables):
    text = tables["probing_rewards", "md"]
    assert row(text, "UNITER + KL")[1] == "toy-uniter, KL 0.1"
    assert row(text, "CLIP")[4] == "yes"
    # CIDEr of CE is 25, that of CLIP two thirds of it, that of the variant the same.
    assert (row(text, "CLIP")[6], row(text, "CLIP")[-1]) == ("no", "no")
    # CIDEr is no share: where it changes on no image, its difference has an interval without a width.
    assert row(text, "UNITER + KL")[6] == "yes"


def test_generalisation(tables):
    text = tables["probing_generalisation", "md"]
    cells = row(text, "CLIP")
    assert cells[1] == "CLIP"
    assert cells[2].startswith("+")
    assert "(own)" in cells[3]
    assert cells[4] == "1 of 1"
    assert len(cells) == 5


def measured(value, half):
    return Measured(value, value - half, value + half, 3, 100)


@pytest.mark.parametrize(
    ("difference", "half", "higher_is_better", "answer"),
    [
        (0.0, 1.0, True, "yes"),
        (-4.0, 0.5, True, "yes"),  # a loss below 5 %
        (-4.0, 2.0, True, "cannot tell"),
        (-9.0, 2.0, True, "no"),
        (30.0, 9.0, True, "yes"),
        (9.0, 2.0, False, "no"),
        (-9.0, 2.0, False, "yes"),
    ],
)
def test_what_is_kept(difference, half, higher_is_better, answer):
    assert kept(measured(difference, half), measured(100.0, 1.0), higher_is_better) == answer
    assert kept(None, measured(100.0, 1.0), higher_is_better) is None


@pytest.mark.parametrize(
    ("reward", "text"),
    [
        ({"kind": "scorer", "scorer": "toy-clip"}, "toy-clip"),
        (
            {
                "kind": "sum",
                "of": [
                    {"weight": 1, "reward": {"kind": "scorer", "scorer": "a"}},
                    {"weight": 0.1, "reward": {"kind": "fluency"}},
                ],
            },
            "1 x a + 0.1 x fluency",
        ),
        ({"kind": "alternate", "of": [{"kind": "scorer", "scorer": "a"}, {"kind": "cider"}]}, "a in turn with cider"),
    ],
)
def test_rewards_in_words(reward, text):
    assert reward_text({"reward": reward}) == text
    assert reward_text({"reward": reward, "kl": 0.5}) == f"{text}, KL 0.5"
    assert reward_text({"kind": "cross-entropy"}) == "–"


def test_accuracy_of_scorers():
    one = {"split": "test", "value": 0.9, "ci_low": 0.88, "ci_high": 0.91, "n": 50}
    rows = [{**one, "negatives": "hard", "measure": "ranking"}, {**one, "negatives": "random", "measure": "accuracy"}]
    table = matching_table({"UNITER": rows}, {"config": "toy", "seed": 1})
    ((line,),) = [block.rows for block in table.blocks]
    assert [cell.text for cell in line] == ["UNITER", "90.0", "–", "–", "90.0", "50, test"]
    assert line[1].detail == "[88.0, 91.0]"
    assert "No scorer was trained in this run." in matching_table({}, {"config": "toy", "seed": 1}).footnotes


@pytest.fixture(scope="module")
def figures(made, summary):
    return made.drawings(*summary)


def test_figures_are_drawn(made, summary):
    for picture, *others in made.plot(*summary).values():
        colours = Image.open(picture).convert("RGB").getcolors(1 << 20)
        assert len(colours) > 50, picture
        assert all(path.stat().st_size > 5000 for path in others)


@pytest.mark.parametrize("width", ["page", "column"])
@pytest.mark.parametrize("name", FIGURES)
def test_figures_can_be_read(figures, name, width):
    assert_readable(drawn(figures[f"probing_{name}"], width), width)


def test_figure_1_says_how_many_follow_a_pattern_also_where_nobody_does(made, summary, tmp_path):
    rows = read_table(summary[0], ROLE_VALUES).to_pylist()
    shown = [row for row in rows if row["measure"] in MEASURES and row["corpus"] == CORPUS]
    for row, value in zip(shown, (0.0, 0.2, 41.3), strict=False):
        row |= {"value": value, "ci_low": 0.0, "ci_high": 50.0}
    values = str(tmp_path / "values.parquet")
    write_table(values, ROLE_VALUES, {name: [row[name] for row in rows] for name in ROLE_VALUES.columns})
    figure = drawn(made.drawings(values, summary[1])["probing_figure1_patterns"])
    (axis,) = (axis for axis in figure.axes if axis.get_ylabel())
    expected = ["0", "<1", "41", *(f"{row['value']:.0f}" for row in shown[3:])]
    assert sorted(text.get_text() for text in axis.texts) == sorted(expected)
    assert {tick.get_text() for tick in axis.get_xticklabels()} == {*ROLES}


def test_a_role_has_one_colour_and_so_has_the_scorer_that_rewarded_it(figures):
    patterns, _, words, unigrams = (drawn(draw) for draw in figures.values())
    bars = {}
    for axis in (axis for axis in patterns.axes if axis.get_ylabel()):
        for tick, place in zip(axis.get_xticklabels(), axis.get_xticks(), strict=True):
            near = [bar for bar in axis.patches if abs(bar.get_x() + bar.get_width() / 2 - place) < 0.5]
            (bars[tick.get_text()],) = {to_hex(bar.get_facecolor()) for bar in near}
    assert len({*bars.values()}) == len(bars)
    lines = [pair for axis in words.axes for pair in zip(*axis.get_legend_handles_labels(), strict=True)]
    found = {name: to_hex(of[0].get_color()) for of, name in lines}
    assert found == {scorer["label"]: bars[scorer["label"]] for scorer in SCORERS.values()}
    shown = {
        axis.get_title(): {to_hex(bar.get_facecolor()) for bar in axis.patches}
        for axis in unigrams.axes
        if axis.patches
    }
    assert shown == {role: {colour} for role, colour in bars.items()}


def test_scores_of_different_units_have_panels_of_their_own(figures, summary):
    """Figure 2 has 100 times the cosine of CLIP, as tables have; Figure 3, as in the paper, 2.5 times more."""
    replaced, more = (drawn(figures[f"probing_{name}"]) for name in ("figure2_replacements", "figure3_visual_words"))
    panels = {axis.get_ylabel(): [text.get_text() for text in axis.get_xticklabels()] for axis in replaced.axes[:2]}
    assert panels == {"matching score (%)": ["UNITER"], "matching score (100 cos)": ["CLIP"]}
    below = [axis.get_ylabel() for axis in replaced.axes[2:]]
    assert below == ["minus CE's (%)", "minus CE's (100 cos)"]
    assert [axis.get_ylabel() for axis in more.axes] == ["matching score (%)", "matching score (250 cos)"]
    labels = [pair for axis in more.axes for pair in zip(*axis.get_legend_handles_labels(), strict=True)]
    shown = {label: bars.lines[0].get_ydata() for bars, label in labels}
    assert set(shown) == {"UNITER", "CLIP"}
    rows = read_table(summary[0], ROLE_VALUES).to_pylist()
    for scorer, factor in (("UNITER", 1.0), ("CLIP", 2.5)):
        levels = {
            row["level"]: factor * row["value"]
            for row in rows
            if (row["experiment"], row["subject"], row["scorer"], row["measure"], row["source"])
            == ("count", scorer, scorer, "score", "published")
        }
        assert [*shown[scorer]] == pytest.approx([levels[level] for level in sorted(levels)])


@pytest.mark.parametrize(("of_cosine", "factor"), [(250.0, 1.0), (100.0, 2.5), (50.0, 5.0)])
def test_figure_3_has_250_times_the_cosine_whatever_the_scale(of_cosine, factor):
    """With `scale: 2.5` the scores are CLIPScore's already."""
    values = {3.0: 40.0, 5.0: 60.0}
    run = SimpleNamespace(
        scorers=["CLIPScore"],
        sources=lambda: ["published"],
        levels=lambda experiment: [*values],
        value=lambda place: Measured(values[place.level], values[place.level] - 1, values[place.level] + 2, 1, 9),
    )
    draw = partial(draw_visual_words, run, CORPUS, {"CLIPScore": of_cosine}, looks(STYLE, ["CLIPScore"]), STYLE)
    (axis,) = drawn(draw).axes
    (handle,), (label,) = axis.get_legend_handles_labels()
    assert (label, axis.get_ylabel()) == ("CLIPScore", "matching score (250 cos)")
    assert [*handle.lines[0].get_ydata()] == pytest.approx([factor * value for value in values.values()])


def test_table_2_says_what_its_scores_are(tables):
    text = tables["probing_table2_scores", "md"]
    units = "Scores are probabilities in per cent; CLIP's scores are 100 times the cosine. Metrics are times 100."
    assert units in text


def test_figure_1_takes_a_caption_of_rosita_apart():
    """As in the paper, though another role follows its most frequent pattern more often."""
    published = read_patterns(ROOT / "config" / "published" / "probing_patterns.csv")
    of_role = {"ROSITA": "kl-1", "UNITER": "uniter-1"}
    said = {
        role: [tagged(*(tags_of(caption(name, n))[column] for column in ("words", "tags"))) for n in range(len(IDS))]
        for role, name in of_role.items()
    }
    patterns = {role: pattern_rows(CORPUS, captions, published) for role, captions in said.items()}
    run, of = SimpleNamespace(roles=[*of_role], value=lambda place: None), looks(STYLE, [*of_role])
    figure = drawn(partial(draw_patterns, run, patterns, said, CORPUS, of, STYLE))
    written = " ".join(text.get_text() for axis in figure.axes for text in axis.texts)
    assert "captioner ROSITA." in written


def test_figure_4_fills_nouns_and_unk_is_none():
    """Taggers take it for one; here it has the tag that captionlab gives it, in a table that counts it."""
    captions = [[("unk", "X"), ("dog", "NOUN")]] * 3
    row = {"corpus": CORPUS, "unit": "word", "n": 1, "share": 0.5}
    words = [{**row, "ngram": word, "rank": rank} for rank, word in enumerate(("unk", "dog"), 1)]
    given = SimpleNamespace(roles=["CE"]), {"CE": words}, {"CE": captions}, CORPUS, looks(STYLE, ["CE"]), STYLE
    (axis,) = drawn(partial(draw_unigrams, *given)).axes
    assert [text.get_text() for text in axis.get_yticklabels()] == ["dog", "unk"]
    assert [bool(bar.get_hatch()) for bar in axis.patches] == [False, True]


def test_the_corpus_is_that_of_the_config(tables):
    assert {record["corpus"] for record in records(tables["probing_table2_scores", "csv"])} == {CORPUS}
