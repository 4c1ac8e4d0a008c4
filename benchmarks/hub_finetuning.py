"""Time updates of GRPO with adapters on a model of the hub at real size, beside a plain loop of transformers and peft.

    python benchmarks/hub_finetuning.py [--images 8] [--samples 2] [--words 12] [--rounds 3] [--threads 2] [--small]

A model of the shape of SmolVLM-256M with random weights and adapters on all linear layers of its language side. The
plain loop gives the processor's pixels to `generate`, to the pass that scores the captions and to a second model that
the divergence is from. Ours reads a table of what the image side makes of the images, and for the divergence turns the
adapters off. Both are told the same rewards. On the same captions both must have the same loss to 1e-5 and the same
gradients to 1e-4 of their norm, which is checked first. Updates of both alternate. `--only ours` or `--only plain`
tells the memory of one of them.
"""

import argparse
import copy
import resource
import statistics
import time
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from captionlab.captioners.adapters import add_adapters
from captionlab.captioners.transformers import HubCaptioner
from captionlab.generation.contract import Decoding
from captionlab.networks import hub
from captionlab.training.loop.batches import ImageBatch
from captionlab.training.loop.optimizers import build_optimizer
from captionlab.training.objectives.grpo import Grpo, group_advantages
from captionlab.training.parent import frozen_parent

OPTIMIZER = {"kind": "adam", "lr": 1e-4}
LORA = {"r": 8, "lora_alpha": 16, "lora_dropout": 0.0}
CLIP, KL = 0.2, 0.04
WORDS_BEFORE = [100, 101, 102]  # of the prompt
PLACEHOLDER, END, VOCABULARY = 49190, 49154, 49280


def shape_of(small: bool) -> dict[str, Any]:
    """The config of HuggingFaceTB/SmolVLM-256M-Instruct, or one with few layers and small images."""
    vision = {"hidden_size": 768, "intermediate_size": 3072, "num_hidden_layers": 12, "num_attention_heads": 12}
    text = {"hidden_size": 576, "intermediate_size": 1536, "num_hidden_layers": 30, "num_attention_heads": 9}
    text |= {"model_type": "llama", "num_key_value_heads": 3, "vocab_size": VOCABULARY, "pad_token_id": 2}
    vision |= {"image_size": 512, "patch_size": 16}
    if small:
        vision |= {"num_hidden_layers": 1, "image_size": 256}
        text |= {"num_hidden_layers": 3}
    ids = {"image_token_id": PLACEHOLDER, "pad_token_id": 2}
    return {"model_type": "smolvlm", "vision_config": vision, "text_config": text, "scale_factor": 4, **ids}


def rewards_of(captions: int) -> Tensor:
    """The same rewards for both ways."""
    return torch.rand(captions, generator=torch.Generator().manual_seed(1))


class Ours:
    """captionlab's objective on a captioner that reads a table of features."""

    def __init__(self, whole: Any, prompt: list[int], features: Tensor, arguments: argparse.Namespace):
        config = shape_of(arguments.small)
        self.captioner = HubCaptioner(
            config["text_config"]["hidden_size"],
            config,
            VOCABULARY,
            END,
            {"input_ids": prompt},
            "table",
            True,
            {},
            [PLACEHOLDER],
        )
        own = self.captioner.model.state_dict()
        self.captioner.model.load_state_dict({n: value for n, value in whole.state_dict().items() if n in own})
        adapt(self.captioner, self.captioner.linear_layers())
        tokenizer: Any = SimpleNamespace(end=END, size=VOCABULARY, decode=lambda tokens: ["" for _ in tokens])
        decoding = Decoding("sample", arguments.words)
        self.objective = Grpo(
            tokenizer,
            decoding,
            lambda batch, captions: (rewards_of(len(captions)), {}),
            samples=arguments.samples,
            clip=CLIP,
            kl=KL,
            parent=frozen_parent(self.captioner),
        )
        self.batch = ImageBatch(features, torch.arange(len(features)))
        self.stepper = build_optimizer(self.captioner.parameters(), OPTIMIZER)
        self.steps = 0

    def loss(self) -> Tensor:
        """The loss of captions that it draws, with its gradient."""
        self.steps += 1
        batch = ImageBatch(self.batch.visual, self.batch.images, step=self.steps)
        return self.objective.loss(self.captioner, batch)[0]

    def update(self) -> None:
        """One update."""
        self.stepper.zero_grad()
        self.loss().backward()
        self.objective.end_batch()
        self.stepper.step(OPTIMIZER["lr"])


