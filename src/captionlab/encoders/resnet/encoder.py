"""A ResNet as encoder: the mean of its last layer over an image of any size, as the FC captioner was trained on.

After github.com/ruotianluo/ImageCaptioning.pytorch (captioning/utils/resnet.py, resnet_utils.py and
scripts/prepro_feats.py): the network of He et al. (2016) with its strides as in Caffe, images of their own size without
a crop. Importing this module imports torchvision, which takes longer than torch.
"""

import os
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from PIL import Image
from torch import Tensor, nn
from torchvision.models.resnet import Bottleneck, ResNet

from captionlab.declarations import EncoderFamily
from captionlab.encoders.encoder import Encoder
from captionlab.encoders.images import colours, normalise
from captionlab.networks.checkpoints import CheckpointError, read_checkpoint

DECLARATION = EncoderFamily(
    libraries=("torchvision",), texts=False, patches=False, files=("weights",), imported={}, architecture={}
)

# Of ImageNet's colours, 0 to 1.
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
DIMENSIONS = 512 * Bottleneck.expansion


class ResnetEncoder(Encoder):
    """A frozen ResNet with its preprocessing. `config` has `blocks`, their number in each of the four stages."""

    # Images differ in size.
    batch = 1

    @classmethod
    def with_random_weights(cls, config: Mapping[str, Any]) -> ResNet:
        """A ResNet with so many blocks."""
        return build(config["blocks"])

    @property
    def image_dimensions(self) -> int:
        """Size of the mean of the last layer."""
        return DIMENSIONS

    def preprocess(self, image: Image.Image) -> Tensor:
        """An image as bytes (3, height, width), RGB, of its own size."""
        return colours(image)

    @torch.no_grad()
    def embed_images(self, pixels: Tensor) -> Tensor:
        """Image embeddings (n, 2048), float32, of images (n, 3, height, width), uint8, of one size."""
        net = self.model
        x = net.maxpool(net.relu(net.bn1(net.conv1(normalise(pixels.to(self.device), MEAN, STD)))))
        states: Tensor = net.layer4(net.layer3(net.layer2(net.layer1(x))))
        return states.mean(dim=(2, 3))


def build(blocks: Sequence[int]) -> ResNet:
    """A ResNet with random weights and no classifier; a stage begins by halving the image in its first convolution."""
    network = ResNet(Bottleneck, list(blocks))
    network.fc = nn.Identity()
    network.maxpool = nn.MaxPool2d(kernel_size=3, stride=2, padding=0, ceil_mode=True)
    for stage in (network.layer2, network.layer3, network.layer4):
        stage[0].conv1.stride, stage[0].conv2.stride = (2, 2), (1, 1)
    return network


def import_weights(config: Mapping[str, Any], file: str | os.PathLike[str]) -> ResnetEncoder:
    """The encoder in weights by torchvision's names, as resnet101.pth of the same repository; else CheckpointError."""
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


def stated(config: Mapping[str, Any]) -> dict[str, Any]:
    """As for every encoder; none."""
    return {}


FAMILY = ResnetEncoder
