"""Network of UNITER and ROSITA: the words and the regions of an image go through one BERT together."""

from collections.abc import Mapping
from typing import Self

import torch
from torch import Tensor, nn

from captionlab.networks.bert import FIRST, Layer, Pooler, TextEmbeddings, initialise, join, read_sizes
from captionlab.networks.linear import Linear
from captionlab.scorers.scorer import ScorerNetwork, Visual


class SingleStream(ScorerNetwork):
    """BERT over [text, regions]. A family sets `REGIONS`, the module that embeds regions.

    UNITER pads once after text and regions, ROSITA after each. The results are equal, because padding is masked and
    regions have no position.
    """

    REGIONS: type[nn.Module]

    def __init__(
        self,
        vocabulary: int,
        positions: int,
        width: int,
        layers: int,
        heads: int,
        feed_forward: int,
        region_size: int,
        outputs: int = 2,
        dropout: float = 0.1,
    ):
        """Build a network with random weights for regions with `region_size` numbers; the head has 2 or 1 `outputs`."""
        super().__init__(locals())
        self.embeddings = TextEmbeddings(vocabulary, positions, width, dropout)
        self.img_embeddings = self.REGIONS(region_size, width, dropout)
        self.layer = nn.ModuleList(Layer(width, heads, feed_forward, dropout) for _ in range(layers))
        self.pooler = Pooler(width, width)
        self.head = Linear(width, outputs)
        initialise(self)

    @classmethod
    def fitting(cls, weights: Mapping[str, Tensor], heads: int | None) -> Self:
        """Return a network with the sizes of `weights` and with `heads` heads. Raises KeyError for a missing tensor."""
        region_size, outputs = weights[f"{cls.PROJECTION}.weight"].shape[1], len(weights["head.bias"])
        return cls(region_size=region_size, outputs=outputs, **read_sizes(weights, heads))

    def states(self, visual: Visual, ids: Tensor, mask: Tensor | None, positions: slice = slice(None)) -> Tensor:
        """Return final states (B, T + R, width) of text and regions, at all positions or at `positions`."""
        states = torch.cat([self.embeddings(ids), visual.states], dim=1)
        mask = join(mask, ids.shape[1], visual.mask, visual.states.shape[1])
        for layer in self.layer[:-1]:
            states = layer(states, mask)
        return self.layer[-1](states, mask, positions)

    def pooled(self, visual: Visual, ids: Tensor, mask: Tensor | None) -> Tensor:
        """Return a summary (B, width) of each image and text.

        The last layer is computed for the first token alone.
        """
        return torch.tanh(self.pooler(self.states(visual, ids, mask, FIRST)))

    def logits(self, visual: Visual, ids: Tensor, mask: Tensor | None) -> Tensor:
        """Return the head's logits (B, outputs) of image-text pairs; `mask` (B, T) hides padding of `ids` (B, T)."""
        return self.head(self.pooled(visual, ids, mask))
