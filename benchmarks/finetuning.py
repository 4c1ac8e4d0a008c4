"""Time updates of discriminative finetuning at real size, beside a plain loop that does what the original code does.

    python benchmarks/finetuning.py [--batch 8] [--updates 5] [--words 8 13] [--threads 2] [--small]
    python benchmarks/finetuning.py --device cuda --batch 100 --precision bfloat16

ClipCap with GPT-2 small and CLIP ViT-B/32, random weights. At each update the plain loop, after the authors' code
(docs/fidelity.md), decodes each image and encodes it twice, for captioner and retriever; generates with transformers;
scores the captions again with logits of all positions; runs a vanilla GPT-2 for a divergence that counts zero; encodes
captions at all 77 positions; computes gradients of the token embeddings, which no optimizer uses; and steps Adam. Ours
is captionlab's trainer. Updates of both alternate, so that other work on the machine slows both; where
it makes them wait, look at the seconds of the processors.

Captions end after `--words` words, which random weights would not do; a word is a token, and no caption occurs twice.
Without dropout both ways must give the same captions, and the same loss to 1e-5 in float32; that is checked first, for
eight images and on a processor: random weights find many words nearly as probable, and a GPU rounds in other ways.

The cost model: operations are multiplications and additions of matrix products, bytes are those of the parameters (and
of Adam's averages) that must pass through memory. The least time of a stage is the larger of operations over what a
large matrix product reaches here and bytes over what reading a large matrix reaches here.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
from finetuning_ways import ADAM, LONGEST, PlainLoop, Setting, Stopwatch
from products import fastest_product
from torch import nn

from captionlab.training.loop.batches import ImageBatch, ImageBatches
from captionlab.training.loop.optimizers import build_optimizer
from captionlab.training.loop.trainer import train
from captionlab.training.objectives.reinforce.objective import freeze_token_embeddings

TOLERANCE = 1e-5
STAGES = ("images", "generation", "reward", "re-scoring", "divergence", "backward", "optimizer")


class Alternating:
    """Batches for the trainer, which asks for the next one when an update is done; then comes one of the plain loop."""

    def __init__(self, batches: ImageBatches, plain: PlainLoop, watch: Stopwatch):
        self.batches, self.plain, self.watch = batches, plain, watch
        self.ours: list[tuple[float, float]] = []
        self.theirs: list[tuple[float, float]] = []
        self._started = 0.0, 0.0

    def __len__(self) -> int:
        return len(self.batches)

    def __getitem__(self, step: int) -> ImageBatch:
        if step:
            self.ours.append(self._since(self._started))
        started = self._times()
        self.plain.update(self.batches[step])
        self.theirs.append(self._since(started))
        batch = self.batches[step]
        self._started = self._times()
        return batch

    def _times(self) -> tuple[float, float]:
        return self.watch.now(), time.process_time()

    def _since(self, started: tuple[float, float]) -> tuple[float, float]:
        """Seconds, and seconds of the processors, which other work does not lengthen by making this process wait."""
        seconds, processor = self._times()
        return seconds - started[0], processor - started[1]


def check(setting: Setting) -> tuple[float, float]:
    """The largest difference between the losses of both ways on the same captions without dropout, and the loss.

    Exits when the captions differ, or the losses by more than 1e-5.
    """
    watch = Stopwatch(setting.device)
    plain, objective = PlainLoop(setting, watch, dropout=False), setting.objective(watch, dropout=False)
    batch = ImageBatches(setting.visual, setting.batch, seed=1)[0]
    tokens, theirs = plain.update(batch)
    with torch.no_grad():
        ours, _ = objective.loss(setting.captioner, batch)
        same = torch.equal(objective.generate(setting.captioner, batch.visual), tokens)
    difference = float((ours - theirs).abs())
    if not same or difference > TOLERANCE:
        raise SystemExit(f"captions are {'' if same else 'not '}the same; losses differ by {difference:.1e}")
    return difference, float(ours)


def compare(setting: Setting, updates: int, precision: str) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Median seconds of an update and those of the processors, ours by the trainer and of the plain loop."""
    watch = Stopwatch(setting.device)
    plain = PlainLoop(setting, watch, dropout=True)
    batches = Alternating(ImageBatches(setting.visual, setting.batch, seed=1), plain, watch)
    with tempfile.TemporaryDirectory(prefix="finetuning-") as name:
        train(
            setting.captioner,
            setting.objective(Stopwatch(setting.device), dropout=True),
            batches,
            {**ADAM, "steps": updates + 2, "precision": precision},
            seed=1,
            log_path=Path(name, "training.parquet"),
            state_directory=Path(name, "state"),
            fingerprint="benchmark",
            device=setting.device,
        )
    # The first update of each allocates memory.
    ours, theirs = (tuple(map(statistics.median, zip(*of[1:], strict=True))) for of in (batches.ours, batches.theirs))
    return ours, theirs


def stages(setting: Setting) -> tuple[Stopwatch, Stopwatch]:
    """Where the time of an update goes, ours and that of the plain loop, both in float32."""
    batch = ImageBatches(setting.visual, setting.batch, seed=1)[0]
    ours, theirs = Stopwatch(setting.device), Stopwatch(setting.device)
    objective = setting.objective(ours, dropout=True)
    optimizer = build_optimizer(setting.captioner.parameters(), ADAM)

    def update() -> None:
        optimizer.zero_grad()
        loss, _ = objective.loss(setting.captioner, batch)
        ours.stage("backward", loss.backward)()
        ours.stage("optimizer", optimizer.step)()

    setting.captioner.log_probs = ours.stage("re-scoring", setting.captioner.log_probs)
    ours.measure(update)
    del setting.captioner.log_probs
    theirs.measure(partial(PlainLoop(setting, theirs, dropout=True).update, batch))
    return ours, theirs


