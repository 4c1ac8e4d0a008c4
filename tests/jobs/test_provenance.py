"""Every job says what it made, from what, in a file beside."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import captionlab
from captionlab import installation
from captionlab.jobs import provenance, tracing
from captionlab.jobs.provenance import Job, current, part_of, working_on
from captionlab.reporting.tables.footnotes import run_notes
from captionlab.storage import paths
from captionlab.storage.files import digest
from captionlab.storage.schemas import TRAINING
from captionlab.storage.tables import read_metadata, write_table

RULES = Path(__file__).parents[2] / "workflow" / "rules"
ROWS = {"step": [1], "epoch": [0], "statistic": ["loss"], "value": [2.5]}


def job(rule, inputs=(), outputs=(), **params):
    made = [*outputs.values()] if isinstance(outputs, dict) else [*outputs]
    return Job(rule, f"results/logs/{rule}.log", {"captioner": "base"}, params, [*inputs], made)


def said_by(rule):
    return json.loads(Path(paths.provenance(rule)).read_text())


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A folder with two tables, the second made from the first and a file."""
    monkeypatch.chdir(tmp_path)
    with working_on(job("pretrain_captioner", (), ["first.parquet"], config={"lr": 1e-3}, seed=7)):
        write_table("first.parquet", TRAINING, ROWS)
    (tmp_path / "published.csv").write_text("a,b\n")
    (tmp_path / "captioners").mkdir()
    with working_on(job("finetune_captioner", ["first.parquet"], ["captioners/model.safetensors"])):
        (tmp_path / "captioners" / "model.safetensors").write_text("weights")
    with working_on(job("generate_captions", ["captioners/model.safetensors"], ["captions.parquet"])):
        write_table("captions.parquet", TRAINING, ROWS)
    with working_on(job("summarise_evaluation", ["first.parquet", "published.csv"], ["second.parquet"])):
        write_table("second.parquet", TRAINING, ROWS, {"device": "GPU"})
    return tmp_path


def test_a_table_says_what_it_was_made_from(run):
    said = said_by("summarise_evaluation")
    assert said["rule"] == "summarise_evaluation"
    assert said["wildcards"] == {"captioner": "base"}
    content = (run / "published.csv").read_bytes()
    assert said["inputs"]["published.csv"] == hashlib.blake2b(content, digest_size=16).hexdigest()
    assert said["commit"] == provenance.commit()
    assert said["outputs"] == {"second.parquet": digest("second.parquet")}
    assert said_by("pretrain_captioner")["params"] == {"config": {"lr": 1e-3}, "seed": 7}


def test_equal_tables_have_equal_bytes_whatever_made_them(run, monkeypatch):
    before, said = (run / "second.parquet").read_bytes(), said_by("summarise_evaluation")
    monkeypatch.setattr(provenance, "commit", lambda: "another+")
    with working_on(job("summarise_evaluation", ["captions.parquet"], ["second.parquet"], code="new")):
        write_table("second.parquet", TRAINING, ROWS, {"device": "GPU"})
    assert (run / "second.parquet").read_bytes() == before
    assert read_metadata("second.parquet") == {"device": "GPU"}
    now = said_by("summarise_evaluation")
    assert (now["commit"], now["outputs"]) == ("another+", said["outputs"])
    assert now["inputs"] != said["inputs"]


def test_outside_a_job_there_is_none(run):
    assert current() == {}


def test_the_lineage_goes_back_to_the_start(run, capsys):
    tracing.main(["second.parquet"])
    first, second, third = capsys.readouterr().out.splitlines()
    assert first.startswith("second.parquet: by summarise_evaluation, commit ")
    assert second.startswith("  first.parquet: by pretrain_captioner, commit ")
    assert third == "  published.csv"


def test_weights_are_of_their_training(run, capsys):
    tracing.main(["captions.parquet"])
    said = [line.split(", commit")[0] for line in capsys.readouterr().out.splitlines()]
    assert said == [
        "captions.parquet: by generate_captions",
        "  captioners/model.safetensors: by finetune_captioner",
        "    first.parquet: by pretrain_captioner",
    ]


