"""The RO-Crate of a run: valid by roc-validator, complete, and without data of users."""

import hashlib
import json
import zipfile

import pytest
import yaml
from support.crates import issues
from support.recorded_run import CAPTION, COMMIT, IMAGE, REFERENCE, recorded_run

from captionlab import installation
from captionlab.commands.main import main
from captionlab.records.contents import Contents, public_value, without_home
from captionlab.records.crate import Notes, write_crate
from captionlab.storage import paths

PROFILE = "provenance-run-crate"
# What the crate cannot know, or what a check asks of the vocabulary and not of the crate.
UNKNOWN = ("`publisher`", "affiliation", "The SoftwareApplication id SHOULD be an absolute URI")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return recorded_run(tmp_path_factory.mktemp("recorded"))


@pytest.fixture(scope="module")
def crate(run, tmp_path_factory):
    """The crate of the run, with author and licence."""
    folder = tmp_path_factory.mktemp("crates") / "crate"
    notes = Notes("https://spdx.org/licenses/CC0-1.0", "Ada L https://orcid.org/0000-0002-1825-0097")
    write_crate(run, folder, notes)
    return folder


def graph(crate):
    content = json.loads((crate / "ro-crate-metadata.json").read_text())
    return {entity["@id"]: entity for entity in content["@graph"]}


def test_it_is_valid_by_the_profile_of_runs_with_their_jobs(crate, tmp_path):
    assert issues(crate, tmp_path / "cache", PROFILE, "REQUIRED") == []
    recommended = issues(crate, tmp_path / "cache", PROFILE, "RECOMMENDED")
    assert [issue for issue in recommended if not any(known in issue for known in UNKNOWN)] == []


def test_an_invalid_crate_is_found(crate, tmp_path):
    (tmp_path / "bad").mkdir()
    content = (crate / "ro-crate-metadata.json").read_text()
    (tmp_path / "bad" / "ro-crate-metadata.json").write_text(content.replace('"CreateAction"', '"Thing"'))
    assert issues(tmp_path / "bad", tmp_path / "cache", PROFILE, "REQUIRED")


def test_files_have_digests_and_jobs_their_files(crate, run):
    entities = graph(crate)
    weights = entities["#results/captioners/mine/model.safetensors"]
    assert weights["contentSize"] == "7"
    assert weights["sha256"] == hashlib.sha256(b"weights").hexdigest()
    job = entities["#job-generate_captions/mine/main"]
    assert {"@id": "#results/captioners/mine/model.safetensors"} in job["object"]
    assert job["result"] == {"@id": "results/captions/mine/main.parquet"}
    assert f"commit {COMMIT}, CPU (x86_64), Python 3.11.7, torch 2, seed 1" in job["description"]
    assert entities["Snakefile"]["version"] == COMMIT
    assert {"@id": "#data/inputs/" + public_name(run)} in entities["#run"]["object"]


def public_name(run):
    (name,) = Contents(run).own_inputs
    return Contents(run).public_name(name).rpartition("/")[2]


def test_no_data_of_users_is_inside(crate):
    files = {str(path.relative_to(crate)): path.read_bytes() for path in crate.rglob("*") if path.is_file()}
    assert {name for name in files if name.startswith("results")} == {
        "results/captions/mine/main.parquet", "results/reporting/comparisons.parquet",
        "results/reporting/summary.parquet", "results/tables/evaluation.csv",
        "results/tables/single.csv",
    }  # fmt: skip
    whole = b"".join(files.values())
    assert CAPTION.encode() in whole
    for private in (REFERENCE.encode(), IMAGE, b"home of ada"):
        assert private not in whole
    readme = files["README.md"].decode()
    assert "results/tables/examples.csv, results/tables/examples.md" in readme
    assert "annotations.json` |" in readme


def test_the_config_is_whole_and_names_no_folder_of_this_machine(crate, run):
    config, public = Contents(run).config, yaml.safe_load((crate / "config.yaml").read_text())
    assert public["data"] == "data"
    assert public["corpora"]["coco"]["annotations"] == f"inputs/{public_name(run)}"
    assert {**public, "data": 0, "corpora": 0} == {**config, "data": 0, "corpora": 0}


def test_models_are_copied_on_request_and_a_zip_is_the_same_crate(crate, run, tmp_path):
    write_crate(run, tmp_path / "crate.zip", models=True)
    with zipfile.ZipFile(tmp_path / "crate.zip") as file:
        names = set(file.namelist())
    mine = {f"results/captioners/mine/{name}" for name in ("config.json", "model.safetensors", "tokenizer.json")}
    assert mine | {"results/captioners/mine/README.md", "results/tables/evaluation.csv", "config.yaml"} <= names


def test_a_file_that_changed_since_has_no_digest_of_today(tmp_path):
    run = recorded_run(tmp_path)
    (run / paths.captioner("model.safetensors", captioner="mine")).write_text("others")
    write_crate(run, tmp_path / "crate")
    weights = graph(tmp_path / "crate")["#results/captioners/mine/model.safetensors"]
    assert "sha256" not in weights
    assert weights["description"] == "deleted or changed after the job that read or wrote it"


def test_files_of_an_installed_captionlab_are_located(run, tmp_path, monkeypatch):
    module = tmp_path / "captionlab" / "own" / "module.py"
    module.parent.mkdir(parents=True)
    module.write_text("")
    monkeypatch.setattr(installation, "LIBRARY", tmp_path / "captionlab")
    monkeypatch.setattr(installation, "PROJECT", tmp_path / "captionlab" / "project")
    contents = Contents(run)
    assert contents.located("src/captionlab/own/module.py") == module
    assert contents.located("workflow/rules/x.smk") == tmp_path / "captionlab" / "project" / "workflow/rules/x.smk"


def test_unlicensed_says_so(run, tmp_path):
    write_crate(run, tmp_path / "crate")
    assert "not stated a licence" in graph(tmp_path / "crate")["#licence"]["name"]
    assert "agent" not in graph(tmp_path / "crate")["#run"]


def test_wrong_input_is_named(tmp_path, answers, capsys):
    run = recorded_run(tmp_path)
    (tmp_path / "there").mkdir()

    def said(*arguments):
        assert main(["crate", *map(str, arguments)]) == 1
        return capsys.readouterr().err

    answers.hold("`captionlab crate` of a folder without tables", said(tmp_path), paths.TABLES)
    answers.hold("`--output` that is there", said(run, "--output", tmp_path / "there"), "there is there already")
    remade = run / paths.provenance(job="generate_captions/mine/main")
    made = remade.read_text()
    remade.write_text(json.dumps({**json.loads(made), "outputs": {paths.captions("mine", "main"): "0"}}))
    answers.hold("captions that were made again after the tables", said(run), paths.captions("mine", "main"))
    remade.write_text(made)
    (run / paths.CONFIG).unlink()
    answers.hold("a run of an earlier version, without its config", said(run), paths.CONFIG)


def test_homes_are_written_as_tildes():
    assert without_home("python /home/ada/metric.py /Users/bob/x /usr/home/x") == "python ~/metric.py ~/x /usr/home/x"
    assert public_value({"a": ["/data/x.txt", "b/c", 1]})["a"][1:] == ["b/c", 1]
    assert public_value("/data/x.txt") != public_value("/other/x.txt")


def test_addresses_lose_their_passwords():
    assert public_value(["score --to https://ada:key@host/x?a=b", "s3://bucket/a@b"]) == [
        "score --to https://host/x?a=b",
        "s3://bucket/a@b",
    ]
