"""Tables on language from small made-up measurements: each value in its place, in all four formats."""

# ruff: noqa: RUF001 (an en dash stands where a number is missing)

import csv
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support.paper_jobs import Named, published, table_files
from support.running import load_script

from captionlab.language.schemas import ASSOCIATIONS, NGRAMS, PATTERNS, STATISTICS
from captionlab.language.statistics import caption_measures, corpus_statistics
from captionlab.papers.discritune.tables import associations_table
from captionlab.reporting.runs.reproduction import Reproduction
from captionlab.reporting.tables.formats.files import write_table_files
from captionlab.reporting.tables.language import STATISTICS_SHOWN, patterns_table, statistics_table
from captionlab.storage.tables import TableSchema, write_table
from captionlab.texts.ngram import Scores

ROOT = Path(__file__).parents[2]
NASTY = "<b>&|_c"
CAPTIONERS = ("plain", NASTY)
GENERAL = ("language_statistics", "language_patterns", "language_unigrams")
OF_PAPER = ("discritune_table7_adjectives", "discritune_table14_nouns")
NAMES = (*GENERAL, *OF_PAPER)
BLOCK = {"comparable": True, "captioners": {"DiscriTune-ConCap": "plain"}, "corpora": {"ConCap": "toy"}}


def write(path: Path, kind: TableSchema, rows: list[tuple[Any, ...]]) -> Path:
    write_table(path, kind, {name: [row[place] for row in rows] for place, name in enumerate(kind.columns)})
    return path


def statistics(perplexity: float | None, nouns: float) -> list[tuple[Any, ...]]:
    note = None if perplexity is not None else "no caption has what this is computed from"
    return [
        ("toy", "captions", 4.0, 4, None),
        ("toy", "nouns", nouns, 4, None),
        ("toy", "distinct_1", 0.125, 4, None),
        ("toy", "perplexity", perplexity, 4, note),
    ]


def patterns(mined: str, share: float) -> list[tuple[Any, ...]]:
    long = "a dog " * 1000
    return [
        ("toy", "published", "CLIP", "prefix", 1, "a+IMAGE.P+of", 0.25, 0.0, 4, ["a image of <dogs>"]),
        ("toy", "published", "LXMERT", "prefix", 1, "(NOUN.P)*+REL", 0.75, 0.5, 4, ["a dog on"]),
        ("toy", "published", "ROSITA", "prefix", 1, "NOUN", 0.5, 0.5, 4, ["a"]),
        ("toy", "published", "LXMERT", "sentence", 1, "Prefix+NOUN", 0.9, 0.3, 4, []),
        *(("toy", "mined", None, "prefix", rank, f"{mined}{rank}", share / rank, 0.0, 4, [long]) for rank in (1, 2, 3)),
    ]


def words(of: list[str]) -> list[tuple[Any, ...]]:
    ranked = [("toy", "word", 1, word, rank, 20 - rank, 0.2 / rank) for rank, word in enumerate(of, 1)]
    return [("toy", "tag", 1, "TAGGED", 1, 50, 0.5), ("toy", "tag", 2, "DET NOUN", 1, 50, 0.5), *reversed(ranked)]


LEMMAS = [
    *(("toy", "plain", "ADJ", f"adjective{rank}", rank, 30, 12.0 - rank) for rank in range(1, 12)),
    ("toy", NASTY, "ADJ", "gr{e}en", 1, 3, 2.25),
    ("toy", NASTY, "ADJ", "as elsewhere", 2, 3, 0.0),
    ("toy", NASTY, "ADJ", "rarer here", 3, 3, -1.5),
]


def make(folder: Path, block: dict[str, Any]) -> dict[tuple[str, str], str]:
    """Run the scripts; text of each table in each format."""

    def files(kind: TableSchema, *tables: list[tuple[Any, ...]]) -> list[Path]:
        return [write(folder / f"{kind.name} {number}.parquet", kind, rows) for number, rows in enumerate(tables)]

    outputs, of_paper = (table_files(folder / "tables", names) for names in (GENERAL, OF_PAPER))
    job = SimpleNamespace(
        input=Named(
            statistics=files(STATISTICS, statistics(12.34, 2.25), statistics(None, 0.0), []),
            patterns=files(PATTERNS, patterns("MINED", 0.8), patterns("OTHER", 0.6), []),
            unigrams=files(NGRAMS, words([f"word{n}" for n in range(1, 13)]), words(["it", "<i>"]), []),
        ),
        output=Named(tables=list(map(str, outputs.values()))),
        params=Named(captioners=(*CAPTIONERS, "not told apart"), provenance={"config": "toy.yaml", "seed": 7}),
    )
    load_script("collect_language_tables").main(job)
    associations = [dict(zip(ASSOCIATIONS.columns, row, strict=True)) for row in LEMMAS]
    paper = Reproduction(block, published=published("discritune"))
    for tag in ("ADJ", "NOUN"):
        table = associations_table(associations, CAPTIONERS, ["toy"], tag, paper, {"config": "toy.yaml", "seed": 7})
        write_table_files(table, [path for (name, _), path in of_paper.items() if name == table.name])
    outputs |= of_paper
    return {key: path.read_text(encoding="utf-8") for key, path in outputs.items()}


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], str]:
    """The tables of a run that stands for no paper's."""
    return make(tmp_path_factory.mktemp("alone"), {})


