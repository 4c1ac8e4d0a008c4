"""Images as scorers read them, and CLIP as a scorer."""

import json

import numpy as np
import pyarrow as pa
import pytest
import torch
from support.scorer_stand_in import build_scorer

from captionlab.encoders.clip.encoder import Clip, build
from captionlab.encoders.embeddings import embedding_rows
from captionlab.networks.checkpoints import CheckpointError
from captionlab.regions.batches import RegionTable
from captionlab.regions.tables import ImageRegions, write_regions
from captionlab.scorers.clip.scorer import ClipScorer
from captionlab.scorers.images import ScorerImages
from captionlab.scorers.store import load_scorer, save_scorer
from captionlab.storage.schemas import embeddings_schema
from captionlab.storage.tables import TableError, write_table

DIMENSIONS = 8
ARCHITECTURE = {
    "embed_dim": DIMENSIONS,
    "vision_cfg": {"image_size": 32, "layers": 1, "width": 64, "patch_size": 32},
    "text_cfg": {"context_length": 12, "vocab_size": 49408, "width": 64, "heads": 1, "layers": 1},
}
CAPTIONS = ["a dog", "two cats on a very long red sofa beside the dog of the house", "a dog", "", "a dog"]
ROWS = [0, 1, 1, 2, 0]
VALUES = np.random.default_rng(1).standard_normal((5, DIMENSIONS)).astype(np.float32)


@pytest.fixture(scope="module")
def encoder() -> Clip:
    torch.set_num_threads(1)
    return Clip(
        build(ARCHITECTURE, seed=4), {"architecture": ARCHITECTURE, "image_mean": [0.5] * 3, "image_std": [1.0] * 3}
    )


@pytest.fixture
def shards(tmp_path) -> list:
    """Embeddings of five images in two files."""
    kind = embeddings_schema(DIMENSIONS, "float32")
    paths = [tmp_path / f"{shard}.parquet" for shard in (0, 1)]
    for path, rows in zip(paths, (slice(0, 2), slice(2, 5)), strict=True):
        ids = pa.chunked_array([[f"image-{row}" for row in range(5)][rows]])
        write_table(path, kind, embedding_rows(ids, VALUES[rows], kind, path))
    return paths


def cosines(encoder: Clip, embeddings: torch.Tensor, captions: list[str]) -> list[float]:
    """The original way: open_clip's own text tower, every text filled up to the context length."""
    import open_clip

    tokens = open_clip.SimpleTokenizer(context_length=12)(captions)
    tokens[:, -1] = torch.where(tokens[:, -1] > 0, 49407, 0)  # a cut text ends with the end token
    with torch.no_grad():
        texts = encoder.model.encode_text(tokens)
    pairs = zip(embeddings, texts, strict=True)
    return [float(image @ text / image.norm() / text.norm()) for image, text in pairs]


@pytest.mark.parametrize(
    ("settings", "scale"),
    [
        ({}, 100),
        ({"prompt": "A photo depicts ", "scale": 2.5, "clamp": True}, 2.5),
    ],
)
def test_clip(encoder, shards, tmp_path, settings, scale):
    """With and without a prompt, against texts at full length one at a time."""
    ClipScorer(encoder, **settings).save(tmp_path / "scorer")
    scorer = load_scorer(tmp_path / "scorer")
    visual = ScorerImages(scorer, shards).visual(["image-4", "image-0", "image-2"])
    scores = scorer.score(visual, CAPTIONS, ROWS)
    expected = cosines(
        encoder,
        torch.from_numpy(VALUES)[[4, 0, 2]][ROWS],
        [settings.get("prompt", "") + caption for caption in CAPTIONS],
    )
    assert min(expected) < 0 < max(expected)
    expected = [scale * (max(value, 0) if settings.get("clamp") else value) for value in expected]
    torch.testing.assert_close(scores, torch.tensor(expected), atol=1e-5 * scale, rtol=0)
    assert torch.equal(scores, scorer.score(visual, CAPTIONS, torch.tensor(ROWS)))
    assert torch.equal(scorer.score(visual, CAPTIONS[:3]), scorer.score(visual, CAPTIONS[:3], [0, 1, 2]))


def test_clip_is_stored_without_its_image_tower(encoder, tmp_path):
    ClipScorer(encoder).save(tmp_path / "scorer")
    encoder.save(tmp_path / "encoder")
    sizes = [(tmp_path / name / "model.safetensors").stat().st_size for name in ("scorer", "encoder")]
    tower = sum(value.numel() * 4 for value in encoder.model.visual.state_dict().values())
    assert sizes[1] - sizes[0] == pytest.approx(tower, rel=0.1)
    assert json.loads((tmp_path / "scorer" / "config.json").read_text())["family"] == "clip"
    assert encoder.model.visual is not None
    assert not any(parameter.requires_grad for parameter in load_scorer(tmp_path / "scorer").encoder.model.parameters())


def test_regions(tmp_path):
    """The images that are asked for, in that order, as the scorer's own encoder reads them from tensors."""
    generator = np.random.default_rng(1)
    images = [
        ImageRegions(
            f"image-{number}",
            width=40,
            height=30,
            boxes=np.sort(generator.uniform(0, 30, (number + 1, 2, 2)), axis=1).reshape(-1, 4),
            features=generator.standard_normal((number + 1, 6)).astype(np.float32),
        )
        for number in range(4)
    ]
    paths = [tmp_path / "0.parquet", tmp_path / "1.parquet"]
    write_regions(paths[0], images[:3])
    write_regions(paths[1], images[3:])
    (tmp_path / "vocab.txt").write_text("\n".join(["[UNK]", "[CLS]", "[SEP]", "a", "dog"]) + "\n")
    sizes = {"positions": 62, "width": 8, "layers": 1, "heads": 2, "feed_forward": 8}
    save_scorer(
        build_scorer({"family": "uniter", "architecture": sizes}, tmp_path / "vocab.txt", 6), tmp_path / "scorer"
    )
    scorer = load_scorer(tmp_path / "scorer")
    ids = ["image-3", "image-0", "image-3"]
    visual = ScorerImages(scorer, paths).visual(ids)
    assert visual.counts == [4, 1, 4]
    assert not visual.states.requires_grad
    assert torch.equal(visual.states, scorer.encode_image(RegionTable(paths).batch(ids)).states)
    scores = scorer.score(visual, ["a dog", "dog", "a dog"])
    assert scores[0] == scores[2] != scores[1]
    with pytest.raises(TableError, match="no regions of image 'image-9'"):
        ScorerImages(scorer, paths).visual(["image-9"])


def test_other_folders(tmp_path):
    (tmp_path / "config.json").write_text('{"family": "clap"}')
    with pytest.raises(CheckpointError, match=r"config\.json does not describe a scorer"):
        load_scorer(tmp_path)
