"""Config of the objective self-critical: rewards of samples are compared with the reward of the greedy caption."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, NonNegativeFloat, PositiveFloat, PositiveInt

from captionlab.config.model import Ref
from captionlab.config.objectives import ObjectiveFacts
from captionlab.config.training import LogProb, ObjectiveOfRewards

FACTS = ObjectiveFacts()


class Config(ObjectiveOfRewards):
    """Self-critical sequence training (Rennie et al. 2017)."""

    kind: Literal["self-critical"]
    decoding: Annotated[
        str,
        Ref(
            "decodings",
            refuses={"kind": ["sample", "beam"]},
            reason="must be greedy: it makes the baseline, and samples end as it does",
        ),
    ] = Field(description="greedy decoding of the baseline; samples end by the same rules")
    samples: PositiveInt = Field(5, description="captions that are drawn of each image")
    search: (
        Annotated[
            str,
            Ref(
                "decodings",
                accepts={"kind": ["beam"]},
                reason="must be a beam search: without the key, captions that learn are samples",
            ),
        ]
        | None
    ) = Field(None, description="beam search that makes the one caption of an image that learns, in place of samples")
    baseline: Literal["greedy", "leave-one-out"] = Field(
        "greedy", description="reward of the greedy caption, made without dropout, or mean reward of the other samples"
    )
    temperature: PositiveFloat = Field(
        1.0, description="temperature of the samples; near 0 they are greedy captions, which differ by dropout alone"
    )
    dropout: bool = Field(True, description="whether there is dropout while captions are sampled")
    log_prob: LogProb | None = Field(
        None,
        description="as for reinforce, a mean over captions; without it, a mean over the tokens of all captions",
    )
    freeze_embeddings: bool = Field(False, description="whether token embeddings and output matrix are fixed")
    scale: PositiveFloat = Field(1.0, description="factor on rewards")
    kl: NonNegativeFloat = Field(
        0.0, description="factor on the divergence from the parent, per token, that is subtracted from a reward"
    )

    def mistakes(self, config: Mapping[str, Any]) -> Iterator[str]:
        """Yield a sentence if there are settings of samples beside a beam search."""
        if self.search and (wrong := sorted({"samples", "temperature"} & self.model_fields_set)):
            yield (f"{{place}}.search makes one caption of each image and nothing is drawn: drop {' and '.join(wrong)}")
