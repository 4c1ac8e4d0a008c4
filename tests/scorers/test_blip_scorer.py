"""BLIP as a scorer, against transformers' own class on its own terms."""

import io

import numpy as np
import pytest
import torch
from PIL import Image
from support.published_models import write_blip_matcher
from transformers.models.blip.image_processing_pil_blip import BlipImageProcessorPil

from captionlab.networks.checkpoints import CheckpointError
from captionlab.scorers.images import ScorerImages
from captionlab.scorers.store import import_scorer, load_scorer
from captionlab.storage.schemas import IMAGES
from captionlab.storage.tables import TableError, write_table

CAPTIONS = ["a dog", "two cats on the red sofa", "a dog", "b"]
ROWS = [0, 1, 1, 0]


@pytest.fixture(scope="module")
def theirs(tmp_path_factory):
    """transformers' class with random weights, and the files that are published of it."""
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("blip")
    return write_blip_matcher(folder), folder


@pytest.fixture
def scorer(theirs, tmp_path):
    config = {"family": "blip", "heads": 2, "visual_heads": 2, "scale": 100}
    import_scorer(config, theirs[1] / "model.safetensors", theirs[1] / "vocab.txt", tmp_path / "blip")
    return load_scorer(tmp_path / "blip")


@pytest.fixture
def images(tmp_path) -> list[Image.Image]:
    pictures, data = [], []
    for number, (width, height) in enumerate(((50, 40), (32, 32))):
        pictures.append(Image.fromarray(np.random.default_rng(number).integers(0, 256, (height, width, 3), np.uint8)))
        buffer = io.BytesIO()
        pictures[-1].save(buffer, "PNG")
        data.append(buffer.getvalue())
    columns = {"image_id": ["a", "b"], "position": [0, 1], "split": ["test"] * 2, "path": [None] * 2, "data": data}
    columns |= {
        "width": [50, 32],
        "height": [40, 32],
        "offset": [None] * 2,
        "length": [None] * 2,
        "image_set": [None] * 2,
    }
    write_table(tmp_path / "images.parquet", IMAGES, columns)
    return pictures


def test_scores(theirs, scorer, images, tmp_path):
    """One pair at a time through the original class, its image processor included."""
    visual = ScorerImages(scorer, [tmp_path / "images.parquet"]).visual(["a", "b"])
    scores = scorer.score(visual, CAPTIONS, ROWS)
    processor = BlipImageProcessorPil(size={"height": 32, "width": 32})
    for score, caption, row in zip(scores, CAPTIONS, ROWS, strict=True):
        pixels = processor(images[row], return_tensors="pt")["pixel_values"]
        ids = torch.tensor(scorer.encode_text([caption]))
        with torch.no_grad():
            logits = theirs[0](input_ids=ids, pixel_values=pixels, attention_mask=torch.ones_like(ids)).itm_score
        torch.testing.assert_close(score, 100 * logits.softmax(1)[0, 1], atol=1e-3, rtol=0)
    assert scores.std() > 0.1


def test_settings(scorer, images, tmp_path):
    assert (scorer.matching.match_index, scorer.matching.max_tokens) == (1, 35)
    assert scorer.words.pieces[-2:] == ["[DEC]", "[ENC]"]
    with pytest.raises(TableError, match=r"images\.parquet: there is no image 'c'"):
        ScorerImages(scorer, [tmp_path / "images.parquet"]).visual(["a", "c"])


def test_wrong_settings(theirs, tmp_path):
    with pytest.raises(CheckpointError, match="BLIP's head for matching is its itm head"):
        import_scorer(
            {"family": "blip", "head": "retrieval"}, theirs[1] / "model.safetensors", theirs[1] / "vocab.txt", tmp_path
        )
