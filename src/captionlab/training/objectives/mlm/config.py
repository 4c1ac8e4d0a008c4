"""Config of the objective mlm: masked tokens of references are learnt."""

from typing import Literal

from pydantic import Field, NonNegativeInt

from captionlab.config.model import Dropout
from captionlab.config.objectives import ObjectiveFacts
from captionlab.config.training import Objective

FACTS = ObjectiveFacts(of_references=True, predicts="masked-words")


class Config(Objective):
    """Cross-entropy of masked tokens of references, as in Oscar (Li et al. 2020)."""

    kind: Literal["mlm"]
    smoothing: Dropout = Field(0.0, description="label smoothing: probability that a target gives to all other tokens")
    drop_worst: Dropout = Field(0.0, description="share of the tokens, of largest loss, that does not count")
    drop_after: NonNegativeInt = Field(0, description="updates before tokens of largest loss are dropped")
    freeze_embeddings: bool = Field(False, description="whether word embeddings, also the output matrix, are fixed")
