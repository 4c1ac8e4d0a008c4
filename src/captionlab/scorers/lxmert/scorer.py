"""LXMERT (Tan and Bansal 2019), by the classes of transformers, split up so that images are encoded once.

After github.com/airsplay/lxmert (src/lxrt/modeling.py). Importing this module imports transformers, which takes longer
than scoring a small corpus.
"""

import re
from collections.abc import Mapping
from typing import Any, Self

import torch
from torch import Tensor
from transformers import LxmertConfig, LxmertModel

from captionlab.networks.bert import initialise, read_sizes
from captionlab.networks.checkpoints import count_layers
from captionlab.networks.linear import Linear
from captionlab.regions.batches import RegionBatch
from captionlab.scorers.scorer import Matching, ScorerNetwork, Visual


class Lxmert(ScorerNetwork):
    """Network of LXMERT. The match output is index 1. Text is cut to 20 tokens, as the authors did."""

    MATCHING = Matching(match_index=1, max_tokens=20)
    WORDS, PROJECTION = "lxmert.embeddings.word_embeddings", "lxmert.encoder.visn_fc.visn_fc"

    def __init__(
        self,
        vocabulary: int,
        positions: int,
        width: int,
        layers: int,
        visual_layers: int,
        cross_layers: int,
        heads: int,
        feed_forward: int,
        region_size: int,
        outputs: int = 2,
        dropout: float = 0.1,
    ):
        """Build a network with random weights for regions with `region_size` numbers; the head has 2 or 1 `outputs`."""
        super().__init__(locals())
        config = LxmertConfig(
            vocab_size=vocabulary,
            max_position_embeddings=positions,
            hidden_size=width,
            l_layers=layers,
            r_layers=visual_layers,
            x_layers=cross_layers,
            num_attention_heads=heads,
            intermediate_size=feed_forward,
            visual_feat_dim=region_size,
            hidden_dropout_prob=dropout,
            attention_probs_dropout_prob=dropout,
        )
        self.lxmert = LxmertModel(config)
        self.head = Linear(width, outputs)
        initialise(self)

    @classmethod
    def from_published(
        cls, checkpoint: Mapping[str, Any], head: str = "itm", heads: int | None = None
    ) -> tuple[Self, dict[str, Tensor]]:
        """Return a network with the sizes of a published checkpoint, and the weights to load into it.

        Tensors may have the authors' or transformers' names. Raises ValueError for another `head` than itm, KeyError
        for a missing tensor, and CheckpointError if `heads` is not given.
        """
        if head != "itm":
            raise ValueError("LXMERT has no retrieval head; set head: itm")
        published = {re.sub(r"^(module\.)+", "", name): value for name, value in checkpoint.items()}
        published = {re.sub(r"^bert\.", "lxmert.", name): value for name, value in published.items()}
        weights = {name: value for name, value in published.items() if name.startswith("lxmert.")}
        weights |= {f"head.{part}": published[f"cls.seq_relationship.{part}"] for part in ("weight", "bias")}
        network = cls(
            **read_sizes(weights, heads, "lxmert.", "encoder.layer"),
            visual_layers=count_layers(weights, "lxmert.encoder.r_layers"),
            cross_layers=count_layers(weights, "lxmert.encoder.x_layers"),
            region_size=weights[f"{cls.PROJECTION}.weight"].shape[1],
        )
        return network, weights

    def encode_image(self, regions: RegionBatch) -> Visual:
        """Return the states of the regions after the object-relation layers."""
        states = self.lxmert.encoder.visn_fc(regions.features, regions.corners)
        visual = Visual(states, regions.counts)
        for layer in self.lxmert.encoder.r_layers:
            states = layer(states, self._additive(visual.mask))[0]
        return Visual(states, regions.counts)

    def states(self, visual: Visual, ids: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        """Return final states of text (B, T, width) and regions (B, R, width); `mask` (B, T) hides padding of `ids`."""
        text, text_mask, image, image_mask = self._before_last(visual, ids, mask)
        text, image = self.lxmert.encoder.x_layers[-1](text, text_mask, image, image_mask)
        return text, image

    def pooled(self, visual: Visual, ids: Tensor, mask: Tensor | None) -> Tensor:
        """Return a summary (B, width) of each image and text.

        The last layer is computed for the first token alone.
        """
        text, text_mask, image, image_mask = self._before_last(visual, ids, mask)
        last: Any = self.lxmert.encoder.x_layers[-1]
        text = last.visual_attention(text, image, image_mask)[0]
        first = text[:, :1]
        first = last.lang_self_att.output(last.lang_self_att.self(first, text, text_mask)[0], first)
        return self.lxmert.pooler(last.lang_output(last.lang_inter(first), first))

    def logits(self, visual: Visual, ids: Tensor, mask: Tensor | None) -> Tensor:
        """Return the head's logits (B, outputs) of image-text pairs; `mask` (B, T) hides padding of `ids` (B, T)."""
        return self.head(self.pooled(visual, ids, mask))

    def _before_last(
        self, visual: Visual, ids: Tensor, mask: Tensor | None
    ) -> tuple[Tensor, Tensor | None, Tensor, Tensor | None]:
        """Return the states and masks of text and regions before the last cross-modality layer."""
        text, image = self.lxmert.embeddings(ids, torch.zeros_like(ids)), visual.states
        text_mask, image_mask = self._additive(mask), self._additive(visual.mask)
        for layer in self.lxmert.encoder.layer:
            text = layer(text, text_mask)[0]
        for layer in self.lxmert.encoder.x_layers[:-1]:
            text, image = layer(text, text_mask, image, image_mask)
        return text, text_mask, image, image_mask

    def _additive(self, mask: Tensor | None) -> Tensor | None:
        """Return a mask in the additive form of transformers' attention, (B, 1, 1, positions)."""
        if mask is None:
            return None
        return mask.logical_not()[:, None, None] * torch.finfo(self.head.weight.dtype).min


FAMILY = Lxmert
