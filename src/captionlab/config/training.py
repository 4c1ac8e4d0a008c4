"""Models of what a training is: optimizer, validation, adapters, objective and reward."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from annotated_types import Len
from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt

from captionlab.config.model import Dropout, Model, OwnSeed, Portion, Ref, Seed, Text, Unique
from captionlab.config.plugins import PluginUnion, cases_by

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
        description="one training with each of these seeds in place of one training; tables have the mean over "
        "captioners, encoders and scorers stand side by side",
    )

    def mistakes(self, config: Mapping[str, Any]) -> Iterator[str]:
        """Yield a sentence if there is a seed beside several seeds."""
        yield from super().mistakes(config)
        if {"seed", "seeds"} <= self.model_fields_set:
            yield "{place} has `seeds` and `seed`; keep one of them"


class Validation(Model):
    """Validation of captions in the course of a training."""

    split: str = Field(description="split of the training corpus whose captions are scored by CIDEr")
    every: PositiveInt = Field(description="updates between two validations")
    select: bool = Field(
        True, description="true: the weights with the highest CIDEr are kept; false: those of the last update"
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


class Teacher(Model):
    """A running mean of the captioner, from whose logits it learns, as in CaMEL (Barraco et al. 2022)."""

    weight: PositiveFloat = Field(0.1, description="factor on the distance from the teacher's logits")
    decay: Annotated[float, Field(gt=0, lt=1)] = Field(0.999, description="decay of the teacher's running mean")


class ScheduledSampling(Model):
    """Words of the captioner as its inputs, in place of words of the reference (Bengio et al. 2015)."""

    increase: PositiveFloat = Field(description="amount by which the probability of a sampled word grows")
    epochs: PositiveInt = Field(description="epochs between two increases")
    maximum: Portion = Field(description="largest probability")


class Objective(Model):
    """What a captioner is trained by."""


class CrossEntropy(Objective):
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


class Mlm(Objective):
    """Cross-entropy of masked tokens of references, as in Oscar (Li et al. 2020)."""

    kind: Literal["mlm"]
    smoothing: Dropout = Field(0.0, description="label smoothing: probability that a target gives to all other tokens")
    drop_worst: Dropout = Field(0.0, description="share of the tokens, of largest loss, that does not count")
    drop_after: NonNegativeInt = Field(0, description="updates before tokens of largest loss are dropped")
    freeze_embeddings: bool = Field(False, description="whether word embeddings, also the output matrix, are fixed")


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


LogProb = Literal["mean", "mean-with-end", "sum"]


class Reinforce(Objective):
    """REINFORCE (Williams 1992) with a reward of captions."""

    kind: Literal["reinforce"]
    reward: AnyReward = Field(description="reward of a caption")
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


class SelfCritical(Objective):
    """Self-critical sequence training (Rennie et al. 2017)."""

    kind: Literal["self-critical"]
    reward: AnyReward = Field(description="reward of a caption")
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


class Grpo(Objective):
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


OBJECTIVES = {
    "cross-entropy": CrossEntropy,
    "mlm": Mlm,
    "reinforce": Reinforce,
    "self-critical": SelfCritical,
    "grpo": Grpo,
}
OF_REFERENCES = ("cross-entropy", "mlm")
Learnt = Annotated[Objective, cases_by("kind", lambda: {name: OBJECTIVES[name] for name in OF_REFERENCES})]
ObjectiveOf = Annotated[Objective, cases_by("kind", lambda: OBJECTIVES)]
