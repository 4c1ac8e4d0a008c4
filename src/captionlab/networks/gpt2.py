"""GPT-2 (Radford et al. 2019), with the parameter names of transformers' GPT2LMHeadModel and nothing more.

A module of its own because importing transformers takes longer than captioning a small corpus. It reads embeddings, as
a captioner's prefix is no token, and keeps keys and values of what it has read in a preallocated cache.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from captionlab.networks.bert import check_heads
from captionlab.networks.caches import Cache
from captionlab.networks.linear import Linear, linear

INITIAL_STD = 0.02


class Projection(nn.Module):
    """A linear layer whose weight is (inputs, outputs), as GPT-2's checkpoints have it."""

    def __init__(self, inputs: int, outputs: int, std: float = INITIAL_STD):
        super().__init__()
        self.input_size, self.output_size = inputs, outputs  # by names that peft looks for
        self.weight = nn.Parameter(torch.empty(inputs, outputs).normal_(std=std))
        self.bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, x: Tensor) -> Tensor:
        """Map (..., inputs) to (..., outputs)."""
        return linear(x, self.weight.t(), self.bias)


class Attention(nn.Module):
    """Causal self-attention over the new positions and the cached ones."""

    def __init__(self, width: int, heads: int, layers: int, dropout: float):
        super().__init__()
        self.heads = heads
        self.c_attn = Projection(width, 3 * width)
        self.c_proj = Projection(width, width, INITIAL_STD / (2 * layers) ** 0.5)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, layer: int, cache: Cache | None) -> Tensor:
        """Attend from x (rows, new positions, width); only an empty cache may be given several new positions."""
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
    """Two projections with the tanh form of GELU between them."""

    def __init__(self, width: int, layers: int, dropout: float):
        super().__init__()
        self.c_fc = Projection(width, 4 * width)
        self.c_proj = Projection(4 * width, width, INITIAL_STD / (2 * layers) ** 0.5)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """Map (rows, positions, width) to the same shape."""
        return self.dropout(self.c_proj(functional.gelu(self.c_fc(x), approximate="tanh")))


class Block(nn.Module):
    """Attention and feed-forward layer, each added to its input, which is normalised first."""

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
    """Token and position tables, the blocks, and the last normalisation."""

    def __init__(self, vocabulary: int, positions: int, width: int, layers: int, heads: int, dropout: float):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocabulary, width), nn.Embedding(positions, width)
        self.drop = nn.Dropout(dropout)
        self.h = nn.ModuleList(Block(width, heads, layers, dropout) for _ in range(layers))
        self.ln_f = nn.LayerNorm(width)
        for table in (self.wte, self.wpe):
            nn.init.normal_(table.weight, std=INITIAL_STD)

    def forward(self, embeddings: Tensor, cache: Cache | None = None) -> Tensor:
        """Hidden states (rows, new, width) of embeddings after those in the cache, which is extended in place."""
        past = cache.length if cache is not None else 0
        positions = torch.arange(past, past + embeddings.shape[1], device=embeddings.device)
        x = self.drop(embeddings + self.wpe(positions))
        for layer, block in enumerate(self.h):
            x = block(x, layer, cache)
        if cache is not None:
            cache.length += embeddings.shape[1]
        return self.ln_f(x)


class GPT2(nn.Module):
    """The transformer, and the token table again as its output layer."""

    def __init__(self, vocabulary: int, positions: int, width: int, layers: int, heads: int, dropout: float = 0.1):
        """Build a model of `layers` blocks with random weights; `width` must be a multiple of `heads`."""
        super().__init__()
        check_heads(width, heads)
        self.transformer = Transformer(vocabulary, positions, width, layers, heads, dropout)
        self.lm_head = Linear(width, vocabulary, bias=False)
        self.lm_head.weight = self.transformer.wte.weight
