"""A ResNet as encoder: the mean of its last layer over an image of any size, as in training the FC captioner.

Follows github.com/ruotianluo/ImageCaptioning.pytorch (captioning/utils/resnet.py, resnet_utils.py and
scripts/prepro_feats.py). The network is by He et al. (2016), with strides as in Caffe. Images keep their size and are
not cropped. Importing this module imports torchvision, which takes longer than importing torch.
"""

import os
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from PIL import Image
from torch import Tensor, nn
from torchvision.models.resnet import Bottleneck, ResNet

from captionlab.encoders.encoder import Encoder
from captionlab.encoders.images import colours, normalise
from captionlab.networks.checkpoints import CheckpointError, read_checkpoint

# Mean and deviation of ImageNet's colours, for pixels from 0 to 1.
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
DIMENSIONS = 512 * Bottleneck.expansion


class ResnetEncoder(Encoder):
    """A frozen ResNet with its preprocessing.

    `config` has `blocks`, the number of blocks in each of the four stages.
    """

    # Images differ in size.
    batch = 1

    @classmethod
    def with_random_weights(cls, config: Mapping[str, Any]) -> ResNet:
        """Return a ResNet with random weights and the numbers of blocks in the config."""
        return build(config["blocks"])

    @property
    def image_dimensions(self) -> int:
        """Return the size of the mean of the last layer."""
        return DIMENSIONS

    def preprocess(self, image: Image.Image) -> Tensor:
        """Return an RGB image as uint8 (3, height, width), in its own size."""
        return colours(image)

    @torch.no_grad()
    def embed_images(self, pixels: Tensor) -> Tensor:
        """Return embeddings (n, 2048), float32, of images (n, 3, height, width), uint8, which have equal sizes."""
        net = self.model
        x = net.maxpool(net.relu(net.bn1(net.conv1(normalise(pixels.to(self.device), MEAN, STD)))))
        states: Tensor = net.layer4(net.layer3(net.layer2(net.layer1(x))))
        return states.mean(dim=(2, 3))


def build(blocks: Sequence[int]) -> ResNet:
    """Return a ResNet with random weights and no classifier.

    From the second stage on, the first convolution of a stage halves the image.
    """
    network = ResNet(Bottleneck, list(blocks))
    network.fc = nn.Identity()
    network.maxpool = nn.MaxPool2d(kernel_size=3, stride=2, padding=0, ceil_mode=True)
    for stage in (network.layer2, network.layer3, network.layer4):
        stage[0].conv1.stride, stage[0].conv2.stride = (2, 2), (1, 1)
    return network


def import_weights(config: Mapping[str, Any], file: str | os.PathLike[str]) -> ResnetEncoder:
    """Return the encoder in weights with torchvision's names, such as resnet101.pth of ImageCaptioning.pytorch.

    Raises CheckpointError for other weights.
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
    # Old files lack the number of batches, which is not needed.
    if wrong := [*(name for name in missing if not name.endswith("num_batches_tracked")), *unexpected]:
        raise CheckpointError(f"{file}: {len(wrong)} tensors are missing or unexpected, the first is {wrong[0]}")
    return ResnetEncoder(network, {"blocks": blocks})


def stated(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return {}: a stored `config` implies no values for keys of a block in the config."""
    return {}


FAMILY = ResnetEncoder
