"""Models of what a training is: optimizer, validation, adapters, objective and reward."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from annotated_types import Len
from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt

from captionlab import plugins
from captionlab.config.model import Dropout, Model, OwnSeed, Portion, Ref, Seed, Text, Unique
from captionlab.config.plugins import PluginUnion, cases_by, plugin_models

Retriever = Annotated[str, Ref("encoders", able="texts", reason="which has no text side")]


class Optimizer(Model):
    """Optimizer and schedule of a training."""

    kind: Literal["adam", "adamw"] = Field(
        description="update rule; adamw decouples the weight decay (Loshchilov and Hutter 2019)"
    )
    lr: PositiveFloat = Field(description="largest learning rate")
    betas: Annotated[list[float], Len(2, 2)] = Field(
        [0.9, 0.999], description="decay of the running means of gradients and of squared gradients"
    )
    weight_decay: NonNegativeFloat = Field(0.0, description="weight decay of matrices")
    batch: PositiveInt = Field(description="images, references or pairs of an update")
    epochs: PositiveInt | None = Field(None, description="length of the training in epochs; or give `steps`")
    steps: PositiveInt | None = Field(None, description="length of the training in updates; or give `epochs`")
    schedule: Literal["constant", "linear", "cosine", "staircase"] = Field(
        "constant", description="course of the learning rate after the warmup"
    )
    decay: Portion | None = Field(None, description="staircase: factor of a step")
    decay_epochs: PositiveInt | None = Field(None, description="staircase: epochs of a step")
    warmup: NonNegativeInt = Field(0, description="updates in which the learning rate rises linearly from 0")
    clip_norm: PositiveFloat | None = Field(None, description="largest norm of the gradient")
    clip_value: PositiveFloat | None = Field(None, description="largest absolute value of a number of the gradient")
    accumulate: PositiveInt = Field(1, description="parts of a batch that are computed one after another")
    precision: Literal["float32", "tf32", "bfloat16"] = Field(
        "float32",
        description="tf32: matrix products of a GPU read 10 bits of each factor; bfloat16: the network computes in "
        "bfloat16, its parameters stay in float32",
    )

    def mistakes(self, config: Mapping[str, Any]) -> Iterator[str]:
        """Yield a sentence if the length is missing or there twice, or if keys do not fit the schedule."""
        if (self.epochs is None) == (self.steps is None):
            yield "{place} must have exactly one of the keys epochs and steps"
        staircase = {"decay", "decay_epochs"}
        if self.schedule == "staircase" and (missing := sorted(staircase - self.model_fields_set)):
            yield f"{{place}}: the schedule staircase needs {' and '.join(missing)}"
        if self.schedule != "staircase" and (wrong := sorted(staircase & self.model_fields_set)):
            yield f"{{place}}.{' and '.join(wrong)} is for `schedule: staircase`"


class Seeded(Model):
    """A training that may be repeated with several seeds."""

    seed: OwnSeed = Field(None, description="seed of the training; by default the seed of the config")
    seeds: Annotated[list[Seed], Len(2), Unique()] | None = Field(
        None,
        description="one training with each seed in place of one training; tables have the mean over "
        "captioners, encoders and scorers stand side by side",
    )

    def mistakes(self, config: Mapping[str, Any]) -> Iterator[str]:
        """Yield a sentence if there is a seed beside several seeds."""
        yield from super().mistakes(config)
        if {"seed", "seeds"} <= self.model_fields_set:
            yield "{place} has `seeds` and `seed`; keep only one"


class Validation(Model):
    """Validation of captions in the course of a training."""

    split: str = Field(description="split of the training corpus whose captions are scored by CIDEr")
    every: PositiveInt = Field(description="updates between two validations")
    select: bool = Field(
        True, description="true: the weights with the highest CIDEr are kept; false: the weights after the last update"
    )
    decoding: Annotated[
        str,
        Ref(
            "decodings",
            refuses={"kind": ["sample"]},
            reason="draws at random; validation needs greedy decoding or a beam search",
        ),
    ] = Field(description="decoding of the captions; greedy or a beam search")


class Lora(Model):
    """Low-rank adapters (Hu et al. 2021) with the defaults of peft; targets as in Dettmers et al. 2023."""

    rank: PositiveInt = Field(8, description="numbers between the two matrices of an adapter")
    alpha: PositiveFloat = Field(8, description="the output of an adapter is multiplied by alpha / rank")
    targets: Text | Annotated[list[Text], Len(1), Unique()] = Field(
        "all-linear",
        description="layers with adapters: names or ends of names, a regular expression of whole names, or all-linear: "
        "all linear layers but the output layer",
    )
    dropout: Dropout = Field(0.0, description="dropout of the input of adapters")
    merge: bool = Field(
        False, description="true: a whole captioner is written; false: adapters alone, which need their parent"
    )


class Objective(Model):
    """What a captioner is trained by."""


class Reward(Model):
    """A reward of captions."""


AnyReward = Annotated[Reward, PluginUnion("training.rewards", "kind")]


class RetrievalReward(Reward):
    """A reward by a retriever that looks for the image of a caption."""

    retriever: Retriever = Field(description="encoder that looks for the image of a caption")
    candidates: Annotated[int, Field(ge=2)] = Field(description="number of images among which it looks")
    hard_negatives: PositiveInt | None = Field(
        None, description="number of candidates that are nearest neighbours of the image by the retriever"
    )
    score: Literal["scaled-cosine", "cosine", "dot-product"] = Field(
        "scaled-cosine",
        description="matching score of a caption and an image: cosine of their embeddings times the scale that the "
        "retriever learned, cosine, or dot product of the embeddings as the retriever's towers give them",
    )


class BagSize(Model):
    """Size of bags of look-alikes from an epoch on."""

    epoch: PositiveInt = Field(description="first epoch with this size, counted from 1")
    size: Annotated[int, Field(ge=2)] = Field(description="images of a bag")


class Bags(Model):
    """Batches of bags of look-alikes, which grow in the course of a training (Gaur et al. 2024, BagCurri)."""

    encoder: Annotated[str, Ref("encoders")] = Field(
        description="encoder by whose embeddings the images of a bag are look-alikes"
    )
    sizes: Annotated[list[BagSize], Len(1)] = Field(description="sizes by epoch, ascending; the first epoch is 1")

    def mistakes(self, config: Mapping[str, Any]) -> Iterator[str]:
        """Yield a sentence if the first epoch is not 1 or the epochs do not ascend."""
        epochs = [one.epoch for one in self.sizes]
        if epochs[0] != 1:
            yield f"{{place}}.sizes begins with epoch {epochs[0]}, and a training begins with epoch 1; write it"
        if epochs != sorted({*epochs}):
            yield f"{{place}}.sizes has the epochs {', '.join(map(str, epochs))}; write each once, in ascending order"


class ObjectiveOfRewards(Objective):
    """An objective that rewards captions of images, which come in batches."""

    reward: AnyReward = Field(description="reward of a caption")
    bags: Bags | None = Field(
        None,
        description="batches of bags of look-alikes, by which the candidates of a retriever are hard; by default, "
        "batches of images at random",
    )


LogProb = Literal["mean", "mean-with-end", "sum"]


def _of_references() -> dict[str, Any]:
    known = plugins.facts("training.objectives")
    return {kind: model for kind, model in plugin_models("training.objectives").items() if known[kind].of_references}


Learnt = Annotated[Objective, cases_by("kind", _of_references)]
ObjectiveOf = Annotated[Objective, PluginUnion("training.objectives", "kind")]
