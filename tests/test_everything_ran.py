"""Every rule and every key of the config was run by some test; `./lab test` runs this after all other tests."""

import subprocess
import sys
from pathlib import Path

import pytest
from config_keys import declared_keys, used_keys
from records import executed_configs, executed_rules, skipped

pytestmark = pytest.mark.last

ROOT = Path(__file__).parents[1]
# Rules that no test can run, or that have no script, and why.
RULES = {"all": "only names files"}
# Keys that no test can run, and why.
KEYS = {"encoders.Imported.model": "open_clip downloads the weights that it names, which needs the internet"}


def rules_of_the_workflow() -> set[str]:
    """Return the names of all rules: a config that asks for all papers has all rules."""
    command = [sys.executable, "-m", "snakemake", "--list-rules", "--snakefile", str(ROOT / "Snakefile")]
    configs = [str(ROOT / "config" / f"{name}.yaml") for name in ("config", "toy_hl")]
    done = subprocess.run([*command, "--configfile", *configs], cwd=ROOT, capture_output=True, text=True, check=True)
    return {line for line in done.stdout.splitlines() if line.isidentifier()}


@pytest.fixture(autouse=True)
def runs_on_data_sets() -> None:
    """Skip where the data sets beside the repository are missing, as some keys are in runs on these alone."""
    if any(reason.startswith("no data sets in") for reason, _ in skipped()):
        pytest.skip("runs on data sets were skipped, and some keys and rules are in these alone")


def test_every_rule_ran():
    executed = executed_rules()
    print("\n".join(f"{rule}: {tests[0]}" for rule, tests in executed.items()))
    assert rules_of_the_workflow() - executed.keys() - RULES.keys() == set()


def test_every_key_of_the_config_was_run():
    used = {key for config in executed_configs() for key in used_keys(config)}
    missing = {f"{key} ({meaning})" for key, meaning in declared_keys() - used if key not in KEYS}
    print("\n".join(f"{key}: {reason}" for key, reason in KEYS.items()))
    assert sorted(missing) == []
