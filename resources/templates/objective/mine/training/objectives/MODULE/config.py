"""Config of the objective NAME: the best of several samples is learnt."""

from typing import Annotated, Literal

from pydantic import Field

from captionlab.config.model import Ref
from captionlab.config.objectives import ObjectiveFacts
from captionlab.config.training import AnyReward, Objective

FACTS = ObjectiveFacts()
Sampling = Ref("decodings", accepts={"kind": ["sample"]}, reason="must draw samples")


class Config(Objective):
    """The best of several samples is learnt like a reference (Dong et al. 2023)."""

    kind: Literal["NAME"]
    reward: AnyReward = Field(description="reward of a caption")
    decoding: Annotated[str, Sampling] = Field(description="decoding of the samples")
    samples: Annotated[int, Field(ge=2)] = Field(4, description="captions that are drawn of each image")
