"""Text-to-image retrieval: the rank of a caption's image among candidates, by cosine similarity.

Dessì et al. 2023, section 4. Candidates are blocks of images as in the authors' code, or drawn at random as in the
paper.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from captionlab.evaluation.summary import (
    LOWER,
    Job,
    Metric,
    OfCaptions,
    Result,
    matrix,
    mean,
    parts,
    rows_results,
    scored_rows,
)
from captionlab.statistics.intervals import PER_CENT
from captionlab.storage.schemas import RETRIEVAL
from captionlab.storage.tables import read_table

WITHIN = {"P@1": 1, "R@5": 5, "R@10": 10}
METRICS = {name: Metric(f"within_{k}", mean, PER_CENT, share=True) for name, k in WITHIN.items()}
METRICS["mean rank"] = Metric("rank", mean, (1.0, math.inf), scale=1.0, better=LOWER)

# Similarities closer than this are a tie. Products of equal float32 vectors of length 1 differ by that much between two
# rows of a matrix, so the rank of an image with a duplicate would otherwise depend on chance.
TIE = 1e-6
# Similarities in memory at a time; bounds memory to about 100 MB.
SCORES = 16_000_000


# Sets of candidates beside the one that an evaluation names: all images, and bags of look-alikes of one size.
FULL, BAGS = "full", "bags of "


class RetrievalError(ValueError):
    """A corpus cannot be searched with the requested candidates."""


def ranks(
    texts: np.ndarray,
    targets: np.ndarray,
    images: np.ndarray,
    protocol: str,
    *,
    corpus: str,
    candidates: int = 100,
    sets: Sequence[str | None] | None = None,
    bags: np.ndarray | None = None,
    copies: np.ndarray | None = None,
    seed: int = 0,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the rank of each caption's image, from 1, the number of candidates and the row of the chosen image.

    Each array is (captions,). A caption that is not scored has 0, 0 and -1. The chosen image is the right image if its
    rank is 1, else the candidate that is most similar to the caption.

    `texts` (captions, d) and `images` (n, d) are normalised; images are in the order of the annotation file; `targets`
    (captions,) is the row of each caption's image. The rank is 1 plus the number of candidates that are more similar
    than the right image, which wins ties. Protocols:

    file-order  the block of `candidates` consecutive images that has the image; images after the last whole block
                are not scored (the authors' code)
    random      `candidates` - 1 other images, drawn without replacement for each image and copy (`copies`, (captions,),
                the caption's index among the captions of its image), the same for every captioner (the paper's text)
    set         the images of the same look-alike set; `sets` has the set of each image
    bags of ... the images of the same bag; `bags` (bags, size) has the rows of the images of each bag, and images in no
                bag are not scored
    full        all images

    Raises RetrievalError if the corpus has too few images, or images without a set.
    """
    if bags is not None:
        groups: Iterable[np.ndarray] = bags
    else:
        groups = _groups(len(images), protocol, candidates, sets, corpus)
    if protocol == "random":
        _require(len(images), candidates, "drawn at random", corpus)
        copies = np.zeros(len(targets), dtype=np.int64) if copies is None else copies
        found, chosen = _random_ranks(texts, targets, images, candidates, copies, seed)
        return found, np.full(len(targets), candidates), chosen
    found, sizes, chosen = (np.full(len(targets), value, dtype=np.int64) for value in (0, 0, -1))
    for group in groups:
        place = np.full(len(images), -1)
        place[group] = np.arange(len(group))
        captions = np.flatnonzero(place[targets] >= 0)
        found[captions], best = _ranks_within(texts[captions], place[targets[captions]], images[group])
        sizes[captions], chosen[captions] = len(group), group[best]
    return found, sizes, chosen


def unit_length(embeddings: np.ndarray, names: Sequence[str], what: str) -> np.ndarray:
    """Return the rows divided by their lengths, in float32.

    Raises ValueError, which names the row, if a row is not finite or has length 0.
    """
    rows = np.asarray(embeddings, dtype=np.float32)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    wrong = np.flatnonzero(~(np.isfinite(lengths[:, 0]) & (lengths[:, 0] > 0)))
    if len(wrong):
        raise ValueError(
            f"{what}: the embedding of {names[wrong[0]]!r} is not a direction (its length is {lengths[wrong[0], 0]}), "
            f"and so for {len(wrong)} of {len(rows)}; make these embeddings again"
        )
    return rows / lengths


