"""Config of CLIPScore and PAC-S."""

from pydantic import Field

from captionlab.config.evaluations import Retrievers
from captionlab.config.metrics import MetricFacts
from captionlab.config.model import Model

FACTS = MetricFacts(
    place=5,
    asks=("clipscore", "pac_s"),
    reads=("texts", "encoders"),
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
