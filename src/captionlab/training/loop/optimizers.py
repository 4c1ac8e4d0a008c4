"""Optimizers and learning-rate schedules, from the `optimizer` block of the config."""

import math
from collections.abc import Iterable
from typing import Any

import torch
from torch.optim.adam import adam


class Adam:
    """Adam (Kingma and Ba 2015), or AdamW (Loshchilov and Hutter 2019) if `decoupled`, by torch's own kernel.

    It stands for torch.optim.Adam because the first optimizer of that kind in a process imports torch's compiler, which
    takes longer than torch itself. Only matrices decay: gains, biases and single scales are left alone.
    """

    def __init__(
        self, parameters: Iterable[torch.nn.Parameter], betas: tuple[float, float], weight_decay: float, decoupled: bool
    ):
        """Optimise the parameters that are not frozen; ValueError when all are."""
        self.parameters = [parameter for parameter in parameters if parameter.requires_grad]
        if not self.parameters:
            raise ValueError("every parameter is frozen, so there is nothing to train")
        self.betas, self.decoupled = betas, decoupled
        self.decays = [weight_decay if parameter.ndim >= 2 else 0.0 for parameter in self.parameters]
        self.averages = [torch.zeros_like(parameter) for parameter in self.parameters]
        self.squares = [torch.zeros_like(parameter) for parameter in self.parameters]
        self.updates = [torch.zeros((), device=parameter.device) for parameter in self.parameters]

    @property
    def gradients(self) -> list[torch.Tensor]:
        """Gradients of the parameters that have one."""
        return [parameter.grad for parameter in self.parameters if parameter.grad is not None]

    def zero_grad(self) -> None:
        """Forget the gradients."""
        for parameter in self.parameters:
            parameter.grad = None

    @torch.no_grad()
    def step(self, lr: float) -> None:
        """Update the parameters that have a gradient."""
        for decay in sorted(set(self.decays)):
            chosen = [i for i, p in enumerate(self.parameters) if p.grad is not None and self.decays[i] == decay]
            if not chosen:
                continue
            adam(
                [self.parameters[i] for i in chosen],
                [gradient for i in chosen if (gradient := self.parameters[i].grad) is not None],
                [self.averages[i] for i in chosen],
                [self.squares[i] for i in chosen],
                [],
                [self.updates[i] for i in chosen],
                fused=True,
                decoupled_weight_decay=self.decoupled,
                amsgrad=False,
                beta1=self.betas[0],
                beta2=self.betas[1],
                lr=lr,
                weight_decay=decay,
                eps=1e-8,
                maximize=False,
            )

    def state_dict(self) -> dict[str, list[torch.Tensor]]:
        """Moving averages of gradients and of their squares, and numbers of updates."""
        return {"averages": self.averages, "squares": self.squares, "updates": self.updates}

    def load_state_dict(self, state: dict[str, list[torch.Tensor]]) -> None:
        """Go on from a saved state."""
        for name, values in self.state_dict().items():
            for value, saved in zip(values, state[name], strict=True):
                value.copy_(saved)


def build_optimizer(parameters: Iterable[torch.nn.Parameter], config: dict[str, Any]) -> Adam:
    """The optimizer of a config: `kind` (adam, adamw), and perhaps `betas` and `weight_decay` (default 0)."""
    if config["kind"] not in ("adam", "adamw"):
        raise ValueError(f"optimizer.kind is {config['kind']!r}; it must be adam or adamw")
    first, second = config.get("betas", (0.9, 0.999))
    return Adam(parameters, (first, second), float(config.get("weight_decay", 0.0)), config["kind"] == "adamw")


def learning_rate(config: dict[str, Any], step: int, steps: int, per_epoch: int = 1) -> float:
    """The learning rate of update number `step`, from 0, among `steps`: a pure function, so a schedule has no state.

    After `warmup` updates (default 0) with a rate that grows from 0 in equal steps, it stays (`constant`, the default),
    falls on a line to 0 (`linear`), or on half a cosine to 0 (`cosine`), as in transformers.get_scheduler; or, with
    `staircase`, it is multiplied by `decay` every `decay_epochs` epochs of `per_epoch` updates.
    """
    peak, warmup = float(config["lr"]), int(config.get("warmup", 0))
    if step < warmup:
        return peak * step / warmup
    share = (step - warmup) / max(1, steps - warmup)
    schedule = config.get("schedule", "constant")
    if schedule == "staircase":
        return peak * float(config["decay"]) ** (step // per_epoch // int(config["decay_epochs"]))
    return peak * {"constant": 1.0, "linear": 1 - share, "cosine": 0.5 * (1 + math.cos(math.pi * share))}[schedule]
