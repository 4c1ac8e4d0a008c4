"""Captions of images with and without diagnostic objects."""

from collections.abc import Sequence
from typing import Any

from captionlab.captioners.vinvl.captioner import Vinvl
from captionlab.config.evaluations import Decoding
from captionlab.generation.captions import one_line
from captionlab.generation.decoding import decode
from captionlab.jobs.progress import progress
from captionlab.networks.tokenizer import Tokenizer
from captionlab.regions.removal import Removal, Sample

BATCH = 64


def caption_samples(
    captioner: Vinvl, tokenizer: Tokenizer, removal: Removal, samples: Sequence[Sample], decoding: Decoding
) -> list[dict[str, Any]]:
    """Return the rows of ABLATED, except the column split, for captions of samples.

    A sample without labels is the whole image.
    """
    device = next(captioner.parameters()).device
    captioner.eval()
    rows = []
    batches = [samples[start : start + BATCH] for start in range(0, len(samples), BATCH)]
    for part in progress(batches, what="batches", total=len(batches)):
        visual = removal.without([sample.image for sample in part], [sample.labels for sample in part]).to(device)
        decoded = decode(captioner, visual, decoding, tokenizer)
        captions = tokenizer.decode(decoded.tokens.tolist())
        numbers = zip(part, captions, decoded.log_prob.tolist(), decoded.confidence.tolist(), strict=True)
        for sample, caption, log_prob, confidence in numbers:
            removed = {"objects": len(sample.labels), "labels": list(sample.labels)}
            said = {"caption": one_line(caption), "log_prob": log_prob, "confidence": confidence}
            rows.append({"image_id": sample.image, "scene": sample.scene, **removed, **said})
    return rows
