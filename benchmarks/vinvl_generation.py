"""Time VinVL's captioning against Oscar's own memory of layers, and against the plain loop without any.

    python benchmarks/vinvl_generation.py [--tokens 20 100] [--images 4] [--beams 5] [--threads 2] [--rounds 5]
                                          [--plain-rounds 1]

Base size, random weights, 30 word pieces of tags and 50 regions, as in the published geometry. In the plain loop the
whole sequence goes through all layers at every step: Oscar's default. With its `--output_hidden_states` ("fast
decoding") it keeps the states of all layers and projects their keys and values anew at every step. All use the same
search and take turns; that they find the same tokens with the same confidences is checked. Seconds are those of the
processors, all threads together, and of the clock: medians over rounds. The plain loop, which takes minutes, has rounds
of its own, which may be none. Operations are multiplications, each with its addition, of matrix products.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Sequence
from typing import Any

import torch
from products import torch_products
from torch import Tensor

from captionlab.captioners.decoded import Decoded
from captionlab.captioners.vinvl.captioner import CAPTION, Vinvl
from captionlab.config.evaluations import Beam, Decoding
from captionlab.generation.decoding import decode
from captionlab.regions.tagged_regions import TaggedRegions

BASE = {"vocabulary": 30522, "positions": 512, "width": 768, "layers": 12, "heads": 12, "feed_forward": 3072}
REGION_SIZE, TAGS, REGIONS, END = 2054, 30, 50, 102
TOLERANCE = 1e-5


class Vocabulary:
    """The end token."""

    end = END


class Ours:
    """The captioner as it is."""

    generates = False

    def __init__(self, captioner: Vinvl):
        self.captioner, self.operations = captioner, 0

    def start(self, visual: TaggedRegions, max_tokens: int) -> tuple[Tensor, Any]:
        """Tags and regions once, of the last layer only keys and values; and the first step."""
        sizes, image = self.captioner.architecture, visual.mask.shape[1]
        whole, keys = layer_operations(sizes, image, image), 2 * image * sizes["width"] ** 2
        self.operations += len(visual) * ((sizes["layers"] - 1) * whole + keys + embedding_operations(sizes, visual))
        self._count_step(len(visual), image + 2)
        return self.captioner.start(visual, max_tokens)

    def step(self, tokens: Tensor, state: Any) -> tuple[Tensor, Any]:
        """The new token and the mask; the former goes through the last layer no further than its key and value."""
        self._count_step(len(tokens), state.hidden.shape[3] + state.captions.length + 2)
        return self.captioner.step(tokens, state)

    def reorder(self, state: Any, index: Tensor) -> Any:
        """The rows of a state."""
        return self.captioner.reorder(state, index)

    def _count_step(self, rows: int, seen: int) -> None:
        sizes = self.captioner.architecture
        both, mask_alone = layer_operations(sizes, 2, seen), layer_operations(sizes, 1, seen)
        last = mask_alone + 2 * sizes["width"] ** 2
        self.operations += rows * ((sizes["layers"] - 1) * both + last + head_operations(sizes))


class PlainLoop:
    """The captioner without memory."""

    generates = False

    def __init__(self, captioner: Vinvl):
        self.captioner, self.operations = captioner, 0

    @torch_products()
    def start(self, visual: TaggedRegions, max_tokens: int) -> tuple[Tensor, Any]:
        """The first logits."""
        return self._read(visual, visual.tags.new_full((len(visual), 1), self.captioner.start_id))

    @torch_products()
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
        layers = sizes["layers"] * layer_operations(sizes, total, total)
        self.operations += rows * (layers + head_operations(sizes) + embedding_operations(sizes, visual))
        ids = torch.cat([words, torch.full_like(words[:, :1], self.captioner.mask_id)], dim=1)
        states = self.captioner.states(visual, ids)
        return self.captioner.cls.predictions(states[:, length]), (visual, words)


class CachedPath:
    """The captioner with Oscar's memory: what each layer has read, of each beam, tags and regions before words.

    As there, each image is there once for each beam from the first step on, and the output layer reads all word pieces
    of a step. Not as there, the memory follows the beams.
    """

    generates = False

    def __init__(self, captioner: Vinvl, beams: int):
        self.captioner, self.beams, self.operations = captioner, beams, 0

    @torch_products()
    def start(self, visual: TaggedRegions, max_tokens: int) -> tuple[Tensor, Any]:
        """The first logits; the state has a row for each beam already, and says how many of them an image has."""
        copied = visual[torch.arange(len(visual)).repeat_interleave(self.beams)]
        ids = torch.tensor([[self.captioner.start_id, self.captioner.mask_id]]).expand(len(copied), -1)
        states, pieces = self.captioner.states(copied, ids, layers=0), 2 + copied.tags.shape[1]
        seen = torch.cat([torch.ones(2, 2).tril(), torch.zeros(states.shape[1] - 2, 2)]).bool()
        image = copied.mask[:, None].expand(-1, states.shape[1], -1)
        mask = torch.cat([seen.expand(len(copied), -1, -1), image], dim=2)
        memory = []
        for layer in self.captioner.bert.encoder.layer:
            memory.append(torch.cat([states[:, 2:], states[:, :1]], dim=1))
            states = layer(states, mask)
        sizes, total = self.captioner.architecture, states.shape[1]
        layers = sizes["layers"] * layer_operations(sizes, total, total)
        embedding = embedding_operations(sizes, copied)
        self.operations += len(copied) * (layers + embedding + pieces * head_operations(sizes))
        logits = self.captioner.cls.predictions(states[:, :pieces])[:: self.beams, 1]
        return logits, (memory, copied.mask, self.beams)

    @torch_products()
    def step(self, tokens: Tensor, state: Any) -> tuple[Tensor, Any]:
        """The next logits: queries of the token and the mask, keys and values of everything."""
        memory, image, copies = state
        place = memory[0].shape[1] - image.shape[1]
        ids = torch.stack([tokens, torch.full_like(tokens, self.captioner.mask_id)], dim=1)
        states = self.captioner.bert.embed_text(ids, torch.arange(place, place + 2), CAPTION)
        words = torch.ones(len(tokens), 2, place + 2, dtype=torch.bool)
        words[:, 0, -1] = False  # the token does not see the mask after it
        mask, after = torch.cat([image[:, None].expand(-1, 2, -1), words], dim=2), []
        for layer, kept in zip(self.captioner.bert.encoder.layer, memory, strict=True):
            read = torch.cat([kept, states], dim=1)
            after.append(read[:, :-1])
            states = layer(read, mask, slice(-2, None))
        sizes, seen = self.captioner.architecture, mask.shape[2]
        keys = 2 * (seen - 2) * sizes["width"] ** 2
        layers = sizes["layers"] * (layer_operations(sizes, 2, seen) + keys)
        self.operations += len(tokens) * (layers + 2 * head_operations(sizes))
        return self.captioner.cls.predictions(states)[:, 1], (after, image, copies)

    def reorder(self, state: Any, index: Tensor) -> Any:
        """The rows of a state; what was there once for each beam is so no more."""
        memory, image, copies = state
        rows = index * copies
        return [kept[rows] for kept in memory], image[rows], 1


def layer_operations(sizes: dict[str, Any], positions: int, seen: int) -> int:
    """Of a layer for so many positions that attend to `seen` ones: four projections, attention, feed-forward."""
    width = sizes["width"]
    return positions * (4 * width**2 + 2 * width * sizes["feed_forward"] + 2 * width * seen)


def head_operations(sizes: dict[str, Any]) -> int:
    """Of the output layer for a position."""
    return sizes["width"] ** 2 + sizes["width"] * sizes["vocabulary"]


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


def ways_of(captioner: Vinvl, beams: int) -> dict[str, Any]:
    """The ways that are compared: start, step and reorder as Captioner has them, and the `operations` computed."""
    return {"ours": Ours(captioner), "cached": CachedPath(captioner, beams), "plain": PlainLoop(captioner)}


def compare(
    ways: dict[str, Any], visual: TaggedRegions, decoding: Decoding, rounds: dict[str, int]
) -> dict[str, tuple[float, float]]:
    """Seconds (processors, clock) of each way, medians over its `rounds`; exits when the captions are not the same.

    A way's `operations` become those of one run.
    """
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in ways if rounds[name]}
    first: dict[str, Decoded] = {}
    for turn in range(max(rounds.values())):
        for name in taken:
            if turn < rounds[name]:
                ways[name].operations = 0
                decoded, *seconds = timed(ways[name], visual, decoding)
                taken[name].append((seconds[0], seconds[1]))
                first.setdefault(name, decoded)
    ours = first["ours"]
    for name, theirs in first.items():
        difference = float((ours.confidence - theirs.confidence).abs().max())
        if not torch.equal(ours.tokens, theirs.tokens) or difference > TOLERANCE:
            sys.exit(f"the captions of {name} are not ours; their confidences differ by up to {difference:.2g}")
    return {
        name: (statistics.median(of[0] for of in each), statistics.median(of[1] for of in each))
        for name, each in taken.items()
    }


def timed(way: Any, visual: TaggedRegions, decoding: Decoding) -> tuple[Decoded, float, float]:
    """Captions and the seconds, of the processors and on the clock, that they took."""
    processors, clock = time.process_time(), time.perf_counter()
    decoded = decode(way, visual, decoding, Vocabulary())
    return decoded, time.process_time() - processors, time.perf_counter() - clock


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark and print times, operations and their ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, nargs="+", default=[20, 100], help="longest caption")
    parser.add_argument("--images", type=int, default=4)
    parser.add_argument("--beams", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--plain-rounds", type=int, default=1, help="of the plain loop")
    options = parser.parse_args(arguments)
    torch.set_num_threads(options.threads)
    sizes = {**BASE, "region_size": REGION_SIZE}
    visual = random_images(options.images, sizes, TAGS, REGIONS)
    ways = ways_of(random_captioner(sizes), options.beams)
    rounds = dict.fromkeys(ways, options.rounds) | {"plain": options.plain_rounds}
    for way in ways.values():  # a warm-up
        decode(way, visual, Beam(kind="beam", max_tokens=1, rules="oscar", beams=options.beams), Vocabulary())
    for tokens in options.tokens:
        seconds = compare(
            ways, visual, Beam(kind="beam", max_tokens=tokens, rules="oscar", beams=options.beams), rounds
        )
        print(f"{options.images} images, {tokens} tokens, {options.beams} beams, {options.threads} threads")
        ours = seconds["ours"]
        for name, (processors, clock) in seconds.items():
            print(
                f"{name}: {processors:.2f} s of the processors, {clock:.2f} on the clock, "
                f"{ways[name].operations:.3g} operations; {processors / ours[0]:.1f}, {clock / ours[1]:.1f} and "
                f"{ways[name].operations / ways['ours'].operations:.1f} times ours",
                flush=True,
            )


if __name__ == "__main__":
    main()
