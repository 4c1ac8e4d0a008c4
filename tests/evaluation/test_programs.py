"""Programs of an evaluation (Java, conda, commands) in environments of users: every score is the same to the byte."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.locales import ENVIRONMENTS, PRINTING_COMMAND
from support.records import python_path
from support.running import run_script
from support.spice_models import spice_models

from captionlab.evaluation.processes import run
from captionlab.jobs.programs import DEFINED, program_environment
from captionlab.storage.schemas import CAPTIONS, GENERATED, IMAGES
from captionlab.storage.tables import write_table

TESTS = Path(__file__).parents[1]
REFERENCES = {
    "1": ["A brown dog in a park.", "Ein Bär «hier»: İSTANBUL", "a dog plays on the grass"],
    "2": ["Two red apples on a wooden table", "red apples lie on a table"],
    "3": ["a man is riding a horse on the beach", "someone rides along the sea"],
}
SAID = {"1": "a dog is in the park — naïve", "2": "İki ÉLMA on the table", "3": "a man rides a horse"}


@pytest.fixture(scope="module")
def world(tmp_path_factory) -> Path:
    """Tables of a corpus and of captions, the parser models of SPICE, and a command, in a folder that is not ASCII."""
    folder = tmp_path_factory.mktemp("Bär")
    same = {"split": "test", "path": None, "data": None, "offset": None, "length": None, "image_set": None}
    images = [{"image_id": image, "position": int(image), **same, "width": 1, "height": 1} for image in REFERENCES]
    write_table(folder / "images.parquet", IMAGES, images)
    references = [
        {"image_id": image, "caption_index": index, "caption": text}
        for image, texts in REFERENCES.items()
        for index, text in enumerate(texts)
    ]
    write_table(folder / "references.parquet", CAPTIONS, references)
    key = {"corpus": "world", "caption_index": 0, "log_prob": None, "confidence": None}
    write_table(folder / "captions.parquet", GENERATED, [{"image_id": i, "caption": SAID[i], **key} for i in SAID])
    (folder / "judge.py").write_text(PRINTING_COMMAND, encoding="utf-8")
    (folder / "models").symlink_to(spice_models(tmp_path_factory.mktemp("spice")))
    return folder


def evaluate(folder: str, output: str) -> None:
    """Run the scripts of an evaluation with tables of `folder`, and write the tables of scores to `output`."""
    inputs, made = Path(folder), Path(output)
    tables = {name: inputs / f"{name}.parquet" for name in ("images", "captions")}
    references, tokens, parses = made / "references.parquet", made / "tokens.parquet", made / "parses.parquet"
    asked = {"corpora": ["world"], "references_per_image": None}
    memory, models = {"mem_mb": 3500, "time_limit": 2}, inputs / "models"
    captions = {"images": inputs / "images.parquet", "captions": inputs / "references.parquet"}
    run_script(
        "tokenize_references", captions, [references], wildcards={"corpus": "world"}, split="test", tokenizers={}
    )
    run_script("tokenize_captions", [tables["captions"]], [tokens], tokenizers={})
    compared = {"tokens": [tokens], "references": [references], "judged": []}
    run_script("score_nlg", compared, [made / "nlg.parquet"], captioners=["me"], english=["world"], **asked)
    run_script("parse_references", {"models": models, "references": references}, [parses], resources=memory)
    compared = {"models": models, "tokens": tokens, "references": [references], "parses": [parses]}
    run_script("score_spice", compared, [made / "spice.parquet"], resources=memory, **asked)
    run_script(
        "score_by_command",
        {
            "captions": tables["captions"],
            "images_of_corpora": [tables["images"]],
            "captions_of_corpora": [inputs / "references.parquet"],
            "files": [inputs / "judge.py"],
            "environment": [],
        },
        [made / "command.parquet"],
        wildcards={"captioner": "me", "evaluation": "main", "metric": "judge"},
        resources=memory,
        splits=["test"],
        people=False,
        settings={"command": f"{sys.executable} judge.py", "version": "1", "references": True},
        files=["judge.py"],
        **asked,
    )


def evaluated(world: Path, name: str, variables: dict[str, str]) -> dict[str, bytes]:
    """Return the tables that a job of the workflow makes of an evaluation if a user has these variables, by name."""
    output = world / name
    output.mkdir()
    code = "import sys; sys.path.insert(0, sys.argv[1]); from test_programs import evaluate; evaluate(*sys.argv[2:])"
    command = [sys.executable, "-c", code, str(Path(__file__).parent), str(world), str(output)]
    path = python_path(TESTS.parent / "src", TESTS)
    own = {"PYTHONPATH": path, "PYTHONUTF8": "1", "XDG_CACHE_HOME": str(output / "cache"), **variables}
    log = output / "log"
    with open(log, "wb") as file:
        done = subprocess.run(command, env={**os.environ, **own}, stdout=file, stderr=file, check=False)
    assert done.returncode == 0, log.read_text(encoding="utf-8", errors="replace")[-3000:]
    return {path.name: path.read_bytes() for path in output.glob("*.parquet")}


@pytest.fixture(scope="module")
def expected(world) -> dict[str, bytes]:
    tables = evaluated(world, "expected", DEFINED)
    assert tables.keys() == {
        f"{name}.parquet" for name in ("references", "tokens", "nlg", "parses", "spice", "command")
    }
    return tables


@pytest.mark.timeout(600)
@pytest.mark.parametrize("names", [("commas", "java"), ("latin",)], ids=" and ".join)
def test_every_score_is_the_same(world, expected, tmp_path, names):
    variables = {key: value for name in names for key, value in ENVIRONMENTS[name](tmp_path).items()}
    assert evaluated(world, names[0], variables) == expected


def test_what_a_program_gets(tmp_path, monkeypatch):
    passed = {"HF_TOKEN": "a", "CUDA_VISIBLE_DEVICES": "3", "https_proxy": "b", "OPENAI_API_KEY": "c", "TMPDIR": "/tmp"}
    changing = ("LANG", "LC_NUMERIC", "LANGUAGE", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "CLASSPATH")
    changing += ("PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "LD_PRELOAD", "LD_AUDIT", "GIT_DIR", "R_HOME", "PERL5LIB")
    for name in changing:
        monkeypatch.setenv(name, "")
    for name, value in passed.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    assert passed.items() <= program_environment().items()
    assert DEFINED.items() <= program_environment().items()
    assert not {*changing} & {*program_environment()}
    shown = "import json, os; print(json.dumps(dict(os.environ)), file=open('seen', 'w'))"
    run([sys.executable, "-c", shown], tmp_path, 60.0, "judge", {"VIRTUAL_ENV": "here"})
    assert json.loads((tmp_path / "seen").read_text()) == {**program_environment(), "VIRTUAL_ENV": "here"}
