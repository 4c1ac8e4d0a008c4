"""Finetune a captioner of the Hugging Face hub by a trainer of TRL."""

import json
import logging
import os
import shutil
import signal
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from captionlab.captioners.adapters import PREFIX, adapter_settings, load_adapters, merge_adapters, new_adapters
from captionlab.captioners.captioner import Captioner
from captionlab.captioners.prompts import processor_of
from captionlab.captioners.store import load_captioner
from captionlab.jobs.processes import is_first, one_after_another, processes, wait_for_all
from captionlab.jobs.scripting import device, folder_of
from captionlab.networks.tokenizer import Tokenizer
from captionlab.storage.files import replacing, replacing_folder
from captionlab.tracking.tracker import NOBODY
from captionlab.tracking.updates import Update
from captionlab.training.captioners import save_trained
from captionlab.training.loop.checkpoints import Training, remove
from captionlab.training.loop.data import TrainingData
from captionlab.training.loop.examples import Examples
from captionlab.training.loop.trainer import Log, stop_requests
from captionlab.training.objectives.dpo.objective import Pairs, draw_pairs
from captionlab.training.rewards.reward import build_reward
from captionlab.training.trl.arguments import arguments
from captionlab.training.trl.dataset import dataset_of, with_pairs, with_references
from captionlab.training.trl.rewards import reward_function

logger = logging.getLogger(__name__)

# The file that transformers writes last into the folder of a checkpoint.
STATE = "trainer_state.json"


