"""Profiles say where jobs run; rules do not. Each of them is read by Snakemake itself, and plans the whole DAG."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from support.records import python_path

ROOT = Path(__file__).parents[2]
PROFILES = sorted(path.name for path in (ROOT / "profiles").iterdir())
RULES = "\n".join(path.read_text() for path in sorted((ROOT / "workflow" / "rules").glob("*.smk")))
NAMES = set(re.findall(r"^(?:use rule \w+ as|rule) (\w+)", RULES, re.MULTILINE))

PLUGINS = {
    "slurm": ["executor_plugin_slurm"],
    "kubernetes": ["executor_plugin_kubernetes", "storage_plugin_fs"],
}


def settings(profile: str) -> dict:
    return yaml.safe_load((ROOT / "profiles" / profile / "profile.yaml").read_text())


def test_the_profiles_are_there():
    assert PROFILES == ["default", "kubernetes", "slurm", "workstation"]


@pytest.mark.parametrize("profile", [name for name in PROFILES if name != "default"])
def test_no_profile_sets_what_the_default_one_overrides(profile):
    # Snakemake takes a key of profiles/default even where --profile names another.
    assert settings(profile).keys() & settings("default").keys() == set()


@pytest.mark.parametrize("profile", PROFILES)
def test_groups_name_rules_that_exist(profile):
    groups, components = settings(profile).get("groups", {}), settings(profile).get("group-components", {})
    assert groups.keys() <= NAMES
    assert components.keys() <= set(groups.values())


def test_the_clusters_have_the_same_groups():
    for key in ("groups", "group-components"):
        assert settings("slurm")[key] == settings("kubernetes")[key]


def test_small_jobs_are_in_groups():
    small = {name for name in NAMES if name.split("_")[0] in ("collect", "plot", "summarise", "check")}
    assert {"collect_cost", "summarise_evaluation", "check_claims"} <= small
    small |= {
        "label_scenes",
        "compute_pmi",
        "compare_captions",
        "estimate_density",
        "rank_objects",
        "analyse_responses",
    }
    small |= {"import_captions", "construct_captions"}
    assert small - settings("slurm")["groups"].keys() == set()


@pytest.mark.parametrize("profile", [name for name in PROFILES if name != "default"])
def test_images_are_decoded_by_several_workers(profile):
    threads = settings(profile)["set-threads"]
    assert threads.keys() == {"embed_images", "train_encoder"}
    assert min(threads.values()) > 1


def test_rules_say_nothing_of_partitions_and_accounts():
    assert not re.search(r"partition|account|qos", RULES)


def test_no_job_that_asks_for_a_gpu_is_in_a_group():
    bodies = dict(re.findall(r"^rule (\w+):\n((?:[ \n].*\n?)*)", RULES, re.MULTILINE))
    asking = {name for name, body in bodies.items() if "gpu=" in body}
    assert {"train_encoder", "generate_captions", "score_captions"} <= asking
    assert asking & settings("slurm")["groups"].keys() == set()


@pytest.mark.slow
@pytest.mark.parametrize("profile", [name for name in PROFILES if name != "default"])
def test_snakemake_reads_it_and_plans(profile, tmp_path):
    for plugin in PLUGINS.get(profile, ()):
        if not importlib.util.find_spec(f"snakemake_{plugin}"):
            pytest.skip(f"snakemake-{plugin.replace('_', '-')} is not installed")
    command = [sys.executable, "-m", "snakemake", "--profile", str(ROOT / "profiles" / profile), "--dry-run"]
    command += ["--snakefile", str(ROOT / "Snakefile"), "--configfile", str(Path(__file__).with_name("config.yaml"))]
    command += ["--directory", str(tmp_path)]
    if profile == "kubernetes":  # the bucket, which may as well be a folder
        command += ["--default-storage-provider", "fs", "--default-storage-prefix", str(tmp_path / "bucket")]
    environment = {**os.environ, "PYTHONPATH": python_path(ROOT / "src")}
    result = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    output = result.stdout + result.stderr
    assert result.returncode == 0, output[-3000:]
    planned = set(re.findall(r"Group job (\w+)", output))
    rules = set(re.findall(r"^(\w+) +\d+$", output, re.MULTILINE))
    assert "collect_tables" in rules
    # The jobs of papers are in a group of their own accord, as their names are not known to a profile.
    assert re.search(r"^ +Job \d+: .* of the \w+ paper$", output, re.MULTILINE)
    assert not re.search(r"^Job \d+: .* of the \w+ paper$", output, re.MULTILINE)
    of_profile = {group for rule, group in settings(profile).get("groups", {}).items() if rule in rules}
    assert planned == of_profile | {"reporting"}
