"""ROSITA (Cui et al. 2021): one BERT over the words and the regions of an image.

After github.com/MILVLG/rosita: rosita/modeling/transformer.py and rosita/modeling/finetune_tasks/itr.py.
"""

from collections.abc import Mapping
from typing import Any, Self

import torch
from torch import Tensor

from captionlab.networks.bert import RegionEmbeddings
from captionlab.regions.batches import RegionBatch
from captionlab.scorers.scorer import Matching, Visual
from captionlab.scorers.single_stream import SingleStream

# The modules that scoring needs: names in the checkpoints, and names in this network.
_MODULES = {
    "text_embeddings": "embeddings",
    "visual_embeddings": "img_embeddings",
    "backbone": "",
    "pooler": "pooler",
    "mm_itm_head": "head",
}
_PARTS = {
    "layers.": "layer.",
    "mhatt.dense_q.": "attention.self.query.",
    "mhatt.dense_k.": "attention.self.key.",
    "mhatt.dense_v.": "attention.self.value.",
    "mhatt.dense_merge.": "attention.output.dense.",
    "layer_norm0.": "attention.output.LayerNorm.",
    "layer_norm1.": "output.LayerNorm.",
    "ffn.dense0.": "intermediate.dense.",
    "ffn.dense1.": "output.dense.",
    "layer_norm.": "LayerNorm.",
    "dense_imgfeat.": "image_embeddings.",
    "dense_bboxfeat.": "image_location_embeddings.",
    "head.dense.": "head.",
}


class Rosita(SingleStream):
    """Network of ROSITA. The match output is index 1. Text is cut to 30 tokens, as in the authors' retrieval."""

    REGIONS, PROJECTION = RegionEmbeddings, "img_embeddings.image_embeddings"
    MATCHING = Matching(match_index=1, max_tokens=30, strip_punctuation=True)

    @classmethod
    def from_published(
        cls, checkpoint: Mapping[str, Any], head: str = "itm", heads: int | None = None
    ) -> tuple[Self, dict[str, Tensor]]:
        """Return a network with the sizes of a published checkpoint, and the weights to load into it.

        The checkpoint has a state dict per module, as the authors store it, or one state dict for all modules. Raises
        ValueError for another `head` than itm, KeyError for a missing tensor, and CheckpointError if `heads` is not
        given.
        """
        if head != "itm":
            raise ValueError("ROSITA has no retrieval head, it was fine-tuned with its itm head; set head: itm")
        published = _flatten(checkpoint)
        weights = {_rename(name): value for name, value in published.items() if name.split(".")[0] in _MODULES}
        return cls.fitting(weights, heads), weights

    def encode_image(self, regions: RegionBatch) -> Visual:
        """Return the embeddings of regions."""
        boxes = torch.cat([regions.corners, regions.areas], dim=-1)
        return Visual(self.img_embeddings(regions.features, boxes), regions.counts)


def _flatten(checkpoint: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tensors of a checkpoint by their names in the whole network."""
    flat: dict[str, Any] = {}
    for module, value in checkpoint.items():
        if isinstance(value, Mapping):
            flat |= {f"{module}.{name.removeprefix('module.')}": tensor for name, tensor in value.items()}
        else:
            flat[module.removeprefix("module.")] = value
    return flat


def _rename(name: str) -> str:
    module, _, inner = name.partition(".")
    name = f"{_MODULES[module]}.{inner}".removeprefix(".")
    for original, ours in _PARTS.items():
        name = name.replace(original, ours)
    return name


FAMILY = Rosita
