"""Encoders of any family on disk. The config.json of an encoder names its family."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from captionlab.encoders.encoder import Encoder
from captionlab.networks.checkpoints import CheckpointError, check_fit, read_checkpoint
from captionlab.plugins import defined, family_class
from captionlab.userfiles.model_config import NAME, made_here, refuse_other


def load_encoder(directory: str | os.PathLike[str], device: str = "cpu") -> Encoder:
    """Read the encoder in a folder."""
    family = json.loads((Path(directory) / NAME).read_text(encoding="utf-8"))["family"]
    return family_class("encoders", family).load(directory, device)


def import_encoder(config: Mapping[str, Any], *files: str | os.PathLike[str]) -> Encoder:
    """Return the encoder of a block of the config, from `files` or, without files, by its published name.

    The weights are the first of `files`. If captionlab made the weights, the config.json beside them has all sizes.
    Raises ValueError if the config.json contradicts `config`. Raises CheckpointError if the weights cannot be read or
    do not fit.
    """
    beside = Path(files[0]).with_name(NAME) if files else None
    if beside is None or not (found := made_here(beside, "encoders", config["family"])):
        return defined("encoders", config["family"], "import_weights")(config, *files)
    family, state = family_class("encoders", config["family"]), read_checkpoint(files[0])
    try:
        refuse_other(beside, config, defined("encoders", config["family"], "stated")(found))
        model = family.with_random_weights(found)
    except (KeyError, TypeError) as error:
        raise CheckpointError(f"{beside} does not describe an encoder: {error!r}") from error
    check_fit(files[0], f"the {config['family']} of {beside}", model.state_dict(), state)
    model.load_state_dict(state)
    return family(model, found)
