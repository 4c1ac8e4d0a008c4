"""Config of a ResNet."""

from typing import Literal

from captionlab.config.encoders import EncoderFacts, ImportedEncoder

FACTS = EncoderFacts(texts=False, patches=False, libraries=("torchvision",))


class Imported(ImportedEncoder):
    """A published ResNet."""

    family: Literal["resnet"]