def _groups(
    images: int, protocol: str, candidates: int, sets: Sequence[str | None] | None, corpus: str
) -> Iterator[np.ndarray]:
    if protocol == FULL:
        yield np.arange(images)
    elif protocol == "file-order":
        _require(images, candidates, "in file order", corpus)
        for block in range(images // candidates):
            yield np.arange(block * candidates, (block + 1) * candidates)
    elif protocol == "set":
        members: dict[str, list[int]] = {}
        for image, name in enumerate(sets or [None] * images):
            if name is None:
                raise RetrievalError(f"corpus {corpus!r} has images without a look-alike set; choose other candidates")
            members.setdefault(name, []).append(image)
        yield from map(np.array, members.values())
    else:
        raise RetrievalError(f"candidate set {protocol!r} is not one of file-order, random, set, full")


def _require(images: int, candidates: int, how: str, corpus: str) -> None:
    if images < candidates:
        raise RetrievalError(
            f"corpus {corpus!r} has {images} images to search in, fewer than the {candidates} candidates {how}; "
            f"set `candidates: {images}` or less in the evaluation, or give the corpus more images"
        )


def _ranks_within(texts: np.ndarray, targets: np.ndarray, images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    found, chosen = np.empty(len(texts), dtype=np.int64), np.empty(len(texts), dtype=np.int64)
    chunk = max(1, SCORES // len(images))
    for start in range(0, len(texts), chunk):
        part = slice(start, start + chunk)
        scores = texts[part] @ images.T
        right = np.take_along_axis(scores, targets[part, None], axis=1)
        found[part] = 1 + (scores > right + TIE).sum(axis=1)
        chosen[part] = np.where(found[part] == 1, targets[part], scores.argmax(axis=1))
    return found, chosen


def _random_ranks(
    texts: np.ndarray, targets: np.ndarray, images: np.ndarray, candidates: int, copies: np.ndarray, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    found, chosen = np.empty(len(texts), dtype=np.int64), np.empty(len(texts), dtype=np.int64)
    for copy in np.unique(copies):
        others = drawn(len(images), candidates, int(copy), seed)
        for caption in np.flatnonzero(copies == copy):
            target = targets[caption]
            scores = images[others[target]] @ texts[caption]
            found[caption] = 1 + (scores > images[target] @ texts[caption] + TIE).sum()
            chosen[caption] = target if found[caption] == 1 else others[target, scores.argmax()]
    return found, chosen


def drawn(images: int, candidates: int, copy: int, seed: int) -> np.ndarray:
    """Return the rows of the other images (images, candidates - 1) drawn for each image and a copy of its captions.

    Every image gets a draw, even without a caption, so that captioners with fewer captions get the same candidates.
    """
    generator = np.random.default_rng([seed, copy])
    return np.stack([_others(generator, image, images, candidates) for image in range(images)])


def _others(generator: np.random.Generator, image: int, images: int, candidates: int) -> np.ndarray:
    drawn = generator.choice(images - 1, candidates - 1, replace=False)
    return drawn + (drawn >= image)


def among(protocol: str, sizes: Sequence[int]) -> str:
    """Return how a candidate set is printed: `100 file-order`, `10 set`, `bags of 3`, `full`."""
    whole = protocol == FULL or protocol.startswith(BAGS) or len(sizes) > 1
    return protocol if whole else f"{sizes[0]} {protocol}"


def is_named(candidates: str | None) -> bool:
    """Return whether candidates are those that the evaluation names: neither all images nor bags of look-alikes.

    Papers print retrieval among these. Metrics without candidates (None) count, too.
    """
    return candidates is None or (candidates != FULL and not candidates.startswith(BAGS))


def results(job: Job, path: str, seed: int) -> Iterator[Result]:
    """Yield the results by corpus, retriever and protocol."""
    return retrieval_results(job, read_table(path, RETRIEVAL), seed)


def retrieval_results(job: Job, found: pa.Table, seed: int) -> Iterator[Result]:
    """Yield the results of a table of RETRIEVAL, by corpus, retriever and protocol.

    A bag of look-alikes has few images: R@5 and R@10 in bags of as many images or fewer are left out, since they are
    always 100.
    """
    for (corpus, retriever, protocol), part in parts(found, "corpus", "retriever", "protocol"):
        rank = matrix(part["rank"])
        columns = {"rank": rank, **{f"within_{k}": rank <= k for k in WITHIN.values()}}
        sizes = pc.unique(part["candidates"]).to_pylist()
        place = (corpus, retriever, among(protocol, sizes))
        shown = METRICS
        if protocol.startswith(BAGS):
            shown = {name: metric for name, metric in METRICS.items() if WITHIN.get(name, 0) < max(sizes)}
        yield from rows_results(job, place, scored_rows(part, columns), shown, seed)


def of_captions(path: str, factors: Mapping[str, float]) -> Iterator[OfCaptions]:
    """Return an empty iterator: a caption has a rank for each retriever and protocol, not a single score."""
    return iter(())
