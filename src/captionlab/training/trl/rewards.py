"""Rewards of captionlab as reward functions of TRL."""

from collections.abc import Callable, Sequence
from typing import Any

import torch

from captionlab.training.loop.batches import ImageBatch
from captionlab.training.loop.data import TrainingData
from captionlab.training.rewards.reward import Reward

# Prefix of the names of a reward's statistics in TRL's log.
STATISTIC = "statistic/"


def reward_function(reward: Reward, data: TrainingData, samples: int, updates: int) -> Callable[..., list[float]]:
    """Return a reward function of TRL that rewards captions of training images.

    The captions are read from the token ids of completions by the tokenizer of the captioner, so that the options of
    its `answer` hold. The images of all processes are the candidates of a retrieval reward. Each image has `samples`
    captions, which are used for `updates` updates. STATISTIC is put before the names of a reward's statistics.
    """
    from accelerate.utils import gather_object

    row = {image: number for number, image in enumerate(data.ids)}

    def rewarded(
        completion_ids: Sequence[Sequence[int]],
        image_id: Sequence[str],
        trainer_state: Any,
        log_metric: Callable[[str, float], None],
        **_: Any,
    ) -> list[float]:
        own = list(image_id[::samples])
        if [image for image in own for _ in range(samples)] != list(image_id):
            raise ValueError(
                f"the {samples} captions of an image are divided among processes; set optimizer.batch to a multiple of "
                "the number of processes"
            )
        every = gather_object(own)
        batch = ImageBatch(
            torch.tensor([row[image] for image in own], device=data.device),
            torch.tensor([row[image] for image in every], device=data.device),
            start=_rank() * len(own),
            step=trainer_state.global_step // updates,
            captions=samples,
        )
        rewards, statistics = reward(batch, data.tokenizer.decode(completion_ids))
        for name, values in statistics.items():
            log_metric(f"{STATISTIC}{name}", float(values.float().mean()))
        return [float(value) for value in rewards]

    return rewarded


def _rank() -> int:
    from accelerate import PartialState

    return int(PartialState().process_index)
