"""Captioning of images from their features, as rows of a table of generated captions."""

from collections.abc import Sequence
from typing import Any

import torch

from captionlab.captioners.captioner import Captioner
from captionlab.captioners.images import stream_images
from captionlab.config.evaluations import Decoding
from captionlab.generation.captions import generated_rows
from captionlab.generation.decoding import decode
from captionlab.jobs.progress import progress
from captionlab.networks.tokenizer import Tokenizer


def caption_images(
    captioner: Captioner[Any],
    tokenizer: Tokenizer,
    ids: Sequence[str],
    features: Sequence[str],
    decoding: Decoding,
    corpus: str,
    seed: int,
    batch: int = 64,
) -> dict[str, list[Any]]:
    """Return the columns of a table with captions of the images `ids` of a corpus, in this order.

    Samples depend on `seed` but not on other corpora.
    """
    device = next(captioner.parameters()).device
    generator = torch.Generator(device).manual_seed(seed)
    captions, log_probs, confidences = [], [], []
    captioner.eval()
    images = stream_images(captioner, tokenizer, features, ids, batch)
    for visual in progress(images, what=f"batches of {corpus}", total=-(-len(ids) // batch)):
        decoded = decode(captioner, visual, decoding, tokenizer, generator)
        captions += tokenizer.decode(decoded.tokens.tolist())
        log_probs += decoded.log_prob.tolist()
        confidences += decoded.confidence.tolist()
    indices = range(decoding.captions_per_image)
    image_ids = [image_id for image_id in ids for _ in indices]
    return generated_rows(corpus, image_ids, [*indices] * len(ids), captions, log_probs, confidences)
