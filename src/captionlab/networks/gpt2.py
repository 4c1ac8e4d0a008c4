"""GPT-2 (Radford et al. 2019), with the parameter names of transformers' GPT2LMHeadModel.

Importing transformers takes longer than captioning a small corpus, so this module does not use it. The model reads
embeddings, because a captioner's prefix has no tokens. It keeps keys and values of previous positions in a preallocated
cache.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from captionlab.networks.bert import check_heads
from captionlab.networks.caches import Cache
from captionlab.networks.linear import Linear, linear

INITIAL_STD = 0.02


class Projection(nn.Module):
    """A linear layer whose weight is (inputs, outputs), as in GPT-2's checkpoints."""

    def __init__(self, inputs: int, outputs: int, std: float = INITIAL_STD):
        super().__init__()
        self.input_size, self.output_size = inputs, outputs  # names that peft looks for
        self.weight = nn.Parameter(torch.empty(inputs, outputs).normal_(std=std))
        self.bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, x: Tensor) -> Tensor:
        """Map (..., inputs) to (..., outputs)."""
        return linear(x, self.weight.t(), self.bias)


class Attention(nn.Module):
    """Causal self-attention over the new positions and the cached positions."""

    def __init__(self, width: int, heads: int, layers: int, dropout: float):
        super().__init__()
        self.heads = heads
        self.c_attn = Projection(width, 3 * width)
        self.c_proj = Projection(width, width, INITIAL_STD / (2 * layers) ** 0.5)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, layer: int, cache: Cache | None) -> Tensor:
        """Map x (rows, new positions, width) to the same shape.

        If the cache is not empty, there must be a single new position.
        """
        rows, new, width = x.shape
        parts = self.c_attn(x).view(rows, new, 3, self.heads, width // self.heads)
        query, key, value = (part.transpose(1, 2) for part in parts.unbind(2))
        if cache is not None:
            key, value = cache.extend(layer, key, value)
        attended = functional.scaled_dot_product_attention(
            query, key, value, dropout_p=self.dropout.p if self.training else 0.0, is_causal=new > 1
        )
        return self.dropout(self.c_proj(attended.transpose(1, 2).reshape(rows, new, width)))


class FeedForward(nn.Module):
    """Two projections with the tanh form of GELU in between."""

    def __init__(self, width: int, layers: int, dropout: float):
        super().__init__()
        self.c_fc = Projection(width, 4 * width)
        self.c_proj = Projection(4 * width, width, INITIAL_STD / (2 * layers) ** 0.5)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """Map (rows, positions, width) to the same shape."""
        return self.dropout(self.c_proj(functional.gelu(self.c_fc(x), approximate="tanh")))


class Block(nn.Module):
    """A pre-layer-norm block: attention and a feed-forward layer, each with a residual connection."""

    def __init__(self, width: int, heads: int, layers: int, dropout: float):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attn = Attention(width, heads, layers, dropout)
        self.mlp = FeedForward(width, layers, dropout)

    def forward(self, x: Tensor, layer: int, cache: Cache | None) -> Tensor:
        """Map (rows, new positions, width) to the same shape."""
        x = x + self.attn(self.ln_1(x), layer, cache)
        return x + self.mlp(self.ln_2(x))


class Transformer(nn.Module):
    """Token and position embeddings, the blocks, and the last layer normalisation."""

    def __init__(self, vocabulary: int, positions: int, width: int, layers: int, heads: int, dropout: float):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocabulary, width), nn.Embedding(positions, width)
        self.drop = nn.Dropout(dropout)
        self.h = nn.ModuleList(Block(width, heads, layers, dropout) for _ in range(layers))
        self.ln_f = nn.LayerNorm(width)
        for table in (self.wte, self.wpe):
            nn.init.normal_(table.weight, std=INITIAL_STD)

    def forward(self, embeddings: Tensor, cache: Cache | None = None) -> Tensor:
        """Return the hidden states (rows, new, width) of embeddings that follow the positions in the cache.

        The cache is extended in place.
        """
        past = cache.length if cache is not None else 0
        positions = torch.arange(past, past + embeddings.shape[1], device=embeddings.device)
        x = self.drop(embeddings + self.wpe(positions))
        for layer, block in enumerate(self.h):
            x = block(x, layer, cache)
        if cache is not None:
            cache.length += embeddings.shape[1]
        return self.ln_f(x)


class GPT2(nn.Module):
    """The transformer and an output layer that shares its weight with the token embeddings."""

    def __init__(self, vocabulary: int, positions: int, width: int, layers: int, heads: int, dropout: float = 0.1):
        """Build a model of `layers` blocks with random weights.

        Raises ValueError if `width` is not a multiple of `heads`.
        """
        super().__init__()
        check_heads(width, heads)
        self.transformer = Transformer(vocabulary, positions, width, layers, heads, dropout)
        self.lm_head = Linear(width, vocabulary, bias=False)
        self.lm_head.weight = self.transformer.wte.weight
