"""Time self-critical updates at the shape of Ma et al. (2022), against a plain loop, for every family of scorers.

    python benchmarks/self_critical.py [--scorers uniter clip ...] [--updates 3] [--threads 2] [--small]

An update has 10 images; of each, 5 captions are sampled and one is decoded greedily, and a scorer of base size with
random weights rewards all 60. In the plain loop, as a straightforward port would have it, the scorer reads each caption
with its image from scratch: padded to the longest text that it takes, image tower included; by open_clip's and, for
LXMERT, transformers' own forward pass. All else is the same code for both, and both ways take turns. Captions have as
many words as most of COCO's, 8 to 13, and a word is one word piece; no caption occurs twice, so what the scorers save
by that does not show.

The cost model counts multiplications and additions and divides them by what a product of large matrices reaches here.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from products import fastest_product, torch_products
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from captionlab.captioners.newfc.captioner import NewFC
from captionlab.config.evaluations import Greedy
from captionlab.encoders.embeddings import embedding_rows
from captionlab.networks.wordpiece import WordPieces
from captionlab.networks.words import learn_words
from captionlab.plugins import family_class
from captionlab.regions.batches import RegionTable
from captionlab.regions.tables import ImageRegions, write_regions
from captionlab.scorers.images import ScorerImages
from captionlab.scorers.scorer import NetworkScorer
from captionlab.storage.schemas import embeddings_schema
from captionlab.storage.tables import write_table
from captionlab.training.loop.batches import ImageBatch, ImageBatches
from captionlab.training.loop.optimizers import build_optimizer
from captionlab.training.objectives.self_critical.objective import SelfCritical
from captionlab.training.rewards.scorer.reward import MatchingScore

SAMPLES, IMAGES, WORDS = 5, 10, (8, 13)  # of an image; of an update; of a caption
TOLERANCE, SPREAD = 1e-5, 1.7


@dataclass(frozen=True)
class Sizes:
    """Sizes of everything: those of the papers, or small ones to see whether this script runs."""

    words: int = 9486
    width: int = 512
    visual_size: int = 2048
    pool: int = 40
    regions: int = 36
    region_size: int = 2048
    pieces: int = 30522
    bert: int = 768
    layers: int = 12
    clip: str = "ViT-B-32-quickgelu"

    def architecture(self, family: str) -> dict[str, int]:
        """The sizes of an ITM scorer, as its authors publish it."""
        bert, layers = self.bert, self.layers
        common = {"positions": 512, "width": bert, "heads": bert // 64, "feed_forward": 4 * bert, "layers": layers}
        wide = bert * 4 // 3
        return common | {
            "vilbert": {
                "visual_width": wide,
                "visual_layers": layers // 2,
                "visual_heads": wide // 128,
                "visual_feed_forward": wide,
                "connections": layers // 2,
                "joint_width": wide,
                "joint_heads": wide // 128,
            },
            "lxmert": {"layers": layers * 3 // 4, "visual_layers": layers * 5 // 12, "cross_layers": layers * 5 // 12},
        }.get(family, {})


SMALL = Sizes(words=50, width=16, visual_size=8, pool=12, regions=4, region_size=6, pieces=80, bert=192, layers=4)
FAMILIES = ("uniter", "rosita", "vilbert", "lxmert", "clip")
# What UNITER's cased vocabulary has; the others have BERT's uncased one.
CASED = 28996


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark and print a line for each scorer, and where its time goes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scorers", nargs="+", choices=FAMILIES, default=FAMILIES)
    parser.add_argument("--updates", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--small", action="store_true", help="tiny models, to see whether this runs")
    given = parser.parse_args(arguments)
    torch.set_num_threads(given.threads)
    sizes = SMALL if given.small else Sizes()
    peak = fastest_product("cpu", 256 if given.small else 2048)
    print(f"{given.threads} threads; a product of large matrices reaches {peak / 1e9:.0f} GFLOP/s", flush=True)
    for family in given.scorers:
        with tempfile.TemporaryDirectory(prefix="self-critical-") as folder:
            measure(family, sizes, given.updates, peak, Path(folder))


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds that some work takes, and its result."""
    started = time.perf_counter()
    result = work()
    return time.perf_counter() - started, result