def test_each_table_of_a_job_is_of_what_it_was_made_from(run, capsys):
    read = {"scores": "second.parquet", "words": ["captions.parquet"], "published": "published.csv", "more": []}
    files = [path for paths in read.values() for path in ([paths] if isinstance(paths, str) else paths)]
    work, notes = job("tabulate_paper", files, ["a.csv", "b.csv", "c.csv"]), []
    with working_on(work):
        for output, names in {"a.csv": ["scores", "published"], "b.csv": ["words"]}.items():
            with part_of(read) as inputs:
                assert all(inputs[name] for name in names)
                assert "more" in inputs
                assert "less" not in inputs
                Path(output).write_text("table")
                inputs.makes([output])
                notes.append(run_notes({"config": "toy"})[-1])
        Path("c.csv").write_text("made of everything")
    assert [note.count("(") for note in notes] == [2, 1]
    assert "captions.parquet" in notes[1]
    for output, made_from in {
        "a.csv": ["published.csv", "second.parquet"], "b.csv": ["captions.parquet"],
        "c.csv": ["captions.parquet", "published.csv", "second.parquet"],
    }.items():  # fmt: skip
        tracing.main([output])
        lines = capsys.readouterr().out.splitlines()
        near = [line.split(":")[0].strip() for line in lines if not line.startswith("    ")]
        assert (near[0], sorted(near[1:])) == (output, made_from)


def test_what_changed_since_is_said(run, capsys):
    (run / "published.csv").write_text("a,c\n")
    (run / "first.parquet").unlink()
    tracing.main(["second.parquet"])
    assert capsys.readouterr().out.splitlines()[1:] == [
        "  first.parquet: changed or deleted since",
        "  published.csv: changed or deleted since",
    ]


IMPORTED = {
    "weights": "imported/model.safetensors",
    "folder": "imported/more",
}
PROVENANCE = "results/provenance/import_captioner.json"


@pytest.fixture
def imported(run):
    """A captioner that was imported, a file in a folder beside it, and captions by it."""
    (run / "published.pt").write_text("published")
    with working_on(job("import_captioner", ["published.pt"], IMPORTED, config={"family": "clipcap"})):
        (run / "imported" / "more").mkdir(parents=True)
        (run / "imported" / "model.safetensors").write_text("weights")
        (run / "imported" / "more" / "page.html").write_text("page")
    read = ["imported/model.safetensors", "imported/more/page.html"]
    with working_on(job("generate_captions", read, ["captions.parquet"])):
        write_table("captions.parquet", TRAINING, ROWS)
    return run


def test_a_job_without_tables_says_what_it_made(imported):
    said = json.loads((imported / PROVENANCE).read_text())
    assert said["rule"] == "import_captioner"
    assert said["params"] == {"config": {"family": "clipcap"}}
    assert said["inputs"] == {"published.pt": digest("published.pt")}
    assert said["outputs"] == {path: digest(path) for path in ("imported/model.safetensors", "imported/more")}
    assert said in provenance.written(imported)


def test_a_job_that_fails_says_nothing(imported):
    (imported / PROVENANCE).unlink()
    with pytest.raises(ValueError, match="x"), working_on(job("import_captioner", ["published.pt"], IMPORTED)):
        raise ValueError("x")
    assert "import_captioner" not in [made["rule"] for made in provenance.written(imported)]


def test_the_lineage_goes_through_files_that_are_no_tables(imported, capsys):
    tracing.main(["captions.parquet"])
    assert [line.split(", commit")[0] for line in capsys.readouterr().out.splitlines()] == [
        "captions.parquet: by generate_captions",
        "  imported/model.safetensors: by import_captioner",
        "    published.pt",
        "  imported/more/page.html: by import_captioner",
    ]
    tracing.main(["--full", "./imported/model.safetensors"])
    assert json.loads(capsys.readouterr().out)["params"] == {"config": {"family": "clipcap"}}


def test_a_captioner_that_is_trained_now_was_not_imported(imported):
    with working_on(job("pretrain_captioner", (), ["imported/model.safetensors"])):
        (imported / "imported" / "model.safetensors").write_text("trained")
    assert next(tracing.lineage("imported/model.safetensors"))[2]["rule"] == "pretrain_captioner"


def test_damaged_provenance_is_named(imported):
    (imported / PROVENANCE).write_text('{"rule": ')
    with pytest.raises(ValueError, match=r"import_captioner\.json is damaged"):
        list(tracing.lineage("captions.parquet"))


def test_a_file_that_is_not_there_is_named(run, capsys):
    with pytest.raises(SystemExit):
        tracing.main(["capitons.parquet"])
    assert "there is no capitons.parquet in" in capsys.readouterr().err


SMK = [*RULES.glob("*.smk"), *(Path(captionlab.__file__).parent / "papers").glob("*/rules.smk")]


