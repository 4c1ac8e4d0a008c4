"""The notebooks of examples/, executed by the Python of the tests."""

import json
import shutil
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from support.records import python_path

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))
# Texts in the outputs of a notebook.
SHOWN = {
    "look_into_a_run": ["captioners:  clipcap human", "P@1", "Interval(value=", "image/png"],
    "score_and_compare": ["CIDEr", "p_holm", "generic", "image/png"],
}


@pytest.fixture
def folder(tiny_run, tmp_path, monkeypatch) -> Path:
    """A folder with a run in runs/a, and a kernel of this Python."""
    kernel = tmp_path / "jupyter" / "kernels" / "python3"
    kernel.mkdir(parents=True)
    command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    (kernel / "kernel.json").write_text(json.dumps({"argv": command, "display_name": "tests", "language": "python"}))
    for name, place in {"JUPYTER_PATH": "jupyter", "JUPYTER_RUNTIME_DIR": "runtime", "IPYTHONDIR": "ipython"}.items():
        monkeypatch.setenv(name, str(tmp_path / place))
    monkeypatch.setenv("PYTHONPATH", python_path(ROOT / "src"))
    shutil.copytree(tiny_run, tmp_path / "work" / "runs" / "a")
    return tmp_path / "work"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path, folder):
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": folder}}).execute()
    outputs = json.dumps([cell.outputs for cell in notebook.cells if cell.cell_type == "code"])
    assert [text for text in SHOWN[path.stem] if text not in outputs] == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_stored_without_outputs(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert code
    assert all(cell.outputs == [] and cell.execution_count is None for cell in code)


def test_there_are_notebooks():
    assert {path.stem for path in NOTEBOOKS} == {*SHOWN}