@pytest.fixture(scope="module")
def beside(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], str]:
    """The tables of a run in which the captioner `plain` stands for one of the discritune paper."""
    return make(tmp_path_factory.mktemp("beside"), BLOCK)


def lines(markdown: str) -> list[list[str]]:
    """Cells of the rows of a Markdown table, headings and rules included."""
    return [line[2:-2].split(" | ") for line in markdown.splitlines() if line.startswith("| ")]


def records(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(text.splitlines()))


def test_statistics(alone):
    text = alone["language_statistics", "md"]
    heading, _, corpus, plain, nasty = lines(text)
    assert heading == [
        "captioner", "sentence level<br>perplexity", "token level<br>nouns", "variety<br>distinct-1, %",
        "counts<br>captions",
    ]  # fmt: skip
    assert corpus[0] == "**toy**"
    assert plain == ["plain", "12.3", "2.2", "12.5", "4"]
    assert nasty == [r"&lt;b&gt;&amp;\|\_c", "– (a)", "0.0", "12.5", "4"]
    assert "- (a) no caption has what this is computed from" in text
    row = next(r for r in records(alone["language_statistics", "csv"]) if r["statistic"] == "perplexity")
    assert (row["captioner"], row["value"], row["n"]) == ("plain", "12.34", "4")
    assert (row["config"], row["seed"]) == ("toy.yaml", "7")
    assert row["commit"]


def test_a_statistic_without_a_column_is_an_error():
    row = {"corpus": "toy", "statistic": "charm", "value": 1.0, "n": 1, "note": None}
    with pytest.raises(ValueError, match="'charm' has no column"):
        statistics_table({"plain": [row]}, {})


def test_every_statistic_that_is_measured_has_a_column():
    none = np.zeros(1, dtype=np.int64)
    scores = Scores(log_probs=np.array([-1.0]), words=np.array([2]), unknown=none, zero=none)
    tokens = [["a", "dog"]]
    measures = caption_measures(tokens, [(["a", "dog"], ["DET", "NOUN"])], scores)
    assert {one.name for one in corpus_statistics(tokens, measures, scores)} == {*STATISTICS_SHOWN}


def test_patterns(alone):
    shown = lines(alone["language_patterns", "md"])
    start = shown.index(["**toy: plain**", "", "", "", ""])
    assert [row[:4] for row in shown[start + 1 : start + 5]] == [
        ["prefix", "mined", "MINED1", "80.0"],
        ["prefix", "mined", "MINED2", "40.0"],
        ["prefix", "paper, LXMERT", r"(NOUN.P)\*+REL", "75.0"],  # of the paper's the one with the largest share
        ["sentence", "paper, LXMERT", "Prefix+NOUN", "30.0"],  # a sentence to its end
    ]
    assert shown[start + 1][4].startswith("a dog a dog")
    assert len(shown[start + 1][4]) <= 200
    assert shown[start + 4][4] == "–"
    assert shown[start + 5][0] == r"**toy: &lt;b&gt;&amp;\|\_c**"
    assert len(records(alone["language_patterns", "csv"])) == 2 * 7  # all, also those that are not shown


def test_unigrams(alone):
    heading, _, _, *rows = lines(alone["language_unigrams", "md"])
    assert heading[1:3] == ["plain<br>word", "plain<br>share, %"]
    assert rows[0] == ["1", "word1", "20.0", "it", "20.0", "–", "–"]
    assert rows[1] == ["2", "word2", "10.0", "&lt;i&gt;", "10.0", "–", "–"]
    assert rows[9] == ["10", "word10", "2.0", *["–"] * 4]
    assert len(rows) == 10
    assert "TAGGED" not in alone["language_unigrams", "csv"]


def test_adjectives_that_go_with_a_type(alone):
    heading, _, _, *rows = lines(alone["discritune_table7_adjectives", "md"])
    assert heading[1:3] == ["plain<br>lemma", "plain<br>LMI"]
    assert rows[0] == ["1", "adjective1", "11.0", "gr{e}en", "2.2"]
    assert rows[1] == ["2", "adjective2", "10.0", "–", "–"]  # as frequent elsewhere, so it does not go with the type
    assert len(rows) == 10
    assert len(records(alone["discritune_table7_adjectives", "csv"])) == 10 + 1


