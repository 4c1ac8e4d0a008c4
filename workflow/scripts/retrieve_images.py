"""Rank the image of each caption of a captioner among candidates, by every retriever of an evaluation.

Images are ranked twice: among the candidates that the config names, and among the whole split. In a corpus with
look-alike sets, the images of the set replace the candidates of the config. If the evaluation has bags of look-alikes,
the images of each bag are ranked, too.
"""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np

from captionlab.encoders.bags import look_alike_bags
from captionlab.encoders.embeddings import load_embeddings
from captionlab.encoders.store import load_encoder
from captionlab.evaluation.cut_captions import log_cut
from captionlab.evaluation.metrics.retrieval.metric import BAGS, FULL, ranks, unit_length
from captionlab.jobs.progress import progress
from captionlab.jobs.provenance import device_name
from captionlab.jobs.scripting import device, folder_of, script
from captionlab.storage import paths
from captionlab.storage.schemas import GENERATED, IMAGES, RETRIEVAL
from captionlab.storage.tables import TableWriter, read_table


def search(
    clip,
    captions: list[dict[str, Any]],
    sets: dict[str, str | None],
    features: list[str],
    bags: dict[str, np.ndarray],
    corpus: str,
    params,
) -> Iterator[dict[str, Any]]:
    """Yield columns of the RETRIEVAL table, without the retriever, for each set of candidates.

    `captions` are rows of GENERATED; `sets` has the look-alike set, or None, of each image of the split, `bags` the
    bags of look-alikes of each protocol. Raises ValueError if a caption's image is not in the split.
    """
    ids, of_images = list(sets), list(sets.values())
    row_of = {image: row for row, image in enumerate(ids)}
    names = [caption["image_id"] for caption in captions]
    if unknown := [name for name in names if name not in row_of]:
        raise ValueError(f"image {unknown[0]!r} has a caption but is not in the evaluated split of {corpus!r}")
    targets = np.array([row_of[name] for name in names])
    copies = np.array([caption["caption_index"] for caption in captions])
    images = unit_length(load_embeddings(features, ids).values.numpy(), ids, f"images of {corpus}")
    texts = clip.embed_texts([caption["caption"] for caption in captions]).cpu().numpy()
    texts = unit_length(texts, names, f"captions of {corpus}, by image")
    drawn = {"candidates": params.config["candidates"], "copies": copies, "seed": params.seed}
    for protocol in ("set" if any(of_images) else params.config["candidate_sets"], FULL, *bags):
        drawn |= {"corpus": corpus, "sets": of_images, "bags": bags.get(protocol)}
        rank, candidates, chosen = ranks(texts, targets, images, protocol, **drawn)
        scored = np.flatnonzero(rank)
        yield {
            "corpus": [corpus] * len(scored),
            "image_id": [names[row] for row in scored],
            "caption_index": copies[scored],
            "protocol": [protocol] * len(scored),
            "candidates": candidates[scored],
            "rank": rank[scored],
            "chosen": [ids[row] for row in chosen[scored]],
        }


def look_alikes(
    config: dict[str, Any] | None, ids: list[str], shards: dict[tuple[str, str], list[str]], corpus: str
) -> dict[str, np.ndarray]:
    """Return the bags (bags, size) of rows of the images `ids` by protocol; none if the evaluation has no bags."""
    if config is None:
        return {}
    embeddings = load_embeddings(shards[config["encoder"], corpus], ids).values
    return {f"{BAGS}{size}": look_alike_bags(embeddings, size)[: config.get("number")] for size in config["sizes"]}


@script
def main(snakemake):
    inputs, params = snakemake.input, snakemake.params
    # The look-alike set of each image of the evaluated split, in the order of the annotation file.
    sets = {}
    for corpus, path, split in zip(params.corpora, inputs.images, params.splits, strict=True):
        rows = read_table(path, IMAGES, ["image_id", "position", "split", "image_set"]).sort_by("position").to_pylist()
        sets[corpus] = {row["image_id"]: row["image_set"] for row in rows if row["split"] == split}
    captions = {corpus: [] for corpus in params.corpora}
    for row in read_table(inputs.captions, GENERATED).to_pylist():
        captions[row["corpus"]].append(row)
    shards = defaultdict(list)
    for path in dict.fromkeys([*inputs.features, *inputs.bag_features]):
        shards[paths.embedded_in(path)].append(path)
    bags = {}
    for corpus in params.corpora:
        bags[corpus] = look_alikes(params.config.get("bags"), [*sets[corpus]], shards, corpus)
    with TableWriter(snakemake.output[0], RETRIEVAL, {"device": device_name()}) as writer:
        for retriever, config in zip(params.retrievers, inputs.configs, strict=True):
            clip = load_encoder(folder_of(config), device())
            for corpus in progress(sets, f"corpora by {retriever}", len(sets)):
                features = shards[retriever, corpus]
                log_cut(clip.tokens_left_out([row["caption"] for row in captions[corpus]]), corpus, retriever)
                for found in search(clip, captions[corpus], sets[corpus], features, bags[corpus], corpus, params):
                    writer.write({**found, "retriever": [retriever] * len(found["rank"])})
