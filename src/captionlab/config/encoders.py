"""Models of encoders: patches of another encoder, of another run, imported, or trained here."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from captionlab.config.model import FilePath, Model, Ref
from captionlab.config.plugins import Cases, cases_by, plugin_models
from captionlab.config.training import Optimizer, Seeded

RUN = (
    "folder of the model in the results of another run, or one below `resources/toyworld/models/`, of the models that "
    "come with captionlab"
)


@dataclass(frozen=True, kw_only=True)
class EncoderFacts:
    """What the graph must know of a family of encoders."""

    texts: bool
    """whether it embeds texts too, so that it can search images"""
    patches: bool
    """whether it also gives a vector for each place of an image"""
    files: tuple[str, ...] = ("weights",)
    """keys of its block that name the files it is imported from"""
    folder: bool = False
    """whether its published weights are a folder, and not a file"""
    size: tuple[str, ...] = ()
    """keys that lead to the size of an embedding, in its config.json and in its block of a config"""
    libraries: tuple[str, ...] = ()
    """libraries beside torch and pillow whose versions matter to it"""


class Encoder(Model):
    """A frozen model that embeds images."""


class Patches(Encoder):
    """Vectors of the places of an image, by an encoder that gives them."""

    patches_of: Annotated[str, Ref("encoders", able="patches", reason="whose patch features are not to be had")] = (
        Field(description="encoder whose last layer, at each place of an image, is the output, in place of one vector")
    )


class ReusedEncoder(Encoder):
    """An encoder of another run, whose family its folder tells."""

    run: FilePath = Field(description=RUN)
    family: str | None = None


class ImportedEncoder(Encoder):
    """A published encoder."""

    weights: FilePath = Field(description="file of the weights")


class TrainedEncoder(Encoder, Seeded):
    """An encoder that is trained here."""

    corpus: Annotated[str, Ref("corpora")] = Field(description="corpus whose split train is learned")
    optimizer: Optimizer = Field(description="optimizer and schedule")


def form_of(block: Any, keys: tuple[str, ...], otherwise: str) -> str:
    """Return the first of some keys that a block has, which tells whether a model is trained, imported or reused."""
    there = block if isinstance(block, Mapping) else getattr(block, "model_fields_set", ())
    return next((key for key in keys if key in there), otherwise)


def _models() -> dict[str, Any]:
    imported = cases_by("family", lambda: plugin_models("encoders", "Imported"))
    trained = cases_by("family", lambda: plugin_models("encoders", "Trained"))
    return {
        "patches_of": Patches,
        "run": ReusedEncoder,
        "weights": Annotated[Encoder, imported],
        "trained": Annotated[Encoder, trained],
    }


AnyEncoder = Annotated[
    Encoder, Cases(_models, lambda block: form_of(block, ("patches_of", "run", "weights"), "trained"))
]
