"""What rewards made of rewards share: the names of their parts."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from captionlab.training.loop.data import RewardModel, TrainingData
from captionlab.training.rewards.reward import Reward, Rewarded, build_reward


def named_rewards(
    parts: Sequence[Mapping[str, Any]], data: TrainingData, reward_models: Mapping[str, RewardModel]
) -> dict[str, Reward]:
    """Rewards under the name of their scorer or retriever, or their kind, with a number where that is there already."""
    found: dict[str, Reward] = {}
    for part in parts:
        name = plain = part.get("scorer", part.get("retriever", part["kind"]))
        while name in found:
            name = f"{plain}_{len(found) + 1}"
        found[name] = build_reward(part, data, reward_models)
    return found


def named_statistics(found: Mapping[str, Rewarded]) -> dict[str, torch.Tensor]:
    """Rewards and their statistics under names that tell them apart."""
    return {
        key: values
        for name, (reward, statistics) in found.items()
        for key, values in {f"reward_{name}": reward, **{f"{k}_{name}": v for k, v in statistics.items()}}.items()
    }
