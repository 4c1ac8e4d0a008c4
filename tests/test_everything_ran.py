"""Every rule and every key of the config was run by some test; `./lab test` runs this after all other tests."""

import re
from pathlib import Path

import pytest
from support.config_keys import declared_keys, used_keys
from support.records import executed_configs, executed_rules, skipped

pytestmark = pytest.mark.last

ROOT = Path(__file__).parents[1]
RULE = re.compile(r"^ *(?:rule|checkpoint|use rule \w+ as) (\w+)(?: with)?:", re.MULTILINE)
# Rules that no test can run, or that have no script, and why.
RULES = {"all": "only names files"}
# Keys that no test can run, and why.
KEYS = {"encoders.Imported.model": "open_clip downloads the weights that it names, which needs the internet"}


def rules_of_the_workflow() -> set[str]:
    """Return the names of all rules, also of papers that no config asks for."""
    files = [ROOT / "Snakefile", *ROOT.glob("workflow/rules/*.smk"), *ROOT.glob("src/captionlab/papers/*/rules.smk")]
    return {name for file in files for name in RULE.findall(file.read_text(encoding="utf-8"))}


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