@dataclass(frozen=True)
class Job:
    """A training by TRL as a rule requests it. It is written as JSON for processes that accelerate launches."""

    parent: str
    """folder of the captioner that is trained"""
    training: Training
    fingerprint: str
    """digest of everything that determines the training"""
    data: Mapping[str, Any]
    """`images`, `features`, `captions` and `reward_models` of TrainingData"""
    training_captions: str
    """table of examples, which stays empty"""
    snapshots: str
    """folder of snapshots, which stays empty"""

    def write(self, path: Path) -> None:
        """Write the job as a file."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(asdict(self)), encoding="utf-8")

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> "Job":
        """Return the job in a file."""
        content = json.loads(Path(path).read_text(encoding="utf-8"))
        return cls(**{**content, "training": Training(**content["training"])})

    @property
    def folder(self) -> Path:
        """Return the folder of the checkpoints of this training."""
        return Path(self.training.state) / self.fingerprint[:16]


def run(job: Job) -> None:
    """Train the captioner of a job, or continue from its newest checkpoint, and write its files.

    Every process calls this function. The first process writes. On SIGTERM or SIGINT, a checkpoint is written, and
    SystemExit is raised with 128 + the signal. Raises FloatingPointError, and writes nothing, if a loss is not finite.
    """
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")  # TRL would report each training
    from accelerate import PartialState

    PartialState(cpu=device() == "cpu")  # joins the processes and chooses the GPU of this process
    config, seed = job.training.params["config"], job.training.params["seed"]
    captioner, tokenizer = _parent_of(job)
    data = TrainingData(
        **job.data, device=device(), batch=config["optimizer"]["batch"], seed=seed, captioner=captioner,
        tokenizer=tokenizer,
    )  # fmt: skip
    with one_after_another():
        _keep_only(job.folder)
    near_parent = config["objective"].get("kl") or config["objective"].get("beta")
    if (near_parent and "lora" not in config) or config.get("use_vllm"):
        _give_path(captioner, tokenizer, job.folder / "parent")
    trainer = build_trainer(job, captioner, tokenizer, data)
    accelerator = trainer.accelerator
    _check_division(accelerator)
    _train(trainer, job)
    state = accelerator.get_state_dict(trainer.model_wrapped)
    if is_first():
        trained, _ = _parent_of(job)
        load_trained(trained, {name: value.cpu() for name, value in state.items()}, job)
        _log_of(trainer).write(job.training.log)
        Examples().write(job.training_captions)
        with replacing_folder(Path(job.snapshots)):
            pass
        save_trained(job.training, trained, tokenizer, folder_of(job.training.weights))
        remove(job.training.state)
    wait_for_all()


def _check_division(accelerator: Any) -> None:
    """Log how many processes train. Raises ValueError if accelerate does not divide the model as its file says."""
    found = accelerator.distributed_type.value
    logger.info("Processes that train: %d, as %s.", accelerator.num_processes, found)
    if os.environ.get("ACCELERATE_USE_FSDP") == "true" and found != "FSDP":
        raise ValueError(
            f"the file of accelerate asks for FSDP, and accelerate trains as {found}: it divides no model among "
            "processes on a CPU; train on GPUs, or write `distributed_type: MULTI_GPU`"
        )


def build_trainer(job: Job, captioner: Any, tokenizer: Tokenizer, data: TrainingData) -> Any:
    """Return the trainer of TRL for the objective of a job: of SFT, DPO, GRPO or RLOO."""
    import trl

    config = job.training.params["config"]
    objective = config["objective"]
    rewards: dict[str, Any] = {}
    trainer: Any
    settings: Any
    columns: Mapping[str, Sequence[str]]
    if objective["kind"] == "cross-entropy":
        trainer, settings, columns = trl.SFTTrainer, trl.SFTConfig, with_references(data)
    elif objective["kind"] == "dpo":
        trainer, settings, columns = trl.DPOTrainer, trl.DPOConfig, with_pairs(data, _pairs(job, data))
    else:
        grpo, columns = objective["kind"] == "grpo", {"image_id": data.ids}
        trainer, settings = (trl.GRPOTrainer, trl.GRPOConfig) if grpo else (trl.RLOOTrainer, trl.RLOOConfig)
        reward = build_reward(objective["reward"], data)
        rewards["reward_funcs"] = reward_function(reward, data, objective["samples"], objective.get("updates", 1))
    options = arguments(config, job.training.params["seed"], job.folder, processes(), device())
    options["gradient_checkpointing"] = captioner.model.supports_gradient_checkpointing
    processor = processor_of(captioner.architecture["files"], tokenizer)
    processor.tokenizer.padding_side = "left"  # as TRL expects it
    return trainer(
        model=captioner.model,
        args=settings(**options),
        processing_class=processor,
        train_dataset=dataset_of(data, columns),
        peft_config=_adapters(captioner, config),
        **rewards,
    )


def _pairs(job: Job, data: TrainingData) -> Pairs:
    """Return the pairs of captions of a training by DPO. The first process draws them before the first update."""
    file = job.folder / "pairs.json"
    if is_first() and not file.is_file():
        data.captioner.to(data.device)
        pairs = draw_pairs(job.training.params["config"]["objective"], data)
        with replacing(file) as path:
            path.write_text(json.dumps([*pairs.items()]), encoding="utf-8")
    wait_for_all()
    return {row: pair for row, pair in json.loads(file.read_text(encoding="utf-8"))}


def load_trained(captioner: Any, state: Mapping[str, Tensor], job: Job) -> None:
    """Load the tensors of a trained model of transformers or peft into the captioner that was trained.

    If the config has `lora`, the captioner gets adapters.
    """
    config, part = job.training.params["config"], captioner.exported_part
    if "lora" not in config:
        captioner.model.load_state_dict(dict(state))
        return
    new_adapters(captioner, config["lora"], job.parent, job.training.params["seed"])
    adapters = {
        f"{part}.{name.removeprefix(PREFIX)}".replace(".default.", "."): value
        for name, value in state.items()
        if ".lora_" in name
    }
    load_adapters(captioner, adapters, job.training.weights)


def _parent_of(job: Job) -> tuple[Captioner[Any], Tokenizer]:
    captioner, tokenizer = load_captioner(job.parent)
    merge_adapters(captioner)
    return captioner, tokenizer


def _adapters(captioner: Captioner[Any], config: Mapping[str, Any]) -> Any:
    """Return the adapters of a config for the model of a captioner, as peft describes them, or None."""
    if "lora" not in config:
        return None
    from peft import LoraConfig

    settings = adapter_settings(captioner, config["lora"])
    part = f"{captioner.exported_part}."
    return LoraConfig(**{**settings, "target_modules": [n.removeprefix(part) for n in settings["target_modules"]]})


def _give_path(captioner: Any, tokenizer: Tokenizer, folder: Path) -> None:
    """Write the model of a captioner into a folder, from which TRL reads it again as its reference or for vLLM."""
    if is_first():
        captioner.export(tokenizer, folder, {})
    wait_for_all()
    captioner.model.config.name_or_path = str(folder)


def _keep_only(folder: Path) -> None:
    """Delete the checkpoints of other trainings and unfinished checkpoints."""
    folder.mkdir(parents=True, exist_ok=True)
    if is_first():
        others = [path for path in folder.parent.iterdir() if path.is_dir() and path != folder]
        for path in [*others, *(path for path in folder.glob("checkpoint-*") if not (path / STATE).is_file())]:
            shutil.rmtree(path)


def _newest(folder: Path) -> Path | None:
    """Return the newest checkpoint in a folder, or None if there is none."""
    return max(folder.glob("checkpoint-*"), key=lambda path: int(path.name.rpartition("-")[2]), default=None)


def _train(trainer: Any, job: Job) -> None:
    """Train, and raise SystemExit if a signal stopped the training."""
    from captionlab.training.trl.callbacks import Following

    options = {f"checkpoint_{name}": value for name, value in job.training.checkpoints.items()}
    every = job.training.params["config"]["objective"].get("updates", 1)
    newest = _newest(job.folder)
    tracker = job.training.tracker(job.fingerprint) if is_first() else NOBODY
    with stop_requests() as stop, tracker.following(_history(newest)):
        following = Following(stop, tracker, device(), every, **options)
        trainer.add_callback(following)
        trainer.train(resume_from_checkpoint=None if newest is None else str(newest))
    if following.stopped_by and trainer.state.global_step < trainer.state.max_steps:
        name = signal.Signals(following.stopped_by).name
        logger.warning("Stopped by %s after update %d; run again to go on.", name, trainer.state.global_step)
        raise SystemExit(128 + following.stopped_by)


def _history(checkpoint: Path | None) -> list[Update]:
    """Return the updates before a checkpoint, as trackers show them."""
    from captionlab.training.trl.callbacks import statistics_of

    if checkpoint is None:
        return []
    entries = json.loads((checkpoint / STATE).read_text(encoding="utf-8"))["log_history"]
    return [Update(entry["step"], statistics_of(entry), ()) for entry in entries if "loss" in entry]


def _log_of(trainer: Any) -> Log:
    """Return the log of a training."""
    from captionlab.training.trl.callbacks import statistics_of

    state = trainer.state
    log, per_epoch = Log(state.max_steps), -(-state.max_steps // state.num_train_epochs)
    for entry in state.log_history:
        if "loss" in entry:
            log.add(entry["step"], (entry["step"] - 1) // per_epoch, statistics_of(entry))
    return log
