"""Published weights of a ResNet, from a file whose tensors tell how many blocks there are."""

import os
from collections.abc import Mapping
from typing import Any

from captionlab.encoders.resnet import ResnetEncoder, build
from captionlab.networks.checkpoints import CheckpointError, read_checkpoint


def import_weights(config: Mapping[str, Any], file: str | os.PathLike[str]) -> ResnetEncoder:
    """The encoder of a config block, from a file with torchvision's names of tensors; the classifier is left out.

    resnet101.pth of github.com/ruotianluo/ImageCaptioning.pytorch is such a file. Raises CheckpointError.
    """
    weights = {name: value for name, value in read_checkpoint(file).items() if not name.startswith("fc.")}
    blocks = [len({name.split(".")[1] for name in weights if name.startswith(f"layer{s}.")}) for s in range(1, 5)]
    if not all(blocks) or "layer1.0.conv3.weight" not in weights:
        shown = ", ".join(list(weights)[:5])
        raise CheckpointError(f"{file} holds no ResNet with bottlenecks; its {len(weights)} tensors start with {shown}")
    network = build(blocks)
    try:
        missing, unexpected = network.load_state_dict(weights, strict=False)
    except RuntimeError as error:
        raise CheckpointError(f"{file} does not fit a ResNet with {blocks} blocks: {error}") from error
    # Old files do not count batches, which is of no use here.
    if wrong := [*(name for name in missing if not name.endswith("num_batches_tracked")), *unexpected]:
        raise CheckpointError(f"{file}: {len(wrong)} tensors are missing or unexpected, the first is {wrong[0]}")
    return ResnetEncoder(network, {"blocks": blocks})
