"""A plug-in is one folder: its config is all that the graph needs, and no job without it notices it."""

import ast
import json
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from support.running import run_python

from captionlab.encoders.embeddings import embedding_rows
from captionlab.regions.tables import ImageRegions, write_regions
from captionlab.storage.schemas import embeddings_schema
from captionlab.storage.tables import write_table

ROOT = Path(__file__).parents[2]

CAPTIONER = {
    "config": """
from typing import Annotated, Literal

from pydantic import Field, PositiveInt

from captionlab.config.captioners import CaptionerFacts, ImportedFiles, {reads}, TrainedCaptioner
from captionlab.config.model import Model

FACTS = CaptionerFacts(
    reads="{facts}", finetuned_as={{}}, libraries=("scipy",)
)


class Architecture(Model):
    vocabulary: Annotated[int, Field(ge=257)] = Field(description="most tokens")


class Imported({reads}, ImportedFiles):
    family: Literal["{family}"]
    depth: PositiveInt | None = Field(None, description="not in the weights")


class Trained({reads}, TrainedCaptioner):
    family: Literal["{family}"]
    architecture: Architecture = Field(description="sizes")
""",
    "captioner": """
import torch

from captionlab.captioners.captioner import Captioner
from captionlab.networks.tokenizer import Tokenizer
from captionlab.regions.batches import RegionTable


class Constant(Captioner[None]):
    def __init__(self, vocabulary):
        super().__init__(locals())
        self.words = torch.nn.Parameter(torch.arange(vocabulary).float())

    @classmethod
    def for_corpus(cls, texts, other_texts, visual_size, architecture):
        tokenizer = Tokenizer.train(texts, architecture["vocabulary"])
        return cls(tokenizer.size), tokenizer

    longest = property(lambda self: 5)

    def log_probs(self, visual, tokens, mask):
        return self.words.log_softmax(0)[tokens] * mask

    def start(self, visual, max_tokens):
        return self.words.expand(len(visual), -1), None

    def step(self, tokens, state):
        return self.words.expand(len(tokens), -1), None

    def reorder(self, state, index):
        return None
{methods}

FAMILY = Constant
""",
}
OF_REGIONS = """
    @classmethod
    def measure_images(cls, features):
        return RegionTable(features).region_size, []

    def open_images(self, features, tokenizer):
        table = RegionTable(features)
        table.rows = table.batch
        return table
"""


def captioner(family, reads, facts, methods=""):
    """The files of a captioner that says the same of every image."""
    config = CAPTIONER["config"].format(family=family, reads=reads, facts=facts)
    return {"config": config, "captioner": CAPTIONER["captioner"].format(methods=methods)}


