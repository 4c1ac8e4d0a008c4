"""Config of the objective cross-entropy: the references of images are learnt."""

from typing import Annotated, Literal

from pydantic import Field, PositiveFloat, PositiveInt

from captionlab.config.model import Model, Portion
from captionlab.config.objectives import ObjectiveFacts
from captionlab.config.training import Objective

FACTS = ObjectiveFacts(of_references=True)


class Teacher(Model):
    """A running mean of the captioner, from whose logits it learns, as in CaMEL (Barraco et al. 2022)."""

    weight: PositiveFloat = Field(0.1, description="factor on the distance from the teacher's logits")
    decay: Annotated[float, Field(gt=0, lt=1)] = Field(0.999, description="decay of the teacher's running mean")


class ScheduledSampling(Model):
    """Words of the captioner as its inputs, in place of words of the reference (Bengio et al. 2015)."""

    increase: PositiveFloat = Field(description="amount by which the probability of a sampled word grows")
    epochs: PositiveInt = Field(description="epochs between two increases")
    maximum: Portion = Field(description="largest probability")


class Config(Objective):
    """Cross-entropy of references."""

    kind: Literal["cross-entropy"]
    captions_per_image: PositiveInt = Field(
        1, description="references of each image of a batch; drawn again where an image has fewer"
    )
    teacher: Teacher | None = Field(
        None, description="a running mean of the captioner that it stays near; `camel` and `blip` only"
    )
    scheduled_sampling: ScheduledSampling | None = Field(
        None, description="the captioner reads words that it sampled; `newfc` only"
    )
