"""Config of CLIPScore and PAC-S."""

from pydantic import Field

from captionlab.config.evaluations import Retrievers
from captionlab.config.metrics import Definition, MetricFacts
from captionlab.config.model import Model

FACTS = MetricFacts(
    place=5,
    metrics={
        **{
            name: Definition(
                f"{weight} times the cosine of the embeddings of caption and image by the encoder, at least 0 "
                f"({source}), averaged over captions.",
                f"points, 0 to {100 * weight:g}",
                "mean",
            )
            for name, weight, source in (
                ("CLIPScore", 2.5, "Hessel et al. 2021"),
                ("PAC-S", 2.0, "Sarto et al. 2023"),
            )
        },
        **{
            f"Ref{name}": Definition(
                f"Harmonic mean of {name} and of the largest cosine of the caption with a reference, averaged over "
                "captions.",
                "points, from 0",
                "mean",
            )
            for name in ("CLIPScore", "PAC-S")
        },
        "captions cut for *": Definition("Share of the captions that are longer than the encoder reads.", "%", "share"),
    },
    asks=("clipscore", "pac_s"),
    reads=("texts", "encoders", "languages"),
    libraries=("numpy", "torch"),
    mem_mb=8000,
    runtime=120,
    gpu=1,
)


class Keys(Model):
    """Keys of an evaluation that ask for CLIPScore and PAC-S."""

    clipscore: Retrievers = Field(
        [],
        description="encoders by which captions get CLIPScore and RefCLIPScore; OpenAI's ViT-B/32 gives the "
        "published ones",
    )
    pac_s: Retrievers = Field(
        [], description="encoders with the weights of PAC-S, by which captions get PAC-S and RefPAC-S"
    )
