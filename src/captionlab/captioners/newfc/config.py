"""Config of the FC captioner."""

from typing import Literal

from pydantic import Field, PositiveInt

from captionlab.config.captioners import CaptionerFacts, ImportedFiles, ReadsVector, TrainedCaptioner
from captionlab.config.model import Dropout, Model

FACTS = CaptionerFacts(
    reads="vector",
    size="visual_size",
    options=("scheduled_sampling",),
    finetuned_as={"log_prob": "mean", "freeze_embeddings": True},
)


class Architecture(Model):
    """Sizes of an FC captioner."""

    width: PositiveInt = Field(description="hidden units of the LSTM")
    input_width: PositiveInt = Field(description="size of the embedding of a word and of the image")
    min_count: PositiveInt = Field(description="words that occur less often become UNK")
    dropout: Dropout = Field(0.5, description="share of units that are dropped in training")
    max_words: PositiveInt = Field(16, description="number of words after which references are cut")


class Imported(ReadsVector, ImportedFiles):
    """A published FC captioner."""

    family: Literal["newfc"]


class Trained(ReadsVector, TrainedCaptioner):
    """An FC captioner that is trained here."""

    family: Literal["newfc"]
    architecture: Architecture = Field(description="sizes")
