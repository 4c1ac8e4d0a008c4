"""`./lab` itself: its help, and its set-up by the real pip and uv, from a registry with packages of a few bytes."""

import hashlib
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TABLES = "captionlab tables"
COMMANDS = ["tables", "status", "try", "compare-runs", "data", "test", "docs", "lock"]

# The uv of the registry: the real one, but MISHAP may let it fail or hang with half a package installed.
UV = f"""#!/bin/sh
case "$MISHAP $*" in
  fails* | hangs*)
    cd .venv/lib/python3.*/site-packages && mkdir alpha-1.dist-info
    printf 'Metadata-Version: 2.1\\nName: alpha\\nVersion: 1\\n' > alpha-1.dist-info/METADATA
    [ $MISHAP = fails ] && exit 2
    touch "$OLDPWD/hanging" && exec sleep 60 ;;
esac
exec "{Path(sys.executable).with_name("uv")}" "$@"
"""
PROGRAM = """#!/bin/sh
echo "captionlab $*"
case "$*" in *--wrong*) exit 2 ;; esac
"""
BACKEND = """
import zipfile

def build_editable(folder, config_settings=None, metadata_directory=None):
    with zipfile.ZipFile(f"{folder}/lab_user-1-py3-none-any.whl", "w") as wheel:
        wheel.writestr("lab_user-1.dist-info/METADATA", "Metadata-Version: 2.1\\nName: lab-user\\nVersion: 1\\n")
        wheel.writestr("lab_user-1.dist-info/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\n")
        wheel.writestr("lab_user-1.dist-info/RECORD", "")
    return "lab_user-1-py3-none-any.whl"
"""
PYPROJECT = """
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]

[project]
name = "lab-user"
version = "1"
"""