VECTOR = captioner("constant", "ReadsVector", "vector")
REGIONS = captioner("regional", "ReadsTaggedRegions", "tagged-regions", OF_REGIONS)
ENCODER = {
    "config": """
from typing import Literal

from captionlab.config.encoders import EncoderFacts, ImportedEncoder

FACTS = EncoderFacts(texts=True, patches=False, libraries=("scipy",))


class Imported(ImportedEncoder):
    family: Literal["new"]
""",
    "encoder": """
FAMILY = object


def import_weights(config, file): ...
def stated(config): ...
""",
}
READER = {
    "config": """
from typing import Literal

from pydantic import Field

from captionlab.config.corpora import CorpusFacts, CorpusOfFiles
from captionlab.config.model import FilePath

FACTS = CorpusFacts(files=("annotations", "boxes"), undescribed=True, libraries=("scipy",))


class Config(CorpusOfFiles):
    reader: Literal["new-photos"]
    annotations: FilePath = Field(description="file of captions")
    images: FilePath = Field(description="folder of images")
    boxes: FilePath = Field(description="more")
    crop: bool = Field(False, description="middles")
""",
    "reader": """
def read(config, root):
    yield from ()
""",
}
REWARD = {
    "config": """
from typing import Literal

from pydantic import Field, PositiveInt

from captionlab.config.rewards import RewardFacts
from captionlab.config.training import Retriever, Reward

FACTS = RewardFacts(asks="retriever", references=True, libraries=("scipy",))


class Config(Reward):
    kind: Literal["brief"]
    retriever: Retriever = Field(description="encoder that looks for the image")
    shortest: PositiveInt = Field(3, description="words")
""",
    "reward": """
def build(config, data):
    return None
""",
}
CONFIG = {
    "seed": 1,
    "corpora": {
        "world": {"reader": "toyworld", "domain": "coco", "seed": 1, "images": {"train": 8, "test": 8}},
        "photos": {"reader": "karpathy", "annotations": "p.json", "images": "photos"},
    },
    "encoders": {"clip": {"family": "clip", "weights": "clip.pt"}, "grid": {"patches_of": "clip"}},
    "regions": {"boxes": {"source": "boxes", "encoder": "clip"}},
    "tags": {"things": {"source": "objects"}},
    "scorers": {
        "uniter": {"family": "uniter", "regions": "boxes", "weights": "u.pt", "vocabulary": "vocab.txt"},
        "clip": {"family": "clip", "encoder": "clip"},
        "blip": {"family": "blip", "weights": "b.pt", "vocabulary": "vocab.txt"},
    },
    "captioners": {
        "plain": {"family": "clipcap", "encoder": "clip", "weights": "c.pt", "tokenizer": "t.json"},
        "placed": {"family": "blip", "encoder": "grid", "weights": "c.pt", "tokenizer": "t.json"},
        "tagged": {"family": "vinvl", "regions": "boxes", "tags": "things", "weights": "v.pt", "tokenizer": "t.txt"},
        "rewarded": {
            "parent": "plain",
            "corpus": "world",
            "objective": {
                "kind": "reinforce",
                "baseline": "none",
                "decoding": "greedy",
                "reward": {"kind": "similarity", "retriever": "clip", "candidates": 4},
            },
            "optimizer": {"kind": "adam", "lr": 0.1, "batch": 4, "steps": 2},
        },
    },
    "decodings": {"greedy": {"kind": "greedy", "max_tokens": 5}},
    "evaluations": {"main": {"captioners": ["plain"], "corpora": ["world"], "decoding": "greedy"}},
}
TRAINED = {
    "corpus": "world",
    "architecture": {"vocabulary": 300},
    "objective": {"kind": "cross-entropy"},
    "optimizer": {"kind": "adam", "lr": 0.1, "batch": 4, "steps": 2},
}
# What the jobs of each model read and depend on, as JSON.
PLAN = """
import json, sys
from pathlib import Path
from captionlab.config.whole import ConfigError
from captionlab.graph.graph import Graph

def plan(config):
    try:
        graph = Graph(config, Path(sys.argv[1]))
    except ConfigError as error:
        return str(error)
    settings, found = graph.settings, {}

    def params(loads, *libraries):
        return [param(None) for param in graph.software("generate_captions", *libraries, loads=loads).values()]

    for name, block in settings.corpora.items():
        if block.reader != "toyworld":
            loads = graph.modules("corpora.readers", block.reader)
            found["corpus " + name] = [
                [str(file) for file in graph.input_files(name)], *params(loads, "pillow"), graph.block("corpora", name),
                graph.facts("corpora.readers", block.reader).undescribed,
            ]
    for name in settings.captioners:
        found[name] = [graph.images_for("captioners", name, "world"), graph.training(name)]
        found[name] += params(graph.modules("captioners", name), "torch", "tokenizers")
        if graph.rewards(name):
            found["training " + name] = [graph.reward_models(name)]
            found["training " + name] += [*params(graph.modules("training", name), "torch"), graph.training(name)]
    for name, block in settings.encoders.items():
        found["encoder " + name] = params(graph.modules("encoders", name), "torch")
        if hasattr(block, "weights"):
            found["import " + name] = params(graph.modules("encoders", name, definition="import_weights"), "torch")
    for name in settings.scorers:
        found["scorer " + name] = [graph.images_for("scorers", name, "world"), graph.block("scorers", name)]
        found["scorer " + name] += params(graph.modules("scorers", name), "torch", "tokenizers")
    return found

found = [plan(config) for config in json.loads(sys.argv[2])]
assert "torch" not in sys.modules
print(json.dumps(found))
"""
# A captioner that is built, stored, read again, and describes images of these tables.
USE = """
import sys
import torch
from captionlab.captioners.images import stream_images
from captionlab.captioners.store import load_captioner, save_captioner
from captionlab.plugins import family_class
from captionlab.config.evaluations import read_decoding
from captionlab.generation.decoding import decode

family, folder, *tables = sys.argv[1:]
constant = family_class("captioners", family)
captioner, tokenizer = constant.for_corpus(["a b"], [], constant.measure_images(tables)[0], {"vocabulary": 257})
save_captioner(captioner, tokenizer, folder)
captioner, tokenizer = load_captioner(folder)
assert captioner.family == family
for visual in stream_images(captioner, tokenizer, tables, ["1", "2"], 2):
    print(len(visual.features if family == "regional" else visual))
    visual = visual.features if family == "regional" else visual
    print(decode(captioner, visual, read_decoding({"kind": "greedy", "max_tokens": 3}), tokenizer).tokens.tolist())
"""