def measure(family: str, sizes: Sizes, updates: int, peak: float, folder: Path) -> None:
    """Time both ways with one scorer and print what was found."""
    torch.manual_seed(1)
    captioner, tokenizer = captioner_of(sizes)
    scorer, images, plain = (clip_scorer if family == "clip" else itm_scorer)(family, sizes, folder)
    ids = [f"image-{row}" for row in range(sizes.pool)]
    rewards = {"plain": plain, "captionlab": MatchingScore(scorer, images.visual, ids)}
    largest, spread = check_rewards(captioner, tokenizer, rewards, sizes)
    batches = ImageBatches(torch.randn(sizes.pool, sizes.visual_size), IMAGES, seed=1)
    runs = {}
    for name, reward in rewards.items():
        objective = SelfCritical(tokenizer, Greedy(kind="greedy", max_tokens=20), reward, samples=SAMPLES)
        optimizer = build_optimizer(captioner.parameters(), {"kind": "adam", "lr": 1e-9})
        runs[name] = partial(update, captioner, objective, optimizer, batches)
        runs[name](0)
    turns = [{name: timed(partial(run, 1 + number))[0] for name, run in runs.items()} for number in range(updates)]
    seconds = {name: statistics.median(turn[name] for turn in turns) for name in runs}
    ratio = seconds["plain"] / seconds["captionlab"]
    print(
        f"{family}: {1 / seconds['captionlab']:.3f} updates/s, plain loop {1 / seconds['plain']:.3f}: "
        f"{ratio:.2f} times as fast; rewards differ by {largest:.1e} at most, those of other captions by {spread:.1e}",
        flush=True,
    )
    cost_model(captioner, tokenizer, rewards, batches, seconds, peak)


class Captioner(NewFC):
    """The FC captioner with random weights, which would never end a caption; these end after so many words."""

    lengths = WORDS
    """fewest and most words of a caption"""

    def start(self, visual: Tensor, max_tokens: int) -> tuple[Tensor, Any]:
        """Logits of the first word, and a state that also knows how many words are to come."""
        words = torch.randint(self.lengths[0], self.lengths[1] + 1, (len(visual),))
        begin = torch.zeros(len(visual), dtype=torch.long)
        return self.step(begin, (*self._read_image(visual), words))

    @torch.no_grad()
    def _end(self, logits: Tensor, words: Tensor) -> None:
        """Make the end certain where all words are there, and impossible elsewhere."""
        logits[:, 0] = torch.where(words > 0, -1e4, 1e4)

    def step(self, tokens: Tensor, state: Any) -> tuple[Tensor, Any]:
        """Logits of the next word: the end and nothing else when all words are there."""
        *inner, words = state
        logits, after = super().step(tokens, tuple(inner))
        self._end(logits, words)
        return logits, (*after, words - 1)

    def reorder(self, state: Any, index: Tensor) -> Any:
        """The state of these rows."""
        return tuple(part[index] for part in state)


def captioner_of(sizes: Sizes) -> tuple[NewFC, Any]:
    """The captioner and its words."""
    tokenizer = learn_words([" ".join(words_of(sizes))], 1)
    return Captioner(sizes.visual_size, sizes.width, sizes.width, tokenizer.size), tokenizer


def words_of(sizes: Sizes) -> list[str]:
    """Words of letters alone that are one piece of CLIP's vocabulary each."""
    import open_clip

    end = "</w>"
    pieces = open_clip.SimpleTokenizer().encoder
    words = [piece.removesuffix(end) for piece in pieces if piece.endswith(end)]
    return [word for word in words if word.isascii() and word.isalpha()][: sizes.words]


def update(captioner: NewFC, objective: SelfCritical, optimizer: Any, batches: ImageBatches, step: int) -> None:
    """One update, with the same samples for the same step."""
    torch.manual_seed(step)
    optimizer.zero_grad()
    loss, _ = objective.loss(captioner, batches[step])
    loss.backward()
    torch.nn.utils.clip_grad_value_(captioner.parameters(), 0.1)
    optimizer.step()


