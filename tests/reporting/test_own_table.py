"""Own tables: choice files and their mistakes, rows and columns, published numbers, LaTeX that compiles."""

import csv
import io
from dataclasses import replace

import pytest
import yaml
from support.latex_papers import NEEDS_LATEX, compiled
from support.own_numbers import CHOICES, HUMAN, MADE, METRICS, ODD, PLAIN, SEEDED, choice, difference, numbers, rows_of
from support.running import run_script

from captionlab.config.own_tables import WIDTHS, ChoiceError, check_names, read_choice
from captionlab.reporting.tables.formats.csv import csv_text
from captionlab.reporting.tables.formats.own_latex import own_latex
from captionlab.reporting.tables.own_table import Numbers, own_table, published_numbers
from captionlab.reporting.tables.render import MISSING
from captionlab.storage.schemas import COMPARISONS, SUMMARY
from captionlab.storage.tables import write_table

GOOD = {"captioners": [PLAIN], "corpora": ["a_b%"], "evaluations": ["main"], "metrics": [{"metric": "CIDEr"}]}


def table_of(**others):
    return own_table("mine", choice(**others), "mine.yaml", numbers(), MADE)


def texts(table, block: int = 0) -> list[list[str]]:
    return [[cell.text for cell in row] for row in table.blocks[block].rows]


# ----------------------------------------------------------------------------------------------------- rows and columns
def test_rows_and_columns_are_in_the_order_of_the_choice():
    table = table_of(captioners=[SEEDED, PLAIN], metrics=METRICS[1::-1], intervals=False, decimals=2)
    assert [column.heading for column in table.columns] == ["captioner", "BLEU_4 & |%", "CIDEr"]
    # The mean over three trainings stands for the captioner: 0.5 more than its first training.
    assert texts(table) == [[SEEDED, "0.50", "0.25"], [PLAIN, "2.50", "0.12"]]
    assert table.blocks[0].heading == "a_b%, test; main, beam5; 90 to 100 images"
    assert [row[0].text for row in table.blocks[1].rows] == [SEEDED, PLAIN]


def test_human_captions_are_never_best_and_a_missing_number_is_explained():
    table = table_of(metrics=[METRICS[0], METRICS[2]], captioners=[HUMAN, PLAIN, ODD], corpora=["a_b%"])
    best = [[cell.best for cell in row] for row in table.blocks[0].rows]
    assert best == [[False, False, False], [False, False, False], [False, True, True]]
    assert texts(table)[0] == [HUMAN, MISSING, "1.0"]
    assert f"{MISSING}: not measured." in table.footnotes
    assert not any(cell.best for row in table_of(best=False).blocks[0].rows for cell in row)


def test_differences_are_turned_where_they_were_computed_the_other_way():
    table = table_of(
        differences=PLAIN, captioners=[PLAIN, ODD, SEEDED], metrics=METRICS[:3], decimals=2, corpora=["a_b%"]
    )
    assert [row[2::2] for row in texts(table)] == [
        ["", "", ""],
        ["+0.12***", "-0.12*", MISSING],
        ["-0.38", "+0.50", "+0.05**"],
    ]
    details = [row[2].detail for row in table.blocks[0].rows]
    assert details == ["", "[-0.38, +0.38]", "[-0.62, +0.12]"]
    record = table.records[1]
    assert (record["CIDEr, difference"], record["CIDEr, p"]) == ("+0.12", "0.0004")


@pytest.mark.parametrize("turned", [False, True])
def test_of_several_trainings_the_difference_is_the_mean(turned):
    pair = (PLAIN, SEEDED) if turned else (SEEDED, PLAIN)
    comparisons = [difference(*pair, 0, value, None, seeds=seeds) for seeds, value in ((3, 2.0), (1, 1.0))]
    apart = replace(numbers(), comparisons=comparisons).differences(PLAIN)
    assert [(one.seeds, one.value) for one in apart.values()] == [(3, -2.0 if turned else 2.0)]


