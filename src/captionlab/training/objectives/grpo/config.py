"""Config of the objective grpo: rewards of captions of an image are compared with each other."""

from typing import Annotated, Literal

from pydantic import Field, NonNegativeFloat, PositiveInt

from captionlab.config.model import Ref
from captionlab.config.objectives import ObjectiveFacts
from captionlab.config.training import AnyReward, Objective

FACTS = ObjectiveFacts(dropout=False)


class Config(Objective):
    """Group relative policy optimisation (Shao et al. 2024, section 4.2; docs/fidelity.md says where it is silent)."""

    kind: Literal["grpo"]
    reward: AnyReward = Field(description="reward of a caption")
    decoding: Annotated[
        str,
        Ref(
            "decodings",
            accepts={
                "kind": ["sample"],
                "temperature": [None, 1],
                "top_k": [None],
                "top_p": [None, 1],
                "repetition_penalty": [None, 1],
                "rules": [None, "transformers"],
                "samples": [None, 1],
            },
            reason="does not draw by the probabilities of the captioner itself, which GRPO compares; write `kind: "
            "sample`, without temperature, top_k, top_p, repetition_penalty and rules, and without samples, which the "
            "objective has",
        ),
    ] = Field(description="decoding of the captions that are rewarded: a sample with unchanged probabilities")
    samples: Annotated[int, Field(ge=2)] = Field(
        8, description="captions that are drawn of each image, among which rewards are normalised"
    )
    updates: PositiveInt = Field(
        1, description="updates on one set of samples; an epoch has as many times more updates"
    )
    clip: Annotated[float, Field(gt=0, lt=1)] = Field(
        0.2, description="largest distance from 1 of the ratio of a token's probabilities now and when it was drawn"
    )
    kl: NonNegativeFloat = Field(
        0.04, description="factor on the divergence from the parent, per token, that is added to the loss"
    )