def check_rewards(captioner: NewFC, tokenizer: Any, rewards: dict[str, Any], sizes: Sizes) -> tuple[float, float]:
    """The largest difference between both ways for the same captions, and the deviation of the rewards among these.

    An error when the former is more than 1e-5, or the latter too small for that to mean anything.
    """
    asked: list[tuple[ImageBatch, Sequence[str]]] = []

    def remember(batch: ImageBatch, captions: Sequence[str]) -> tuple[Tensor, dict[str, Tensor]]:
        asked.append((batch, captions))
        return torch.zeros(len(captions)), {}

    objective = SelfCritical(tokenizer, Greedy(kind="greedy", max_tokens=20), remember, samples=SAMPLES)
    objective.loss(captioner, ImageBatches(torch.randn(sizes.pool, sizes.visual_size), IMAGES, seed=1)[0])
    first, second = (reward(*asked[0])[0] for reward in rewards.values())
    largest = float((first - second).abs().max())
    spread = float(second.std())
    if largest > TOLERANCE or spread < 10 * TOLERANCE:
        raise SystemExit(f"the rewards of both ways differ by {largest:.1e}, and among captions by {spread:.1e}")
    return largest, spread


def itm_scorer(family: str, sizes: Sizes, folder: Path) -> tuple[Any, ScorerImages, Any]:
    """A scorer that reads regions, its images, and the plain way to ask it."""
    count = CASED if family == "uniter" and sizes.pieces > CASED else sizes.pieces
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *words_of(sizes)]
    pieces += [f"[unused{number}]" for number in range(count - len(pieces))]
    network_class = family_class("scorers", family)
    matching = network_class.MATCHING
    words = WordPieces(pieces, matching.lowercase, matching.strip_punctuation)
    network = network_class(**sizes.architecture(family), vocabulary=len(pieces), region_size=sizes.region_size)
    scorer = NetworkScorer(network, words, matching).eval().requires_grad_(False)
    for parameter in scorer.parameters():
        # As initialised, a scorer finds all captions equally good.
        parameter.mul_(SPREAD if parameter.dim() > 1 else 1)
    draw = np.random.default_rng(0)
    pool = (
        ImageRegions(
            f"image-{row}",
            640,
            480,
            np.sort(draw.uniform(0, 480, (sizes.regions, 2, 2)), axis=1).reshape(-1, 4).astype(np.float32),
            draw.exponential(size=(sizes.regions, sizes.region_size)).astype(np.float32),
        )
        for row in range(sizes.pool)
    )
    write_regions(folder / "regions.parquet", pool)
    table = RegionTable([folder / "regions.parquet"])

    @torch_products()
    def plain(batch: ImageBatch, captions: Sequence[str]) -> tuple[Tensor, dict[str, Tensor]]:
        longest = scorer.matching.max_tokens
        tokens = scorer.encode_text(captions)
        ids = torch.tensor([row + [0] * (longest - len(row)) for row in tokens])
        mask = torch.arange(longest) < torch.tensor([len(row) for row in tokens])[:, None]
        regions = table.batch([f"image-{image}" for image in batch.images[batch.rows].tolist()])
        with torch.no_grad():
            if family == "lxmert":
                read = scorer.network.lxmert(ids, regions.features, regions.corners, attention_mask=mask.float())
                logits = scorer.network.head(read.pooled_output)
            else:
                logits = scorer.network.logits(scorer.encode_image(regions), ids, mask)
        return scorer.matching.score(logits), {}

    return scorer, ScorerImages(scorer, [folder / "regions.parquet"]), plain


