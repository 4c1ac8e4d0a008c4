"""Captions of an evaluation in shards, held against the captions of one job, for every family and every search."""

import pytest
import torch
from support.decodings import decoding_of
from support.tiny_captioners import BUILT, TOKENIZER

from captionlab.config.evaluations import Decoding
from captionlab.generation import captioning
from captionlab.storage.shards import shard_names, shard_number, shard_rows

IDS = ["a", "b", "c", "d"]


@pytest.fixture
def captions(monkeypatch):
    """Return a function: captions of a tiny captioner's four images in so many shards, by their image and index."""

    def in_shards(captioner, images, decoding: Decoding, count: int) -> dict[tuple[str, int], str]:
        captions = {}
        for shard in shard_names(count):
            rows = shard_rows(shard, len(IDS))
            monkeypatch.setattr(captioning, "stream_images", lambda *_, rows=rows: iter([images[rows]]))
            seed = 5 + shard_number(shard)
            columns = captioning.caption_images(captioner, TOKENIZER, IDS[rows], [], decoding, "toy", seed)
            keys = zip(columns["image_id"], columns["caption_index"], strict=True)
            captions |= dict(zip(keys, columns["caption"], strict=True))
        return captions

    return in_shards


@pytest.mark.parametrize("shards", [2, 3])
@pytest.mark.parametrize(
    "decoding", [decoding_of("greedy", 6), decoding_of("beam", 6, beams=3)], ids=["greedy", "beam"]
)
@pytest.mark.parametrize("family", BUILT)
def test_greedy_captions_and_beams_are_equal(captions, family, decoding, shards):
    torch.manual_seed(1)
    captioner, images = BUILT[family]()
    whole = captions(captioner, images, decoding, 1)
    assert [*whole] == [(image, 0) for image in IDS]
    assert captions(captioner, images, decoding, shards) == whole


@pytest.mark.parametrize("family", BUILT)
def test_samples_are_equal_in_the_first_shard_only_by_its_seed(captions, family):
    torch.manual_seed(1)
    captioner, images = BUILT[family]()
    decoding = decoding_of("sample", 6, samples=2)
    whole, shards = (captions(captioner, images, decoding, count) for count in (1, 2))
    assert [*shards] == [*whole]  # the images and numbers of samples
    assert shards == captions(captioner, images, decoding, 2)
    assert shards != whole