def bytes_through_memory(setting: Setting, steps: int) -> dict[str, float]:
    """Bytes of parameters that our stages must move: read once in each pass, Adam's averages read and written."""
    captioner = setting.captioner
    table = 4.0 * captioner.gpt.lm_head.weight.numel()
    mapper, blocks = (4.0 * parameters(part) for part in (captioner.clip_project, captioner.gpt.transformer.h))
    text = 4.0 * parameters(setting.clip.model.transformer)
    return {
        "generation": mapper + steps * (blocks + table),
        "reward": text,
        "re-scoring": mapper + blocks + table,
        # Weights are read, and their gradients written.
        "backward": 2 * (mapper + blocks) + table,
        # Gradient, parameter and two averages are read, the last three written.
        "optimizer": 7 * (mapper + blocks),
    }


def parameters(module: nn.Module) -> int:
    """How many numbers a module learns."""
    return sum(parameter.numel() for parameter in module.parameters())


def seconds_of(work: Callable[[], Any], watch: Stopwatch) -> float:
    """The fewest seconds of five runs."""
    runs = []
    for _ in range(5):
        started = watch.now()
        work()
        runs.append(watch.now() - started)
    return min(runs)


def limits(device: str, size: int) -> tuple[float, float]:
    """Operations per second of a product of large matrices, and bytes per second of reading a large matrix."""
    large, vector = torch.randn(4 * size, 4 * size, device=device), torch.randn(4 * size, device=device)
    seconds = seconds_of(lambda: large @ vector, Stopwatch(device))
    return fastest_product(device, size), 4 * large.numel() / seconds


def print_cost_model(setting: Setting, most_words: int, size: int) -> None:
    """Print what each stage must compute and move, how long that takes at least, and what it took."""
    operations, bandwidth = limits(setting.device, size)
    print(f"a matrix product reaches {operations / 1e9:.0f} GFLOP/s, reading a matrix {bandwidth / 1e9:.1f} GB/s")
    ours, theirs = stages(setting)
    moved = bytes_through_memory(setting, min(most_words + 1, LONGEST))
    print("| stage | plain loop, GFLOP | s | ours, GFLOP | GB | at least, s | s | share |")
    print("|---|---|---|---|---|---|---|---|")
    least_of: dict[str, float] = {}
    for stage in STAGES:
        plain = f"{theirs.operations[stage] / 1e9:.1f} | {theirs.seconds[stage]:.3f}"
        if stage not in moved:
            print(f"| {stage} | {plain} | - | - | - | - | - |")
            continue
        least_of[stage] = max(ours.operations[stage] / operations, moved[stage] / bandwidth)
        print(
            f"| {stage} | {plain} | {ours.operations[stage] / 1e9:.1f} | {moved[stage] / 1e9:.2f} | "
            f"{least_of[stage]:.3f} | {ours.seconds[stage]:.3f} | {least_of[stage] / ours.seconds[stage]:.0%} |"
        )
    whole, least = sum(ours.seconds[stage] for stage in moved), sum(least_of.values())
    largest = max(moved, key=lambda stage: ours.seconds[stage])
    bound = "memory" if moved[largest] / bandwidth > ours.operations[largest] / operations else "matrix products"
    print(
        f"limit: {least:.2f} s an update; ours reaches {least / whole:.0%} of it; largest cost that remains: "
        f"{largest}, {ours.seconds[largest] / whole:.0%}, bound by {bound}"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark and print updates per second and the cost model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batch", type=int, default=8, help="images of an update; the paper has 100")
    parser.add_argument("--updates", type=int, default=5)
    parser.add_argument("--words", type=int, nargs=2, default=(8, 13), help="fewest and most words of a caption")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--precision", choices=["float32", "tf32", "bfloat16"], default="float32", help="of ours")
    parser.add_argument("--small", action="store_true", help="tiny models, to see whether this runs")
    given = parser.parse_args(arguments)
    if not 1 <= given.words[0] <= given.words[1] <= LONGEST:
        parser.error(f"--words must be two numbers from 1 to {LONGEST}, the fewest first")
    torch.set_num_threads(given.threads)
    setting = Setting(given.small, given.batch, given.words, given.device)
    checked = setting if given.device == "cpu" else Setting(given.small, min(given.batch, 8), given.words, "cpu")
    difference, loss = check(checked)
    freeze_token_embeddings(setting.captioner, setting.sizes["vocabulary"])
    print(f"same captions; losses of {loss:.4f} differ by {difference:.1e}", flush=True)
    ours, plain = compare(setting, given.updates, given.precision)
    print(
        f"batch {given.batch}, captions of {given.words[0]} to {given.words[1]} words, {given.precision}: "
        f"{1 / ours[0]:.3f} updates/s, plain loop {1 / plain[0]:.3f}: {plain[0] / ours[0]:.2f} times as fast; "
        f"of the processors {ours[1]:.2f} s an update, plain loop {plain[1]:.2f} s",
        flush=True,
    )
    print_cost_model(setting, given.words[1], 64 if given.small else 2048)


if __name__ == "__main__":
    main()
