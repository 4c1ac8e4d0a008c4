"""Time VinVL's captioning against the plain loop, in which the whole sequence goes through all layers at every step.

    python benchmarks/vinvl_generation.py [--tokens 19 100] [--images 2] [--beams 5] [--threads 2]

Base size, random weights, 30 word pieces of tags and 50 regions, as in the published geometry: 19 tokens make a
sequence of 100 positions, [CLS] included. Both ways use the same search; that they find the same tokens with the same
confidences is checked. Operations are multiplications, each with its addition, of matrix products.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from captionlab.captioners.vinvl import Vinvl
from captionlab.generation.contract import Decoded, Decoding
from captionlab.generation.decoding import decode
from captionlab.regions.tagged_regions import TaggedRegions

BASE = {"vocabulary": 30522, "positions": 512, "width": 768, "layers": 12, "heads": 12, "feed_forward": 3072}
REGION_SIZE, TAGS, REGIONS, END = 2054, 30, 50, 102


class Vocabulary:
    """The end token."""

    end = END


class PlainLoop:
    """The captioner without memory. It also counts operations, its own and those of the captioner with memory."""

    def __init__(self, captioner: Vinvl):
        self.captioner = captioner
        self.plain, self.cached = 0, 0

    def start(self, visual: TaggedRegions, max_tokens: int) -> tuple[Tensor, Any]:
        """The first logits, as Captioner has it."""
        image = visual.mask.shape[1]
        # Tags and regions once; of the last layer only keys and values.
        sizes = self.captioner.architecture
        whole, keys = layer_operations(sizes, image, image), 2 * image * sizes["width"] ** 2
        self.cached += len(visual) * ((sizes["layers"] - 1) * whole + keys + embedding_operations(sizes, visual))
        return self._read(visual, visual.tags.new_full((len(visual), 1), self.captioner.start_id))

    def step(self, tokens: Tensor, state: Any) -> tuple[Tensor, Any]:
        """The next logits."""
        return self._read(state[0], torch.cat([state[1], tokens[:, None]], dim=1))

    def reorder(self, state: Any, index: Tensor) -> Any:
        """The rows of a state."""
        return state[0][index], state[1][index]

    def _read(self, visual: TaggedRegions, words: Tensor) -> tuple[Tensor, Any]:
        sizes = self.captioner.architecture
        rows, length = words.shape
        total = length + 1 + visual.mask.shape[1]
        head = sizes["width"] ** 2 + sizes["width"] * sizes["vocabulary"]
        self.plain += rows * (sizes["layers"] * layer_operations(sizes, total, total) + head)
        self.plain += rows * embedding_operations(sizes, visual)
        # The new token and the mask; the former goes through the last layer no further than its key and value.
        both, mask_alone = layer_operations(sizes, 2, total), layer_operations(sizes, 1, total)
        self.cached += rows * ((sizes["layers"] - 1) * both + mask_alone + 2 * sizes["width"] ** 2 + head)
        ids = torch.cat([words, torch.full_like(words[:, :1], self.captioner.mask_id)], dim=1)
        states = self.captioner.states(visual, ids)
        return self.captioner.cls.predictions(states[:, length]), (visual, words)


def layer_operations(sizes: dict[str, Any], positions: int, seen: int) -> int:
    """Of a layer for so many positions that attend to `seen` ones: four projections, attention, feed-forward."""
    width = sizes["width"]
    return positions * (4 * width**2 + 2 * width * sizes["feed_forward"] + 2 * width * seen)


def embedding_operations(sizes: dict[str, Any], visual: TaggedRegions) -> int:
    """Of embedding the regions of an image."""
    return visual.regions.shape[1] * sizes["width"] * sizes["region_size"]


def random_captioner(sizes: dict[str, int]) -> Vinvl:
    """A captioner whose random weights are large enough for its words not to be equally probable."""
    torch.manual_seed(0)
    captioner = Vinvl(**sizes).eval().requires_grad_(False)
    captioner.bert.embeddings.word_embeddings.weight.normal_(std=0.1)
    captioner.bert.embeddings.position_embeddings.weight.normal_(std=0.2)
    for layer in captioner.bert.encoder.layer:
        for project in (layer.attention.self.value, layer.attention.output.dense):
            project.weight.mul_(4)
    return captioner


def random_images(count: int, sizes: dict[str, int], tags: int, regions: int) -> TaggedRegions:
    """Images that all have so many word pieces of tags, and so many regions."""
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(sizes["vocabulary"], (count, tags), generator=generator)
    features = torch.randn(count, regions, sizes["region_size"], generator=generator)
    ones = torch.ones(count, tags + regions, dtype=torch.bool)
    return TaggedRegions(ids, ones[:, :tags], features, ones[:, tags:])


def compare(captioner: Vinvl, visual: TaggedRegions, decoding: Decoding) -> tuple[float, float, PlainLoop]:
    """Seconds with memory and in the plain loop, and the latter; exits when the captions are not the same."""
    plain_loop = PlainLoop(captioner)
    ours, seconds = timed(captioner, visual, decoding)
    theirs, plain_seconds = timed(plain_loop, visual, decoding)
    difference = float((ours.confidence - theirs.confidence).abs().max())
    if not torch.equal(ours.tokens, theirs.tokens) or difference > 1e-5:
        sys.exit(f"the captions are not the same; their confidences differ by up to {difference:.2g}")
    return seconds, plain_seconds, plain_loop


def timed(captioner: Any, visual: TaggedRegions, decoding: Decoding) -> tuple[Decoded, float]:
    """Captions and the seconds that they took, after a warm-up."""
    decode(captioner, visual, Decoding(decoding.kind, 1, rules="oscar", beams=decoding.beams), Vocabulary())
    if isinstance(captioner, PlainLoop):
        captioner.plain, captioner.cached = 0, 0
    started = time.perf_counter()
    decoded = decode(captioner, visual, decoding, Vocabulary())
    return decoded, time.perf_counter() - started


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark and print times, operations and their ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, nargs="+", default=[19, 100], help="longest caption")
    parser.add_argument("--images", type=int, default=2)
    parser.add_argument("--beams", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args(arguments)
    torch.set_num_threads(options.threads)
    sizes = {**BASE, "region_size": REGION_SIZE}
    captioner = random_captioner(sizes)
    visual = random_images(options.images, sizes, TAGS, REGIONS)
    for tokens in options.tokens:
        decoding = Decoding("beam", tokens, rules="oscar", beams=options.beams)
        seconds, plain_seconds, counted = compare(captioner, visual, decoding)
        print(
            f"{options.images} images, {tokens} tokens, {options.beams} beams, {options.threads} threads\n"
            "same tokens and confidences\n"
            f"seconds: {seconds:.2f}, plain loop {plain_seconds:.2f}, {plain_seconds / seconds:.1f} times as many\n"
            f"operations: {counted.cached:.3g}, plain loop {counted.plain:.3g}, "
            f"{counted.plain / counted.cached:.1f} times as many",
            flush=True,
        )


if __name__ == "__main__":
    main()
