"""What changes a script's fingerprint and what does not."""

import os
import re
import shutil
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from captionlab.graph import fingerprints as code
from captionlab.graph.fingerprints import PLUMBING, Fingerprints, Repository

ROOT = Path(__file__).parents[2]

FILES = {
    "src/lib/__init__.py": '"""Package."""\n',
    "src/lib/alpha.py": """
from lib.deep.beta import used
from .deep import gamma

LIMIT = 3

def entry(x):
    \"\"\"Documented.\"\"\"
    return used(x) + gamma.helper(x) + LIMIT

def stranger():
    return 0
""",
    "src/lib/deep/__init__.py": "",
    "src/lib/deep/beta.py": """
import math
from ..omega import bottom

def used(x):
    return bottom(x) * math.pi  # a comment

def unused(x):
    return -x
""",
    "src/lib/deep/gamma.py": "def helper(x):\n    return x\n\ndef other(x):\n    return 2 * x\n",
    "src/lib/omega.py": """
FACTOR = Field(2, ge=1, description='factor')

def bottom(x):
    return FACTOR * x

class Unrelated:
    page = "other.md.jinja"
""",
    "src/lib/lazy.py": "def late():\n    open('page.html.jinja')\n    return 1\n",
    "src/lib/templates/page.html.jinja": '<style>{% include "page.css" %}</style>\n',
    "src/lib/templates/page.css": "p { margin: 1px; }\n",
    "src/lib/templates/other.md.jinja": "A page.\n",
    "src/lib/family.py": "SIZE = 1\n",
    "src/lib/unconnected.py": "X = 1\n",
    "workflow/scripts/job.py": """
from lib.alpha import entry

def main(snakemake):
    from lib import lazy
    return entry(1) + lazy.late()
""",
}


@pytest.fixture
def checkout(tmp_path):
    """A repository of FILES."""
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


@pytest.fixture
def fingerprint(checkout):
    """A function that changes one text in one file (or nothing) and returns the new fingerprint of job.py."""

    def after(name=None, old=None, new=None, also=()):
        if name is not None:
            path = checkout / name
            text = path.read_text()
            assert old in text
            path.write_text(text.replace(old, new))
        repository = Repository(checkout / "src", checkout / "workflow" / "scripts")
        result = repository.fingerprint(checkout / "workflow/scripts/job.py", *also)
        if name is not None:
            path.write_text(text)
        return result

    return after


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("workflow/scripts/job.py", "entry(1)", "entry(2)"),
        ("src/lib/alpha.py", "LIMIT = 3", "LIMIT = 4"),
        ("src/lib/alpha.py", "used(x) +", "used(x) -"),
        ("src/lib/deep/beta.py", "math.pi", "math.e"),  # two imports deep, absolute
        ("src/lib/omega.py", "FACTOR * x", "FACTOR + x"),  # three deep, relative
        ("src/lib/omega.py", "Field(2", "Field(3"),  # a constant that a reached function reads
        ("src/lib/deep/gamma.py", "return x", "return -x"),  # a function of a module imported as a module
        ("src/lib/lazy.py", "return 1", "return 2"),  # imported inside a function
        ("src/lib/templates/page.html.jinja", "style", "script"),  # a template that a reached function names
        ("src/lib/templates/page.css", "1px", "2px"),  # a file that the template includes
        ("src/lib/__init__.py", '"""Package."""', 'print("on import")'),  # an effect of a package on the way
        ("src/lib/omega.py", "FACTOR = ", "import os\nos.environ['X'] = '1'\nFACTOR = "),
    ],
)
def test_what_a_script_reaches_changes_it(fingerprint, name, old, new):
    assert fingerprint(name, old, new) != fingerprint()


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("src/lib/deep/beta.py", "# a comment", "# another one, longer"),
        ("src/lib/alpha.py", "Documented.", "Documented otherwise."),
        ("src/lib/alpha.py", "LIMIT = 3", "LIMIT = (\n    3\n)"),
        ("src/lib/alpha.py", "return 0", "return 1"),  # a function that nobody reaches
        ("src/lib/deep/beta.py", "return -x", "return +x"),
        ("src/lib/deep/gamma.py", "2 * x", "3 * x"),
        ("src/lib/omega.py", "class Unrelated:", "class Renamed:"),
        ("src/lib/omega.py", "description='factor'", "description='number'"),  # documentation of a key
        ("src/lib/unconnected.py", "X = 1", "X = 2"),
        ("src/lib/templates/other.md.jinja", "A page", "Another page"),  # no reached function names it
    ],
)
def test_what_it_does_not_reach_leaves_it(fingerprint, name, old, new):
    assert fingerprint(name, old, new) == fingerprint()


