"""Image-text matching: train a scorer to separate matching from other captions, and measure its accuracy.

A negative is a caption of another image: of any image (random), or of an image that an encoder ranks among the most
similar (hard). A caption that the image itself also has is no negative.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy, normalize

from captionlab.jobs.progress import progress
from captionlab.regions.batches import RegionBatch, RegionTable
from captionlab.scorers.images import ScorerImages
from captionlab.scorers.schemas import MATCHING
from captionlab.scorers.scorer import NetworkScorer
from captionlab.statistics.intervals import resampled_sums, share_interval
from captionlab.storage.order import Order
from captionlab.training.loop.batches import Batches
from captionlab.training.loop.trainer import Objective

# Number of draws after which a negative that is also a caption of the image is accepted.
DRAWS = 8
# Number of images whose captions are scored together in `examine`.
CHUNK = 64


class Negatives:
    """Source of captions that do not match an image."""

    def __init__(self, captions: Sequence[Sequence[str]], neighbours: np.ndarray):
        """Take the captions of each image, and the rows (n, k) of the images that are most similar to it."""
        self.captions, self.neighbours = captions, neighbours
        self.own = [set(of_image) for of_image in captions]

    def draw(self, image: int, hard: bool, generator: np.random.Generator) -> str:
        """Return a caption of another image, a neighbour if `hard` is true.

        Up to DRAWS captions are drawn until one is no caption of `image` itself. The last draw is returned in any case.
        """
        caption = ""
        for _ in range(DRAWS):
            if hard:
                other = int(self.neighbours[image, generator.integers(self.neighbours.shape[1])])
            else:
                other = (image + int(generator.integers(1, len(self.captions)))) % len(self.captions)
            caption = any_of(self.captions[other], generator)
            if caption not in self.own[image]:
                break
        return caption


def any_of(captions: Sequence[str], generator: np.random.Generator) -> str:
    """Return a random caption."""
    return captions[int(generator.integers(len(captions)))]


@dataclass(frozen=True)
class PairBatch:
    """Images with matching and non-matching captions."""

    regions: RegionBatch
    captions: list[str]
    """M captions"""
    rows: list[int]
    """which of the images each caption is about"""
    matches: list[bool]
    """whether it matches"""

    @property
    def weight(self) -> float:
        """Return the number of pairs, because the loss of a batch is a mean over pairs."""
        return float(len(self.captions))

    def split(self, parts: int) -> list["PairBatch"]:
        """Split the batch into parts with nearly the same number of images, each image with its captions."""
        whole, pieces = self.regions, []
        for part in np.array_split(np.arange(len(whole.counts)), parts):
            counts = [whole.counts[row] for row in part]
            regions = RegionBatch(whole.features[part], whole.boxes[part], whole.sizes[part], counts)
            chosen = [pair for pair, row in enumerate(self.rows) if row in part]
            rows = [self.rows[pair] - int(part[0]) for pair in chosen]
            matches = [self.matches[pair] for pair in chosen]
            pieces.append(PairBatch(regions, [self.captions[pair] for pair in chosen], rows, matches))
        return pieces


class MatchingBatches(Batches):
    """Batches for matching: each image of a batch with one of its captions and with one negative."""

    def __init__(
        self,
        images: Sequence[str],
        regions: RegionTable,
        captions: Sequence[Sequence[str]],
        negatives: Negatives,
        hard: float,
        size: int,
        seed: int,
        device: str = "cpu",
    ):
        """Make batches of `size` images, each with its `captions`; a share `hard` of the negatives is hard."""
        self.images, self.regions, self.captions, self.negatives = images, regions, captions, negatives
        self.hard, self.device = hard, device
        self.order = Order(len(images), size, seed, regions.places(images))

    def __getitem__(self, step: int) -> PairBatch:
        rows = self.order[step].tolist()
        generator = self.order.generator(step, purpose=1)
        positives = [any_of(self.captions[row], generator) for row in rows]
        negatives = [self.negatives.draw(row, generator.random() < self.hard, generator) for row in rows]
        return PairBatch(
            self.regions.batch([self.images[row] for row in rows]).to(self.device),
            positives + negatives,
            [*range(len(rows))] * 2,
            [True] * len(rows) + [False] * len(rows),
        )


class MatchingObjective(Objective):
    """Cross-entropy of match against no match, a pre-training task of all four families that read regions."""

    def loss(self, model: NetworkScorer, batch: PairBatch) -> tuple[Tensor, dict[str, Any]]:
        """Return the loss (nats) of a batch, with gradient, and as a statistic the share of pairs predicted right."""
        logits = model.logits(model.encode_image(batch.regions), model.encode_text(batch.captions), batch.rows)
        matches = torch.tensor(batch.matches, device=logits.device)
        index = model.matching.match_index
        if model.matching.head == "itm":
            loss = cross_entropy(logits, torch.where(matches, index, 1 - index))
            predicted = (logits.argmax(1) == index) == matches
        else:
            loss = binary_cross_entropy_with_logits(logits[:, 0], matches.float())
            predicted = (logits[:, 0] > 0) == matches
        return loss, {"accuracy": predicted.float().mean()}


@torch.no_grad()
def align_words(scorer: NetworkScorer, encoder: Any) -> None:
    """Initialise the word embeddings of a new scorer so that a word is near the regions that show it.

    The regions must be embeddings by `encoder`. Its text tower embeds words in the same space, and the scorer's
    projection of regions maps both. Without this initialisation, a network spends most of its training on learning
    which region a word is about. (The published scorers start from BERT's word embeddings, and have far more data.) The
    standard deviation of the word embeddings does not change. Raises ValueError if the widths of encoder, regions and
    words do not fit.
    """
    texts = normalize(encoder.embed_texts([piece.removeprefix("##") for piece in scorer.words.pieces]), dim=1)
    words, regions = scorer.network.word_embeddings, scorer.network.region_projection
    if texts.shape[1] != regions.in_features:
        raise ValueError(f"the encoder's embeddings have {texts.shape[1]} numbers and regions {regions.in_features}")
    if words.embedding_dim != regions.out_features:
        raise ValueError(f"words are {words.embedding_dim} wide and regions {regions.out_features}; both must be equal")
    projected = (texts - texts.mean(0)).to(regions.weight.device) @ regions.weight.T
    words.weight.copy_(projected * (words.weight.std() / projected.std()))


def examine(
    scorer: NetworkScorer,
    images: ScorerImages,
    ids: Sequence[str],
    captions: Sequence[Sequence[str]],
    negatives: Negatives,
    split: str,
    seed: int,
) -> dict[str, list[Any]]:
    """Return the columns of a MATCHING table: each caption against one random and one hard negative.

    `captions` are the captions of each of the images `ids`. The scorer must not have been trained on these images.
    """
    generator = np.random.default_rng(seed)
    drawn = {
        kind: [
            [negatives.draw(row, kind == "hard", generator) for _ in of_image] for row, of_image in enumerate(captions)
        ]
        for kind in ("random", "hard")
    }
    scores: dict[str, list[np.ndarray]] = {"match": [], "random": [], "hard": []}
    for start in progress(range(0, len(ids), CHUNK), "parts of the images"):
        visual = images.visual(ids[start : start + CHUNK])
        for kind, texts in {"match": captions, **drawn}.items():
            part = texts[start : start + CHUNK]
            rows = [row for row, of_image in enumerate(part) for _ in of_image]
            flat = [caption for of_image in part for caption in of_image]
            scores[kind].append(scorer.score(visual, flat, rows).double().cpu().numpy())
    match = np.concatenate(scores["match"])
    image = np.repeat(np.arange(len(ids)), [len(of_image) for of_image in captions])
    half = scorer.matching.scale / 2
    found: list[tuple[Any, ...]] = []
    for kind in ("random", "hard"):
        other = np.concatenate(scores[kind])
        right = {"accuracy": ((match > half).astype(float) + (other <= half)) / 2, "ranking": match > other}
        for measure, hits in right.items():
            of_images = np.stack([np.bincount(image, hits, len(ids)), np.bincount(image, minlength=len(ids))], axis=1)
            sums = resampled_sums(of_images, seed)
            share, variance = float(hits.mean()), float(np.var(sums[:, 0] / sums[:, 1]))
            interval = share_interval(share, variance, len(ids), len(hits))
            found.append((split, kind, measure, share, *interval, len(ids)))
    return dict(zip(MATCHING.columns, map(list, zip(*found, strict=True)), strict=True))
