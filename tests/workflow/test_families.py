"""A family of models is one file: what it declares is all that the graph needs, and nobody else notices it."""

import ast
import importlib
import json
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from running import run_python

from captionlab import declarations
from captionlab.encoders.embeddings import embedding_rows
from captionlab.plugins import CaptionerFamily, DeclarationError, EncoderFamily, ScorerFamily, declared
from captionlab.regions.tables import ImageRegions, write_regions
from captionlab.schemas import embeddings_schema
from captionlab.tables import write_table

ROOT = Path(__file__).parents[2]

FAMILY = '''
"""A captioner that says the same of every image."""

import torch

from captionlab.captioners.captioner import Captioner
from captionlab.plugins import CaptionerFamily
from captionlab.networks.tokenizer import Tokenizer
{imports}

DECLARATION = CaptionerFamily(
    reads="{reads}",
    libraries=("scipy",),
    objectives=("cross-entropy",),
    options=(),
    attention=False,
    imported={{"depth": {{"type": "integer", "description": "not in the weights"}}}},
    architecture={{"vocabulary": {{"type": "integer", "minimum": 257, "description": "most tokens"}}}},
    longest={{}},
    finetuned_as={{}},
)


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
'''
VECTOR = FAMILY.format(reads="vector", imports="", methods="")
REGIONS = FAMILY.format(
    reads="regions",
    imports="from captionlab.regions.batches import RegionTable",
    methods="""
    @classmethod
    def measure_images(cls, features):
        return RegionTable(features).region_size, []

    def open_images(self, features, tokenizer):
        table = RegionTable(features)
        table.rows = table.batch
        return table
""",
)
ENCODER = """
from captionlab.plugins import EncoderFamily

DECLARATION = EncoderFamily(
    libraries=("scipy",), texts=True, patches=False, files=("weights",), imported={}, architecture={}
)
FAMILY = object


def import_weights(config, file): ...
def stated(config): ...
"""
SIZES = 'architecture={"width": {"type": "integer"}}'
PIXELS = f"""
from captionlab.plugins import ScorerFamily

DECLARATION = ScorerFamily(reads="pixels", libraries=(), imported={{}}, matching={{}}, {SIZES})
FAMILY = object
"""
READER = """
from captionlab.plugins import CorpusReader

DECLARATION = CorpusReader(
    keys={
        "annotations": {"$ref": "#/$defs/path"},
        "images": {"$ref": "#/$defs/path"},
        "boxes": {"$ref": "#/$defs/path", "description": "more"},
        "crop": {"type": "boolean", "default": False, "description": "middles"},
    },
    required=("annotations", "images", "boxes"), files=("annotations", "boxes"),
    scenes=False, undescribed=True, libraries=("scipy",),
)


def read(config, root):
    yield from ()
"""
REWARD = """
from captionlab.plugins import RewardKind

DECLARATION = RewardKind(
    keys={"shortest": {"type": "integer", "minimum": 1, "default": 3, "description": "words"}},
    required=(), asks="retriever", references=True, of=False, libraries=("scipy",),
)


def build(config, data):
    return None
"""
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
from types import SimpleNamespace
from captionlab.workflow.config import ConfigError
from captionlab.workflow.experiments import Experiments

def plan(config):
    try:
        lab = Experiments(config, Path(sys.argv[1]))
    except ConfigError as error:
        return str(error)
    found = {}

    def params(loads, *libraries):
        return [param(job) for param in lab.software("generate_captions", *libraries, loads=loads).values()]

    for name in lab.corpora:
        job = SimpleNamespace(corpus=name, evaluation="main")
        if lab.corpora[name]["reader"] != "toyworld":
            block = lab.settings("corpus", "evaluation_split", "shards")(job)
            found["corpus " + name] = [lab.annotation_files(job), *params(lab.reader, "pillow"), block]
    found["described"] = lab.described(job)
    for name in lab.captioners:
        job = SimpleNamespace(captioner=name)
        if "reward" in lab.captioners[name].get("objective", {}):
            found["training " + name] = [lab.reward_models.asked(job), lab.reward_models.captions(job)]
            found["training " + name] += [*params(lab.reward_models.used, "torch"), lab.captioner_block(job)]
        found[name] = [lab.regions.captioner_tables(name, "world")]
        found[name] += [*params(lab.captioner_family, "torch", "tokenizers", "numpy"), lab.captioner_block(job)]
    for name in lab.encoders:
        job = SimpleNamespace(encoder=name)
        found["encoder " + name] = params(lab.embedding.used, "torch")
        if "weights" in lab.encoders[name]:
            found["import " + name] = params(lab.embedding.imported, "torch")
    for name in lab.scoring.scorers:
        job = SimpleNamespace(scorer=name)
        found["scorer " + name] = [lab.scoring.features(name, "world"), lab.scoring.block(job)]
        found["scorer " + name] += params(lab.scoring.used, "torch", "tokenizers")
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
from captionlab.generation.contract import Decoding
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
    print(decode(captioner, visual, Decoding("greedy", 3), tokenizer).tokens.tolist())
