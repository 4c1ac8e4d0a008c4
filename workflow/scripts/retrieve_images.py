"""Rank the image of each caption of a captioner among others, by every retriever of an evaluation.

Candidates are as the config says and, besides, the whole split. A corpus of look-alike sets has the images of the set
in place of the former.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from captionlab import paths
from captionlab.encoders.embeddings import load_embeddings
from captionlab.encoders.store import load_encoder
from captionlab.evaluation.retrieval import ranks, unit_length
from captionlab.progress import progress
from captionlab.provenance import device_name
from captionlab.schemas import GENERATED, IMAGES, RETRIEVAL
from captionlab.scripting import device, script
from captionlab.tables import TableWriter, read_table


def images_of(path: str, split: str) -> tuple[list[str], list[str | None]]:
    """Ids and look-alike sets of the images of a split, in the order of the annotation file."""
    table = read_table(path, IMAGES, ["image_id", "position", "split", "image_set"]).sort_by("position").to_pylist()
    rows = [row for row in table if row["split"] == split]
    return [row["image_id"] for row in rows], [row["image_set"] for row in rows]


def search(
    clip: Any,
    captions: list[dict[str, Any]],
    ids: list[str],
    sets: list[str | None],
    embeddings: np.ndarray,
    corpus: str,
    settings: Mapping[str, Any],
) -> Iterator[dict[str, Any]]:
    """Columns of the RETRIEVAL table but the retriever, for each set of candidates; rows of GENERATED in."""
    row_of = {image: row for row, image in enumerate(ids)}
    names = [caption["image_id"] for caption in captions]
    if unknown := [name for name in names if name not in row_of]:
        raise ValueError(f"image {unknown[0]!r} has a caption but is not in the evaluated split of {corpus!r}")
    targets = np.array([row_of[name] for name in names])
    copies = np.array([caption["caption_index"] for caption in captions])
    images = unit_length(embeddings, ids, f"images of {corpus}")
    texts = clip.embed_texts([caption["caption"] for caption in captions]).cpu().numpy()
    texts = unit_length(texts, names, f"captions of {corpus}, by image")
    for protocol in ("set" if any(sets) else settings["candidate_sets"], "full"):
        rank, candidates = ranks(
            texts,
            targets,
            images,
            protocol,
            corpus=corpus,
            candidates=settings["candidates"],
            sets=sets,
            copies=copies,
            seed=settings["seed"],
        )
        scored = np.flatnonzero(rank)
        yield {
            "corpus": [corpus] * len(scored),
            "image_id": [names[row] for row in scored],
            "caption_index": copies[scored],
            "protocol": [protocol] * len(scored),
            "candidates": candidates[scored],
            "rank": rank[scored],
        }


@script
def main(snakemake: Any) -> None:
    parameters = snakemake.params
    corpora = list(zip(parameters.corpora, snakemake.input.images, parameters.splits, strict=True))
    captions: dict[str, list[dict[str, Any]]] = {corpus: [] for corpus in parameters.corpora}
    for row in read_table(snakemake.input.captions, GENERATED).to_pylist():
        captions[row["corpus"]].append(row)
    shards: dict[tuple[str, str], list[str]] = {}
    for path in snakemake.input.features:
        shards.setdefault(paths.embedded_in(path), []).append(path)
    settings = {**parameters.config, "seed": parameters.seed}
    with TableWriter(snakemake.output[0], RETRIEVAL, {"device": device_name()}) as writer:
        for retriever, config in zip(parameters.retrievers, snakemake.input.configs, strict=True):
            clip = load_encoder(Path(config).parent, device())
            for corpus, images, split in progress(corpora, f"corpora by {retriever}", len(corpora)):
                ids, sets = images_of(images, split)
                embeddings = load_embeddings(shards[retriever, corpus], ids).values.numpy()
                for found in search(clip, captions[corpus], ids, sets, embeddings, corpus, settings):
                    writer.write({**found, "retriever": [retriever] * len(found["rank"])})