def clip_scorer(family: str, sizes: Sizes, folder: Path) -> tuple[Any, ScorerImages, Any]:
    """The same for CLIP, whose images are embedded once and for all; the plain way is open_clip's."""
    import open_clip

    from captionlab.encoders.clip.encoder import MEAN, STD, Clip, build, pad, tokenise
    from captionlab.encoders.images import normalise
    from captionlab.scorers.clip.scorer import ClipScorer

    architecture = open_clip.get_model_config(sizes.clip)
    if sizes == SMALL:
        vision = {"image_size": 32, "layers": 1, "width": 64, "patch_size": 32}
        text = {"context_length": 40, "vocab_size": 49408, "width": 64, "heads": 1, "layers": 1}
        architecture = {"embed_dim": 16, "vision_cfg": vision, "text_cfg": text}
    clip = Clip(build(architecture), {"architecture": architecture, "image_mean": MEAN, "image_std": STD})
    scorer = ClipScorer(clip, scale=1.0)
    pixels = torch.randint(0, 256, (sizes.pool, 3, clip.image_size, clip.image_size), dtype=torch.uint8)
    kind = embeddings_schema(clip.image_dimensions, "float32")
    ids = pa.chunked_array([[f"image-{row}" for row in range(sizes.pool)]])
    path = folder / "embeddings.parquet"
    write_table(path, kind, embedding_rows(ids, clip.embed_images(pixels).numpy(), kind, path))

    @torch_products()
    def plain(batch: ImageBatch, captions: Sequence[str]) -> tuple[Tensor, dict[str, Tensor]]:
        tokens = pad([*tokenise(captions, clip.context_length), [0] * clip.context_length])[:-1]
        with torch.no_grad():
            images = clip.model.encode_image(normalise(pixels[batch.images[batch.rows]], MEAN, STD), normalize=True)
            texts = clip.model.encode_text(tokens, normalize=True)
        return (images * texts).sum(1), {}

    return scorer, ScorerImages(scorer, [path]), plain


def cost_model(
    captioner: NewFC,
    tokenizer: Any,
    rewards: dict[str, Any],
    batches: ImageBatches,
    seconds: dict[str, float],
    peak: float,
) -> None:
    """Print what an update must compute, how long that takes at least, and what limits it."""
    asked: list[tuple[ImageBatch, list[str]]] = []
    spent: dict[str, float] = {}

    def watched(reward: Any, batch: ImageBatch, captions: list[str]) -> tuple[Tensor, dict[str, Tensor]]:
        asked.append((batch, captions))
        spent["scorer"], found = timed(lambda: reward(batch, captions))
        found_values: tuple[Tensor, dict[str, Tensor]] = found
        return found_values

    for name, reward in rewards.items():
        objective = SelfCritical(
            tokenizer, Greedy(kind="greedy", max_tokens=20), partial(watched, reward), samples=SAMPLES
        )
        optimizer = build_optimizer(captioner.parameters(), {"kind": "adam", "lr": 1e-9})
        run = partial(update, captioner, objective, optimizer, batches, 1)
        whole, _ = timed(run)
        scoring = spent["scorer"]
        with FlopCounterMode(display=False) as all_operations:
            run()
        batch, captions = asked[-1]
        with FlopCounterMode(display=False) as of_scorer:
            reward(replace(batch), captions)
        scorer = of_scorer.get_total_flops()
        rest = all_operations.get_total_flops() - scorer
        words = statistics.mean(len(caption.split()) for caption in captions)
        distinct = len(set(zip(batch.rows.tolist(), captions, strict=True)))
        print(
            f"  {name}: {len(captions)} captions ({distinct} distinct, {words:.1f} words); scorer "
            f"{scorer / 1e9:.1f} GFLOP, at least {scorer / peak:.2f} s, took {scoring:.2f} s; captioner "
            f"{rest / 1e9:.1f} GFLOP, at least {rest / peak:.2f} s, took {whole - scoring:.2f} s",
            flush=True,
        )
        if name == "captionlab":
            limit = "the scorer" if scoring > whole / 2 else "the captioner and its optimizer"
            share = (scorer + rest) / peak / seconds[name]
            print(f"  limit: {limit}; an update runs at {share:.0%} of what products of matrices reach", flush=True)


if __name__ == "__main__":
    main()
