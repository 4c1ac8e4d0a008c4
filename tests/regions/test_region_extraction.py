"""Regions of one's own images: given boxes that are cut out, and a detector."""

import io

import numpy as np
import pyarrow as pa
import pytest
import torch
from PIL import Image

from captionlab.encoders.clip.encoder import Clip, build
from captionlab.regions.crops import boxes_by_image, cropped_regions, cut_out
from captionlab.regions.tables import RegionError

ARCHITECTURE = {
    "embed_dim": 8,
    "vision_cfg": {"image_size": 32, "layers": 1, "width": 64, "patch_size": 16},
    "text_cfg": {"context_length": 12, "vocab_size": 49408, "width": 64, "heads": 1, "layers": 1},
}


def images(*sizes) -> pa.Table:
    rows = []
    for number, (width, height) in enumerate(sizes):
        pixels = np.random.default_rng(number).integers(0, 256, (height, width, 3), np.uint8)
        buffer = io.BytesIO()
        Image.fromarray(pixels).save(buffer, "PNG")
        rows.append(
            {
                "image_id": f"i{number}",
                "offset": None,
                "length": None,
                "path": None,
                "data": buffer.getvalue(),
                "width": width,
                "height": height,
            }
        )
    return pa.Table.from_pylist(rows)


@pytest.mark.parametrize(
    ("box", "pixels"),
    [
        ((0, 0, 40, 30), (0, 0, 40, 30)),
        ((3, 7, 31, 22), (3, 7, 31, 22)),
        ((3.2, 7.9, 30.1, 21.5), (3, 7, 31, 22)),  # whatever it touches
        ((10, 5, 10, 20), (10, 5, 11, 20)),  # a line
        ((40, 30, 40, 30), (39, 29, 40, 30)),  # the corner
        ((35, -9, 99, 5), (35, 0, 40, 5)),  # beyond the edge
        ((-9, -9, -5, -5), (0, 0, 1, 1)),
    ],
)
def test_cut_out(box, pixels):
    array = np.random.default_rng(0).integers(0, 256, (30, 40, 3), np.uint8)
    left, top, right, bottom = pixels
    expected = Image.fromarray(array[top:bottom, left:right]).resize((16, 16), Image.Resampling.BICUBIC)
    np.testing.assert_array_equal(cut_out(Image.fromarray(array), box, 16).permute(1, 2, 0), np.asarray(expected))


def test_regions_of_given_boxes():
    """The whole image first, then its boxes, each as the encoder sees it alone."""
    torch.set_num_threads(1)
    encoder = Clip(
        build(ARCHITECTURE, seed=1), {"architecture": ARCHITECTURE, "image_mean": [0.4] * 3, "image_std": [0.5] * 3}
    )
    table = images((32, 32), (64, 32), (40, 30))
    objects = pa.Table.from_pylist(
        [
            {"image_id": "i1", "label": "dog", "x1": 32.0, "y1": 8.0, "x2": 48.0, "y2": 16.0},
            {"image_id": "i0", "label": "cat", "x1": 0.0, "y1": 0.0, "x2": 16.0, "y2": 8.0},
            {"image_id": "i1", "label": "sky", "x1": 0.0, "y1": 0.0, "x2": 64.0, "y2": 8.0},
        ]
    )
    found = list(cropped_regions(encoder, 32, [table], boxes_by_image(objects), batch=2))
    assert [(regions.image_id, regions.width, regions.height) for regions in found] == [
        ("i0", 32, 32),
        ("i1", 64, 32),
        ("i2", 40, 30),
    ]
    assert [regions.label for regions in found] == [[None, "cat"], [None, "dog", "sky"], [None]]
    np.testing.assert_array_equal(found[1].boxes, [[0, 0, 64, 32], [32, 8, 48, 16], [0, 0, 64, 8]])
    for regions, row in zip(found, table.to_pylist(), strict=True):
        image = Image.open(io.BytesIO(row["data"]))
        for box, features in zip(regions.boxes, regions.features, strict=True):
            part = np.asarray(image.crop(tuple(box)).resize((32, 32), Image.Resampling.BICUBIC))
            alone = encoder.embed_images(torch.from_numpy(part.transpose(2, 0, 1).copy())[None])
            np.testing.assert_allclose(features, alone[0], atol=1e-5)


@pytest.fixture(scope="module")
def detector(tmp_path_factory):
    """Random weights in torchvision's file, for images of 64 pixels; batch norms with some spread."""
    from torchvision.models.detection import fasterrcnn_resnet50_fpn_v2

    from captionlab.regions.detection import Detector

    torch.set_num_threads(1)
    torch.manual_seed(0)
    path = tmp_path_factory.mktemp("detector") / "weights.pth"
    torch.save(fasterrcnn_resnet50_fpn_v2(weights=None, weights_backbone=None).state_dict(), path)
    return Detector(path, count=5, size=64)


def test_detector(detector):
    """Boxes, classes and confidence are those of torchvision's own call; features are what classes are told from."""
    table = images((80, 60), (50, 90))
    found = list(detector.regions([table]))
    assert [regions.image_id for regions in found] == ["i0", "i1"]
    for regions, row in zip(found, table.to_pylist(), strict=True):
        pixels = torch.from_numpy(np.asarray(Image.open(io.BytesIO(row["data"]))).copy()).permute(2, 0, 1) / 255
        with torch.no_grad():
            (expected,) = detector.model([pixels])
        assert (regions.width, regions.height) == (row["width"], row["height"])
        assert 1 <= len(regions.boxes) <= 5
        np.testing.assert_allclose(regions.boxes, expected["boxes"], atol=1e-4)
        np.testing.assert_array_equal(regions.label_id, expected["labels"])
        assert (np.diff(regions.confidence) <= 0).all()
        assert len(regions.label) == len(regions.boxes)
        assert regions.features.shape == (len(regions.boxes), 1024)
        with torch.no_grad():
            batch, _ = detector.model.transform([pixels])
            maps, heads = detector.model.backbone(batch.tensors), detector.model.roi_heads
            scale = torch.tensor(batch.image_sizes[0][::-1] * 2) / torch.tensor([*pixels.shape[:0:-1]] * 2)
            for box, features in zip(regions.boxes, regions.features, strict=True):
                pooled = heads.box_roi_pool(maps, [torch.from_numpy(box)[None] * scale], batch.image_sizes)
                np.testing.assert_allclose(features, heads.box_head(pooled)[0], atol=1e-3)


def test_other_weights(detector, tmp_path):
    from captionlab.regions.detection import Detector

    torch.save({"conv.weight": torch.zeros(1)}, tmp_path / "other.pth")
    with pytest.raises(RegionError, match=r"other\.pth does not hold torchvision's fasterrcnn_resnet50_fpn_v2"):
        Detector(tmp_path / "other.pth")
