"""Time the heavy work at real size, with random weights: what it reaches of the device, and what bounds it.

    python benchmarks/gpu.py [TASK ...] [--device cuda] [--precision float32 tf32 bfloat16] [--unreplayed]

Tasks: finetune (ClipCap, discriminative reward by CLIP ViT-B/32), embed (CLIP ViT-B/32, images), caption (ClipCap, five
beams), match (UNITER base on 36 regions), vinvl (VinVL base, five beams). A row of the table has items per second, the
operations of matrix products for an item as torch counts them, their share of what one large matrix product reaches on
the same device in the same precision, the share of time in which the GPU computes, and the peak of its memory. A GPU
that is busy for less than half of the time waits for Python; one that is busy and far from the matrix product waits for
memory.

With `--device cpu` it measures a processor, with smaller batches.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import torch
from products import counted, fastest_product, unreplayed

from captionlab.captioners.clipcap.captioner import ClipCap
from captionlab.captioners.vinvl.captioner import Vinvl
from captionlab.config.evaluations import Beam, Greedy
from captionlab.encoders.clip.encoder import MEAN, STD, Clip, build
from captionlab.generation.decoding import decode
from captionlab.jobs.provenance import device_name
from captionlab.networks.wordpiece import WordPieces
from captionlab.regions.batches import RegionBatch
from captionlab.regions.tagged_regions import TaggedRegions
from captionlab.scorers.scorer import NetworkScorer
from captionlab.scorers.uniter.scorer import Uniter
from captionlab.training.loop.batches import ImageBatches
from captionlab.training.loop.trainer import train
from captionlab.training.objectives.baselines import RunningMean
from captionlab.training.objectives.reinforce.objective import Reinforce
from captionlab.training.rewards.retrieval import Discriminative

CLIP_B32 = {
    "embed_dim": 512,
    "quick_gelu": True,
    "vision_cfg": {"image_size": 224, "layers": 12, "width": 768, "patch_size": 32},
    "text_cfg": {"context_length": 77, "vocab_size": 49408, "width": 512, "heads": 8, "layers": 12},
}
GPT2 = {"prefix_size": 512, "prefix_length": 10, "width": 768, "layers": 12, "heads": 12, "positions": 1024}
GPT2_VOCABULARY = 50257
BERT = {"positions": 512, "width": 768, "layers": 12, "heads": 12, "feed_forward": 3072}
# COCO's captions have about so many tokens; random weights do not end a caption by themselves.
TOKENS = 12
WORDS = ["a", "the", "man", "dog", "table", "red", "with", "on", "near", "large", "of", "in", "white", "street", "two"]
PRECISIONS = ("float32", "tf32", "bfloat16")
EMBEDDED = {"cuda": ("float16",), "cpu": ("float32",)}  # in which precision images are embedded, whatever is asked for


class Vocabulary:
    """A vocabulary of which only the end token is known."""

    def __init__(self, end: int):
        self.end, self.ends = end, (end,)


END, BERT_END = Vocabulary(GPT2_VOCABULARY - 1), Vocabulary(102)


@dataclass(frozen=True)
class Task:
    """Work that is done step by step: `run(steps)`, with so many items in a step."""

    items: int
    what: str
    run: Callable[[int], None]


def finetune(device: str, precision: str, batch: int) -> Task:
    """Updates of discriminative finetuning as in Dessì et al. 2023: greedy captions, distractors from the batch."""
    captioner = ClipCap(**GPT2, vocabulary=GPT2_VOCABULARY).to(device)
    visual = torch.randn(10 * batch, GPT2["prefix_size"], device=device)
    clip = random_clip(device)
    decoding = Greedy(kind="greedy", max_tokens=TOKENS)
    objective = Reinforce(
        generate=lambda model, visual: decode(model, visual, decoding, END).tokens,
        decode=in_words,
        ends=END.ends,
        reward=Discriminative("discriminative", clip.embed_texts, visual, batch, 100.0),
        baseline=RunningMean(),
    )

    def run(steps: int) -> None:
        optimizer = {"kind": "adam", "lr": 1e-7, "steps": steps, "precision": precision}
        with tempfile.TemporaryDirectory() as name:
            train(
                captioner,
                objective,
                ImageBatches(visual, batch, seed=1),
                optimizer,
                seed=1,
                log_path=Path(name, "training.parquet"),
                state_directory=Path(name, "state"),
                fingerprint="benchmark",
                device=device,
            )

    return Task(batch, "images", run)


def embed(device: str, precision: str, batch: int) -> Task:
    """Embedding of images that are decoded already; on a GPU CLIP computes in float16."""
    clip = random_clip(device)
    pixels = torch.randint(256, (batch, 3, 224, 224), dtype=torch.uint8)
    return repeated(batch, "images", device, precision, lambda: clip.embed_images(pixels))


def caption(device: str, precision: str, batch: int) -> Task:
    """Captions by beam search with five beams, as at test time."""
    captioner = ClipCap(**GPT2, vocabulary=GPT2_VOCABULARY).to(device).eval()
    visual = torch.randn(batch, GPT2["prefix_size"], device=device)
    decoding = Beam(kind="beam", max_tokens=TOKENS, beams=5)
    return repeated(batch, "images", device, precision, lambda: decode(captioner, visual, decoding, END))


def match(device: str, precision: str, batch: int) -> Task:
    """Matching scores of images and captions, the captions read anew for each."""
    pieces = ["[UNK]", "[CLS]", "[SEP]", *WORDS]
    words = WordPieces([*pieces, *(f"[{number}]" for number in range(28_996 - len(pieces)))])
    network = Uniter(28_996, region_size=2048, **BERT)
    scorer = NetworkScorer(network, words, Uniter.MATCHING).to(device).eval().requires_grad_(False)
    regions = RegionBatch(
        torch.randn(batch, 36, 2048), torch.rand(batch, 36, 4) * 100, torch.full((batch, 2), 300.0), [36] * batch
    ).to(device)
    captions = in_words(torch.randint(len(WORDS), (batch, TOKENS)))
    return repeated(
        batch, "pairs", device, precision, lambda: scorer.score(scorer.encode_image(regions), captions, batch=batch)
    )


def vinvl(device: str, precision: str, batch: int) -> Task:
    """Captions by VinVL from 30 word pieces of tags and 50 regions, five beams, up to 20 tokens."""
    captioner = Vinvl(vocabulary=30_522, region_size=2054, **BERT).to(device).eval()
    ones = torch.ones(batch, 80, dtype=torch.bool)
    images = TaggedRegions(
        torch.randint(30_000, (batch, 30)), ones[:, :30], torch.randn(batch, 50, 2054), ones[:, 30:]
    ).to(device)
    decoding = Beam(kind="beam", max_tokens=20, beams=5)
    return repeated(batch, "images", device, precision, lambda: decode(captioner, images, decoding, BERT_END))


TASKS = {"finetune": (finetune, 100), "embed": (embed, 256), "caption": (caption, 64), "match": (match, 256)}
TASKS["vinvl"] = (vinvl, 64)


def repeated(items: int, what: str, device: str, precision: str, step: Callable[[], object]) -> Task:
    """A task that calls a function, which trains nothing, for each step."""

    def run(steps: int) -> None:
        if device != "cpu":
            torch.set_float32_matmul_precision("high" if precision == "tf32" else "highest")
        with torch.autocast(device, torch.bfloat16, enabled=precision == "bfloat16"):
            for _ in range(steps):
                step()

    return Task(items, what, run)


def random_clip(device: str) -> Clip:
    """A CLIP ViT-B/32 with random weights."""
    return Clip(build(CLIP_B32), {"architecture": CLIP_B32, "image_mean": MEAN, "image_std": STD}, device)


def in_words(tokens: torch.Tensor) -> list[str]:
    """Captions with a word for each token; none occurs twice, so that each has to be read."""
    return [
        " ".join([str(row), *(WORDS[token % len(WORDS)] for token in ids[1:])])
        for row, ids in enumerate(tokens.tolist())
    ]


def seconds(task: Task, steps: int, device: str) -> float:
    """Seconds that so many steps take."""
    synchronise(device)
    start = time.perf_counter()
    task.run(steps)
    synchronise(device)
    return time.perf_counter() - start


def synchronise(device: str) -> None:
    """Wait until the device has done what it was given."""
    if device != "cpu":
        torch.cuda.synchronize()


def operations(task: Task) -> float:
    """Operations of the matrix products of a step."""
    # The counter does not know the one operation that stands for a whole attention layer.
    torch.backends.mha.set_fastpath_enabled(False)
    with counted() as counter:
        task.run(1)
    torch.backends.mha.set_fastpath_enabled(True)
    return float(counter.get_total_flops())


def busy_seconds(task: Task) -> float:
    """Seconds of a step in which the GPU computes."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        task.run(1)
        torch.cuda.synchronize()
    return sum(event.self_device_time_total for event in profile.key_averages()) / 1e6