def plans(checkout, *models, section="captioners"):
    """The plan of each config that has one of these models too, named mine, or the mistakes that it has."""
    configs = [{**CONFIG, section: {**CONFIG[section], "mine": model}} for model in models] or [CONFIG]
    return json.loads(run_python(checkout, PLAN, checkout, json.dumps(configs)))


def add(checkout, folder, files):
    """Add a plug-in, or change one."""
    inside = checkout / "src" / "captionlab" / folder
    inside.mkdir(exist_ok=True)
    for name, text in files.items():
        (inside / f"{name}.py").write_text(text)


def test_a_captioner_that_reads_vectors_is_one_folder(checkout):
    add(checkout, "captioners/constant", VECTOR)
    mine = {"family": "constant", "encoder": "clip", **TRAINED}
    imported = {"family": "constant", "encoder": "clip", "weights": "w", "tokenizer": "t", "depth": 3}
    wrong = {
        "mine.encoder is 'grid', and one vector of each image is read": {"encoder": "grid"},
        "mine.architecture.vocabulary is 3; it must be at least": {"architecture": {"vocabulary": 3}},
        "captioners.mine.architecture lacks the key vocabulary": {"architecture": {}},
        "captioners.mine has no key 'depht'": {"depht": 3},
        "by which a constant cannot be trained; write cross-entropy": {"objective": {"kind": "mlm"}},
        "teacher is nothing that a constant can": {"objective": {"kind": "cross-entropy", "teacher": {}}},
        "mine.family is 'konstant'; it must be one of": {"family": "konstant"},
    }
    planned, read, *refused = plans(checkout, mine, imported, *({**mine, **change} for change in wrong.values()))
    tables, block, _, versions = planned["mine"]
    assert tables == ["results/features/clip/world/0-of-1.parquet"]
    assert versions.keys() == {"torch", "tokenizers", "scipy"}
    assert block["architecture"] == {"vocabulary": 300}
    assert read["mine"][1]["depth"] == 3
    for sentence, found in zip(wrong, refused, strict=True):
        assert sentence in found


def test_they_run(checkout, tmp_path):
    add(checkout, "captioners/constant", VECTOR)
    add(checkout, "captioners/regional", REGIONS)
    ids, kind = ["1", "2"], embeddings_schema(3)
    write_table(tmp_path / "e", kind, embedding_rows(pa.chunked_array([ids]), np.ones((2, 3)), kind, "e"))
    boxes = np.array([[0, 0, 1, 1]], np.float32)
    regions = [ImageRegions(i, width=2, height=2, boxes=boxes, features=np.ones((1, 4), np.float32)) for i in ids]
    write_regions(tmp_path / "r", regions)
    for family, table in (("constant", "e"), ("regional", "r")):
        found = run_python(checkout, USE, family, tmp_path / family, tmp_path / table)
        assert found == f"2\n{[[256] * 3] * 2}\n"


def test_a_captioner_that_reads_regions_is_one_folder(checkout):
    add(checkout, "captioners/regional", REGIONS)
    mine = {"family": "regional", "regions": "boxes", "tags": "things", **TRAINED}
    found, blind = plans(checkout, mine, {"family": "regional", **TRAINED})
    assert "results/regions/boxes/world/0-of-1.parquet" in found["mine"][0]
    assert "captioners.mine lacks the key regions" in blind


def test_plugins_that_nobody_uses_change_nothing(checkout):
    before = plans(checkout)
    add(checkout, "captioners/constant", VECTOR)
    add(checkout, "captioners/regional", REGIONS)
    add(checkout, "encoders/new", ENCODER)
    add(checkout, "corpora/readers/new_photos", READER)
    add(checkout, "training/rewards/brief", REWARD)
    assert plans(checkout) == before


def test_a_new_encoder_is_not_taken_for_another(checkout):
    add(checkout, "encoders/new", ENCODER)
    models = [{"family": family, "weights": "w"} for family in ("new", "newer")]
    right, wrong = plans(checkout, *models, section="encoders")
    code, versions = right["encoder mine"]
    assert versions.keys() == {"torch", "scipy"}
    assert code != right["encoder clip"][0]
    assert (
        "encoders.mine.family is 'newer'; it must be one of blip, clip, image-side, new, resnet, siglip, transformers."
        in wrong
    )


@pytest.mark.parametrize(
    ("old", "new", "others"),
    [
        ("could not download", "no connection for", set()),  # reached by import_weights alone
        (
            "encode_image(images)",
            "encode_image(images[:1])",
            {"encoder clip", "encoder grid", "scorer clip", "training rewarded"},
        ),
    ],
)
def test_how_weights_are_imported_is_code_of_that_job_alone(checkout, old, new, others):
    before, text = plans(checkout)[0], (checkout / "src/captionlab/encoders/clip/encoder.py").read_text()
    assert old in text
    add(checkout, "encoders/clip", {"encoder": text.replace(old, new)})
    after = plans(checkout)[0]
    assert {name for name in before if before[name] != after[name]} == {"import clip"} | others