def test_without_associations_a_dash_is_shown(alone):
    text = alone["discritune_table14_nouns", "md"]
    assert lines(text)[2:] == [["**toy**", "", "", "", ""], ["1", "–", "–", "–", "–"]]
    assert "- –: no more nouns are more frequent in this type than elsewhere." in text
    assert records(alone["discritune_table14_nouns", "csv"]) == []


@pytest.mark.parametrize("name", NAMES)
def test_markup_is_escaped(alone, name):
    page, page_of_latex = alone[name, "html"], alone[name, "tex"]
    assert "&lt;b&gt;&amp;|_c" in page
    assert "<b>" not in page
    assert "<i>" not in page
    assert r"\textless{}b\textgreater{}\&\textbar{}\_c" in page_of_latex
    assert "<" not in page_of_latex


@pytest.mark.parametrize("name", NAMES)
def test_the_paper_stands_beside_only_where_the_config_says_so(alone, beside, name):
    assert "paper: what the paper prints" not in alone[name, "md"]
    shown = "paper: what the paper prints" in beside[name, "md"]
    assert shown == name.startswith("discritune_")


def test_published_values_beside_ours(beside):
    adjectives = lines(beside["discritune_table7_adjectives", "md"])[3:]
    assert [row[1:4] for row in adjectives[:2]] == [["adjective1", "11.0", "red"], ["adjective2", "10.0", "green"]]
    assert adjectives[0][4] == "gr{e}en"
    heading = lines(beside["discritune_table7_adjectives", "md"])[0]
    assert [text.split("<br>")[1] for text in heading[1:]] == ["lemma", "LMI", "paper", "lemma", "LMI"]
    # Captioners and corpora are called as the paper calls them; what it does not have keeps its name.
    assert [text.split("<br>")[0] for text in heading[1:5:3]] == ["DiscriTune-ConCap", r"&lt;b&gt;&amp;\|\_c"]
    assert lines(beside["discritune_table7_adjectives", "md"])[2][0] == "**ConCap (here toy)**"
    assert lines(beside["discritune_table14_nouns", "md"])[2][0] == "**ConCap (here toy)**"
    # Without a lemma of this run the paper's stand alone.
    nouns = lines(beside["discritune_table14_nouns", "md"])[3:]
    assert nouns[0][1:3] == ["–", "–"]
    assert len(nouns) == 10
    assert nouns[0][3] not in ("", "–")


def test_types_whose_words_were_not_told_apart_have_no_column(alone):
    for name in ("discritune_table7_adjectives", "discritune_table14_nouns"):
        assert "not told apart" not in alone[name, "md"]
    assert "not told apart" in alone["language_unigrams", "md"]


def test_published_ratios_of_patterns_beside_ours():
    rows = [dict(zip(PATTERNS.columns, row, strict=True)) for row in patterns("MINED", 0.8)]
    numbers = published("probing")
    paper = Reproduction(
        {"comparable": False, "captioners": {"CLIP": "plain"}, "corpora": {"COCO": "toy"}}, published=numbers
    )
    table = patterns_table({"plain": rows}, {"config": "toy", "seed": 7}, paper, "name", "title")
    shown = [[" ".join(filter(None, (cell.text, cell.detail))) for cell in row[:4]] for row in table.blocks[0].rows]
    assert ["prefix", "paper, CLIP", "a+IMAGE.P+of", "25.0 paper 74.6"] in shown
    assert ["prefix", "paper, LXMERT", "(NOUN.P)*+REL", "75.0"] in shown
    assert any("context, not to be compared" in note for note in table.footnotes)


@pytest.mark.parametrize(
    ("row", "metric", "text"),
    [
        ("ROSITA", "PPL", "505.2"),
        ("UNITER", "Avg. Leng.", "6.7"),
        ("CLIP", "Noun", "8.7"),
        ("LXMERT", "Uni. Noun", "3.2"),
        ("CE", "PPL", "7.4"),
        ("ViLBERT", "Avg. Leng.", "20.0"),
    ],
)
def test_numbers_of_probing_table_4(row, metric, text):
    numbers = published("probing")
    assert numbers.find("4", row, "COCO", metric).text == text
    assert sum(table == "4" for table, *_ in numbers.values) == 6 * 4


def test_ratios_of_probing_table_5_are_those_of_the_patterns():
    """Both files are typed from the same table: every pattern has its ratio at its model, role and rank."""
    numbers = published("probing")
    with open(ROOT / "config" / "published" / "probing_patterns.csv", encoding="utf-8", newline="") as file:
        listed = list(csv.DictReader(file))
    ranks: dict[tuple[str, str], int] = {}
    for row in listed:
        place = (row["model"], row["role"])
        ranks[place] = ranks.get(place, 0) + 1
        found = numbers.find("5", row["model"], "COCO", f"{row['role']} {ranks[place]} ratio")
        assert (found.text, found.note) == (row["share"], row["pattern"])
    assert sum(table == "5" for table, *_ in numbers.values) == len(listed) == 11
