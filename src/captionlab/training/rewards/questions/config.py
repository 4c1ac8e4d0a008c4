"""Config of the reward questions."""

from typing import Annotated, Literal

from pydantic import Field

from captionlab.config.model import Ref
from captionlab.config.rewards import RewardFacts
from captionlab.config.training import Reward

FACTS = RewardFacts(asks="questions")


class Config(Reward):
    """Questions about the image that a caption answers correctly."""

    kind: Literal["questions"]
    questions: Annotated[str, Ref("questions")] = Field(
        description="set of questions about images of the training corpus"
    )
