"""Config of the objective dpo: of two captions of an image, the caption with the larger reward is preferred."""

from typing import Annotated, Literal

from pydantic import Field, PositiveFloat

from captionlab.config.model import Ref
from captionlab.config.objectives import ObjectiveFacts
from captionlab.config.training import AnyReward, Objective

FACTS = ObjectiveFacts(dropout=False)


class Config(Objective):
    """Direct preference optimisation (Rafailov et al. 2023) on pairs of captions that the parent samples."""

    kind: Literal["dpo"]
    reward: AnyReward = Field(description="reward of a caption, which says which caption of a pair is better")
    decoding: Annotated[
        str,
        Ref(
            "decodings",
            accepts={"kind": ["sample"], "samples": [None, 1]},
            reason="must draw one caption at a time: write `kind: sample`, without samples",
        ),
    ] = Field(description="decoding of the two captions of an image, a sample")
    beta: PositiveFloat = Field(0.1, description="strength of the constraint to stay near the parent")
