"""Captioners that only write texts: what they are shown, what they may return, and what their jobs depend on."""

import pytest
from PIL import Image
from support.plans import plan
from support.running import run_script

from captionlab import plugins
from captionlab.captioners.writer import Writer
from captionlab.commands.new_command import write_plugin
from captionlab.config.whole import ConfigError
from captionlab.generation.writing import WriterError, written_captions
from captionlab.places import VARIABLE
from captionlab.storage.schemas import GENERATED, IMAGES
from captionlab.storage.tables import read_table, write_table

# A family that looks captions up in a file. Its package has a name of its own in this process.
PACKAGE = "looking_up"
CONFIG = '''
"""Config of the family lookup."""

from typing import Literal

from pydantic import Field

from captionlab.config.captioners import WriterFacts, WritingCaptioner
from captionlab.config.model import FilePath

FACTS = WriterFacts()


class Config(WritingCaptioner):
    """A captioner that looks captions up."""

    family: Literal["lookup"]
    index: FilePath = Field(description="file of captions")
    case: Literal["upper", "lower"] = Field("lower", description="case of letters")
'''
CAPTIONER = '''
"""Captions that stand in a file."""

from pathlib import Path

from captionlab.captioners.writer import Writer


class Lookup(Writer):
    def __init__(self, config):
        super().__init__(config)
        self.known = dict(line.split(",") for line in Path(config["index"]).read_text().splitlines())

    def caption(self, images):
        return [getattr(self.known[image.image_id], self.config["case"])() for image in images]


FAMILY = Lookup
'''
ASKED = {
    "seed": 1,
    "spice": "off",
    "plugins": [PACKAGE],
    "corpora": {"toy": {"reader": "toyworld", "domain": "coco", "seed": 1, "images": {"train": 8, "test": 8}}},
    "captioners": {"mine": {"family": "lookup", "index": "index.csv"}},
    "evaluations": {"main": {"captioners": ["mine"], "corpora": ["toy"]}},
}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A folder with the package and the file of captions."""
    folder = tmp_path_factory.mktemp("data")
    place = folder / PACKAGE / "captioners" / "lookup"
    place.mkdir(parents=True)
    (place / "config.py").write_text(CONFIG)
    (place / "captioner.py").write_text(CAPTIONER)
    (folder / "index.csv").write_text("a,A red ball\nb,A  blue\tball\nc,a dog\n")
    return folder


@pytest.fixture(autouse=True)
def nothing_in_use(monkeypatch):
    """Use no package of plug-ins before and after a test."""
    monkeypatch.setenv(VARIABLE, "{}")


@pytest.fixture
def asked(data, tmp_path):
    """Return the plan of ASKED with other keys of its captioner, or other captioners."""

    def asked(others=None, **keys):
        captioners = {"mine": {**ASKED["captioners"]["mine"], **keys}, **(others or {})}
        return plan({**ASKED, "captioners": captioners}, tmp_path, data=data, stand_ins=False)

    return asked


def images(folder, names):
    """Write a table of images, each of a size of its own."""
    rows = {name: [None] * len(names) for name in IMAGES.columns}
    rows |= {"image_id": names, "position": [*range(len(names))], "split": ["test"] * len(names)}
    rows |= {"width": [1] * len(names), "height": [1] * len(names), "path": [str(folder / f"{n}.png") for n in names]}
    for number, name in enumerate(names, 1):
        Image.new("RGB", (number, 2)).save(folder / f"{name}.png")
    write_table(folder / "images.parquet", IMAGES, rows)
    return folder / "images.parquet"


def test_its_job_depends_on_its_keys_and_files(asked, data):
    job = asked().job("write_captions")
    assert job.makes == ["results/captions/mine/main.parquet"]
    assert job.inputs["files"] == [str(data / "index.csv")]
    assert job.params["config"] == {"case": "lower", "family": "lookup"}
    assert job.params["code"]
    assert asked(case="upper").job("write_captions").params["config"]["case"] == "upper"
    assert {"tokenize_captions", "score_nlg"} <= asked().rules()
    assert {"embed_images", "generate_captions"}.isdisjoint(asked().rules())


def test_its_job_writes_a_table_of_captions(asked, data, tmp_path, monkeypatch):
    job = asked().job("write_captions")
    monkeypatch.chdir(tmp_path)
    tables = {"images": [str(images(tmp_path, ["b", "a", "c"]))], "files": job.inputs["files"], "described": []}
    run_script("write_captions", tables, ["said.parquet"], wildcards=job.wildcards, **job.params)
    rows = read_table(tmp_path / "said.parquet", GENERATED).to_pylist()
    assert [(row["image_id"], row["caption"]) for row in rows] == [
        ("b", "a blue ball"),
        ("a", "a red ball"),
        ("c", "a dog"),
    ]
    assert {row["log_prob"] for row in rows} == {None}


def test_images_are_shown_in_batches(tmp_path):
    seen = []

    class Sizes(Writer):
        batch = 2

        def caption(self, images):
            seen.append([(image.corpus, image.image_id, image.picture.mode) for image in images])
            return [f"{image.picture.width} wide" for image in images]

    table = images(tmp_path, ["a", "b", "c"])
    (rows,) = written_captions(Sizes({}), "mine", {"toy": (["c", "a", "b"], table)})
    assert rows["caption"] == ["3 wide", "1 wide", "2 wide"]
    assert seen == [[("toy", "c", "RGB"), ("toy", "a", "RGB")], [("toy", "b", "RGB")]]


def test_what_is_no_caption_for_each_image_is_refused(tmp_path, answers):
    table = images(tmp_path, ["a", "b"])
    for returned, said in (
        (["one"], "returned 1 captions for 2 images; it must return a list with one for each"),
        ("ab", "returned one text for 2 images"),
        (["one", None], "returned None for the image 'b'; a caption is a text"),
    ):
        family = type("Family", (Writer,), {"caption": lambda self, images, returned=returned: returned})
        with pytest.raises(WriterError) as raised:
            [*written_captions(family({}), "mine", {"toy": (["a", "b"], table)})]
        answers.hold(f"`caption` that returns {returned!r}", raised.value, said)


def test_mistakes_in_a_config(asked, data, answers):
    tuned = {"parent": "mine", "corpus": "toy", "objective": {"kind": "cross-entropy"}}
    tuned["optimizer"] = {"kind": "adam", "lr": 0.1, "batch": 4, "steps": 2}
    for others, keys, said in (
        (
            {"tuned": tuned},
            {},
            "captioners.tuned cannot be finetuned: 'mine' is of the family lookup and has no weights",
        ),
        ({}, {"objective": {"kind": "cross-entropy"}}, "captioners.mine has no key 'objective'"),
        ({}, {"encoder": "clip"}, "captioners.mine has no key 'encoder'"),
        ({}, {"index": "away.csv"}, "captioners.mine.index: no such file or folder"),
        ({}, {"weights": "away.csv"}, "captioners.mine"),
    ):
        with pytest.raises(ConfigError) as raised:
            asked(others, **keys)
        answers.hold(
            f"a captioner that only writes texts: `{others or keys}`", str(raised.value).replace(str(data), "…"), said
        )


def test_the_template_is_about_ten_lines(tmp_path):
    files = write_plugin("captioner", "short", tmp_path)
    for file in files:
        if file.name in ("captioner.py", "config.py"):
            lines = [
                line for line in file.read_text().splitlines() if line.strip() and not line.strip().startswith('"""')
            ]
            assert len(lines) <= 10, file
    assert plugins.names("captioners")
