"""Region features from a detector of torchvision: Faster R-CNN with a ResNet-50 and a feature pyramid.

The detector is `fasterrcnn_resnet50_fpn_v2` (Li et al. 2021, "Benchmarking detection transfer learning with vision
transformers"). The features of a region are the 1,024 outputs of the box head, from which its class is predicted. No
published scorer reads these features, but a scorer trained here can. Importing this module imports torch's compiler,
which takes seconds.
"""

import os
from collections.abc import Iterable, Iterator
from itertools import tee
from typing import Any

import pyarrow as pa
import torch
from torchvision.models.detection import FasterRCNN_ResNet50_FPN_V2_Weights, fasterrcnn_resnet50_fpn_v2

from captionlab.encoders.images import colours, decode
from captionlab.networks.checkpoints import read_checkpoint
from captionlab.regions.tables import ImageRegions, RegionError


class Detector:
    """The detector with published weights."""

    def __init__(self, weights: str | os.PathLike[str], count: int = 36, size: int = 800, device: str = "cpu"):
        """Read the state dict that torchvision publishes. Raises RegionError if the file is another one.

        The `count` most confident regions of an image are kept. The image is resized so that its shorter side has
        `size` pixels, unless the longer side would exceed 1,333 pixels.
        """
        state = read_checkpoint(weights)
        try:
            classes = len(state["roi_heads.box_predictor.cls_score.bias"])
            model = fasterrcnn_resnet50_fpn_v2(
                weights=None,
                weights_backbone=None,
                num_classes=classes,
                min_size=size,
                # No detection is refused, so that every image has regions, as in bottom-up features with a fixed
                # number.
                box_score_thresh=0.0,
                box_detections_per_img=count,
            )
            model.load_state_dict(state)
        except (KeyError, RuntimeError) as error:
            raise RegionError(
                f"{weights} does not hold torchvision's fasterrcnn_resnet50_fpn_v2 ({error}); docs/data.md says which "
                "file does"
            ) from error
        self.model: Any = model.to(device).requires_grad_(False).eval()
        self.device = device
        names = FasterRCNN_ResNet50_FPN_V2_Weights.COCO_V1.meta["categories"]
        self.labels = names if len(names) == classes else None

    @torch.no_grad()
    def regions(self, images: Iterable[pa.Table], threads: int = 1) -> Iterator[ImageRegions]:
        """Yield the regions of each image of tables (image_id and PLACE), by descending confidence.

        An image has R >= 1 regions, with boxes (R, 4) in pixels of the image and float32 features (R, 1024). If nothing
        is detected, the only region is the whole image.
        """
        transform, heads = self.model.transform, self.model.roi_heads
        named, shown = tee(images)
        ids = (image_id for table in named for image_id in table["image_id"].to_pylist())
        for image_id, image in zip(ids, decode(shown, colours, threads, 16), strict=True):
            pixels = image.to(self.device).float() / 255
            batch, _ = transform([pixels])
            maps = self.model.backbone(batch.tensors)
            proposals, _ = self.model.rpn(batch, maps)
            found, _ = heads(maps, proposals, batch.image_sizes)
            if not len(found[0]["boxes"]):
                height, width = batch.image_sizes[0]
                whole = pixels.new_tensor([[0, 0, width, height]])
                found = [{"boxes": whole, "labels": torch.zeros(1, dtype=torch.long), "scores": torch.zeros(1)}]
            features = heads.box_head(heads.box_roi_pool(maps, [found[0]["boxes"]], batch.image_sizes))
            (kept,) = transform.postprocess(found, batch.image_sizes, [tuple(image.shape[1:])])
            numbers = kept["labels"].cpu().numpy()
            yield ImageRegions(
                image_id,
                width=image.shape[2],
                height=image.shape[1],
                boxes=kept["boxes"].cpu().numpy(),
                features=features.cpu().numpy(),
                confidence=kept["scores"].cpu().numpy(),
                label=self.labels and [self.labels[number] for number in numbers],
                label_id=numbers,
            )
