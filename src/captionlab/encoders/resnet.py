"""A ResNet as encoder: the mean of its last layer over an image of any size, as the FC captioner was trained on.

After github.com/ruotianluo/ImageCaptioning.pytorch (captioning/utils/resnet.py, resnet_utils.py and
scripts/prepro_feats.py): the network of He et al. (2016) with its strides as in Caffe, images of their own size without
a crop. Importing this module imports torchvision, which takes longer than torch.
"""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Self

import torch
from PIL import Image
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torchvision.models.resnet import Bottleneck, ResNet

from captionlab.encoders.images import colours, normalise
from captionlab.files import replacing

# Of ImageNet's colours, 0 to 1.
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
DIMENSIONS = 512 * Bottleneck.expansion


class ResnetEncoder:
    """A frozen ResNet with its preprocessing."""

    # Images differ in size.
    batch = 1
    image_dimensions = DIMENSIONS

    def __init__(self, network: ResNet, blocks: Sequence[int], device: str = "cpu"):
        """Use a network with so many blocks in each of its four stages."""
        self.network, self.blocks, self.device = network.to(device).requires_grad_(False).eval(), list(blocks), device

    @classmethod
    def load(cls, directory: str | os.PathLike[str], device: str = "cpu") -> Self:
        """The encoder that `save` wrote."""
        blocks = json.loads((Path(directory) / "config.json").read_text(encoding="utf-8"))["blocks"]
        network = build(blocks)
        network.load_state_dict(load_file(Path(directory) / "model.safetensors"))
        return cls(network, blocks, device)

    def save(self, directory: str | os.PathLike[str]) -> None:
        """Write config.json and model.safetensors."""
        text = json.dumps({"family": "resnet", "blocks": self.blocks}, indent=2, sort_keys=True)
        with replacing(Path(directory) / "model.safetensors") as path:
            save_file(self.network.state_dict(), path)
        with replacing(Path(directory) / "config.json") as path:
            path.write_text(text + "\n", encoding="utf-8")

    def preprocess(self, image: Image.Image) -> Tensor:
        """An image as bytes (3, height, width), RGB, of its own size."""
        return colours(image)

    @torch.no_grad()
    def embed_images(self, pixels: Tensor) -> Tensor:
        """Image embeddings (n, 2048), float32, of images (n, 3, height, width), uint8, of one size."""
        net = self.network
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


FAMILY = ResnetEncoder