def test_statements_with_comprehensions_over_variables_of_one_name_are_apart(fingerprint, checkout):
    with open(checkout / "src/lib/omega.py", "a") as file:
        file.write("\nPOWERS = [FACTOR**n for n in range(3)]\n")
    reached, other = (
        "lib.omega:POWERS",
        ("src/lib/omega.py", "class Unrelated:", "ROOTS = [1 / n for n in (1, 2)]\n\nclass U:"),
    )
    assert fingerprint(*other, also=(reached,)) == fingerprint(also=(reached,))


def test_a_module_loaded_by_name_counts_when_it_is_named(fingerprint):
    change = ("src/lib/family.py", "SIZE = 1", "SIZE = 2")
    assert fingerprint(*change) == fingerprint()
    assert fingerprint(*change, also=("lib.family",)) != fingerprint(also=("lib.family",))


def test_a_definition_loaded_by_name_counts_without_the_rest_of_its_module(fingerprint):
    for name, change in (("stranger", ("return 0", "return 1")), ("LIMIT", ("LIMIT = 3", "LIMIT = 4"))):
        also, edited = (f"lib.alpha:{name}",), ("src/lib/alpha.py", *change)
        assert fingerprint(*edited, also=also) != fingerprint(also=also)
    assert fingerprint("src/lib/alpha.py", "return 0", "return 1", also=("lib.alpha:LIMIT",)) == fingerprint(also=also)


def test_a_guarded_import_is_followed(fingerprint, tmp_path):
    job = tmp_path / "workflow/scripts/job.py"
    job.write_text("try:\n    from lib.alpha import entry\nexcept ImportError:\n    entry = None\n\nX = entry\n")
    assert fingerprint("src/lib/omega.py", "Field(2", "Field(3") != fingerprint()


def test_star_imports_count_as_a_whole(fingerprint):
    star = ("workflow/scripts/job.py", "from lib.alpha import entry", "from lib.alpha import *")
    before = fingerprint(*star)
    assert before != fingerprint()


def found_by_a_process(root):
    return Fingerprints(root).of("job", "lib.family")


def test_what_was_found_is_kept_until_a_source_changes(checkout, fingerprint, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(checkout / "cache"))
    kept = found_by_a_process(checkout)
    assert kept == fingerprint(also=("lib.family",)) != Fingerprints(checkout).of("job")
    followed = []
    monkeypatch.setattr(Repository, "fingerprint", lambda self, script, *also: followed.append(script) or "new")
    assert found_by_a_process(checkout) == kept
    assert followed == []
    omega = checkout / "src/lib/omega.py"  # three imports deep; as long as before, and no younger
    times, text = (omega.stat().st_atime, omega.stat().st_mtime), omega.read_text()
    omega.write_text(text.replace("FACTOR * x", "FACTOR + x"))
    os.utime(omega, times)
    assert found_by_a_process(checkout) == "new"
    assert followed == [checkout / "workflow/scripts/job.py"]


def test_what_was_found_is_not_kept_when_a_template_changes(checkout, fingerprint, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(checkout / "cache"))
    kept = found_by_a_process(checkout)
    (checkout / "src/lib/templates/page.css").write_text("p { margin: 2px; }\n")
    assert found_by_a_process(checkout) == fingerprint(also=("lib.family",)) != kept


@pytest.mark.parametrize("damaged", ['{"job": ', "null"])
def test_a_new_or_a_damaged_file_is_no_reason_to_fail_or_to_keep(damaged, checkout, fingerprint, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(checkout / "cache"))
    kept = found_by_a_process(checkout)
    [file] = (checkout / "cache").rglob("*.json")
    file.write_text(damaged)
    assert found_by_a_process(checkout) == kept
    (checkout / "src/lib/deep/beta").mkdir()  # a package goes before a module of its name
    (checkout / "src/lib/deep/beta/__init__.py").write_text("def used(x):\n    return 0\n")
    assert found_by_a_process(checkout) == fingerprint(also=("lib.family",)) != kept