def test_a_reader_is_one_folder(checkout):
    add(checkout, "corpora/readers/new_photos", READER)
    before = plans(checkout)[0]
    mine = {"reader": "new-photos", "annotations": "a.json", "images": "folder", "boxes": "b.json"}
    wrong = {
        "corpora.mine lacks the key boxes": {key: mine[key] for key in ("reader", "annotations", "images")},
        "corpora.mine has no key 'crp'; did you mean 'crop'?": {**mine, "crp": True},
        "corpora.mine.reader is 'new_photos'; it must be one of": {**mine, "reader": "new_photos"},
    }
    planned, *refused = plans(checkout, mine, *wrong.values(), section="corpora")
    files, code, versions, block, undescribed = planned["corpus mine"]
    assert [Path(file).name for file in files] == ["a.json", "b.json"]
    assert (versions.keys(), block["crop"], block["max_rejected"]) == ({"pillow", "scipy"}, False, 0.01)
    assert code != planned["corpus photos"][1]
    assert {name: plan for name, plan in planned.items() if name != "corpus mine"} == before
    for sentence, found in zip(wrong, refused, strict=True):
        assert sentence in found
    assert undescribed
    # What it says and does is of the fingerprint of those alone that read by it.
    add(checkout, "corpora/readers/new_photos", {"reader": READER["reader"].replace("yield from ()", "yield from []")})
    changed = plans(checkout, mine, section="corpora")[0]
    assert {name for name in planned if planned[name] != changed[name]} == {"corpus mine"}


def test_a_reward_is_one_folder(checkout):
    add(checkout, "training/rewards/brief", REWARD)
    before = plans(checkout)[0]
    plain = CONFIG["captioners"]["rewarded"]

    def rewarded(reward):
        return {**plain, "objective": {**plain["objective"], "reward": reward}}

    mine, inside = {"kind": "brief", "retriever": "clip"}, {"kind": "sum", "of": []}
    inside["of"] = [{"weight": 2, "reward": mine}]
    wrong = {
        "reward lacks the key retriever": {"kind": "brief"},
        "reward.of.0.reward.shortest is 0; it must be above 0": {
            "kind": "sum", "of": [{"weight": 2, "reward": {**mine, "shortest": 0}}],
        },
        "reward.retriever is 'grid', patch features, which has no text side": {**mine, "retriever": "grid"},
    }  # fmt: skip
    alone, summed, *refused = plans(checkout, *map(rewarded, (mine, inside, *wrong.values())))
    for planned in (alone, summed):
        asked, code, versions, block = planned["training mine"]
        assert asked.keys() == {"encoders/clip"}
        assert "scipy" in versions
        assert "scipy" not in planned["training rewarded"][2]
        assert code != planned["training rewarded"][1]
        assert {name: plan for name, plan in planned.items() if not name.endswith("mine")} == before
        reward = block["objective"]["reward"]
        assert (reward if reward["kind"] == "brief" else reward["of"][0]["reward"])["shortest"] == 3
    for sentence, found in zip(wrong, refused, strict=True):
        assert sentence in found


@pytest.mark.parametrize(
    ("folder", "files"),
    [("captioners/constant", VECTOR), ("corpora/readers/new_photos", READER), ("training/rewards/brief", REWARD)],
)
def test_a_plugin_without_facts_is_an_error_at_start(checkout, folder, files):
    add(checkout, folder, {"config": files["config"].replace("FACTS = ", "OTHERS = ")})
    assert f"{folder}/config.py has no FACTS" in plans(checkout)[0]


def test_no_family_is_probed():
    """What not every family has stands in the base class, with a default."""
    rooms = [
        "captioners",
        "encoders",
        "scorers",
        "generation",
        "networks",
        "regions",
        "training",
        "attention",
        "ablation",
        "probes",
    ]
    files = [path for room in rooms for path in (ROOT / "src" / "captionlab" / room).rglob("*.py")]
    scripts = (ROOT / "workflow" / "scripts").glob("*.py")
    files += [path for path in scripts if re.search("load_(captioner|encoder|scorer)|family_class", path.read_text())]
    assert len(files) > 80
    for path in files:
        for call in ast.walk(ast.parse(path.read_text())):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name):
                constant = len(call.args) > 1 and isinstance(call.args[1], ast.Constant)
                assert not (constant and call.func.id in ("hasattr", "getattr")), f"{path}:{call.lineno}"
