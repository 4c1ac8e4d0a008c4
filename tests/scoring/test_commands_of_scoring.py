"""`captionlab score` and `captionlab compare`, as a user types them."""

import csv
import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from captionlab.commands.main import main

ROOT = Path(__file__).parents[2]
CAPTIONS = {"base": {"1": "a dog", "2": "a cat sits"}, "near": {"1": "the dog runs", "2": "a cat"}}
REFERENCES = {"1": ["the dog runs fast", "a dog"], "2": ["a cat sits on a mat"]}
HEAVY = ("torch", "transformers", "snakemake", "spacy", "sklearn", "matplotlib")


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, texts in {**CAPTIONS, "references": REFERENCES}.items():
        Path(f"{name}.json").write_text(json.dumps(texts))


def test_a_table_of_one_file(files, capsys):
    assert main(["score", "base.json", "references.json", "--metrics", "bleu,cider"]) == 0
    printed = capsys.readouterr().out
    assert "n = 2" in printed
    assert [line.split()[0] for line in printed.splitlines()[4:9]] == ["BLEU@1", "BLEU@2", "BLEU@3", "BLEU@4", "CIDEr"]


def test_several_files_have_differences(files, capsys):
    assert main(["score", "base.json", "near.json", "references.json", "--metrics", "sacrebleu", "--json"]) == 0
    tables = json.loads(capsys.readouterr().out)
    assert [row["captions"] for row in tables["scores"]] == ["base", "near"]
    (difference,) = tables["differences"]
    values = [row["value"] for row in tables["scores"]]
    assert difference["difference"] == values[0] - values[1]
    assert 0 < difference["p_value"] <= difference["p_holm"] <= 1


def test_csv(files, capsys):
    assert main(["score", "base.json", "references.json", "--metrics", "sacrebleu", "--csv"]) == 0
    (row,) = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert (row["captions"], row["metric"], row["n"]) == ("base", "SacreBLEU", "2")
    float(row["value"])


def test_latex_of_a_comparison(files, capsys):
    assert main(["compare", "base.json", "near.json", "references.json", "--metrics", "sacrebleu", "--latex"]) == 0
    printed = capsys.readouterr().out
    assert r"\toprule" in printed
    assert "base $-$ near" in printed
    assert r"\caption{Paired differences. Images: n = 2}" in printed


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["score", "no.json", "references.json"], "captionlab score: there is no file no.json"),
        (["compare", "base.json", "references.json"], "captionlab compare: a comparison needs two files"),
        (["score", "references.json", "base.json", "--metrics", "nix"], "there is no metric 'nix'"),
    ],
)
def test_a_mistake_is_a_sentence(files, words, message, capsys):
    assert main(words) == 1
    error = capsys.readouterr().err
    assert message in error
    assert "Traceback" not in error


def test_files_of_one_name_are_called_by_their_paths(files, capsys, tmp_path):
    (tmp_path / "other").mkdir()
    Path("other/base.json").write_text(json.dumps(CAPTIONS["near"]))
    assert main(["score", "base.json", "other/base.json", "references.json", "--metrics", "sacrebleu", "--json"]) == 0
    assert [row["captions"] for row in json.loads(capsys.readouterr().out)["scores"]] == [
        "base.json",
        "other/base.json",
    ]


def test_a_file_that_is_named_twice(files, capsys):
    assert main(["compare", "base.json", "base.json", "references.json"]) == 1
    assert "captionlab compare: base.json is there twice" in capsys.readouterr().err


def test_captions_and_references_that_changed_places(files, capsys, caplog):
    assert main(["score", "references.json", "base.json", "--metrics", "sacrebleu"]) == 0
    assert "references.json has 3 captions, more than the 2 references in base.json" in caplog.text
    caplog.clear()
    assert main(["score", "base.json", "references.json", "--metrics", "sacrebleu"]) == 0
    assert not caplog.text


def test_the_example_of_the_page_runs(capsys):
    page = (ROOT / "docs" / "scoring.md").read_text(encoding="utf-8")
    [example] = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    exec(example, {})
    printed = capsys.readouterr().out
    assert "METEOR" in printed
    assert "..." not in printed  # which pandas prints in place of columns


def test_nothing_heavy_is_imported(files):
    words = ["score", "base.json", "near.json", "references.json"]
    program = (
        f"import sys; from captionlab.commands.main import main; main({words}); print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert not {*done.stderr.split()} & {*HEAVY}


def test_a_file_that_is_there_twice_is_said(files, capsys):
    assert main(["compare", "base.json", "base.json", "references.json", "--metrics", "sacrebleu"]) == 1
    assert "base.json is there twice" in capsys.readouterr().err


def test_blanks_between_metrics_are_nothing(files, capsys):
    assert main(["score", "base.json", "references.json", "--metrics", "sacrebleu, diversity", "--csv"]) == 0
    assert "vocabulary" in capsys.readouterr().out


def test_without_java_it_is_a_sentence(files, capsys, monkeypatch):
    monkeypatch.setenv("JAVA", "/no/java")
    assert main(["score", "base.json", "references.json"]) == 1
    error = capsys.readouterr().err
    assert error.startswith("captionlab score: /no/java does not run as Java")
    assert "sacrebleu, chrf, clipscore, chair do without (--metrics)" in error