@pytest.mark.parametrize("stage", sorted(SMK), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_the_log_of_every_rule_is_named_after_the_rule(stage):
    """Costs and provenance of a job are named as its log."""
    rules = re.split(r"^ *(?:rule|checkpoint) (\w+):$", stage.read_text(), flags=re.MULTILINE)[1:]
    for name, body in zip(rules[::2], rules[1::2], strict=True):
        assert re.search(rf'^ +log:\n +"results/logs/{name}(/[^"]*)?\.log"', body, re.MULTILINE), name


def test_what_several_were_made_from_comes_once(tmp_path, monkeypatch):
    """Twenty layers of two tables, each made from both of the layer below: a million ways down."""
    monkeypatch.chdir(tmp_path)
    below = []
    for layer in range(20):
        tables = [f"{layer}{side}.parquet" for side in "ab"]
        for table in tables:
            with working_on(job(f"rule/{table}", below, [table])):
                write_table(table, TRAINING, {**ROWS, "step": [layer]})
        below = tables
    read = []
    monkeypatch.setattr(tracing, "digest", lambda path: read.append(path) or digest(path))
    found = [path for _, path, _ in tracing.lineage("19a.parquet")]
    assert sorted(found) == sorted(["19a.parquet", *(f"{layer}{side}.parquet" for layer in range(19) for side in "ab")])
    assert len(read) == len(set(read)) == 2 * 19 + 1


def test_what_one_job_read_as_it_is_and_another_before_it_changed_is_said_twice(run):
    (run / "published.csv").write_text("a,c\n")
    with working_on(job("collect_tables", ["second.parquet", "published.csv"], ["third.parquet"])):
        write_table("third.parquet", TRAINING, ROWS)
    found = [(path, "changed" in known) for _, path, known in tracing.lineage("third.parquet")]
    assert found.count(("published.csv", True)) == found.count(("published.csv", False)) == 1


def test_all_of_it_as_json(run, capsys):
    tracing.main(["--full", "first.parquet"])
    assert json.loads(capsys.readouterr().out) == said_by("pretrain_captioner")


@pytest.mark.parametrize("folder", [True, False])
def test_a_copy_among_many_has_its_own_sources_only(run, capsys, folder):
    """The folder of all tables is made by one job, from all tables."""
    for name, source in (("one", "first.parquet"), ("two", "second.parquet")):
        with working_on(job(f"tabulate_{name}", [source], [f"reporting/{name}.csv"])):
            Path("reporting").mkdir(exist_ok=True)
            Path(f"reporting/{name}.csv").write_text(name)
    made = ["tables"] if folder else ["tables/one.csv", "tables/two.csv"]
    with working_on(job("collect_tables", ["reporting/one.csv", "reporting/two.csv"], made)):
        shutil.copytree("reporting", "tables")
        Path("tables/index.html").write_text("both")
    tracing.main(["tables/one.csv"])
    assert [line.split(", commit")[0] for line in capsys.readouterr().out.splitlines()] == [
        "tables/one.csv: by collect_tables",
        "  reporting/one.csv: by tabulate_one",
        "    first.parquet: by pretrain_captioner",
    ]
    if folder:
        assert len(list(tracing.lineage("tables/index.html"))) == 6


def test_footers_name_the_inputs(run):
    with working_on(
        job("collect_evaluation", ["second.parquet", "first.parquet", "published.csv", "captions.parquet"])
    ):
        note = run_notes({"config": "toy", "seed": 1})[-1]
    assert note.startswith(f"Made from second.parquet ({digest('second.parquet')[:8]}), first.parquet (")
    assert note.endswith("), 1 more.")
    assert "Made from first" not in " ".join(run_notes({"config": "toy", "seed": 1}))


def test_a_file_of_the_checkout_is_named_from_there(run):
    """Published numbers are inputs; the folder that somebody has the checkout in is not."""
    published = installation.PROJECT / "config" / "published" / "probing_patterns.csv"
    with working_on(job("collect_tables", [str(published)], ["third.parquet"])):
        write_table("third.parquet", TRAINING, {**ROWS, "step": [3]})
        notes = " ".join(run_notes({"config": "toy"}))
    assert said_by("collect_tables")["inputs"] == {"config/published/probing_patterns.csv": digest(published)}
    assert "Made from config/published/probing_patterns.csv (" in notes
    assert str(installation.PROJECT) not in notes
    assert [known for _, path, known in tracing.lineage("third.parquet") if path.startswith("config")] == [{}]


def test_a_folder_has_the_digest_of_its_files(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name / "deep").mkdir(parents=True)
        (tmp_path / name / "deep" / "x.jar").write_text("x")
    assert digest(tmp_path / "a") == digest(tmp_path / "b")
    (tmp_path / "a" / ".snakemake_timestamp").touch()  # Snakemake makes it after the job
    assert digest(tmp_path / "a") == digest(tmp_path / "b")
    os.rename(tmp_path / "b" / "deep" / "x.jar", tmp_path / "b" / "deep" / "y.jar")
    assert digest(tmp_path / "a") != digest(tmp_path / "b")


def test_a_job_without_torch_does_not_import_it():
    code = (
        "import sys; from captionlab.jobs.provenance import device_name; device_name(); print('torch' in sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "False"
