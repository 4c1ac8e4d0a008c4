"""Models of captioners: finetuned, of another run, imported, trained here, or captions that are there already."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from annotated_types import Len
from pydantic import Field, PositiveInt

from captionlab import plugins
from captionlab.config.blocks import ENDPOINT
from captionlab.config.encoders import RUN, form_of
from captionlab.config.model import FilePath, Model, Portion, Ref, Text, Unique
from captionlab.config.objectives import Prediction
from captionlab.config.plugins import Cases, cases_by, plugin_models
from captionlab.config.served import Served
from captionlab.config.training import (
    Learnt,
    Lora,
    ObjectiveOf,
    ObjectiveOfRewards,
    Optimizer,
    Seeded,
    Validation,
)

Corpus = Annotated[str, Ref("corpora")]
ELSEWHERE = "corpus that it was trained on elsewhere; tells in-domain from cross-domain"
Reads = Literal["vector", "patches", "patches-or-pixels", "tagged-regions", "images"]
# By the kind of image features that a captioner reads: needed keys, forbidden keys, and the features in words.
READS: Mapping[Reads, tuple[tuple[str, ...], tuple[str, ...], str]] = {
    "vector": (("encoder",), ("regions", "tags"), "encoder of images"),
    "patches": (("encoder",), ("regions", "tags"), "encoder of images"),
    "patches-or-pixels": ((), ("regions", "tags"), "encoder of images or the images themselves"),
    "tagged-regions": (("regions", "tags"), ("encoder",), "regions and tags of images"),
    "images": ((), ("encoder", "regions", "tags"), "the images themselves"),
}


@dataclass(frozen=True, kw_only=True)
class CaptionerFacts:
    """Facts of a family of captioners, which the graph reads."""

    reads: Reads
    """features of an image that it reads: one vector of an encoder, one vector for each patch, the patches or, without
    an encoder, the image itself, or regions with tags; images: it only writes texts (WriterFacts)"""
    finetuned_as: Mapping[str, Any]
    """defaults of the objective `reinforce`, the same as in the class of the family"""
    predicts: tuple[Prediction, ...] = ("next-word",)
    """kinds of predictions that it can make; they decide by which objectives it can be trained"""
    options: tuple[Literal["teacher", "scheduled_sampling"], ...] = ()
    """options of an objective that not every family supports and this family does"""
    generates: bool = False
    """whether `generate` of transformers writes its captions, the same as in the class of the family"""
    attention: bool = False
    """whether its attention to tags can be extracted (captionlab.attention)"""
    longest: Mapping[str, int] = field(default_factory=dict)
    """most tokens that it can generate: the sum of sizes of `architecture`, each times the number here, and of the
    number under ""; empty if nothing limits it"""
    size: str = ""
    """name of the number in the `architecture` of its config.json that is the size of a vector that it reads"""
    folder: bool = False
    """whether its published weights are a folder with its tokens, and not a file beside another of tokens"""
    libraries: tuple[str, ...] = ()
    """libraries beside torch and tokenizers whose versions matter to it"""

    @property
    def objectives(self) -> list[str]:
        """Return the objectives that can train it."""
        return [kind for kind, facts in plugins.facts("training.objectives").items() if facts.predicts in self.predicts]


@dataclass(frozen=True, kw_only=True)
class WriterFacts(CaptionerFacts):
    """Facts of a family that only writes texts (captionlab.captioners.writer): nothing trains it here."""

    reads: Literal["images"] = "images"
    finetuned_as: Mapping[str, Any] = field(default_factory=dict)
    predicts: tuple[Prediction, ...] = ()


class Captioner(Model):
    """What describes images."""


class ReadsVector(Captioner):
    """A captioner that reads one vector of an image."""

    encoder: Annotated[
        str,
        Ref(
            "encoders",
            lacks="patches_of",
            reason="is {name}, and one vector of each image is read; name an encoder without `patches_of`",
        ),
    ] = Field(description="encoder whose vector it reads")


class ReadsPatches(Captioner):
    """A captioner that reads a vector for each place of an image."""

    encoder: Annotated[
        str,
        Ref(
            "encoders",
            has="patches_of",
            reason="is {name}, and patch features of each image are read; name an encoder with `patches_of`",
        ),
    ] = Field(description="encoder whose patch features it reads")


class ReadsPatchesOrPixels(Captioner):
    """A captioner that reads a vector for each place of an image, or the image itself."""

    encoder: (
        Annotated[
            str,
            Ref(
                "encoders",
                has="patches_of",
                reason="is {name}, and patch features of each image are read; name an encoder with `patches_of`, or "
                "none",
            ),
        ]
        | None
    ) = Field(None, description="encoder whose patch features it reads; without it, images are decoded in every update")


class ReadsTaggedRegions(Captioner):
    """A captioner that reads regions of an image and tags."""

    regions: Annotated[str, Ref("regions")] = Field(description="regions that it reads")
    tags: Annotated[str, Ref("tags")] = Field(description="tags that it reads")


class ReusedCaptioner(Captioner):
    """A captioner of another run, whose family its folder tells."""

    run: FilePath = Field(description=RUN)
    family: str | None = None
    encoder: Annotated[str, Ref("encoders")] | None = Field(None, description="encoder whose output it reads")
    regions: Annotated[str, Ref("regions")] | None = Field(None, description="regions that it reads")
    tags: Annotated[str, Ref("tags")] | None = Field(None, description="tags that it reads")
    corpus: Corpus | None = Field(None, description=ELSEWHERE)

    def mistakes(self, config: Mapping[str, Any]) -> Iterator[str]:
        """Yield a sentence for what its family must read of images and does not, or cannot read."""
        if self.family is None:
            return
        needed, wrong, what = READS[plugins.facts("captioners")[self.family].reads]
        if missing := [key for key in needed if getattr(self, key) is None]:
            yield f"{{place}}: a {self.family} reads {what}, so it needs {' and '.join(missing)}"
        if there := [key for key in wrong if key in self.model_fields_set]:
            yield f"{{place}}: a {self.family} reads {what}, not {' and '.join(there)}"
        if self.encoder is not None:
            yield from _wrong_encoder(config, self.family, self.encoder)


def _wrong_encoder(config: Mapping[str, Any], family: str, encoder: str) -> Iterator[str]:
    """Yield a sentence if an encoder gives vectors in place of patch features, or the reverse."""
    reads = plugins.facts("captioners")[family].reads
    encoders = config.get("encoders")
    block = encoders.get(encoder) if isinstance(encoders, Mapping) else None
    if isinstance(block, Mapping) and reads == "vector" and "patches_of" in block:
        yield f"{{place}}.encoder is {encoder!r}, and {family} reads one vector of each image; name another encoder"
    if isinstance(block, Mapping) and reads.startswith("patches") and "patches_of" not in block:
        yield f"{{place}}.encoder is {encoder!r}, and {family} reads patch features; name an encoder with `patches_of`"


class ImportedCaptioner(Captioner):
    """A published captioner."""

    weights: FilePath = Field(description="file or folder of the weights")
    corpus: Corpus | None = Field(None, description=ELSEWHERE)


class ImportedFiles(ImportedCaptioner):
    """A published captioner whose weights and tokens are two files."""

    tokenizer: FilePath = Field(description="file of the tokens")


class Learning(Captioner, Seeded):
    """A captioner that learns here."""

    corpus: Corpus = Field(description="corpus whose split train is learned")
    validation: Validation | None = Field(None, description="validation, which may select the weights")
    optimizer: Optimizer = Field(description="optimizer and schedule")
    snapshots: Annotated[list[PositiveInt], Len(1), Unique()] | None = Field(
        None,
        description="epochs, or updates if `optimizer.steps` is given, after which the weights are kept as captioners "
        "of their own, increasing and below the end; the weights after 2 are named `<captioner>@2`",
    )


class TrainedCaptioner(Learning):
    """A captioner that is trained here on references."""

    objective: Learnt = Field(description="objective of references")


class FinetunedCaptioner(Learning):
    """A captioner that is trained further."""

    parent: Annotated[str, Ref("captioners")] = Field(description="captioner that it starts from")
    objective: ObjectiveOf = Field(description="objective")
    lora: Lora | None = Field(None, description="adapters that are trained in place of the whole captioner")
    engine: Literal["captionlab", "trl"] = Field(
        "captionlab",
        description="program that trains; trl: TRL on accelerate, for captioners of the family `transformers` that "
        "read images and have a `chat`",
    )
    accelerate: FilePath | None = Field(
        None, description="trl: file of `accelerate config`; without it, one process trains"
    )
    use_vllm: bool = Field(False, description="trl: whether vLLM samples the captions that are rewarded")

    def mistakes(self, config: Mapping[str, Any]) -> Iterator[str]:
        """Yield a sentence if a bag of look-alikes has more images than a batch."""
        yield from super().mistakes(config)
        if not isinstance(self.objective, ObjectiveOfRewards) or self.objective.bags is None:
            return
        largest, batch = max(one.size for one in self.objective.bags.sizes), self.optimizer.batch
        if largest > batch:
            yield (
                f"{{place}}.objective.bags has bags of {largest} images, and {{place}}.optimizer.batch is {batch}; "
                f"make bags smaller, or batches of at least {largest} images"
            )


class CaptionFile(Captioner):
    """Captions in files."""

    family: Literal["file"]
    captions: Annotated[dict[Corpus, FilePath], Len(1)] = Field(
        description="by corpus a file: COCO results JSON, JSON lines or CSV with `image_id` and `caption`"
    )


class Answer(Model):
    """Part of the answer of a chat model that is the caption."""

    first_sentence: bool = Field(False, description="whether only its first sentence is")
    max_words: PositiveInt | None = Field(None, description="largest number of words")


class ServedCaptioner(Captioner, Served):
    """A model behind a server with OpenAI's interface of chats."""

    family: Literal["endpoint"]
    prompt: Text = Field(description="message of a user who shows the image")
    system: Text | None = Field(None, description="message of the system before the message of the user")
    image_size: PositiveInt = Field(
        1024, description="most pixels of the longer side of an image; a larger image is made smaller before it is sent"
    )
    answer: Answer | None = Field(None, description="part of the answer that is the caption")


