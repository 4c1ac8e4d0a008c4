"""Evaluations in one, two and three shards through the workflow, for captioners of several kinds and two corpora."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest
import yaml
from small import start

pytestmark = pytest.mark.slow

# tests/generation/test_captions_in_shards.py has all families and searches; here are the rules and kinds of features.
CAPTIONERS = {
    "greedy": ["base", "vinvl", "fc", "listed", "human"],
    "beam": ["critical"],
    "samples": ["critical"],
}
CORPORA = ["coco", "flickr"]
SHARDS = (1, 2, 3)


def config() -> dict:
    """Return the smallest config with more families, and with each search in one, two and three shards."""
    config = yaml.safe_load(Path(__file__).with_name("config.yaml").read_text())
    for section in ("language", "papers", "study", "validity", "evaluations"):
        del config[section]
    config["corpora"]["coco"]["shards"] = 2
    config["corpora"]["flickr"]["images"] = {"test": 2}  # fewer than shards
    config["tags"] = {"objects": {"source": "objects"}}
    trained = {"corpus": "coco", "optimizer": {"kind": "adam", "lr": 1e-3, "batch": 8, "steps": 3}}
    sizes = {"width": 16, "layers": 1, "heads": 2, "feed_forward": 16, "vocabulary": 300}
    config["captioners"] |= {
        "vinvl": {
            "family": "vinvl",
            "regions": "boxes",
            "tags": "objects",
            "architecture": {**sizes, "positions": 40, "tag_position": 20, "max_pieces": 10, "max_regions": 5},
            "objective": {"kind": "mlm"},
            **trained,
        },
        "fc": {
            "family": "newfc",
            "encoder": "clip-a",
            "architecture": {"width": 8, "input_width": 8, "min_count": 1, "max_words": 10},
            "objective": {"kind": "cross-entropy"},
            **trained,
        },
        "listed": {"family": "file", "captions": {}},
    }
    decodings = config["decodings"]
    decodings["greedy"]["repetition_penalty"] = 1.2
    decodings["samples"] = {**decodings["sample"], "samples": 2, "temperature": 0.9, "top_k": 100, "top_p": 0.95}
    decodings["beam"]["length_penalty"] = 0.8
    # An evaluation has a decoding of its own name, as two may not caption the same images in the same way.
    names = {f"{search}-{count}": (search, count) for search in CAPTIONERS for count in SHARDS}
    config["decodings"] = decodings | {name: decodings[search] for name, (search, _) in names.items()}
    config["evaluations"] = {
        name: {"captioners": CAPTIONERS[search], "corpora": CORPORA, "decoding": name, "shards": count}
        for name, (search, count) in names.items()
    }
    return config


@pytest.fixture(scope="module")
def captions(tmp_path_factory) -> dict[tuple[str, str, int], list[dict]]:
    """The rows of captions by captioner, search and number of shards."""
    folder = tmp_path_factory.mktemp("shards")
    whole = config()
    images = {"coco": 24, "flickr": 2}
    for corpus in CORPORA:
        path = folder / f"{corpus}.csv"
        path.write_text("image_id,caption\n")
        whole["captioners"]["listed"]["captions"][corpus] = str(path)
    run, output = folder / "run", folder / "output"
    made = start(run, whole, "--cores", "2", *[f"results/corpora/{c}/images.parquet" for c in CORPORA], output=output)
    assert made.wait(600) == 0, output.read_text()[-6000:]
    for corpus, path in whole["captioners"]["listed"]["captions"].items():
        rows = pq.read_table(
            run / f"results/corpora/{corpus}/images.parquet", columns=["image_id", "split"]
        ).to_pylist()
        ids = [row["image_id"] for row in rows if row["split"] == "test"]
        assert len(ids) == images[corpus]
        Path(path).write_text("image_id,caption\n" + "".join(f"{name},a caption of {name}\n" for name in ids))
    files = {
        (captioner, search, count): f"results/captions/{captioner}/{search}-{count}.parquet"
        for search, captioners in CAPTIONERS.items()
        for captioner in captioners
        for count in SHARDS
    }
    process = start(run, whole, "--cores", "2", *files.values(), output=output)
    assert process.wait(900) == 0, output.read_text()[-6000:]
    return {key: pq.read_table(run / path).to_pylist() for key, path in files.items()}


@pytest.mark.parametrize(
    ("search", "captioner"), [(search, name) for search in CAPTIONERS for name in CAPTIONERS[search]]
)
def test_shards_have_the_captions_of_one_job_in_its_order(captions, captioner, search):
    columns = ("corpus", "image_id", "caption_index", *(["caption"] if search != "samples" else []))
    whole, *others = ([[row[c] for c in columns] for row in captions[captioner, search, n]] for n in SHARDS)
    assert len(whole) in (26, 2 * 26)
    assert others == [whole, whole]


def test_samples_differ_between_numbers_of_shards(captions):
    one, two, three = ([row["caption"] for row in captions["critical", "samples", count]] for count in SHARDS)
    assert one != two != three


def test_log_probabilities_agree(captions):
    one, *others = ([row["log_prob"] for row in captions["critical", "beam", count]] for count in SHARDS)
    for shards in others:
        assert shards == pytest.approx(one, abs=1e-4)
