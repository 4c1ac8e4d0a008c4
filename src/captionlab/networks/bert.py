"""Blocks of BERT (Devlin et al. 2019) for captioners and scorers, with the parameter names of its checkpoints.

Layers are post-layer-norm with the exact GELU, and layer norms have an epsilon of 1e-12. A mask is True where a
position may be attended to. It is (B, positions), or (B, T, positions) if it differs between queries, or None if all
positions may be attended to.
"""

import re
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from captionlab.networks.checkpoints import CheckpointError, count_layers
from captionlab.networks.linear import Linear

EPSILON = 1e-12


def split(states: Tensor, heads: int) -> Tensor:
    """Reshape states (B, S, width) to (B, heads, S, head size)."""
    return states.unflatten(-1, (heads, -1)).transpose(1, 2)


def attend(query: Tensor, key: Tensor, value: Tensor, heads: int, mask: Tensor | None, dropout: float) -> Tensor:
    """Return multi-head attention (B, T, width) of projected queries (B, T, width) to keys and values (B, S, width)."""
    query, key, value = (split(part, heads) for part in (query, key, value))
    if mask is not None:
        mask = mask[:, None] if mask.ndim == 3 else mask[:, None, None]
    attended = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask, dropout_p=dropout)
    return attended.transpose(1, 2).flatten(2)


def initialise(network: nn.Module) -> None:
    """Initialise weights for training: normal with deviation 1 / sqrt(inputs), biases 0. Layer norms are not changed.

    The deviation of embeddings is 1 / sqrt(width). BERT's deviation of 0.02 is for a width of 768; a network of a tenth
    of this width stays at chance with it.
    """
    for module in network.modules():
        if isinstance(module, nn.Linear):
            nn.init.normal_(module.weight, std=module.in_features**-0.5)
            nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=module.embedding_dim**-0.5)


def check_heads(width: int, heads: int) -> None:
    """Raise ValueError if `width` is not a multiple of `heads`."""
    if width % heads:
        raise ValueError(f"a width of {width} cannot be divided among {heads} heads; give the right number of heads")


def said(heads: int | None, key: str = "heads") -> int:
    """Return the number of heads, which cannot be read off weights. Raises CheckpointError if it is None."""
    if heads is None:
        raise CheckpointError(
            f"weights do not tell how many attention heads a layer has; write `{key}: <number>` beside them in the "
            "config, or use the folder of a model made here by `run`"
        )
    return heads


class Heads(nn.Module):
    """Multi-head attention from one sequence to another, or to itself."""

    def __init__(self, width: int, heads: int, dropout: float):
        super().__init__()
        check_heads(width, heads)
        self.heads, self.dropout = heads, dropout
        self.query, self.key, self.value = (Linear(width, width) for _ in range(3))

    def forward(self, states: Tensor, context: Tensor, mask: Tensor | None) -> Tensor:
        """Return the attention (B, T, width) of states (B, T, width) to `context` (B, S, width).

        `mask` hides padding.
        """
        dropout = self.dropout if self.training else 0.0
        return attend(self.query(states), self.key(context), self.value(context), self.heads, mask, dropout)


class Projection(nn.Module):
    """A linear layer whose output is added to the residual stream and normalised."""

    def __init__(self, inputs: int, outputs: int, dropout: float):
        super().__init__()
        self.dense, self.LayerNorm = Linear(inputs, outputs), nn.LayerNorm(outputs, eps=EPSILON)
        self.dropout = nn.Dropout(dropout)

    def forward(self, states: Tensor, residual: Tensor) -> Tensor:
        """Map (B, T, inputs) to (B, T, outputs), the shape of the residual."""
        return self.LayerNorm(self.dropout(self.dense(states)) + residual)


class Attention(nn.Module):
    """Multi-head attention and its output projection."""

    def __init__(self, width: int, heads: int, dropout: float):
        super().__init__()
        self.self = Heads(width, heads, dropout)
        self.output = Projection(width, width, dropout)


class Expansion(nn.Module):
    """The first half of a feed-forward layer, which expands the width."""

    def __init__(self, width: int, feed_forward: int):
        super().__init__()
        self.dense = Linear(width, feed_forward)

    def forward(self, states: Tensor) -> Tensor:
        """Map (B, T, width) to (B, T, feed_forward)."""
        return functional.gelu(self.dense(states))