class WritingCaptioner(Captioner):
    """A captioner that only writes texts; the model `Config` of its family has its keys."""


class HumanCaptions(Captioner):
    """References as captions."""

    family: Literal["human"]
    reference: Literal["first", "each"] = Field("first", description="which of the captions of an image count")


Source = Annotated[
    str,
    Ref(
        "captioners",
        refuses={"family": ["constructed"]},
        reason="is {name}, which is constructed itself; name a captioner that sees the images",
    ),
]


class Replacements(Model):
    """Words of captions that others replace (Ma et al. 2022, section 5)."""

    shares: Annotated[list[Portion], Len(1), Unique()] = Field(
        description="shares of the nouns, and of the other words, that are replaced"
    )
    draw: Literal["frequency", "uniform"] = Field(
        "frequency", description="probability of a replacement; frequency: as in the references of the evaluated images"
    )
    others: Literal["any", "same-part-of-speech"] = Field(
        "any",
        description="what replaces a word that is no noun: any other word of the references, nouns among them, or one "
        "of the same part of speech (any if there is no other)",
    )


class ConstructedCaptions(Captioner, Seeded):
    """Captions that are constructed from the captions of another captioner (Ma et al. 2022, section 5)."""

    family: Literal["constructed"]
    captions_of: Source = Field(
        description="captioner whose captions are changed; an image whose caption has no noun is left out"
    )
    replacements: Replacements | None = Field(
        None, description="nouns are replaced by nouns that neither caption nor references have"
    )
    templates: Annotated[list[Literal["published", "mined"]], Len(1), Unique()] | None = Field(
        None, description="templates of config/published/probing_templates.csv, templates found in captions, or both"
    )
    mined_from: Annotated[dict[str, Source], Len(1)] | None = Field(
        None, description="with mined: by name of a template the captioner in whose captions it is found"
    )
    nouns: Annotated[list[PositiveInt], Len(1), Unique()] | None = Field(
        None,
        description="numbers of nouns in a template of the first source: nouns of the caption, then nouns of the "
        "references; images with fewer are left out",
    )

    def mistakes(self, config: Mapping[str, Any]) -> Iterator[str]:
        """Yield a sentence if there are numbers of nouns and no templates for them."""
        yield from super().mistakes(config)
        if self.nouns and not self.templates:
            yield "{place}.nouns asks for so many nouns in a template; add `templates: [published]`"


def made_models() -> dict[str, Any]:
    """Return the model of a captioner without published weights and without a parent, by its family."""
    given = {"file": CaptionFile, "human": HumanCaptions, "constructed": ConstructedCaptions}
    made_by = {**plugin_models("captioners", "Trained"), **plugin_models("captioners")}
    return {**given, ENDPOINT: ServedCaptioner, **made_by}


def _models() -> dict[str, Any]:
    imported = cases_by("family", lambda: plugin_models("captioners", "Imported"))
    return {
        "parent": FinetunedCaptioner,
        "run": ReusedCaptioner,
        "weights": Annotated[Captioner, imported],
        "made": Annotated[Captioner, cases_by("family", made_models)],
    }


AnyCaptioner = Annotated[Captioner, Cases(_models, lambda block: form_of(block, ("parent", "run", "weights"), "made"))]
