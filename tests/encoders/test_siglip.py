"""SigLIP as an encoder and a scorer, against transformers' own class."""

import shutil

import numpy as np
import pytest
import tokenizers
import torch
from PIL import Image
from safetensors.torch import save_file
from support.published_models import write_siglip
from tokenizers import models
from transformers.models.siglip.image_processing_pil_siglip import SiglipImageProcessorPil

from captionlab.encoders.embeddings import load_embeddings
from captionlab.encoders.images import embed_images
from captionlab.encoders.siglip.encoder import Siglip, import_weights
from captionlab.encoders.store import load_encoder
from captionlab.networks.checkpoints import CheckpointError
from captionlab.scorers.clip.scorer import ClipScorer
from captionlab.scorers.store import load_scorer
from captionlab.storage.schemas import IMAGES
from captionlab.storage.tables import write_table

CAPTIONS = ["A dog!", "two cats,  on the red sofa two cats on the red sofa", "a dog", "", "zebra"]
# What is left after lower case and without punctuation, cut and filled up to eight tokens.
IDS = [
    [3, 4, 1, 1, 1, 1, 1, 1],
    [5, 6, 7, 8, 9, 10, 5, 1],
    [3, 4, 1, 1, 1, 1, 1, 1],
    [1] * 8,
    [2, 1, 1, 1, 1, 1, 1, 1],
]


@pytest.fixture(scope="module")
def theirs(tmp_path_factory):
    """transformers' class with random weights, and the files that are published of it."""
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("siglip")
    return write_siglip(folder), folder


@pytest.fixture
def encoder(theirs, tmp_path) -> Siglip:
    """Imported, saved and loaded."""
    import_weights({"heads": 2}, theirs[1] / "model.safetensors", theirs[1] / "tokenizer.json").save(tmp_path / "e")
    return load_encoder(tmp_path / "e")


def test_embeddings(theirs, encoder):
    pictures = [
        Image.fromarray(np.random.default_rng(n).integers(0, 256, (h, w, 3), np.uint8))
        for n, (w, h) in enumerate([(50, 40), (32, 32)])
    ]
    processor = SiglipImageProcessorPil(size={"height": 32, "width": 32})
    pixels = processor(pictures, return_tensors="pt")["pixel_values"]
    with torch.no_grad():
        images = theirs[0].get_image_features(pixel_values=pixels).pooler_output
        texts = theirs[0].get_text_features(input_ids=torch.tensor(IDS)).pooler_output
    ours = encoder.embed_images(torch.stack([encoder.preprocess(picture) for picture in pictures]))
    torch.testing.assert_close(ours, images, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(encoder.embed_texts(CAPTIONS, batch=2), texts, atol=1e-5, rtol=1e-4)
    assert encoder.embed_texts([]).shape == (0, encoder.image_dimensions)
    assert encoder.logit_scale == pytest.approx(float(theirs[0].logit_scale.exp()))


def test_a_corpus_is_embedded_by_it(encoder, tmp_path):
    """It has all that the rule asks of an encoder."""
    picture = Image.new("RGB", (40, 30), "red")
    picture.save(tmp_path / "red.png")
    sizes = {"width": [40], "height": [30], "offset": [None], "length": [None], "image_set": [None]}
    names = {"image_id": ["red"], "position": [0], "split": ["test"]}
    write_table(
        tmp_path / "images.parquet", IMAGES, {**names, **sizes, "path": [str(tmp_path / "red.png")], "data": [None]}
    )
    embed_images(encoder, tmp_path / "images.parquet", tmp_path / "embeddings.parquet", batch=encoder.batch)
    found = load_embeddings(tmp_path / "embeddings.parquet").rows(["red"])
    torch.testing.assert_close(found, encoder.embed_images(encoder.preprocess(picture)[None]))


def test_scores(encoder, tmp_path):
    """By the text tower alone."""
    ClipScorer(encoder, prompt="a ").save(tmp_path / "scorer")
    scorer = load_scorer(tmp_path / "scorer")
    assert not hasattr(scorer.encoder.model, "vision_model")
    images = torch.randn(2, 16, generator=torch.Generator().manual_seed(1))
    scores = scorer.score(scorer.encode_image(images), ["dog", "two cats"], [1, 0])
    texts = encoder.embed_texts(["a dog", "a two cats"])
    expected = 100 * torch.cosine_similarity(texts, images[[1, 0]])
    torch.testing.assert_close(scores, expected, atol=1e-3, rtol=0)


def test_heads_stand_in_the_config_of_transformers(theirs, tmp_path):
    """Also where it leaves them out, since they are as in the class."""
    for file in theirs[1].iterdir():
        shutil.copy(file, tmp_path)
    theirs[0].config.save_pretrained(tmp_path)
    files = tmp_path / "model.safetensors", tmp_path / "tokenizer.json"
    assert torch.equal(
        import_weights({}, *files).embed_texts(CAPTIONS), import_weights({"heads": 2}, *files).embed_texts(CAPTIONS)
    )
    with pytest.raises(ValueError, match=r"heads is 4, and .*config\.json beside the weights says 2"):
        import_weights({"heads": 4}, *files)
    (tmp_path / "config.json").write_text('{"model_type": "siglip", "text_config": {}, "vision_config": {}}')
    with pytest.raises(ValueError, match=r"heads is 2, and .*config\.json beside the weights says 12"):
        import_weights({"heads": 2}, *files)


def test_wrong_files(theirs, tmp_path):
    weights, tokenizer = theirs[1] / "model.safetensors", theirs[1] / "tokenizer.json"
    save_file({"visual.proj": torch.zeros(1)}, tmp_path / "clip.safetensors")
    with pytest.raises(CheckpointError, match=r"clip\.safetensors does not hold a SigLIP"):
        import_weights({"heads": 2}, tmp_path / "clip.safetensors", tokenizer)
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(CheckpointError, match=r"tokenizer\.json is no tokenizer\.json"):
        import_weights({"heads": 2}, weights, tmp_path / "tokenizer.json")
    other = tokenizers.Tokenizer(models.WordLevel({"a": 0}, unk_token="a"))
    other.save(str(tmp_path / "tokenizer.json"))
    with pytest.raises(CheckpointError, match="is not the tokenizer that"):
        import_weights({"heads": 2}, weights, tmp_path / "tokenizer.json")