class Layer(nn.Module):
    """A transformer layer: attention, then a feed-forward layer."""

    def __init__(self, width: int, heads: int, feed_forward: int, dropout: float):
        super().__init__()
        self.attention = Attention(width, heads, dropout)
        self.intermediate = Expansion(width, feed_forward)
        self.output = Projection(feed_forward, width, dropout)

    def forward(self, states: Tensor, mask: Tensor | None, positions: slice = slice(None)) -> Tensor:
        """Map (B, S, width) to (B, T, width), the output at some positions, by default all.

        The positions attend to all S positions.
        """
        kept = states[:, positions]
        return self.after(self.attention.self(kept, states, mask), kept)

    def after(self, attended: Tensor, states: Tensor) -> Tensor:
        """Return the output of the layer at positions (B, T, width) after attention.

        `attended` is the output of the attention.
        """
        states = self.attention.output(attended, states)
        return self.output(self.intermediate(states), states)


# Scorers read the last layer at the first token.
FIRST = slice(0, 1)


class TextEmbeddings(nn.Module):
    """Embeddings of word pieces, of their positions and of the first segment."""

    def __init__(self, vocabulary: int, positions: int, width: int, dropout: float):
        super().__init__()
        self.word_embeddings = nn.Embedding(vocabulary, width)
        self.position_embeddings = nn.Embedding(positions, width)
        self.token_type_embeddings = nn.Embedding(2, width)
        self.LayerNorm, self.dropout = nn.LayerNorm(width, eps=EPSILON), nn.Dropout(dropout)

    def sum(self, ids: Tensor) -> Tensor:
        """Return the sum of the three embeddings (B, T, width) for token ids (B, T), not yet normalised."""
        positions = self.position_embeddings.weight[: ids.shape[1]]
        return self.word_embeddings(ids) + positions + self.token_type_embeddings.weight[0]

    def forward(self, ids: Tensor) -> Tensor:
        """Return the embeddings (B, T, width) of token ids (B, T)."""
        return self.dropout(self.LayerNorm(self.sum(ids)))


class RegionEmbeddings(nn.Module):
    """Embeddings of regions: features and boxes, projected, summed and normalised, with ViLBERT's parameter names."""

    def __init__(self, region_size: int, width: int, dropout: float):
        super().__init__()
        self.image_embeddings, self.image_location_embeddings = Linear(region_size, width), Linear(5, width)
        self.LayerNorm, self.dropout = nn.LayerNorm(width, eps=EPSILON), nn.Dropout(dropout)

    def forward(self, features: Tensor, boxes: Tensor) -> Tensor:
        """Return the embeddings (N, R, width) of features (N, R, region_size) and encoded boxes (N, R, 5)."""
        summed = self.image_embeddings(features) + self.image_location_embeddings(boxes)
        return self.dropout(self.LayerNorm(summed))


class Pooler(nn.Module):
    """A linear layer on the state of the first position. The caller applies the activation."""

    def __init__(self, width: int, outputs: int):
        super().__init__()
        self.dense = Linear(width, outputs)

    def forward(self, states: Tensor) -> Tensor:
        """Map (B, T, width) to (B, outputs)."""
        return self.dense(states[:, 0])


def join(first: Tensor | None, length: int, second: Tensor | None, other_length: int) -> Tensor | None:
    """Return the mask of two sequences, one after the other, or None if neither has padding."""
    if first is not None and second is None:
        second = first.new_ones(len(first), other_length)
    elif first is None and second is not None:
        first = second.new_ones(len(second), length)
    return None if first is None or second is None else torch.cat([first, second], dim=1)


def read_sizes(
    weights: Mapping[str, Tensor], heads: int | None, prefix: str = "", stack: str = "layer"
) -> dict[str, Any]:
    """Return the sizes of a BERT, read off its weights, and `heads`, which cannot be read off.

    Raises KeyError that names a missing tensor, and CheckpointError if `heads` is None.
    """
    vocabulary, width = weights[f"{prefix}embeddings.word_embeddings.weight"].shape
    return {
        "vocabulary": vocabulary,
        "positions": len(weights[f"{prefix}embeddings.position_embeddings.weight"]),
        "width": width,
        "layers": count_layers(weights, prefix + stack),
        "heads": said(heads),
        "feed_forward": len(weights[f"{prefix}{stack}.0.intermediate.dense.bias"]),
    }


def without_prefixes(name: str, *prefixes: str) -> str:
    """Return the name of a tensor without these prefixes, with the current names of layer norms (weight and bias)."""
    name = re.sub(rf"^(({'|'.join(prefixes)})\.)+", "", name)
    return name.replace(".gamma", ".weight").replace(".beta", ".bias")
