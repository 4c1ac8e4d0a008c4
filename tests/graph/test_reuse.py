"""Models made in one run and used in another give the same numbers, to the bit; what does not fit is refused."""

import io
import json
import shutil
import traceback
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml
from PIL import Image
from safetensors.torch import load_file, save_file
from support.plans import plan
from support.running import run_script
from support.scorer_stand_in import build_scorer

from captionlab.captioners.clipcap.captioner import ClipCap
from captionlab.captioners.store import import_captioner, load_captioner, save_captioner
from captionlab.config.whole import ConfigError
from captionlab.encoders.clip.encoder import Clip, build
from captionlab.encoders.embeddings import load_embeddings
from captionlab.encoders.store import import_encoder, load_encoder
from captionlab.graph.graph import Graph
from captionlab.networks.checkpoints import CheckpointError
from captionlab.networks.tokenizer import Tokenizer
from captionlab.regions.tables import ImageRegions, write_regions
from captionlab.scorers.clip.scorer import ClipScorer
from captionlab.scorers.store import import_scorer, load_scorer, save_scorer
from captionlab.storage import paths
from captionlab.storage.schemas import ALIGNMENT, GENERATED, IMAGES
from captionlab.storage.tables import read_table, write_table
from captionlab.userfiles.model_config import BESIDE

