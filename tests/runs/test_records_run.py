"""The records of a real run: a valid RO-Crate, the same tables from it in another folder, and what a hub would get."""

import zipfile

import pytest
import yaml
from support.crates import issues
from support.small import SMALL, start

from captionlab.commands.main import main
from captionlab.records.contents import Contents
from captionlab.reporting.documents.costs import TIMED_TABLES
from captionlab.storage import paths

pytestmark = pytest.mark.slow


def test_tables_are_the_same_from_the_crate_in_another_folder(small_run, tmp_path):
    folder = small_run.folder
    assert main(["crate", str(folder), "--output", str(tmp_path / "crate.zip")]) == 0
    with zipfile.ZipFile(tmp_path / "crate.zip") as file:
        file.extractall(tmp_path / "crate")
    assert issues(tmp_path / "crate", tmp_path / "cache", "provenance-run-crate", "REQUIRED") == []
    crated = yaml.safe_load((tmp_path / "crate" / "config.yaml").read_text())
    assert {**crated, "data": 0} == {**SMALL, "data": 0}
    again, output = tmp_path / "again", tmp_path / "output"
    process = start(again, crated, "--cores", "2", "results/tables/", output=output)
    assert process.wait() == 0, output.read_text()[-3000:]
    files = [path.relative_to(tmp_path / "crate") for path in (tmp_path / "crate" / "results").rglob("*.*")]
    names = {str(file) for file in files}
    assert {paths.table("evaluation.csv"), paths.captions("base", "main")} <= names
    assert paths.captions("human", "main") not in names
    same = [file for file in files if file.stem not in TIMED_TABLES]
    assert len(same) == len(files) - 3 * len(TIMED_TABLES)
    differing = [file for file in same if (tmp_path / "crate" / file).read_bytes() != (again / file).read_bytes()]
    assert differing == []


def test_every_job_behind_the_tables_is_recorded(small_run):
    contents = Contents(small_run.folder)
    assert {job.made["rule"] for job in contents.jobs} == {
        path.name.removesuffix(".json") for path in (small_run.folder / paths.PROVENANCE).iterdir()
    }
    assert all(job.started < job.ended for job in contents.jobs)
    assert "CITATION.cff" in contents.inputs
    assert contents.own_inputs == []


def test_the_captioner_and_the_captions_can_be_sent(small_run, capsys):
    for what in (["--captioner", "base"], ["--captions", "main"]):
        assert main(["push", str(small_run.folder), *what, "--to", "me/base", "--dry-run"]) == 0
        printed = capsys.readouterr().out
        assert "- toy\n" in printed
        assert "bytes  README.md" in printed
