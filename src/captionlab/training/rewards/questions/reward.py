"""Reward of questions: the share of the questions about an image that a caption answers correctly."""

import logging
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import torch

from captionlab.questions.answering import Answerer, ImageQuestions, build_answerer
from captionlab.training.loop.batches import ImageBatch
from captionlab.training.loop.data import TrainingData
from captionlab.training.rewards.reward import Reward, Rewarded

logger = logging.getLogger(__name__)


def correct_share(
    questions: ImageQuestions, answerer: Answerer, ids: Sequence[str], batch: ImageBatch, captions: Sequence[str]
) -> Rewarded:
    """Return the share (B,) of questions that captions of a batch's images answer correctly.

    The statistic `unanswered` (B,) is the share that they do not answer. `ids` are the ids of the training images. An
    image without questions has the reward 0.
    """
    images = [ids[row] for row in batch.images[batch.rows].tolist()]
    correct, unanswered = [], []
    for of_caption in questions.outcomes(answerer, images, captions):
        outcomes = [outcome for _, outcome in of_caption]
        correct.append(outcomes.count(True) / max(1, len(outcomes)))
        unanswered.append(outcomes.count(None) / max(1, len(outcomes)))
    device = batch.images.device
    return torch.tensor(correct, device=device), {"unanswered": torch.tensor(unanswered, device=device)}


def build(config: Mapping[str, Any], data: TrainingData) -> Reward:
    """Return the reward by the set of questions that a block of the config names.

    Raises ValueError if no training image has a question.
    """
    asked = data.reward_models[f"questions/{config['questions']}"]
    questions = ImageQuestions(asked["table"])
    without = [image for image in data.ids if image not in questions]
    if len(without) == len(data.ids):
        raise ValueError(
            f"{asked['table']} has no question about a training image; add questions about images of the split train"
        )
    if without:
        logger.warning(
            "%d of %d training images have no question of %s and earn nothing, the first is %s",
            *(len(without), len(data.ids), config["questions"], without[0]),
        )
    return partial(correct_share, questions, build_answerer(asked["answerer"], config["questions"]), data.ids)
