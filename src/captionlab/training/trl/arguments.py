"""Arguments of TRL's trainers from the blocks `optimizer`, `objective` and `lora` of the config."""

import os
from collections.abc import Mapping
from typing import Any

# Schedules of captionlab by their names in transformers; each begins with the warmup.
SCHEDULES = {"constant": "constant_with_warmup", "linear": "linear", "cosine": "cosine"}


def arguments(
    config: Mapping[str, Any], seed: int, folder: str | os.PathLike[str], processes: int, device: str
) -> dict[str, Any]:
    """Return the keyword arguments of the arguments class of a trainer. Checkpoints are written into `folder`.

    `optimizer.batch` is divided among `processes`, and in each of them into `optimizer.accumulate` parts. With rewards,
    all captions of an image belong to one part. Raises ValueError if a batch cannot be divided.
    """
    optimizer, objective = config["optimizer"], config["objective"]
    parts = processes * optimizer.get("accumulate", 1)
    if optimizer["batch"] % parts:
        raise ValueError(
            f"optimizer.batch is {optimizer['batch']}, which {processes} processes cannot divide into parts of equal "
            f"size; set it to a multiple of {parts}"
        )
    precision = optimizer.get("precision", "float32")
    return {
        "output_dir": os.fspath(folder),
        "per_device_train_batch_size": optimizer["batch"] // parts * objective.get("samples", 1),
        "gradient_accumulation_steps": optimizer.get("accumulate", 1),
        "max_steps": optimizer.get("steps", -1),
        "num_train_epochs": optimizer.get("epochs", 1),
        "optim": "adamw_torch",
        "learning_rate": optimizer["lr"],
        "adam_beta1": optimizer.get("betas", (0.9, 0.999))[0],
        "adam_beta2": optimizer.get("betas", (0.9, 0.999))[1],
        "weight_decay": optimizer.get("weight_decay", 0.0),
        "lr_scheduler_type": SCHEDULES[optimizer.get("schedule", "constant")],
        "warmup_steps": optimizer.get("warmup", 0),
        "max_grad_norm": optimizer.get("clip_norm", 0.0),
        "bf16": precision == "bfloat16",
        "tf32": True if precision == "tf32" and device == "cuda" else None,
        "use_cpu": device == "cpu",
        "seed": seed,
        "data_seed": seed,
        "logging_steps": 1,
        "logging_nan_inf_filter": False,
        "save_strategy": "no",  # a callback asks for checkpoints
        "save_total_limit": 2,
        "remove_unused_columns": False,
        "dataloader_drop_last": True,
        "report_to": "none",
        "disable_tqdm": True,
        **_of_objective(objective, bool(config.get("use_vllm"))),
    }


def _of_objective(objective: Mapping[str, Any], use_vllm: bool) -> dict[str, Any]:
    """Return the arguments that only the trainer of an objective has."""
    if objective["kind"] == "cross-entropy":
        return {"completion_only_loss": True, "max_length": None}
    if objective["kind"] == "dpo":
        return {"beta": objective["beta"], "max_length": None, "disable_dropout": True}
    common = {
        "num_generations": objective["samples"],
        "max_completion_length": objective["decoding"]["max_tokens"],
        "beta": objective["kl"],
        "disable_dropout": True,
        "use_vllm": use_vllm,
    }
    if objective["kind"] == "grpo":
        # As captionlab.training.objectives.grpo: equations 3 and 4 of the paper.
        grouped = {"loss_type": "grpo", "scale_rewards": "group", "use_bias_correction_kl": False}
        return {**common, **grouped, "epsilon": objective["clip"], "num_iterations": objective["updates"]}
    return {**common, "temperature": objective["temperature"]}