class Registry(SimpleHTTPRequestHandler):
    """A package registry: a folder for each package, whose listing links its files."""

    def copyfile(self, source, outputfile):
        """Send a file, or only its first half where a file CUT is beside it."""
        if not (Path(self.directory) / "CUT").exists():
            return super().copyfile(source, outputfile)
        content = source.read()
        outputfile.write(content[: len(content) // 2])
        self.close_connection = True

    def log_message(self, *_):
        """Nothing on the screen."""


class Laboratory:
    """A checkout with `lab`, a lock file and a registry with what it locks: alpha, a program `captionlab` and uv."""

    def __init__(self, folder: Path, url: str):
        self.folder, self.packages, self.checkout = folder, folder / "packages", folder / "a check out"
        self.checkout.mkdir()
        shutil.copy(ROOT / "lab", self.checkout)
        (self.checkout / "backend.py").write_text(BACKEND)
        (self.checkout / "pyproject.toml").write_text(PYPROJECT)
        self.locked = {}
        self.publish("alpha", "1", {"alpha.py": "VERSION = 1"})
        self.publish("program", "1", {"program-1.data/scripts/captionlab": PROGRAM})
        self.publish("uv", "1", {"uv-1.data/scripts/uv": UV})
        keep = {
            name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "UV_", "VIRTUAL_ENV"))
        }
        caches = {"PIP_CACHE_DIR": str(folder / "pip"), "UV_CACHE_DIR": str(folder / "uv")}
        # What this machine configures of its own.
        alone = {"PIP_CONFIG_FILE": "/dev/null", "UV_NO_CONFIG": "1", "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
        self.environment = (
            keep
            | caches
            | alone
            | {"PIP_INDEX_URL": url, "UV_DEFAULT_INDEX": url, "PIP_RETRIES": "1", "UV_HTTP_RETRIES": "0"}
        )

    def publish(self, name: str, version: str, files: dict[str, str]) -> None:
        """Put a wheel into the registry and its hash into the lock file."""
        path = self.packages / name / f"{name}-{version}-py3-none-any.whl"
        path.parent.mkdir(parents=True, exist_ok=True)
        information = {
            "METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
            "WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        }
        contents = files | {f"{name}-{version}.dist-info/{file}": text for file, text in information.items()}
        record = f"{name}-{version}.dist-info/RECORD"
        with zipfile.ZipFile(path, "w") as wheel:
            for file, text in contents.items():
                entry = zipfile.ZipInfo(file)
                entry.external_attr = (0o100755 if "scripts" in file else 0o100644) << 16
                wheel.writestr(entry, text)
            wheel.writestr(record, "".join(f"{file},,\n" for file in [*contents, record]))
        self.locked[name] = f"{name}=={version} \\\n    --hash=sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}\n"
        (self.checkout / "requirements.lock").write_text("".join(self.locked.values()))

    def start(self, *arguments: str, where: Path | None = None, **environment: str) -> subprocess.Popen:
        return subprocess.Popen(
            [self.checkout / "lab", *arguments],
            cwd=where or self.checkout,
            env=self.environment | environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            # Where these tests run in the background, an interrupt is ignored from birth.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )

    def run(self, *arguments: str, code: int = 0, where: Path | None = None, **environment: str) -> str:
        """Return what lab says on both streams if it ends with that code. It is called in `where`, or the checkout."""
        process = self.start(*arguments, where=where, **environment)
        said, _ = process.communicate()
        assert process.returncode == code, said
        return said

    def run_in_terminal(self, *arguments: str) -> str:
        """What lab prints to a terminal, where it ends without an error."""
        ours, terminal = pty.openpty()
        subprocess.run(
            [self.checkout / "lab", *arguments], cwd=self.checkout, env=self.environment, stdout=terminal, check=True
        )
        os.close(terminal)
        return os.read(ours, 10_000).decode().replace("\r\n", "\n")

    def instead_of(self, program: str, script: str) -> dict[str, str]:
        """An environment in which a shell script stands for a program."""
        path = self.folder / "instead" / program
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return {"PATH": f"{path.parent}:{self.environment['PATH']}"}

    def start_hanging(self) -> subprocess.Popen:
        """A call whose set-up has installed half a package and goes no further."""
        process = self.start("tables", MISHAP="hangs")
        for _ in range(600):
            if (self.checkout / "hanging").exists():
                return process
            time.sleep(0.1)
        raise AssertionError("the set-up never came to uv")

    def assert_whole(self, version: int = 1) -> None:
        """Fail unless the environment has all that is locked."""
        found = subprocess.check_output(
            [self.checkout / ".venv/bin/python", "-c", "import alpha; print(alpha.VERSION)"], text=True
        )
        assert found == f"{version}\n"
        assert TABLES in self.run("tables")


@pytest.fixture
def laboratory(tmp_path: Path) -> Iterator[Laboratory]:
    (tmp_path / "packages").mkdir()
    handler = partial(Registry, directory=tmp_path / "packages")
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield Laboratory(tmp_path, f"http://127.0.0.1:{server.server_port}")
        server.shutdown()


def test_help_and_wrong_calls_set_nothing_up(laboratory: Laboratory):
    usage = laboratory.run("--help")
    assert [laboratory.run(command, "--help") for command in ("tables", "test", "lock")] == [usage] * 3
    assert re.findall(r"^  ([\w-]+)", usage, flags=re.MULTILINE) == COMMANDS
    assert laboratory.run("-h") == usage
    assert laboratory.run(code=2) == usage
    assert laboratory.run("tabels", code=2) == "lab: no command 'tabels'\n" + usage
    assert not (laboratory.checkout / ".venv").exists()


def test_the_first_call_sets_up_by_uv_and_the_next_one_does_not(laboratory: Laboratory):
    said = laboratory.run("tables", "--config", "seed=2")
    assert "setting up .venv" in said
    assert "Installed 2 packages" in said, "uv did not do it"
    assert f"{TABLES} --config seed=2\n" in said
    assert laboratory.run("tables", "--dry-run") == f"{TABLES} --dry-run\n"
    laboratory.assert_whole()


def test_paths_begin_where_the_user_is(laboratory: Laboratory):
    """The run is in the checkout all the same, unless `--directory` comes after."""
    laboratory.run("tables")
    (laboratory.checkout / ".venv/bin/captionlab").write_text('#!/bin/sh\necho "$PWD: $*"')
    elsewhere = laboratory.folder / "else where"
    elsewhere.mkdir()
    place = f" --directory {laboratory.checkout}"
    for command, lent in {"tables": place, "status": place, "try": "", "data": ""}.items():
        expected = f"{elsewhere}: {command}{lent} a.yaml b\n"
        assert laboratory.run(command, "a.yaml", "b", where=elsewhere) == expected
        assert laboratory.run(command, "a.yaml") == f"{laboratory.checkout}: {command} a.yaml\n"
    script(laboratory, "docs/build.py", "import os, sys\nprint('is in', os.getcwd(), *sys.argv[1:])\n")
    assert laboratory.run("docs", "a", where=elsewhere) == f"is in {elsewhere} a\n"


def test_this_captionlab_is_found_before_one_that_the_user_has_elsewhere(laboratory: Laboratory):
    laboratory.run("tables")
    (laboratory.checkout / ".venv/bin/captionlab").write_text('#!/bin/sh\necho "${PYTHONPATH-none}"')
    assert laboratory.run("tables", PYTHONPATH="/else/where") == f"{laboratory.checkout}/src:/else/where\n"
    del laboratory.environment["PYTHONPATH"]
    assert laboratory.run("tables") == "none\n"


def script(laboratory: Laboratory, name: str, text: str) -> Path:
    path = laboratory.checkout / name
    path.parent.mkdir(parents=True)
    path.write_text(text)
    return path


def test_tests_are_named_from_where_the_user_is(laboratory: Laboratory):
    laboratory.run("tables")
    for program in ("ruff", "snakefmt", "mypy", "lint-imports", "pytest"):
        path = laboratory.checkout / ".venv/bin" / program
        path.write_text('#!/bin/sh\necho "$PWD: $*"')
        path.chmod(0o755)
    tests = laboratory.checkout / "tests"
    tests.mkdir()
    (tests / "test_one.py").touch()
    text = laboratory.run("test", "-x", "test_one.py::test_it", where=tests)
    assert f"{laboratory.checkout}: --numprocesses auto" in text
    assert f"-x {tests}/test_one.py::test_it\n" in text
    assert "-x tests/test_one.py\n" in laboratory.run("test", "-x", "tests/test_one.py")


def test_options_go_to_what_a_command_runs_and_a_wrong_one_ends_with_an_error(laboratory: Laboratory):
    laboratory.run("tables")
    path = script(laboratory, "docs/build.py", "import sys; print(*sys.argv)")
    assert laboratory.run("docs", "--config", "seed=2") == f"{path} --config seed=2\n"
    for command in ("status", "try", "data"):
        assert laboratory.run(command, "--help", "a b") == f"captionlab {command} --help a b\n"
        assert laboratory.run(command, "--wrong", code=2) == f"captionlab {command} --wrong\n"


def test_a_set_up_that_failed_with_half_a_package_is_made_anew(laboratory: Laboratory):
    assert ".venv could not be made" in laboratory.run("tables", code=1, MISHAP="fails")
    assert "setting up .venv" in laboratory.run("tables")
    laboratory.assert_whole()


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_set_up_that_was_ended_in_the_middle_is_made_anew(laboratory: Laboratory, how: signal.Signals):
    process = laboratory.start_hanging()
    os.killpg(process.pid, how)
    process.communicate()
    assert process.returncode != 0
    assert "setting up .venv" in laboratory.run("tables")
    laboratory.assert_whole()


def test_one_of_two_calls_waits_while_the_other_sets_up(laboratory: Laboratory):
    calls = [laboratory.start("tables") for _ in range(2)]
    said = [call.communicate()[0] for call in calls]
    assert [call.returncode for call in calls] == [0, 0], said
    assert sorted("another ./lab sets up .venv here; waiting" in text for text in said) == [False, True]
    assert sorted("setting up .venv" in text for text in said) == [False, True]
    laboratory.assert_whole()


def test_the_lock_outlives_a_killed_script_whose_uv_goes_on(laboratory: Laboratory):
    process = laboratory.start_hanging()
    os.kill(process.pid, signal.SIGKILL)
    second = laboratory.start("tables")
    assert second.stdout.readline() == "lab: another ./lab sets up .venv here; waiting for it\n"
    os.killpg(process.pid, signal.SIGKILL)
    assert "setting up .venv" in second.communicate()[0]
    laboratory.assert_whole()


def test_a_file_system_without_locks_forbids_nothing(laboratory: Laboratory):
    laboratory.run("tables", **laboratory.instead_of("flock", "exit 1"))
    laboratory.assert_whole()


def test_half_a_download_is_not_installed(laboratory: Laboratory):
    (laboratory.packages / "CUT").touch()
    assert "pip could not install uv" in laboratory.run("tables", code=1)
    (laboratory.packages / "CUT").unlink()
    laboratory.run("tables")
    laboratory.assert_whole()


def test_without_a_network_it_says_so_and_the_next_call_goes_on(laboratory: Laboratory):
    nowhere = "http://127.0.0.1:9"
    said = laboratory.run("tables", code=1, PIP_INDEX_URL=nowhere, UV_DEFAULT_INDEX=nowhere)
    assert "Connection refused" in said
    assert "pip could not install uv, see above; it needs a network" in said
    laboratory.run("tables")
    laboratory.assert_whole()


def test_a_disk_with_too_little_space_is_named(laboratory: Laboratory):
    said = laboratory.run("tables", **laboratory.instead_of("df", "echo Avail; echo ' 3GB'"))
    assert "lab: the disk has 3 GB free, and .venv needs 7 GB" in said
    laboratory.assert_whole()


def test_what_has_another_hash_is_not_installed(laboratory: Laboratory):
    lock = laboratory.checkout / "requirements.lock"
    right = lock.read_text()
    lock.write_text(re.sub(r"(alpha==1 \\\n    --hash=sha256:)\w+", r"\g<1>" + 64 * "0", right))
    assert ".venv could not be made" in laboratory.run("tables", code=1)
    assert laboratory.run("tables", code=1).count("setting up .venv") == 1
    lock.write_text(right)
    laboratory.run("tables")
    laboratory.assert_whole()


@pytest.mark.parametrize("version", ["3.9.2", "3.11.3"])
def test_a_python_that_is_too_old_is_named(laboratory: Laboratory, version):
    parts = tuple(map(int, version.split(".")))
    told = f'exec {sys.executable} -c "import sys; sys.version_info = {parts}; exec(sys.argv[1])" "$2"'
    old = f'if test "$1" = --version; then echo Python {version}; else {told}; fi'
    for name in ["python3", *(f"python3.{minor}" for minor in range(11, 15))]:
        path = laboratory.instead_of(name, old)
    said = laboratory.run("tables", code=1, **path)
    assert "no Python 3.11.4 or newer with its venv module" in said
    assert f"python3 is Python {version}" in said
    assert not (laboratory.checkout / ".venv").exists()


def test_a_python_without_the_venv_module_is_passed_over(laboratory: Laboratory):
    without = f'exec {sys.executable} -c "import sys; sys.modules[\'ensurepip\'] = None; exec(sys.argv[1])" "$2"'
    laboratory.run("tables", **laboratory.instead_of("python3.11", without))
    laboratory.assert_whole()


def test_a_moved_checkout_is_set_up_anew_and_so_is_one_with_another_lock_file(laboratory: Laboratory):
    laboratory.run("tables")
    laboratory.checkout = laboratory.checkout.rename(laboratory.folder / "moved")
    assert "setting up .venv" in laboratory.run("tables")
    laboratory.publish("alpha", "2", {"alpha.py": "VERSION = 2"})
    activated = {"PATH": f"{laboratory.checkout}/.venv/bin:{laboratory.environment['PATH']}"}
    assert "setting up .venv" in laboratory.run("tables", **activated)
    laboratory.assert_whole(version=2)