class Plain:
    """What one writes with transformers and peft."""

    def __init__(self, whole: Any, prompt: list[int], pixels: Tensor, arguments: argparse.Namespace):
        self.parent, self.model = copy.deepcopy(whole).requires_grad_(False), whole
        layers = [n for n, m in whole.named_modules() if isinstance(m, torch.nn.Linear) and "text_model" in n]
        self.adapted = torch.nn.ModuleDict({"model": whole})
        adapt(self.adapted, [f"model.{name}" for name in layers])
        self.prompt = torch.tensor([prompt]).expand(len(pixels), -1)
        self.pixels, self.samples, self.words = pixels, arguments.samples, arguments.words
        self.stepper = build_optimizer(whole.parameters(), OPTIMIZER)

    def captions(self) -> Tensor:
        """Captions (images * samples, words) that it draws."""
        found = self.model.generate(
            input_ids=self.prompt,
            pixel_values=self.pixels,
            do_sample=True,
            top_k=0,
            num_return_sequences=self.samples,
            max_new_tokens=self.words,
            min_new_tokens=self.words,
            eos_token_id=END,
            pad_token_id=2,
        )
        return found[:, self.prompt.shape[1] :]

    def log_probs(self, model: Any, tokens: Tensor) -> Tensor:
        """Log-probabilities of their tokens."""
        words = torch.cat([self.prompt.repeat_interleave(self.samples, 0), tokens[:, :-1]], 1)
        logits = model(input_ids=words, pixel_values=self.pixels.repeat_interleave(self.samples, 0), use_cache=False)
        said = logits.logits[:, self.prompt.shape[1] - 1 :].index_fill(-1, torch.tensor([PLACEHOLDER]), -torch.inf)
        return said.log_softmax(-1).gather(-1, tokens[:, :, None])[..., 0]

    def loss(self, tokens: Tensor) -> Tensor:
        """The loss of captions, with its gradient."""
        found = self.log_probs(self.model, tokens)
        with torch.no_grad():
            before = self.log_probs(self.parent, tokens)
        advantages = group_advantages(rewards_of(len(tokens)).view(-1, self.samples)).flatten()[:, None]
        ratio = (found - found.detach()).exp()
        gain = torch.minimum(ratio * advantages, ratio.clamp(1 - CLIP, 1 + CLIP) * advantages)
        apart = (before - found).exp() - (before - found) - 1
        return -(gain - KL * apart).mean(1).mean()

    def update(self) -> None:
        """One update."""
        self.model.train()
        self.stepper.zero_grad()
        self.loss(self.captions()).backward()
        self.stepper.step(OPTIMIZER["lr"])


def adapt(network: Any, layers: list[str]) -> None:
    """Adapters of the same random numbers, not at 0, so that the divergence is none."""
    torch.manual_seed(3)
    add_adapters(network, {**LORA, "target_modules": layers}, {})
    drawn = torch.Generator().manual_seed(4)
    for name, value in network.named_parameters():
        if "lora_" in name:
            value.data = torch.randn(value.shape, generator=drawn) * 0.05


def check(ours: Ours, plain: Plain) -> float:
    """The loss of the captions that ours draws, the same by both to 1e-5; AssertionError for other gradients."""
    torch.manual_seed(5)
    loss = ours.loss()
    loss.backward()
    tokens = ours.objective.held[0]["tokens"] if ours.objective.held else ours.objective.drawn[0]["tokens"]
    other = plain.loss(tokens)
    other.backward()
    torch.testing.assert_close(loss, other, atol=1e-5, rtol=0)
    gradients = [torch.cat([g.flatten() for g in way.stepper.gradients]) for way in (ours, plain)]
    apart = float((gradients[0] - gradients[1]).norm() / gradients[1].norm())
    assert apart < 1e-4, f"gradients are {apart:.1e} of their norm apart"
    ours.objective.drawn.clear()
    print(f"loss {loss.item():.6f} and {other.item():.6f}, gradients {apart:.1e} of their norm apart")
    return loss.item()


def main() -> None:
    """Check both ways, then time them in turn."""
    parser = argparse.ArgumentParser()
    for name, default in {"images": 8, "samples": 2, "words": 12, "rounds": 3, "threads": 2}.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--only", choices=("ours", "plain"))
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(0)
    config = shape_of(arguments.small)
    whole = hub.build(config).eval()
    size = config["vision_config"]["image_size"]
    pixels = torch.randn(arguments.images, 1, 3, size, size)
    with torch.no_grad():
        features = torch.stack(list(hub.image_features(whole, hub.type_of(config), {"pixel_values": pixels})))
    prompt = [*WORDS_BEFORE, *[PLACEHOLDER] * features.shape[1], *WORDS_BEFORE]
    ways = {}
    if arguments.only != "plain":
        ways["ours"] = Ours(whole, prompt, features, arguments)
    if arguments.only != "ours":
        ways["plain"] = Plain(whole, prompt, pixels, arguments)
    else:
        del whole
    if not arguments.only:
        check(ways["ours"], ways["plain"])
    seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for _ in range(arguments.rounds):
        for name, way in ways.items():
            started = time.perf_counter(), time.process_time()
            way.update()
            seconds[name].append((time.perf_counter() - started[0], time.process_time() - started[1]))
    for name, times in seconds.items():
        wall, cpu = (statistics.median(one) for one in zip(*times, strict=True))
        print(f"{name}: {wall:.2f} s, {cpu:.2f} s of the processors, of {[round(one[0], 2) for one in times]}")
    if len(ways) == 2:
        ratios = [statistics.median(p[i] / o[i] for o, p in zip(*seconds.values(), strict=True)) for i in (0, 1)]
        print(f"plain / ours: {ratios[0]:.2f} in seconds, {ratios[1]:.2f} in seconds of the processors")
    print(f"largest memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB")


if __name__ == "__main__":
    main()
