"""What Snakemake reads over in the files of a config: keys that stand twice, null, and a config that is another one."""

import copy
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from snakemake.common.configfile import load_configfile
from snakemake.utils import update_config
from support.records import python_path
from test_config import CONFIG

from captionlab.config.config_files import check_config_files
from captionlab.config.whole import ConfigError, checked
from captionlab.storage.files import RepeatedKeyError, read_yaml

ROOT = Path(__file__).parents[2]


def merged(folder, *texts, line=None):
    """A config of several files and the command line as Snakemake merges it, then looked through."""
    config, files = {}, []
    for number, text in enumerate(texts):
        files.append(folder / f"{number}.yaml")
        files[-1].write_text(text if isinstance(text, str) else yaml.safe_dump(text), encoding="utf-8")
        update_config(config, load_configfile(files[-1]))
    update_config(config, copy.deepcopy(line or {}))
    check_config_files(config, files, line or {})
    return config


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("seed: 1\ncorpora: {}\nseed: 2\n", "the key seed stands in line 1 and in line 3"),
        ("a:\n  - b: {c: 1, c: 2}\n", "the key a.0.b.c stands in line 2 and in line 2"),
        ('{"a": {"x": 1,\n\t"x": 2}}', "the key a.x stands in line 1 and in line 2"),
        (
            "a: &one {x: 1}\nb: *one\n? a\n: {y: 1, y: 2}\n",
            "the key a stands in line 1 and in line 3, the key a.y stands",
        ),
        ("one: &one {x: 1}\na: {<<: *one, x: 2}\n", ""),
        ("a: {x: 1}\nb: {x: 1}\nc: [{x: 1}, {x: 1}]\n", ""),
    ],
)
def test_a_key_that_stands_twice(tmp_path, text, said):
    file = tmp_path / "given.yaml"
    file.write_text(text, encoding="utf-8")
    if not said:
        assert read_yaml(file) == yaml.safe_load(text)
        return
    with pytest.raises(RepeatedKeyError, match=re.escape(f"{file}: {said}")):
        read_yaml(file)


def test_yaml_of_the_workflow_says_nothing_twice():
    files = [
        path
        for folder in ("config", "src", "workflow", "tests", "profiles")
        for path in (ROOT / folder).rglob("*.yaml")
    ]
    assert len(files) > 15
    for file in files:
        assert read_yaml(file) == yaml.safe_load(file.read_text(encoding="utf-8"))


def test_a_config_that_has_a_key_twice_is_refused(tmp_path, answers):
    with pytest.raises(ConfigError) as raised:
        merged(
            tmp_path,
            "seed: 1\ncorpora: {}\n",
            "captioners:\n  a: {family: human}\n  b: {family: human}\n  a: {seed: 2}\n",
        )
    answers.hold("a captioner that stands twice in the second --configfile", raised.value, "1.yaml")


def test_a_config_without_corpora_is_not_the_toy_world(tmp_path, answers):
    with pytest.raises(ConfigError) as raised:
        merged(tmp_path, "seed: 1\ncorpra: {}\n")
    answers.hold("--configfile with `corpra` for `corpora`", raised.value, "0.yaml")
    assert check_config_files({"captioners": {}}, [], {}) is None  # of a module: the models say the rest


def test_null_takes_away_what_a_file_before_has(tmp_path):
    plain = checked(CONFIG, ROOT)
    fewer = {"captioners": {"base": {"optimizer": {"steps": None, "epochs": 3}}}, "study": None}
    config = merged(tmp_path, CONFIG, fewer)
    assert config["captioners"]["base"]["optimizer"] == {"kind": "adam", "lr": 0.001, "batch": 4, "epochs": 3}
    found = checked(config, ROOT)
    assert ("study" in plain, "study" in found, found["papers"] == plain["papers"]) == (True, False, True)
    # By the command line; again given by a third file; the key that says what a block is.
    assert "seed" not in merged(tmp_path, CONFIG, line={"seed": None})
    again = {"captioners": {"base": {"optimizer": {"steps": 5, "epochs": None}}}}
    assert merged(tmp_path, CONFIG, fewer, again)["captioners"]["base"]["optimizer"]["steps"] == 5
    other = {"encoders": {"clip": {"weights": None, "patches_of": "x"}}, "captioners": {"child": {"parent": None}}}
    config = merged(tmp_path, CONFIG, other)
    assert config["encoders"]["clip"] == {"family": "clip", "patches_of": "x"}
    assert "parent" not in config["captioners"]["child"]


def test_null_stays_where_it_is_a_value(tmp_path):
    config = merged(
        tmp_path,
        {**CONFIG, "checkpoints": {"steps": 5}},
        "corpora: {photos: {images: null}}\ncheckpoints: {steps: null}\n",
    )
    assert (config["corpora"]["photos"]["images"], config["checkpoints"]) == (None, {"steps": None})


def test_null_that_takes_nothing_away_is_a_mistake(tmp_path, answers):
    config = merged(tmp_path, CONFIG, "captioners: {base: {optimizer: {warmup: }}}\n")
    with pytest.raises(ConfigError) as raised:
        checked(config, ROOT)
    answers.hold(
        "`warmup:` without a value, which no file before has", raised.value, "captioners.base.optimizer.warmup"
    )


def planned(folder, *arguments):
    command = [
        sys.executable,
        "-m",
        "snakemake",
        "--snakefile",
        str(ROOT / "Snakefile"),
        "--dry-run",
        "--cores",
        "1",
    ]
    environment = {**os.environ, "PYTHONPATH": python_path(ROOT / "src")}
    return subprocess.run(
        [*command, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def test_a_mistake_is_all_that_is_shown_and_the_default_is_there_without_a_file(tmp_path, answers):
    """One test for both, as Snakemake takes its time; a dry run says on the standard output what it says."""
    (tmp_path / "typo.yaml").write_text("seed: 1\ncorpra: {}\n", encoding="utf-8")
    done = planned(tmp_path, "--configfile", "typo.yaml")
    assert (done.returncode, len(done.stdout.splitlines()), "Traceback" in done.stderr) == (1, 1, False), done.stdout
    assert done.stdout.startswith("Error: there is no section `corpora`")
    answers.hold("snakemake --configfile typo.yaml", done.stdout, "typo.yaml")
    # Without a file it is the default one, in which a seed can be set.
    done = planned(tmp_path, "--config", "seed=two")
    *_, first, last = done.stdout.strip().splitlines()
    assert (done.returncode, first, "Traceback" in done.stderr) == (1, "Error: the config cannot be run:", False)
    assert last.strip() == "- seed is 'two'; it must be a whole number"
    done = planned(tmp_path, "--config", "seed=2", "--", "results/encoders/toy-clip-a/config.json")
    assert (done.returncode, "import_encoder" in done.stdout) == (0, True), done.stdout + done.stderr
