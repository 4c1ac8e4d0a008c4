import json
import os
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.answers import Answers
from support.records import open_records, opened, record_skipped, skipped

# Of a test that runs the workflow. That of config/paper.yaml, the longest, took 504 beside another on two cores.
SLOW_SECONDS = 1500


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-answers", action="store_true", help="write tests/bad_input.md anew from the tests that run"
    )


def pytest_configure() -> None:
    open_records()


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """List why tests were skipped, in this session and in those of the same `./lab test` before it."""
    if "PYTEST_XDIST_WORKER" in os.environ:  # the process that started the workers counts for all of them
        return
    record_skipped(terminalreporter.stats.get("skipped", []))
    if reasons := skipped():
        terminalreporter.section(f"{sum(count for _, count in reasons)} tests skipped, by reason")
        for reason, count in reasons:
            terminalreporter.write_line(f"{count:5d}  {reason}")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give runs of the workflow more time than other tests: the limit ends what hangs, it does not measure."""
    for item in items:
        if item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.timeout(SLOW_SECONDS))


@pytest.fixture(autouse=True)
def closed_checkout(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a test that opens files below the checkout's results/, runs/ or data/, also in a process that it starts.

    Files that pyarrow or safetensors open in C++ or Rust are not noticed.
    """
    yield
    if paths := opened(request.node.nodeid):
        pytest.fail(f"the test depends on what was run in this checkout before; it opened {', '.join(paths[:5])}")


@pytest.fixture(autouse=True, scope="session")
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What runs keep for other runs (captionlab.storage.cache) is neither the user's nor of an earlier test run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def answers(request: pytest.FixtureRequest, tmp_path: Path) -> Answers:
    """Return what checks the sentences that bad input gets and lists them in `tests/bad_input.md`."""
    test = Path(request.node.path).relative_to(Path(__file__).parent).as_posix()
    return Answers(f"{test}::{request.function.__name__}", tmp_path, request.config.getoption("--update-answers"))


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Small cuts of public data sets beside the repository; tests that need them are skipped without them."""
    folder = Path(__file__).parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"no data sets in {folder}")
    return folder


@pytest.fixture(scope="session")
def planned(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Any]:
    """Plan a run, as plans.plan; a config that an earlier test planned for the same targets is not planned again."""
    from support.plans import plan  # which imports Snakemake

    plans: dict[str, Any] = {}

    def planned(config: Any, *targets: str, **options: Any) -> Any:
        key = json.dumps([config, targets, options])
        if key not in plans:
            plans[key] = plan(config, tmp_path_factory.mktemp("plan"), *targets, **options)
        return plans[key]

    return planned


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Copy the library and the workflow, so that a test can change them."""
    root, copy = Path(__file__).parents[1], tmp_path / "checkout"
    for folder in ("src/captionlab", "workflow"):
        shutil.copytree(root / folder, copy / folder)
    for file in ("Snakefile", "CITATION.cff"):
        shutil.copy(root / file, copy)
    for folder in ("config", "envs", "resources"):
        (copy / folder).symlink_to(root / folder)
    return copy


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Start a main() as Snakemake would, in a working directory of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    (tmp_path / "results" / "logs" / "job").mkdir(parents=True)
    started: list[subprocess.Popen[bytes]] = []

    def start(body: str, parallel: bool = False, **resources: int) -> subprocess.Popen[bytes]:
        (tmp_path / "script.py").write_text(f"""
from types import SimpleNamespace
from captionlab.jobs.progress import progress
from captionlab.jobs.scripting import {"parallel_script" if parallel else "script"} as script
from snakemake.iocontainers import InputFiles, OutputFiles
import os, subprocess, time
log = "results/logs/job/of/it.log"
of_job = dict(input=InputFiles(), output=OutputFiles(), threads=2, rule="job", wildcards={{}}, params={{}})
snakemake = SimpleNamespace(log=[log], resources={resources!r}, **of_job)
@script
def main(snakemake):
{textwrap.indent(textwrap.dedent(body), "    ")}
""")
        (tmp_path / "results" / "logs" / "job" / "of").mkdir(exist_ok=True)
        with open("stderr", "w") as stderr:
            started.append(subprocess.Popen([sys.executable, "script.py"], stderr=stderr))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()


@pytest.fixture
def script(start: Callable[..., subprocess.Popen[bytes]], tmp_path: Path) -> Callable[..., tuple[int, str]]:
    """Run a main() to its end; gives the exit code and the text of the log."""

    def finish(body: str, **options: int) -> tuple[int, str]:
        process = start(body, **options)
        process.wait()
        return process.returncode, (tmp_path / "results/logs/job/of/it.log").read_text()

    return finish