def largest_speed(device: str, precision: str) -> float:
    """Operations per second of a large matrix product."""
    if device == "cpu":
        return fastest_product(device, 1024)
    size = 8192
    kind = {"bfloat16": torch.bfloat16, "float16": torch.float16}.get(precision, torch.float32)
    factor = torch.randn(size, size, device=device, dtype=kind)
    product = repeated(
        1, "products", device, precision if kind == torch.float32 else "float32", lambda: factor @ factor
    )
    product.run(3)
    return 10 * 2 * size**3 / seconds(product, 10, device)


def row(name: str, precision: str, device: str, batch: int | None, steps: int) -> str:
    """A row of the table."""
    make, usual = TASKS[name]
    torch.manual_seed(0)
    if device != "cpu":
        torch.cuda.empty_cache()  # what the row before it held
    task = make(device, precision, batch or usual)
    task.run(3)  # in the second of a GPU captions are recorded (captionlab.generation.replay)
    if device != "cpu":
        torch.cuda.reset_peak_memory_stats()
    # What a run takes beside its steps is in both.
    step = (seconds(task, steps + 2, device) - seconds(task, 2, device)) / steps
    memory = f"{torch.cuda.max_memory_reserved() / 1e9:.1f} GB" if device != "cpu" else "-"
    work = operations(task)
    share = work / step / largest_speed(device, precision)
    busy = f"{busy_seconds(task) / step:.0%}" if device != "cpu" else "-"
    speed = f"{task.items / step:.1f} {task.what}/s | {1 / step:.3f} | {work / task.items / 1e9:.1f}"
    return f"| {name} | {task.items} | {precision} | {speed} | {share:.0%} | {busy} | {memory} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="*", metavar="TASK", help=f"of {', '.join(TASKS)}; all without any")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument(
        "--precision", nargs="+", choices=PRECISIONS, default=None, help="default: all, on a CPU float32"
    )
    parser.add_argument("--batch", type=int, help="items of a step")
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument(
        "--unreplayed", action="store_true", help="captions step by step (captionlab.generation.replay)"
    )
    arguments = parser.parse_args()
    if unknown := set(arguments.tasks) - set(TASKS):
        parser.error(f"there is no task {', '.join(sorted(unknown))}; there are {', '.join(TASKS)}")
    if arguments.device == "cuda" and not torch.cuda.is_available():
        sys.exit("no GPU can be seen; --device cpu measures the processor")
    print(f"{device_name()}, torch {torch.__version__}, {torch.get_num_threads()} threads\n")
    print("| task | batch | precision | speed | steps/s | GFLOP each | of a product | GPU busy | GPU memory |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name in arguments.tasks or TASKS:
        usual = PRECISIONS if arguments.device == "cuda" else PRECISIONS[:1]
        for precision in EMBEDDED[arguments.device] if name == "embed" else arguments.precision or usual:
            with unreplayed() if arguments.unreplayed else nullcontext():
                print(row(name, precision, arguments.device, arguments.batch, arguments.steps), flush=True)


if __name__ == "__main__":
    main()
