"""The ResNet encoder against the same sums written out, and its files."""

import json
import subprocess
import sys

import pytest
import torch
from PIL import Image
from safetensors.torch import load_file
from torch.nn import functional as F

from captionlab.encoders.embeddings import load_embeddings
from captionlab.encoders.images import embed_images
from captionlab.encoders.resnet.encoder import ResnetEncoder, build, import_weights
from captionlab.networks.checkpoints import CheckpointError
from captionlab.storage.schemas import IMAGES
from captionlab.storage.tables import write_table

BLOCKS = [1, 2, 1, 1]


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    """A file as published: torchvision's names, a classifier, and no numbers of batches."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    state = {n: v for n, v in build(BLOCKS).state_dict().items() if not n.endswith("num_batches_tracked")}
    for name, value in state.items():
        if "running_var" in name:
            value.uniform_(0.5, 2)
        elif value.dim() == 1:
            value.normal_(0.5, 0.2)
    path = tmp_path_factory.mktemp("weights") / "resnet.pth"
    torch.save({**state, "fc.weight": torch.zeros(10, 2048), "fc.bias": torch.zeros(10)}, path)
    return path


def naive(path, pixels):
    """The embedding of one image (3, height, width): He et al. 2016, table 1, with strides in the first convolution."""
    w = torch.load(path, weights_only=True)

    def layer(x, name, number, stride=1, padding=0):
        place, norm = f"{name}.conv{number}", f"{name}.bn{number}"
        if number == 0:
            place, norm = f"{name}.downsample.0", f"{name}.downsample.1"
        x = F.conv2d(x, w[f"{place}.weight"], stride=stride, padding=padding)
        mean, var = w[f"{norm}.running_mean"][:, None, None], w[f"{norm}.running_var"][:, None, None]
        return (x - mean) / (var + 1e-5).sqrt() * w[f"{norm}.weight"][:, None, None] + w[f"{norm}.bias"][:, None, None]

    mean = torch.tensor([0.485, 0.456, 0.406])[:, None, None]
    std = torch.tensor([0.229, 0.224, 0.225])[:, None, None]
    x = F.conv2d(((pixels.float() / 255 - mean) / std)[None], w["conv1.weight"], stride=2, padding=3)
    x = (x - w["bn1.running_mean"][:, None, None]) / (w["bn1.running_var"][:, None, None] + 1e-5).sqrt()
    x = (x * w["bn1.weight"][:, None, None] + w["bn1.bias"][:, None, None]).clamp(min=0)
    x = F.max_pool2d(x, 3, 2, padding=0, ceil_mode=True)
    for stage, blocks in enumerate(BLOCKS, start=1):
        for block in range(blocks):
            name, stride = f"layer{stage}.{block}", 2 if stage > 1 and block == 0 else 1
            short = layer(x, name, 0, stride) if block == 0 else x
            y = layer(x, name, 1, stride).clamp(min=0)
            y = layer(y, name, 2, padding=1).clamp(min=0)
            x = (layer(y, name, 3) + short).clamp(min=0)
    return x.mean(dim=(0, 2, 3))


def test_images_of_any_size(weights, tmp_path):
    """Through the files: import, save, load, a table of images of different sizes and modes, embeddings."""
    import_weights({"family": "resnet"}, weights).save(tmp_path / "encoder")
    encoder = ResnetEncoder.load(tmp_path / "encoder")
    assert json.loads((tmp_path / "encoder/config.json").read_text()) == {"family": "resnet", "blocks": BLOCKS}
    assert not any(name.startswith("fc.") for name in load_file(tmp_path / "encoder/model.safetensors"))
    sizes = [(60, 47), (33, 80), (50, 50)]
    for number, (size, mode) in enumerate(zip(sizes, ("RGB", "L", "RGBA"), strict=True)):
        Image.effect_noise(size, 80).convert(mode).save(tmp_path / f"{number}.png")
    rows = {
        "image_id": ["a", "b", "c"],
        "position": [0, 1, 2],
        "split": ["train"] * 3,
        "path": [str(tmp_path / f"{number}.png") for number in range(3)],
        "offset": [None] * 3,
        "length": [None] * 3,
        "data": [None] * 3,
        "width": [width for width, _ in sizes],
        "height": [height for _, height in sizes],
        "image_set": [None] * 3,
    }
    write_table(tmp_path / "images.parquet", IMAGES, rows)
    embed_images(encoder, tmp_path / "images.parquet", tmp_path / "e.parquet", batch=encoder.batch)
    found = load_embeddings(tmp_path / "e.parquet").values
    assert found.shape == (3, 2048)
    for number in range(3):
        with Image.open(tmp_path / f"{number}.png") as image:
            expected = naive(weights, encoder.preprocess(image.convert("RGB")))
        torch.testing.assert_close(found[number], expected, rtol=1e-4, atol=1e-4)
    assert found.std() > 0.01


def test_what_is_no_resnet(weights, tmp_path):
    state = torch.load(weights, weights_only=True)
    for change, sentence in (
        ({"layer1.0.conv2.weight": torch.zeros(3)}, "does not fit a ResNet with"),
        ({"layer5.0.conv1.weight": torch.zeros(3)}, "1 tensors are missing or unexpected, the first is layer5"),
    ):
        torch.save({**state, **change}, tmp_path / "other.pth")
        with pytest.raises(CheckpointError, match=sentence):
            import_weights({}, tmp_path / "other.pth")
    del state["bn1.bias"]
    torch.save(state, tmp_path / "other.pth")
    with pytest.raises(CheckpointError, match=r"the first is bn1\.bias"):
        import_weights({}, tmp_path / "other.pth")
    torch.save({"weight": torch.zeros(2)}, tmp_path / "other.pth")
    with pytest.raises(CheckpointError, match="no ResNet with bottlenecks"):
        import_weights({}, tmp_path / "other.pth")
    (tmp_path / "other.pth").write_bytes(b"no file of tensors")
    with pytest.raises(CheckpointError, match=r"other\.pth"):
        import_weights({}, tmp_path / "other.pth")


def test_torchvision_is_imported_where_it_is_needed_only():
    code = "import sys, captionlab.encoders.images, captionlab.training.captioners; print('torchvision' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "False\n"
