"""Published weights of SigLIP, with their tokenizer."""

import os
from collections.abc import Mapping
from typing import Any

from captionlab.encoders.siglip import Siglip


def import_weights(
    config: Mapping[str, Any], weights: str | os.PathLike[str], tokenizer: str | os.PathLike[str]
) -> Siglip:
    """The encoder of a config block, from its weights and tokenizer.json; CheckpointError names a file."""
    return Siglip.from_published(weights, tokenizer, heads=config.get("heads"))
