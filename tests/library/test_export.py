"""captionlab export: captions of a run for other programs."""

import json
import shutil

import pandas as pd
import pytest
from support.tiny_run import CAPTIONER, CORPUS, EVALUATION, OTHER, TEST_IMAGES

import captionlab
from captionlab.commands.main import main
from captionlab.generation.captions import read_caption_file
from captionlab.library.runs import open_run
from captionlab.storage import paths
from captionlab.storage.schemas import CAPTIONS, GENERATED, IMAGES
from captionlab.storage.tables import read_table, write_table


def export(run, *arguments, captioner=CAPTIONER, evaluation=EVALUATION):
    return main(["export", str(run), "--captioner", captioner, "--evaluation", evaluation, *map(str, arguments)])


def renamed(run, folder, rename):
    """A copy of a run whose images have other ids, and whose captions are also of another corpus."""
    shutil.copytree(run, folder)
    tables = {paths.corpus(name, CORPUS): schema for name, schema in (("images", IMAGES), ("captions", CAPTIONS))}
    for file, schema in {**tables, paths.captions(CAPTIONER, EVALUATION): GENERATED}.items():
        rows = read_table(folder / file, schema).to_pylist()
        write_table(folder / file, schema, [{**row, "image_id": rename(row["image_id"])} for row in rows])
    return folder


def test_captions_and_references_can_be_read_again(tiny_run, tmp_path):
    files = [tmp_path / "new" / name for name in ("captions.json", "references.json")]
    assert export(tiny_run, "--output", files[0], "--references", files[1]) == 0
    captions = open_run(tiny_run).captions(CAPTIONER, CORPUS, EVALUATION)
    assert read_caption_file(files[0]) == list(
        captions[["image_id", "caption_index", "caption"]].itertuples(index=False)
    )
    document = json.loads(files[1].read_text())
    assert [image["id"] for image in document["images"]] == captions["image_id"].tolist()
    references = open_run(tiny_run).references(CORPUS).query("split == 'test'")
    written = {(row["image_id"], row["caption"]) for row in document["annotations"]}
    assert written == set(references[["image_id", "caption"]].itertuples(index=False, name=None))
    assert len({row["id"] for row in document["annotations"]}) == len(document["annotations"])


def test_exported_files_are_scored_as_the_tables_of_the_run(tiny_run, tmp_path):
    files = [tmp_path / name for name in ("captions.json", "references.json")]
    assert export(tiny_run, "--output", files[0], "--references", files[1]) == 0
    run = open_run(tiny_run)
    tables = run.captions(CAPTIONER, CORPUS, EVALUATION), run.references(CORPUS).query("split == 'test'")
    pd.testing.assert_frame_equal(captionlab.score(*files, ["cider"]), captionlab.score(*tables, ["cider"]))


def test_standard_output(tiny_run, capsys):
    assert export(tiny_run, captioner="human") == 0
    rows = json.loads(capsys.readouterr().out)
    assert len(rows) == TEST_IMAGES
    assert all(row.keys() == {"image_id", "caption"} for row in rows)


def test_samples_are_numbered(tiny_run, capsys):
    assert export(tiny_run, evaluation=OTHER) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["caption_index"] for row in rows] == [0, 1] * TEST_IMAGES


@pytest.mark.parametrize(
    ("rename", "expected"),
    [
        (lambda name: str(int(name[-6:]) + (7 if name.startswith("test") else 100)), 7),
        (lambda name: ("0" if name.startswith("test") else "1") + name[-5:], "000000"),
    ],
)
def test_whole_numbers_are_numbers_as_in_coco(tiny_run, tmp_path, capsys, rename, expected):
    run = renamed(tiny_run, tmp_path / "run", rename)
    assert export(run, "--references", tmp_path / "references.json") == 0
    assert json.loads(capsys.readouterr().out)[0]["image_id"] == expected
    document = json.loads((tmp_path / "references.json").read_text())
    assert document["images"][0]["id"] == document["annotations"][0]["image_id"] == expected


def test_one_corpus_at_a_time(tiny_run, tmp_path, capsys):
    shutil.copytree(tiny_run, tmp_path / "run")
    file = tmp_path / "run" / paths.captions(CAPTIONER, EVALUATION)
    rows = read_table(file, GENERATED).to_pylist()
    write_table(file, GENERATED, rows + [{**row, "corpus": "others"} for row in rows])
    assert export(tmp_path / "run") == 1
    assert f"{CORPUS}, others" in capsys.readouterr().err
    assert export(tmp_path / "run", "--corpus", "others") == 0
    assert len(json.loads(capsys.readouterr().out)) == TEST_IMAGES


@pytest.mark.parametrize(
    ("options", "part"),
    [({"captioner": "clipcup"}, "clipcap, human"), ({"evaluation": "mian"}, "main, sampled")],
)
def test_names_that_are_not_there(tiny_run, tmp_path, capsys, options, part):
    assert export(tiny_run, "--output", tmp_path / "a.json", **options) == 1
    assert part in capsys.readouterr().err
    assert not (tmp_path / "a.json").exists()


def test_images_without_references(tiny_run, tmp_path, capsys):
    run = tmp_path / "run"
    shutil.copytree(tiny_run, run)
    file = run / paths.corpus("captions", CORPUS)
    rows = read_table(file, CAPTIONS).to_pylist()
    write_table(file, CAPTIONS, [row for row in rows if row["image_id"] != "test-000003"])
    assert export(run, "--references", tmp_path / "references.json") == 1
    assert "test-000003" in capsys.readouterr().err
