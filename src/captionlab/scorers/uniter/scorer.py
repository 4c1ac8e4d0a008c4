"""UNITER (Chen et al. 2020): one BERT over the words and the regions of an image.

After github.com/ChenRocks/UNITER: model/model.py, model/pretrain.py, model/itm.py. Its vocabulary is cased.
"""

from collections.abc import Mapping
from typing import Any, Self

import torch
from torch import Tensor, nn

from captionlab.networks.bert import EPSILON, without_prefixes
from captionlab.networks.linear import Linear
from captionlab.regions.batches import RegionBatch
from captionlab.scorers.scorer import Matching, Visual
from captionlab.scorers.single_stream import SingleStream


class RegionEmbeddings(nn.Module):
    """Embeddings of regions: projected and normalised features and boxes, plus the second token type."""

    def __init__(self, region_size: int, width: int, dropout: float):
        super().__init__()
        self.img_linear, self.pos_linear = Linear(region_size, width), Linear(7, width)
        self.img_layer_norm, self.pos_layer_norm, self.LayerNorm = (nn.LayerNorm(width, eps=EPSILON) for _ in range(3))
        self.dropout = nn.Dropout(dropout)

    def forward(self, features: Tensor, boxes: Tensor, token_type: Tensor) -> Tensor:
        """Return embeddings (N, R, width) of features (N, R, region_size) and encoded boxes (N, R, 7)."""
        image, box = self.img_layer_norm(self.img_linear(features)), self.pos_layer_norm(self.pos_linear(boxes))
        return self.dropout(self.LayerNorm(image + box + token_type))


class Uniter(SingleStream):
    """Network of UNITER. The match output is index 1. The authors read up to 60 word pieces."""

    REGIONS, PROJECTION = RegionEmbeddings, "img_embeddings.img_linear"
    MATCHING = Matching(match_index=1, max_tokens=62, lowercase=False)

    @classmethod
    def from_published(
        cls, checkpoint: Mapping[str, Any], head: str = "itm", heads: int | None = None
    ) -> tuple[Self, dict[str, Tensor]]:
        """Return a network with the sizes of a published checkpoint, and the weights to load into it.

        If the checkpoint has no retrieval head, the head is initialised with the match output of the itm head. Raises
        KeyError for a missing tensor and CheckpointError if `heads` is not given.
        """
        published = {_rename(name): value for name, value in checkpoint.items()}
        kept = ("embeddings.", "img_embeddings.", "layer.", "pooler.")
        weights = {name: value for name, value in published.items() if name.startswith(kept)}
        weights.pop("img_embeddings.mask_embedding.weight", None)  # masked regions occur in pre-training only
        for part in ("weight", "bias"):
            if head == "itm":
                weights[f"head.{part}"] = published[f"itm_output.{part}"]
            elif f"rank_output.{part}" in published:
                weights[f"head.{part}"] = published[f"rank_output.{part}"]
            else:
                weights[f"head.{part}"] = published[f"itm_output.{part}"][1:]
        return cls.fitting(weights, heads), weights

    def encode_image(self, regions: RegionBatch) -> Visual:
        """Return the embeddings of regions."""
        boxes = torch.cat([regions.corners, regions.sides, regions.areas], dim=-1)
        token_type = self.embeddings.token_type_embeddings.weight[1]
        return Visual(self.img_embeddings(regions.features, boxes, token_type), regions.counts)


def _rename(name: str) -> str:
    """Return the name of a tensor in this network, from any spelling and prefix of the authors."""
    name = without_prefixes(name, "module", "bert", "uniter")
    return name.replace("encoder.layer.", "layer.", 1).replace("ITM.", "itm_output.")


FAMILY = Uniter