ROOT = Path(__file__).parents[2]
# No head is 64 wide, and other settings are not the defaults either.
CLIP = {
    "embed_dim": 8,
    "vision_cfg": {"image_size": 32, "layers": 2, "width": 64, "patch_size": 16, "head_width": 16},
    "text_cfg": {"context_length": 16, "vocab_size": 49408, "width": 32, "heads": 4, "layers": 1},
    "quick_gelu": False,
}
CLIPCAP = {"prefix_size": 8, "prefix_length": 2, "width": 64, "layers": 2, "heads": 4, "positions": 24}
UNITER = {"positions": 24, "width": 64, "layers": 2, "heads": 4, "feed_forward": 16}
TEXTS = ["a dog runs.", "a cat sits on the mat."]
IDS = [f"image-{number}" for number in range(4)]
CONFIG = yaml.safe_load("""
seed: 1
corpora:
  world: {reader: toyworld, domain: coco, seed: 1, images: {train: 8, test: 8}}
encoders:
  seen: {run: a/results/encoders/x}
regions:
  boxes: {source: boxes, encoder: seen}
scorers:
  match: {run: a/results/scorers/x, regions: boxes}
  cosine: {family: clip, encoder: seen}
captioners:
  says: {run: a/results/captioners/x, encoder: seen}
  child:
    parent: says
    corpus: world
    objective:
      kind: reinforce
      reward: {kind: discriminative, retriever: seen, candidates: 4}
      baseline: running-mean
      decoding: greedy
    optimizer: {kind: adam, lr: 1.0e-3, batch: 4, steps: 2}
decodings:
  greedy: {kind: greedy, max_tokens: 8}
evaluations:
  main:
    corpora: [world]
    captioners: [says, child]
    decoding: greedy
    retrievers: [seen]
    candidates: 8
    scorers: [match, cosine]
""")


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """A run that made an encoder, a captioner, a scorer, and the encoder a scorer too."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("made")
    clip = Clip(build(CLIP, seed=4), {"architecture": CLIP, "image_mean": [0.4] * 3, "image_std": [0.3] * 3})
    clip.save(folder / "encoders" / "x")
    ClipScorer(clip, prompt="a ").save(folder / "scorers" / "cosine")
    tokenizer = Tokenizer.train(TEXTS, 280)
    captioner = ClipCap(**CLIPCAP, vocabulary=tokenizer.size)
    with torch.no_grad():
        for parameter in captioner.parameters():
            parameter.normal_(std=0.5)
    save_captioner(captioner, tokenizer, folder / "captioners" / "x", {"seed": 3})
    (folder / "vocab.txt").write_text("\n".join(["[UNK]", "[CLS]", "[SEP]", *"abcdefghijklmnopqrstuvwxyz."]) + "\n")
    block = {"family": "uniter", "architecture": UNITER, "max_tokens": 20, "scale": 7.0, "match_index": 0}
    save_scorer(build_scorer(block, folder / "vocab.txt", 8), folder / "scorers" / "x", {"seed": 3})
    return folder


@pytest.fixture
def data(made, tmp_path, monkeypatch) -> Path:
    """A data folder with that run as `a`, and the working directory of another run beside it."""
    shutil.copytree(made, tmp_path / "a" / "results")
    (tmp_path / "b").mkdir()
    monkeypatch.chdir(tmp_path / "b")
    return tmp_path


def config_with(**changes) -> dict:
    """CONFIG with changes, each by its place, with __ for the points."""
    config = yaml.safe_load(yaml.safe_dump(CONFIG))
    for place, value in changes.items():
        *inner, last = place.split("__")
        block = config
        for key in inner:
            block = block[key]
        block[last] = value
    return config


def check(data: Path, **changes) -> None:
    """Check this config and the files that it names."""
    Graph({**config_with(**changes), "data": str(data)}, ROOT).check_files()


def taken_over(data: Path, **changes) -> None:
    """Run the jobs that take the three models over, on the inputs and with the parameters that their rules have."""
    models = {"encoder": "seen", "captioner": "says", "scorer": "match"}
    targets = [f"results/{kind}s/{name}/config.json" for kind, name in models.items()]
    planned = plan(config_with(**changes), data / "plan", *targets, data=data, stand_ins=False)
    for kind, name in models.items():
        job = planned.job(f"import_{kind}")
        assert job.inputs["beside"] == [f"{data}/a/results/{kind}s/x/config.json"]
        folder = f"results/{kind}s/{name}"
        outputs = {"config": f"{folder}/config.json", "weights": f"{folder}/model.safetensors"}
        run_script(job.rule, job.inputs, outputs, config=job.params["config"])


def numbers(results: Path, encoder: str, captioner: str, scorer: str) -> tuple[np.ndarray, list[str], list[float]]:
    """Embeddings of four images, captions made of them, and how well each fits regions, by the scripts of the rules."""
    generator, work = np.random.default_rng(0), Path("work")
    pictures, regions = [], []
    for name in IDS:
        buffer = io.BytesIO()
        Image.fromarray(generator.integers(0, 256, (40, 36, 3), np.uint8)).save(buffer, "PNG")
        pictures.append(buffer.getvalue())
        features = generator.standard_normal((2, 8)).astype(np.float32)
        regions.append(ImageRegions(name, 36, 40, np.array([[0.0, 0, 36, 40], [1, 2, 9, 9]]), features))
    none = [None] * len(IDS)
    columns = {
        "image_id": IDS,
        "position": range(4),
        "split": ["test"] * 4,
        "path": none,
        "offset": none,
        "length": none,
        "image_set": none,
    }
    write_table(work / "images.parquet", IMAGES, {**columns, "data": pictures, "width": [36] * 4, "height": [40] * 4})
    write_regions(work / "regions.parquet", regions)
    features = paths.features("e", "world", "0-of-1")
    inputs = {"images": work / "images.parquet", "weights": results / "encoders" / encoder / "model.safetensors"}
    run_script("embed_images", inputs, [features], wildcards={"shard": "0-of-1"}, patches=False, split=None)
    inputs = {"config": results / "captioners" / captioner / "config.json", "images": [work / "images.parquet"]}
    params = {"corpora": ["world"], "splits": ["test"], "decoding": {"kind": "greedy", "max_tokens": 8}, "seed": 0}
    captions = [work / "captions.parquet"]
    inputs |= {"described": [], "features": [features]}
    run_script("generate_captions", inputs, captions, **params, shard="0-of-1")
    files = [results / "scorers" / scorer / "config.json"]
    run_script(
        "score_alignment", {"captions": captions[0], "scorers": files, "features": []}, [work / "alignment.parquet"],
        sources={scorer: {"world": [str(work / "regions.parquet")]}},
    )  # fmt: skip
    return (
        load_embeddings([features]).rows(IDS).numpy(),
        read_table(captions[0], GENERATED)["caption"].to_pylist(),
        read_table(work / "alignment.parquet", ALIGNMENT)["score"].to_pylist(),
    )


def test_the_same_numbers_in_another_run(data):
    """Also of an encoder that finds images by captions, and as files with their config.json beside them."""
    first = numbers(data / "a" / "results", "x", "x", "x")
    taken_over(data)
    again = numbers(Path("results"), "seen", "says", "match")
    assert np.array_equal(first[0], again[0])
    assert first[1:] == again[1:]
    assert len(set(first[1])) > 1
    assert max(first[2]) > 1  # on the scale of the first run
    texts = [
        load_encoder(folder).embed_texts(TEXTS) for folder in (data / "a/results/encoders/x", "results/encoders/seen")
    ]
    assert torch.equal(*texts)
    once = {file: Path(file).read_bytes() for file in map(str, Path("results").rglob("model.safetensors"))}
    taken_over(
        data,
        encoders__seen={"family": "clip", "weights": "a/results/encoders/x/model.safetensors", "head_width": 16},
        captioners__says={"family": "clipcap", "encoder": "seen", "heads": 4,
                          **{key: f"a/results/captioners/x/{file}" for key, file in
                             {"weights": "model.safetensors", **BESIDE["captioners"]}.items()}},
        scorers__match={"family": "uniter", "regions": "boxes",
                        **{key: f"a/results/scorers/x/{file}" for key, file in
                           {"weights": "model.safetensors", **BESIDE["scorers"]}.items()}},
    )  # fmt: skip
    assert {file: Path(file).read_bytes() for file in once} == once
    assert load_scorer("results/scorers/match").matching == load_scorer(data / "a/results/scorers/x").matching
    assert numbers(Path("results"), "seen", "says", "match")[1:] == first[1:]


def test_a_reused_captioner_is_a_parent_and_its_scorer_has_its_scale(data):
    graph = Graph({**config_with(), "data": str(data)}, ROOT)
    assert graph.root_of("child").family == "clipcap"
    assert graph.images_for("captioners", "child", "world") == ["results/features/seen/world/0-of-1.parquet"]
    assert graph.score_factors() == {"match": 100.0, "cosine": 1.0}
    assert graph.score_bounds() == {"match": (0.0, 700.0), "cosine": (-100.0, 100.0)}
    assert "captionlab.captioners.clipcap.captioner" in graph.modules("captioners", "says")
    assert graph.names_of("captioners", "imported") == "says"
    planned = plan(CONFIG, data / "plan", "results/captioners/child/config.json", data=data, stand_ins=False)
    job = planned.job("finetune_captioner", captioner="child")
    assert job.inputs["parent_tokenizer"] == "results/captioners/says/tokenizer.json"


@pytest.mark.parametrize(
    ("place", "block", "key"),
    [
        ("encoders.seen", {"run": "a/results/captioners/x"}, "encoders.seen.run"),
        ("encoders.seen", {"run": "a/results/scorers/cosine"}, "encoders.seen.run"),
        ("scorers.match", {"run": "a/results/scorers/cosine"}, "scorers.match.run"),
        ("scorers.match", {"run": "a/results/scorers/x"}, "regions"),
        ("captioners.says", {"run": "a/results/captioners/x"}, "needs encoder"),
        ("captioners.says", {"run": "a/results/captioners/x", "encoder": "seen", "heads": 4}, "'heads'"),
        ("captioners.says", {"run": "a/results/captioners/x", "encoder": "seen", "family": "newfc"}, "family: newfc"),
        ("captioners.says", {"run": "broken", "encoder": "seen"}, "broken/config.json"),
        ("captioners.says", {"run": "theirs", "encoder": "seen"}, "theirs/config.json"),
        ("captioners.says", {"run": "other", "encoder": "seen"}, "encoders.seen"),
        (
            "captioners.says",
            {
                "family": "clipcap",
                "encoder": "seen",
                "weights": "a/results/captioners/x/model.safetensors",
                "tokenizer": "a/results/captioners/x/tokenizer.json",
                "heads": 1,
            },
            "heads",
        ),
        (
            "encoders.seen",
            {
                "family": "clip",
                "corpus": "world",
                "architecture": {**CLIP, "vision_cfg": {**CLIP["vision_cfg"], "head_width": 33}},
                "optimizer": {"kind": "adam", "lr": 1.0e-3, "batch": 4, "steps": 2},
            },
            "head_width is 33",
        ),
        ("captioners.says", {"run": "adapters", "encoder": "seen"}, "captioners.says.run"),
        (
            "encoders.seen",
            {"family": "resnet", "weights": "a/results/encoders/x/model.safetensors"},
            "encoders.seen.weights",
        ),
    ],
)
def test_what_does_not_fit_is_said_at_start(data, answers, place, block, key):
    adapters = {"family": "clipcap", "origin": {}, "lora": {"r": 8}, "parent": {"captioner": "x"}}
    contents = {"broken": "{", "theirs": '{"model_type": "bert"}', "adapters": json.dumps(adapters)}
    for name, content in contents.items():
        (data / name).mkdir()
        (data / name / "config.json").write_text(content)
    shutil.copytree(data / "a" / "results" / "captioners" / "x", data / "other")
    config = json.loads((data / "other" / "config.json").read_text())
    config["architecture"]["prefix_size"] = 16
    (data / "other" / "config.json").write_text(json.dumps(config))
    with pytest.raises(ConfigError) as raised:
        check(data, **{place.replace(".", "__"): block})
    answers.hold(f"{place}: {json.dumps(block)}", raised.value, key)


def test_a_folder_that_is_not_there_is_missing_as_other_files_are(data, answers):
    shutil.rmtree(data / "a" / "results" / "captioners")
    (data / "a" / "results" / "scorers" / "x" / "vocab.txt").unlink()
    with pytest.raises(ConfigError) as raised:
        check(data, encoders__seen={"run": "nowhere"})
    for section, name, file in (
        ("encoders", "seen", "nowhere/config.json"),
        ("captioners", "says", "a/results/captioners/x/config.json"),
        ("scorers", "match", "a/results/scorers/x/vocab.txt"),
    ):
        answers.hold(f"{section}.{name}.run: a folder without {Path(file).name}", raised.value, f"{section}.{name}.run")
        assert f"{data}/{file}" in str(raised.value)


def bare(data: Path, kind: str) -> Path:
    """The weights of a model alone, in a folder of their own."""
    (data / "bare").mkdir(exist_ok=True)
    return Path(
        shutil.copy(data / "a" / "results" / kind / "x" / "model.safetensors", data / "bare" / f"{kind}.safetensors")
    )


class Dangerous:
    """Something that is no tensor."""


def imports(data: Path) -> Iterator[tuple[str, object]]:
    """What may be said wrong of sizes on import, each with a function that does."""
    clip, clipcap = bare(data, "encoders"), bare(data, "captioners")
    tokenizer = data / "a" / "results" / "captioners" / "x" / "tokenizer.json"
    run = data / "a" / "results" / "encoders" / "x" / "model.safetensors"
    torch.save({"model": Dangerous()}, data / "bare" / "pickled.pt")
    yield "weights.pt with an object in it", lambda: import_encoder({"family": "clip"}, data / "bare" / "pickled.pt")
    yield "weights of a CLIP, no head_width", lambda: import_encoder({"family": "clip"}, clip)
    yield "head_width: 33 of width 64", lambda: import_encoder({"family": "clip", "head_width": 33}, clip)
    yield "text heads: 3 of width 32", lambda: import_encoder({"family": "clip", "head_width": 16, "heads": 3}, clip)
    yield "head_width: 32, config.json: 16", lambda: import_encoder({"family": "clip", "head_width": 32}, run)
    yield "quick_gelu: true, config.json: false", lambda: import_encoder({"family": "clip", "quick_gelu": True}, run)
    yield "weights of a ClipCap, no heads", lambda: import_captioner("clipcap", clipcap, tokenizer, data / "out")
    yield "heads: 3 of width 64", lambda: import_captioner("clipcap", clipcap, tokenizer, data / "out", heads=3)


def test_sizes_are_never_assumed(data, answers):
    for given, attempt in imports(data):
        with pytest.raises(ValueError, match=r"head|quick_gelu|pickle") as raised:
            attempt()
        named = "config.json" if "config.json" in given else "pickled.pt" if "object" in given else ".safetensors"
        assert "weights_only" not in answers.hold(given, raised.value, named)
        # PyTorch's own error, which says how to run the code in a file, would stand in the log as its cause.
        assert "weights_only" not in "".join(traceback.format_exception(raised.value)).replace("weights_only=True", "")
    assert not (data / "out").exists()
    published = {
        name.replace("head.", "itm_output."): value for name, value in load_file(bare(data, "scorers")).items()
    }
    save_file(published, data / "bare" / "uniter.safetensors")
    config = {"family": "uniter", "max_tokens": 20}
    with pytest.raises(CheckpointError) as raised:
        import_scorer(config, data / "bare" / "uniter.safetensors", data / "a/results/vocab.txt", data / "out")
    answers.hold("weights of a UNITER, no heads", raised.value, "uniter.safetensors")


def test_heads_stand_in_the_config_of_transformers(data, answers):
    weights, tokenizer = bare(data, "captioners"), data / "a" / "results" / "captioners" / "x" / "tokenizer.json"
    beside = weights.with_name("config.json")
    beside.write_text(json.dumps({"num_attention_heads": 4, "hidden_size": 64}))
    import_captioner("clipcap", weights, tokenizer, data / "out")
    captioners = [load_captioner(folder)[0] for folder in (data / "out", data / "a/results/captioners/x")]
    assert captioners[0].architecture == captioners[1].architecture
    with pytest.raises(ValueError, match="heads is 2") as raised:
        import_captioner("clipcap", weights, tokenizer, data / "out", heads=2)
    answers.hold("heads: 2, transformers' config.json: 4", raised.value, "config.json")
    beside.write_text(json.dumps({"num_attention_heads": 4, "hidden_size": 128}))
    with pytest.raises(ValueError, match="width is 64") as raised:
        import_captioner("clipcap", weights, tokenizer, data / "out")
    answers.hold("transformers' config.json of another model", raised.value, "config.json")