def test_processes_that_keep_at_once_find_the_same(checkout, fingerprint, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(checkout / "cache"))
    with ProcessPoolExecutor(4) as processes:
        found = list(processes.map(found_by_a_process, [checkout] * 24))
    assert {*found} == {fingerprint(also=("lib.family",))}
    assert found_by_a_process(checkout) == found[0]
    assert len([path for path in (checkout / "cache").rglob("*") if path.is_file()]) == 1


def test_checkouts_share_what_was_found(checkout, tmp_path_factory, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(checkout / "cache"))
    kept = found_by_a_process(checkout)
    elsewhere = tmp_path_factory.mktemp("other") / "checkout"
    shutil.copytree(checkout, elsewhere, ignore=shutil.ignore_patterns("cache"))
    monkeypatch.setattr(Repository, "fingerprint", None)
    assert found_by_a_process(elsewhere) == kept


@pytest.mark.parametrize("home", ["missing", "a file"])
def test_without_a_home_they_are_kept_for_the_run(checkout, home, monkeypatch):
    monkeypatch.chdir(checkout)
    if home == "missing":
        monkeypatch.setattr(code, "cache_folder", Path("~nobody-of-this-name").expanduser)
    else:
        (checkout / "home").touch()
        monkeypatch.setenv("XDG_CACHE_HOME", str(checkout / "home"))
    kept = found_by_a_process(checkout)
    assert [path.parent.name for path in (checkout / ".snakemake").rglob("*.json")] == ["code"]
    monkeypatch.setattr(Repository, "fingerprint", None)
    assert found_by_a_process(checkout) == kept


def test_what_was_kept_long_ago_is_deleted(checkout, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(checkout / "cache"))
    folder = checkout / "cache" / "captionlab" / "code"
    folder.mkdir(parents=True)
    for name, days in (("old", code.DAYS + 1), ("young", code.DAYS - 1)):
        (folder / name).touch()
        os.utime(folder / name, times=(time.time() - days * 24 * 3600,) * 2)
    found_by_a_process(checkout)
    assert sorted(path.suffix or path.name for path in folder.iterdir()) == [".json", "young"]


def test_code_that_no_result_depends_on_runs_nothing(tmp_path):
    for part in ("src", "workflow/scripts"):
        shutil.copytree(ROOT / part, tmp_path / part, ignore=shutil.ignore_patterns("__pycache__"))

    def fingerprints():
        repository = Repository(tmp_path / "src", tmp_path / "workflow" / "scripts")
        scripts = (tmp_path / "workflow" / "scripts").glob("*.py")
        return {script.stem: repository.fingerprint(script) for script in scripts}

    before = fingerprints()
    for name in sorted(PLUMBING):
        path = tmp_path.joinpath("src", *name.split(".")).with_suffix(".py")
        # Code in every function and outside, so that also a call of one of them would count.
        text = re.sub(r"^( +)(?=return |yield\b)", r"\1assert True\n\1", path.read_text(), flags=re.MULTILINE)
        path.write_text(f"{text}\n\nassert True\n")
    assert fingerprints() == before
    path = tmp_path / "src" / "captionlab" / "storage" / "tables.py"
    path.write_text(path.read_text().replace("def read_table(", "LIMIT = 1\n\n\ndef read_table(", 1))
    assert fingerprints() == before
    path.write_text(re.sub(r"^( +)(?=return )", r"\1assert True\n\1", path.read_text(), flags=re.MULTILINE))
    assert len([name for name, value in fingerprints().items() if value != before[name]]) > 0.8 * len(before)


def test_every_rule_script_can_be_followed():
    repository = Repository(ROOT / "src", ROOT / "workflow" / "scripts")
    scripts = sorted((ROOT / "workflow" / "scripts").glob("*.py"))
    assert len({repository.fingerprint(script) for script in scripts}) == len(scripts) > 0


def test_a_template_counts_where_it_is_used():
    repository, changed = (Repository(ROOT / "src", ROOT / "workflow" / "scripts") for _ in range(2))
    changed.templates["page.css"] += b"p { margin: 0; }"
    scripts = [ROOT / "workflow" / "scripts" / f"{name}.py" for name in ("collect_tables", "summarise_evaluation")]
    assert [repository.fingerprint(script) != changed.fingerprint(script) for script in scripts] == [True, False]
