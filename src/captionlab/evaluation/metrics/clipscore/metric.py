"""CLIPScore (Hessel et al. 2021) and PAC-S (Sarto et al. 2023), with and without references, by any text-image encoder.

The score of a caption is w max(cos, 0) of its embedding and the embedding of its image. The score with references is
the harmonic mean of this score and the largest max(cos, 0) of the caption and a reference. References are prompted too,
as in github.com/jmhessel/clipscore, clipscore.py. PAC-S has another w, and weights of its own, which the config names
as an encoder.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from captionlab.evaluation.cut_captions import log_cut
from captionlab.evaluation.inputs import MetricInputs
from captionlab.evaluation.metrics.retrieval.metric import unit_length
from captionlab.evaluation.summary import (
    Job,
    Metric,
    OfCaptions,
    Result,
    caption_results,
    caption_values,
    mean,
    parts,
)
from captionlab.jobs.scripting import device, folder_of
from captionlab.statistics.intervals import PER_CENT
from captionlab.storage import paths
from captionlab.storage.schemas import CAPTION_KEY
from captionlab.storage.tables import Column, TableSchema, read_table

if TYPE_CHECKING:
    from torch import Tensor

    from captionlab.encoders.encoder import Encoder

# The prompt before each caption and each reference in English. Captions in other languages have none, because the
# papers have no prompt for them and an English one would mix two languages in a text.
PROMPT = "A photo depicts "
# By key of an evaluation: the name of the score, and w from section 3 of its paper.
SCORED = {"clipscore": ("CLIPScore", 2.5), "pac_s": ("PAC-S", 2.0)}
METRICS = {name: Metric("score", mean, (0.0, 100 * w)) for name, w in SCORED.values()}
# The harmonic mean of a score, at most w, and of the largest cosine with a reference, at most 1.
METRICS |= {f"Ref{name}": Metric("with_references", mean, (0.0, 200 * w / (1 + w))) for name, w in SCORED.values()}

SCORES = TableSchema(
    "CLIPScores",
    "a caption held against its image, and against its references, by an encoder",
    (*CAPTION_KEY, "metric", "encoder"),
    **CAPTION_KEY,
    metric=Column(pa.string(), "CLIPScore or PAC-S"),
    encoder=Column(pa.string(), "name of the encoder in the config"),
    score=Column(pa.float64(), "w max(cos, 0) of caption and image: from 0 to 2.5, of PAC-S to 2"),
    with_references=Column(
        pa.float64(), "RefCLIPScore or RefPAC-S; missing where there are no references, and for references", True
    ),
    tokens_left_out=Column(pa.int32(), "tokens that the encoder's text side did not read, the caption being too long"),
)


def score(inputs: MetricInputs) -> Iterator[dict[str, Any]]:
    """Yield the columns of SCORES, by encoder and corpus."""
    asked = [(*SCORED[key], name) for key, names in inputs.settings.items() for name in names]
    for metric, weight, name in asked:
        encoder = encoder_of(inputs, name)
        for corpus, rows in inputs.captions.items():
            columns = {key: [row[key] for row in rows] for key in CAPTION_KEY}
            prompt = "" if corpus in inputs.languages else PROMPT
            images, captions = columns["image_id"], [prompt + row["caption"] for row in rows]
            left_out = encoder.tokens_left_out(captions)
            log_cut(left_out, corpus, name)
            said = unit_length(encoder.embed_texts(captions).cpu().numpy(), images, f"captions of {corpus}, by image")
            seen = _of_images(inputs, name, corpus, images)
            scores = weight * np.maximum((said.astype(np.float64) * seen).sum(axis=1), 0)
            written = {} if inputs.people else inputs.texts[corpus]
            references = [[prompt + text for text in written.get(image, ())] for image in images]
            yield {
                **columns,
                "metric": [metric] * len(rows),
                "encoder": [name] * len(rows),
                "score": scores,
                "with_references": with_references(scores, said, references, encoder),
                "tokens_left_out": left_out,
            }


def with_references(
    scores: np.ndarray, captions: np.ndarray, references: Sequence[Sequence[str]], encoder: "Encoder"
) -> list[float | None]:
    """Return the harmonic mean of each score and the largest max(cos, 0) of the caption and a reference.

    scores (n,); captions: embeddings (n, d) of length 1; references: the prompted references of each caption. The mean
    is 0 if the score or the cosine is 0, and None if the caption has no references.
    """
    different = list(dict.fromkeys(text for of_caption in references for text in of_caption))
    if not different:
        return [None] * len(scores)
    embedded = unit_length(encoder.embed_texts(different).cpu().numpy(), different, "references")
    place = {text: row for row, text in enumerate(different)}
    found: list[float | None] = []
    for one, caption, texts in zip(scores.tolist(), captions.astype(np.float64), references, strict=True):
        near = (embedded[[place[text] for text in texts]] @ caption).max(initial=0) if texts else None
        found.append(None if near is None else float(2 * one * near / (one + near)) if one * near else 0.0)
    return found


def results(job: Job, path: str, seed: int) -> Iterator[Result]:
    """Yield the results by corpus and encoder: the scores, and the share of captions that the encoder had to cut."""
    table = read_table(path, SCORES)
    table = table.append_column("cut", pc.cast(pc.greater(table["tokens_left_out"], 0), pa.float64()))
    for (metric, encoder), part in parts(table, "metric", "encoder"):
        described, cut = (
            part.filter(pc.is_valid(part["with_references"])),
            Metric("cut", mean, PER_CENT, share=True),
        )
        found = [
            *caption_results(job, part, seed, {metric: METRICS[metric]}),
            *caption_results(job, described, seed, {f"Ref{metric}": METRICS[f"Ref{metric}"]}),
            *caption_results(job, part, seed, {f"captions cut for {metric}": cut}),
        ]
        yield from (replace(result, retriever=encoder) for result in found)


def of_captions(path: str, factors: Mapping[str, float]) -> Iterator[OfCaptions]:
    """Yield the scores of single captions, by encoder."""
    for (metric, encoder), part in parts(read_table(path, SCORES), "metric", "encoder"):
        yield from caption_values(part, {metric: "score", f"Ref{metric}": "with_references"}, encoder)


def encoder_of(inputs: MetricInputs, name: str) -> "Encoder":
    """Return an encoder that the evaluation names."""
    from captionlab.encoders.store import load_encoder

    folders = {folder.name: folder for folder in map(folder_of, inputs.inputs["configs"])}
    return load_encoder(folders[name], device())


def embeddings_of(inputs: MetricInputs, encoder: str, corpus: str, images: Sequence[str]) -> "Tensor":
    """Return the embeddings (n, d), float32, not normalised, of images of a corpus by an encoder."""
    from captionlab.encoders.embeddings import load_embeddings

    shards = [path for path in inputs.inputs["features"] if paths.embedded_in(path) == (encoder, corpus)]
    return load_embeddings(shards, images).values


def _of_images(inputs: MetricInputs, encoder: str, corpus: str, images: Sequence[str]) -> np.ndarray:
    """Return the embedding (n, d), of length 1, of the image of each caption."""
    different = list(dict.fromkeys(images))
    place = {image: row for row, image in enumerate(different)}
    seen = unit_length(embeddings_of(inputs, encoder, corpus, different).numpy(), different, f"images of {corpus}")
    return seen[[place[image] for image in images]]
