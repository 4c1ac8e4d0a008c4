"""Optimizers and learning-rate schedules, from the `optimizer` block of the config."""

import math
from collections.abc import Iterable
from typing import Any

import torch


def build_optimizer(parameters: Iterable[torch.nn.Parameter], config: dict[str, Any]) -> torch.optim.Optimizer:
    """Make the optimizer over the parameters that are not frozen.

    `config` has `kind` (adam, adamw) and `lr`, and may have `betas` and `weight_decay` (default 0). Only matrices
    decay: gains, biases and single scales are left alone, as is usual for transformers.
    """
    trained = [parameter for parameter in parameters if parameter.requires_grad]
    if not trained:
        raise ValueError("every parameter is frozen, so there is nothing to train")
    decay = float(config.get("weight_decay", 0.0))
    groups = [
        {"params": [p for p in trained if p.ndim >= 2], "weight_decay": decay},
        {"params": [p for p in trained if p.ndim < 2], "weight_decay": 0.0},
    ]
    kinds = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}
    if config["kind"] not in kinds:
        raise ValueError(f"optimizer.kind is {config['kind']!r}; it must be {' or '.join(kinds)}")
    betas = tuple(config.get("betas", (0.9, 0.999)))
    return kinds[config["kind"]](
        [group for group in groups if group["params"]], lr=float(config["lr"]), betas=betas, fused=True
    )


def total_steps(config: dict[str, Any], per_epoch: int) -> int:
    """Number of updates: `steps` of the config, or its `epochs` times the batches of an epoch."""
    if ("steps" in config) == ("epochs" in config):
        raise ValueError("the optimizer needs either `steps` or `epochs`, and not both")
    return int(config["steps"]) if "steps" in config else int(config["epochs"]) * per_epoch


def learning_rate(config: dict[str, Any], step: int, steps: int) -> float:
    """The learning rate of update number `step`, from 0, among `steps`: a pure function, so a schedule has no state.

    After `warmup` updates (default 0) with a rate that grows from 0 in equal steps, it stays (`constant`, the default),
    falls on a line to 0 (`linear`), or on half a cosine to 0 (`cosine`), as in transformers.get_scheduler.
    """
    peak, warmup = float(config["lr"]), int(config.get("warmup", 0))
    if step < warmup:
        return peak * step / warmup
    share = (step - warmup) / max(1, steps - warmup)
    schedule = config.get("schedule", "constant")
    if schedule == "constant":
        return peak
    if schedule == "linear":
        return peak * (1 - share)
    if schedule == "cosine":
        return peak * 0.5 * (1 + math.cos(math.pi * share))
    raise ValueError(f"optimizer.schedule is {schedule!r}; it must be constant, linear or cosine")
