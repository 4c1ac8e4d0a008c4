"""Config of the objective reinforce: captions of the captioner are rewarded."""

from typing import Annotated, Literal

from pydantic import Field

from captionlab.config.model import Ref
from captionlab.config.objectives import ObjectiveFacts
from captionlab.config.training import LogProb, ObjectiveOfRewards

FACTS = ObjectiveFacts()


class Config(ObjectiveOfRewards):
    """REINFORCE (Williams 1992) with a reward of captions."""

    kind: Literal["reinforce"]
    baseline: Literal["none", "running-mean"] = Field(description="number that is subtracted from the reward")
    decoding: Annotated[
        str,
        Ref(
            "decodings",
            refuses={"kind": ["beam"]},
            accepts={"samples": [None, 1]},
            reason="is a beam search, or draws several captions of an image; REINFORCE needs one that is greedy or "
            "sampled",
        ),
    ] = Field(description="decoding of the captions that are rewarded, greedy or sample")
    dropout: bool = Field(True, description="whether there is dropout while captions are generated")
    log_prob: LogProb | None = Field(
        None,
        description="log-probability of a caption over its tokens; mean: the end is counted and not scored. By default "
        "`mean`, for `blip` and `camel` `mean-with-end`",
    )
    freeze_embeddings: bool | None = Field(
        None,
        description="whether token embeddings and output matrix are fixed. By default true, for `blip` and `camel` "
        "false",
    )