def test_papers_have_a_column_where_a_chosen_captioner_has_a_published_number():
    table = table_of(published=True)
    assert [(c.heading, c.detail) for c in table.columns if c.of_paper] == [
        ("paper", "CIDEr"), ("paper", "P@1, clip_a|b, full"),
    ]  # fmt: skip
    assert [row[2] for row in texts(table)] == [MISSING, "73.0", MISSING, MISSING]
    assert not any(column.of_paper for column in table_of(published=True, captioners=[SEEDED]).columns)


def test_published_numbers_are_those_of_rows_with_an_evaluation_or_of_a_role_with_one_captioner():
    named = {
        "captioner": "a",
        "corpus": "c",
        "evaluation": "main",
        "retriever": "",
        "candidates": "",
        "metric": "CIDEr",
    }
    role = {"experiment": "generated", "subject": "A", "corpus": "c", "measure": "score", "scorer": "S", "against": ""}
    several = {**role, "subject": "B"}
    records = {
        "one": [{**named, "published": "1.20"}, {**named, "published": "9"}, {**named, "metric": "x", "published": ""}]
    }
    records["two"] = [
        {**role, "published": "3"},
        {**several, "published": "4"},
        {**role, "against": "B", "published": "5"},
    ]
    block = {
        "evaluation": "probing",
        "captioners": {"A": "a", "B": ["b", "d"]},
        "scorers": {"S": "s"},
        "comparable": True,
    }
    assert published_numbers(records, {"one": {"comparable": True}, "two": block}) == (
        {("a", "c", "main", None, None, "CIDEr"): "1.20", ("a", "c", "probing", "s", None, "score"): "3"},
        False,
    )
    assert published_numbers({"one": records["one"]}, {"one": {}})[1]


def test_the_records_are_the_printed_numbers():
    [first, *_] = csv.DictReader(io.StringIO(csv_text(table_of(metrics=METRICS[:1], captioners=[PLAIN]))))
    ours = {"corpus": "a_b%", "evaluation": "main", "captioner": PLAIN, "images": "90 to 100"}
    ours |= {"CIDEr": "0.1", "CIDEr, low": "-0.5", "CIDEr, high": "1.2"}
    assert first == {
        **ours,
        "config": MADE["config"],
        "seed": "3",
        "commit": "0123abcd",
        "device": "CPU",
        "caveats": "half of it",
    }


@NEEDS_LATEX
def test_latex_of_every_choice_is_no_wider_than_its_venue(tmp_path):
    for name, chosen in CHOICES.items():
        width = WIDTHS[chosen.width]
        text = own_latex(own_table(name, chosen, "x.yaml", numbers(), MADE), width)
        assert f"max width={width}in" in text
        (tmp_path / f"{name}.tex").write_text(
            rf"\noindent\hbox to 0pt{{\begin{{minipage}}{{{width}in}}{text}\end{{minipage}}\hss}}", encoding="utf-8"
        )
    assert compiled(tmp_path, list(CHOICES), "article")[0] == []


# ------------------------------------------------------------------------------------------------------------- mistakes
@pytest.mark.parametrize(
    ("given", "names", "key", "value"),
    [
        ("an empty list", "captioners has no value", "captioners", []),
        ("a metric as text", "metrics.0 is 'CIDEr'", "metrics", ["CIDEr"]),
        ("a wrong key of a metric", "metrics.0 has no key 'by'", "metrics", [{"metric": "P@1", "by": "a"}]),
        ("a name twice", "corpora is ['a', 'a']", "corpora", ["a", "a"]),
        ("a wrong key", "has no key 'decimal'", "decimal", 2),
        ("too many decimals", "decimals is 9", "decimals", 9),
        ("a width that no venue has", "width is 'acl'", "width", "acl"),
        ("intervals without a value", "intervals has no value", "intervals", None),
    ],
)  # fmt: skip
def test_a_wrong_value_of_a_choice_is_named(tmp_path, answers, given, names, key, value):
    path = tmp_path / "own.yaml"
    path.write_text(yaml.safe_dump({**GOOD, key: value}), encoding="utf-8")
    with pytest.raises(ChoiceError) as error:
        read_choice(path)
    assert str(path) in str(error.value)
    answers.hold(given, error.value, names)


