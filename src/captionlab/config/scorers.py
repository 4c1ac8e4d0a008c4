"""Models of scorers: of another run, adopted from an encoder, imported, or trained here."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import Field, PositiveFloat, PositiveInt

from captionlab import plugins
from captionlab.config.encoders import RUN, form_of
from captionlab.config.model import Divides, Dropout, FilePath, Model, Portion, Ref, Share
from captionlab.config.plugins import Cases, cases_by, plugin_models
from captionlab.config.training import Optimizer, Seeded

Regions = Annotated[str, Ref("regions")]


@dataclass(frozen=True, kw_only=True)
class ScorerFacts:
    """Facts of a family of scorers, which the graph reads."""

    reads: Literal["regions", "pixels", "embeddings"]
    """features of an image that it reads: regions, the image itself, or embeddings if it is an encoder"""
    matching: Mapping[str, Any] = field(default_factory=dict)
    """defaults of keys of Matching that have no default there, the same as in the class of the family"""
    folder: bool = False
    """whether its published weights are a folder with its tokenizer, and not a file beside a vocabulary"""
    libraries: tuple[str, ...] = ()
    """libraries whose versions change the scores, beside torch and tokenizers"""


class Scorer(Model):
    """A model that scores how well a caption and an image match."""


class Matching(Scorer):
    """Settings that turn the output of a scorer into a score. Keys without a default have the default of the family."""

    head: Literal["itm", "retrieval"] = Field(
        "itm", description="output that tells pairs from strangers, or output fine-tuned to rank (UNITER and ViLBERT)"
    )
    match_index: Literal[0, 1] | None = Field(None, description="which of the two outputs of the itm head says match")
    max_tokens: Annotated[int, Field(ge=3)] | None = Field(
        None, description="largest number of tokens of a text, two special tokens included; longer texts are cut"
    )
    scale: PositiveFloat = Field(1.0, description="factor on the probability")
    lowercase: bool | None = Field(None, description="whether the text is put in lower case first")
    strip_punctuation: bool | None = Field(None, description="whether punctuation is removed from the text first")


class ReusedScorer(Scorer):
    """A scorer of another run, whose family its folder tells."""

    run: FilePath = Field(description=RUN)
    family: str | None = None
    regions: Regions | None = Field(None, description="regions that it reads; a `blip` or a `vlm` reads the image")

    def mistakes(self, config: Mapping[str, Any]) -> Iterator[str]:
        """Yield a sentence if its family reads regions and none are named."""
        if self.family and plugins.facts("scorers")[self.family].reads == "regions" and self.regions is None:
            yield "{place} lacks the key regions"


class AdoptedScorer(Scorer):
    """An encoder with a text side as a scorer."""

    encoder: Annotated[str, Ref("encoders")] = Field(description="encoder that scores, of any family")


class ImportedScorer(Matching):
    """A published scorer."""

    weights: FilePath = Field(description="file of the weights")
    vocabulary: FilePath = Field(description="vocab.txt of its word pieces")
    heads: PositiveInt | None = Field(None, description="attention heads, which weights do not tell")


class ImportedRegionScorer(ImportedScorer):
    """A published scorer that reads regions."""

    regions: Regions = Field(description="regions that it reads")


class BertSizes(Model):
    """Sizes of a scorer with a BERT for the words."""

    vocabulary: Annotated[int, Field(ge=5)] = Field(description="largest number of word pieces")
    positions: Annotated[int, Field(ge=3)] = Field(description="largest number of tokens of a text")
    width: PositiveInt = Field(description="size of a hidden state")
    layers: PositiveInt = Field(description="number of layers")
    heads: Annotated[PositiveInt, Divides("width")] = Field(description="attention heads of a layer")
    feed_forward: PositiveInt = Field(description="hidden units of a feed-forward layer")
    dropout: Dropout = Field(0.1, description="share of units that are dropped in training")


class Negatives(Model):
    """Pairs of an image and the caption of another image."""

    encoder: Annotated[str, Ref("encoders")] = Field(description="encoder that says which images are alike")
    hard: Share = Field(description="share of negatives from images that are alike; the others are from any image")
    nearest: Portion = Field(description="share of all images that count as alike")


class TrainedScorer(Matching, Seeded):
    """A scorer that is trained here; it reads regions."""

    corpus: Annotated[str, Ref("corpora")] = Field(description="corpus whose pairs of the split train are learned")
    negatives: Negatives = Field(
        description="each image of a batch comes with one of its captions and with one of another image"
    )
    word_embeddings: Literal["random", "encoder"] = Field(
        "random", description="initial embeddings of word pieces; encoder: by the text tower of the regions' encoder"
    )
    optimizer: Optimizer = Field(description="optimizer and schedule")
    regions: Regions = Field(description="regions that it reads")


def _models() -> dict[str, Any]:
    forms = {"encoder": "Adopted", "weights": "Imported", "trained": "Trained"}
    found: dict[str, Any] = {"run": ReusedScorer}
    for form, model in forms.items():
        # The default binds `model` of this round; mypy cannot infer the type of such a lambda.
        cases = cases_by("family", lambda model=model: plugin_models("scorers", model))  # type: ignore[misc]
        found[form] = Annotated[Scorer, cases]
    return found


AnyScorer = Annotated[Scorer, Cases(_models, lambda block: form_of(block, ("run", "encoder", "weights"), "trained"))]
