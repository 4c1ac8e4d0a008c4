"""BLIP's vision tower from its published layout, against a plain computation with the original's names."""

import pytest
import torch
from PIL import Image
from safetensors.torch import save_file
from torch.nn import functional

from captionlab.encoders.blip.encoder import MEAN, STD, BlipEncoder, import_weights
from captionlab.networks.checkpoints import CheckpointError

WIDTH, HEADS, LAYERS, PATCH, SIZE = 12, 3, 2, 8, 16
PLACES = (SIZE // PATCH) ** 2 + 1


@pytest.fixture
def weights() -> dict[str, torch.Tensor]:
    """A checkpoint in the names of salesforce/BLIP, the text decoder's aside."""
    generator = torch.Generator().manual_seed(0)

    def random(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator) * 0.4

    state = {
        "cls_token": random(1, 1, WIDTH), "pos_embed": random(1, PLACES, WIDTH),
        "patch_embed.proj.weight": random(WIDTH, 3, PATCH, PATCH), "patch_embed.proj.bias": random(WIDTH),
        "norm.weight": 1 + random(WIDTH), "norm.bias": random(WIDTH),
    }  # fmt: skip
    for layer in range(LAYERS):
        shapes = {
            "attn.qkv": (3 * WIDTH, WIDTH),
            "attn.proj": (WIDTH, WIDTH),
            "mlp.fc1": (20, WIDTH),
            "mlp.fc2": (WIDTH, 20),
        }
        for name, shape in shapes.items():
            state[f"blocks.{layer}.{name}.weight"], state[f"blocks.{layer}.{name}.bias"] = (
                random(*shape),
                random(shape[0]),
            )
        for norm in ("norm1", "norm2"):
            state[f"blocks.{layer}.{norm}.weight"], state[f"blocks.{layer}.{norm}.bias"] = (
                1 + random(WIDTH),
                random(WIDTH),
            )
    return {f"visual_encoder.{name}": value for name, value in state.items()} | {"text_decoder.x": random(2)}


def naive(weights: dict[str, torch.Tensor], images: torch.Tensor) -> torch.Tensor:
    """The tower as the original computes it, place by place and head by head."""
    w = {name.removeprefix("visual_encoder."): value for name, value in weights.items()}

    def norm(states, name):
        return functional.layer_norm(states, (WIDTH,), w[f"{name}.weight"], w[f"{name}.bias"], 1e-6)

    def linear(states, name):
        return states @ w[f"{name}.weight"].T + w[f"{name}.bias"]

    patches = functional.conv2d(images, w["patch_embed.proj.weight"], w["patch_embed.proj.bias"], stride=PATCH)
    states = torch.cat([w["cls_token"].expand(len(images), -1, -1), patches.flatten(2).transpose(1, 2)], dim=1)
    states = states + w["pos_embed"]
    size = WIDTH // HEADS
    for layer in range(LAYERS):
        block = f"blocks.{layer}"
        query, key, value = linear(norm(states, f"{block}.norm1"), f"{block}.attn.qkv").split(WIDTH, dim=2)
        heads = []
        for head in range(HEADS):
            part = slice(head * size, (head + 1) * size)
            scores = query[..., part] @ key[..., part].transpose(1, 2) / size**0.5
            heads.append(scores.softmax(2) @ value[..., part])
        states = states + linear(torch.cat(heads, dim=2), f"{block}.attn.proj")
        inner = functional.gelu(linear(norm(states, f"{block}.norm2"), f"{block}.mlp.fc1"))
        states = states + linear(inner, f"{block}.mlp.fc2")
    return norm(states, "norm")


@pytest.mark.parametrize("wrapped", [True, False])
def test_published_weights_give_the_originals_numbers(tmp_path, weights, wrapped):
    path = tmp_path / "blip.pth"
    torch.save({"model": weights, "epoch": 4} if wrapped else weights, path)
    encoder = import_weights({"heads": HEADS}, path)
    encoder.save(tmp_path / "blip")
    encoder = BlipEncoder.load(tmp_path / "blip")
    assert encoder.patch_shape == (PLACES, WIDTH)
    pixels = torch.randint(0, 256, (3, 3, SIZE, SIZE), dtype=torch.uint8)
    images = (pixels / 255 - torch.tensor(MEAN)[:, None, None]) / torch.tensor(STD)[:, None, None]
    grids = encoder.embed_patches(pixels)
    torch.testing.assert_close(grids, naive(weights, images), rtol=1e-5, atol=1e-5)
    assert torch.equal(encoder.embed_images(pixels), grids[:, 0])
    assert encoder.image_dimensions == WIDTH


def test_images_are_cropped(tmp_path, weights):
    torch.save(weights, tmp_path / "blip.pth")
    encoder = import_weights({"heads": HEADS}, tmp_path / "blip.pth")
    wide = Image.new("RGB", (40, 20), (255, 0, 0))
    wide.paste((0, 255, 0), (10, 0, 30, 20))
    assert encoder.preprocess(wide)[:, :, 2:-2].unique(dim=2).shape[2] == 1  # the middle, which is green


def test_other_files_are_refused(tmp_path, weights):
    save_file({"text_decoder.x": torch.zeros(2)}, tmp_path / "other.safetensors")
    with pytest.raises(
        CheckpointError, match=r"other.safetensors has no vision tower of BLIP .* start with text_decoder.x"
    ):
        import_weights({}, tmp_path / "other.safetensors")
    del weights["visual_encoder.blocks.1.mlp.fc2.bias"]
    torch.save(weights, tmp_path / "cut.pth")
    with pytest.raises(CheckpointError, match="has no vision tower of BLIP"):
        import_weights({"heads": HEADS}, tmp_path / "cut.pth")