@pytest.mark.parametrize(
    ("given", "text", "names"),
    [
        ("no YAML", "captioners: [a\ncorpora: {", "own.yaml, line 2"),
        ("an empty file", "# nothing\n", "own.yaml has no keys"),
        ("a key twice", "decimals: 1\ndecimals: 2\n", "the key decimals"),
        ("a key missing", yaml.safe_dump({**GOOD, "metrics": [{}]}), "metrics.0 lacks the key metric"),
    ],
)
def test_a_file_that_is_no_choice_is_named(tmp_path, answers, given, text, names):
    (tmp_path / "own.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(ChoiceError) as error:
        read_choice(tmp_path / "own.yaml")
    answers.hold(given, error.value, names)


@pytest.mark.parametrize(
    ("given", "names", "others"),
    [
        ("an unknown captioner", "captioners.1 is 'pla'", {"captioners": [PLAIN, "pla"]}),
        ("a captioner of another evaluation", "captioners.0 is", {"captioners": [SEEDED], "evaluations": ["other"]}),
        ("an unknown corpus", "corpora.0 is 'third'", {"corpora": ["third"]}),
        ("an unknown evaluation", "evaluations.0 is 'mian'", {"evaluations": ["mian"]}),
        ("an unknown metric", "metrics.0 is CIDER", {"metrics": [{"metric": "CIDER"}]}),
        ("a metric without its retriever", "metrics.0 is P@1", {"metrics": [{"metric": "P@1"}]}),
        ("differences that were not computed", "differences is 'human'", {"differences": HUMAN}),
        ("no row", "no captioner has a number", {"captioners": [PLAIN], "corpora": ["a_b%"], "evaluations": ["other"]}),
    ],
)  # fmt: skip
def test_what_the_run_does_not_have_is_named(answers, given, names, others):
    with pytest.raises(ChoiceError, match=r"mine\.yaml") as error:
        table_of(**others)
    answers.hold(given, error.value, names)


def test_names_of_the_config_do():
    check_names(choice(captioners=[PLAIN]), "x.yaml", {"main": [PLAIN, "x-2"]}, ["a_b%", "second"])


# ------------------------------------------------------------------------------------------------------------ the rules
def test_the_scripts_write_the_table_and_the_page(tmp_path):
    summary, comparisons, tables = (
        tmp_path / "summary.parquet",
        tmp_path / "comparisons.parquet",
        tmp_path / "paper" / "t.csv",
    )
    write_table(summary, SUMMARY, rows_of(PLAIN, "a_b%", "main"))
    write_table(comparisons, COMPARISONS, [])
    tables.parent.mkdir()
    place = {
        "captioner": PLAIN,
        "corpus": "a_b%",
        "evaluation": "main",
        "retriever": "",
        "candidates": "",
        "metric": "CIDEr",
    }
    tables.write_text(
        ",".join([*place, "published"]) + "\n" + ",".join([*place.values(), "7.0"]) + "\n", encoding="utf-8"
    )
    (tmp_path / "own.yaml").write_text(yaml.safe_dump({**GOOD, "published": True}), encoding="utf-8")
    params = {"papers": {"paper": {"comparable": True}}, "humans": [HUMAN], "provenance": MADE}
    inputs = {"summary": summary, "comparisons": comparisons, "tables": [tables]}
    outputs = {
        "tables": [tmp_path / f"own_mine.{end}" for end in ("csv", "md", "html")],
        "latex": tmp_path / "own_mine.tex",
    }
    names = {"name": "mine"}
    run_script("make_own_table", {"choice": tmp_path / "own.yaml", **inputs}, outputs, wildcards=names, **params)
    assert r"7.0 \\" in (tmp_path / "own_mine.tex").read_text()
    assert "<title>Own table: mine [half of it]</title>" in (tmp_path / "own_mine.html").read_text()
    run_script("make_table_page", inputs, [tmp_path / "make_table.html"], **params)
    page = (tmp_path / "make_table.html").read_text()
    assert '"published":[["plain","a_b%","main",null,null,"CIDEr","7.0"]]' in page
    assert isinstance(numbers(), Numbers)