"""


def plans(checkout, *models, section="captioners"):
    """The plan of each config that has one of these models too, named mine, or the mistakes that it has."""
    configs = [{**CONFIG, section: {**CONFIG[section], "mine": model}} for model in models] or [CONFIG]
    return json.loads(run_python(checkout, PLAN, checkout, json.dumps(configs)))


def add(checkout, module, text):
    (checkout / "src" / "captionlab" / f"{module}.py").write_text(text)


def test_a_captioner_that_reads_vectors_is_one_file(checkout):
    add(checkout, "captioners/constant", VECTOR)
    mine = {"family": "constant", "encoder": "clip", **TRAINED}
    imported = {"family": "constant", "encoder": "clip", "weights": "w", "tokenizer": "t", "depth": 3}
    wrong = {
        "mine.encoder is 'grid', and constant reads of each image one vector; name an encoder": {"encoder": "grid"},
        "mine.architecture.vocabulary is 3; it must be at least": {"architecture": {"vocabulary": 3}},
        "captioners.mine.architecture lacks the key 'vocabulary'": {"architecture": {}},
        "by which a constant cannot be trained; write cross-entropy": {"objective": {"kind": "mlm"}},
        "teacher is nothing that a constant can": {"objective": {"kind": "cross-entropy", "teacher": {}}},
        "mine.family is 'konstant'; it must be one of blip, camel, clipcap, const": {"family": "konstant"},
    }
    planned, read, *refused = plans(checkout, mine, imported, *({**mine, **change} for change in wrong.values()))
    tables, _, versions, block = planned["mine"]
    assert tables == ["results/features/clip/world/0-of-1.parquet"]
    assert versions.keys() == {"torch", "tokenizers", "scipy", "numpy"}
    assert block["architecture"] == {"vocabulary": 300}
    assert read["mine"][3]["depth"] == 3
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


def test_a_captioner_that_reads_regions_is_one_file(checkout):
    add(checkout, "captioners/regional", REGIONS)
    mine = {"family": "regional", "regions": "boxes", **TRAINED}
    found, tagged, blind = plans(checkout, mine, {**mine, "tags": "things"}, {"family": "regional", **TRAINED})
    assert found["mine"][0] == ["results/regions/boxes/world/0-of-1.parquet"]
    assert "a regional reads regions of images, not tags" in tagged
    assert "a regional reads regions of images, so it needs regions" in blind


def test_families_that_nobody_uses_change_nothing(checkout):
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
    assert "encoders.mine.family is 'newer'; it must be one of blip, clip, new, resnet, siglip, transformers." in wrong


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
    add(checkout, "encoders/clip", text.replace(old, new))
    after = plans(checkout)[0]
    assert {name for name in before if before[name] != after[name]} == {"import clip"} | others


def test_a_reader_is_one_file(checkout):
    add(checkout, "corpora/readers/new_photos", READER)
    before = plans(checkout)[0]
    mine = {"reader": "new-photos", "annotations": "a.json", "images": "folder", "boxes": "b.json"}
    wrong = {
        "corpora.mine lacks the key 'boxes'": {key: mine[key] for key in ("reader", "annotations", "images")},
        "corpora.mine has no key 'crp'; did you mean 'crop'?": {**mine, "crp": True},
        "corpora.mine.reader is 'new_photos'; it must be one of": {**mine, "reader": "new_photos"},
    }
    planned, *refused = plans(checkout, mine, *wrong.values(), section="corpora")
    files, code, versions, block = planned["corpus mine"]
    assert [Path(file).name for file in files] == ["a.json", "b.json"]
    assert (versions.keys(), block["crop"], block["max_rejected"]) == ({"pillow", "scipy"}, False, 0.01)
    assert code != planned["corpus photos"][1]
    assert {name: plan for name, plan in planned.items() if name != "corpus mine"} == before
    for sentence, found in zip(wrong, refused, strict=True):
        assert sentence in found
    evaluated = {**CONFIG, "corpora": {**CONFIG["corpora"], "mine": mine}}
    evaluated["evaluations"] = {"main": {**CONFIG["evaluations"]["main"], "corpora": ["world", "mine"]}}
    (found,) = json.loads(run_python(checkout, PLAN, checkout, json.dumps([evaluated])))
    assert found["described"] == ["results/corpora/mine/captions.parquet"]
    # What it says and does is of the fingerprint of those alone that read by it.
    add(checkout, "corpora/readers/new_photos", READER.replace("yield from ()", "yield from []"))
    changed = plans(checkout, mine, section="corpora")[0]
    assert {name for name in planned if planned[name] != changed[name]} == {"corpus mine"}


def test_a_reward_is_one_file(checkout):
    add(checkout, "training/rewards/brief", REWARD)
    before = plans(checkout)[0]
    plain = CONFIG["captioners"]["rewarded"]

    def rewarded(reward):
        return {**plain, "objective": {**plain["objective"], "reward": reward}}

    mine, inside = {"kind": "brief", "retriever": "clip"}, {"kind": "sum", "of": []}
    inside["of"] = [{"weight": 2, "reward": mine}]
    wrong = {
        "reward lacks the key 'retriever'": {"kind": "brief"},
        "reward.of.0.reward.shortest is 0; it must be at least 1": {
            "kind": "sum", "of": [{"weight": 2, "reward": {**mine, "shortest": 0}}],
        },
        "reward.retriever is 'grid', patch features, which has no text side": {**mine, "retriever": "grid"},
    }  # fmt: skip
    alone, summed, *refused = plans(checkout, *map(rewarded, (mine, inside, *wrong.values())))
    for planned in (alone, summed):
        asked, captions, code, versions, block = planned["training mine"]
        assert (asked.keys(), captions) == ({"encoders/clip"}, ["results/corpora/world/captions.parquet"])
        assert "scipy" in versions
        assert "scipy" not in planned["training rewarded"][3]
        assert code != planned["training rewarded"][2]
        assert {name: plan for name, plan in planned.items() if not name.endswith("mine")} == before
        reward = block["objective"]["reward"]
        assert (reward if reward["kind"] == "brief" else reward["of"][0]["reward"])["shortest"] == 3
    for sentence, found in zip(wrong, refused, strict=True):
        assert sentence in found


@pytest.mark.parametrize(
    ("module", "text", "kind"),
    [("corpora/readers/new_photos", READER, "CorpusReader"), ("training/rewards/brief", REWARD, "RewardKind")],
)
def test_what_does_not_say_what_it_is_is_an_error_at_start(checkout, module, text, kind):
    add(checkout, module, text.replace("DECLARATION = ", "DECLARED = "))
    assert f"{module}.py has no DECLARATION; write DECLARATION = {kind}" in plans(checkout)[0]


def test_a_family_without_a_declaration_is_an_error_at_start(checkout):
    add(checkout, "captioners/constant", VECTOR.replace("DECLARATION = ", "DECLARED = "))
    assert "captioners/constant.py has no DECLARATION; write DECLARATION = CaptionerFamily" in plans(checkout)[0]


@pytest.mark.parametrize(
    ("modules", "sentence"),
    [
        ({"encoders/new": ENCODER.partition("def import")[0]}, "new.py has no import_weights; write DECLARATION"),
        (
            {"encoders/new": ENCODER.replace("architecture={}", SIZES)},
            "encoders/new: rule train_encoder trains a clip alone; write architecture={}",
        ),
        ({"scorers/new": PIXELS}, "scorers/new: only what reads regions is trained here; write architecture={}"),
    ],
)
def test_a_family_that_no_rule_can_make_is_an_error_at_start(checkout, modules, sentence):
    for module, text in modules.items():
        add(checkout, module, text)
    assert sentence in plans(checkout)[0]


RIGHT = """
DECLARATION = ScorerFamily(reads="regions", libraries=(), imported={}, architecture={}, matching={})
FAMILY = int
"""


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("FAMILY = int\n", "one.py has no DECLARATION; write DECLARATION = ScorerFamily(...) and FAMILY"),
        (RIGHT.replace("FAMILY = int", ""), "one.py has no FAMILY; write"),
        (RIGHT.replace("libraries=(), ", ""), "one.py: DECLARATION lacks the field 'libraries'; a ScorerFamily says"),
        (
            RIGHT.replace("libraries", "librarys"),
            "one.py: DECLARATION has the field 'librarys'; a ScorerFamily has reads",
        ),
        (RIGHT.replace("libraries=()", "libraries=LIBRARIES"), "libraries of DECLARATION must be a plain literal"),
        (
            RIGHT.replace("libraries=()", 'libraries=("torch")'),
            "libraries of DECLARATION is 'torch'; it must be a tuple",
        ),
        (
            RIGHT.replace('"regions"', '"areas"'),
            "reads of DECLARATION is 'areas'; it must be one of 'regions', 'pixels'",
        ),
        (RIGHT.replace("imported={}", "imported=()"), "imported of DECLARATION is (); it must be a dict"),
        (RIGHT.replace("(reads=", '("x", reads='), "one.py: DECLARATION has a field without a name"),
        (RIGHT.replace("ScorerFamily", "EncoderFamily"), "one.py: DECLARATION must be ScorerFamily(...), called"),
    ],
)
def test_what_is_wrong_with_a_declaration_is_said(text, sentence, tmp_path, monkeypatch):
    monkeypatch.setattr(declarations, "ROOT", tmp_path)
    declared.cache_clear()
    (tmp_path / "scorers").mkdir()
    (tmp_path / "scorers" / "one.py").write_text(text)
    with pytest.raises(DeclarationError, match=re.escape(sentence)):
        declared("scorers", ScorerFamily)
    (tmp_path / "scorers" / "one.py").write_text(RIGHT)
    assert declared("scorers", ScorerFamily)["one"].reads == "regions"
    declared.cache_clear()


def test_what_is_declared_is_what_the_module_has():
    for package, kind in (("captioners", CaptionerFamily), ("encoders", EncoderFamily), ("scorers", ScorerFamily)):
        for name, declaration in declared(package, kind).items():
            assert declaration == importlib.import_module(f"captionlab.{package}.{name}").DECLARATION


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
