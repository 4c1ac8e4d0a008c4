"""The network of Oscar (Li et al. 2020) and VinVL, with the parameter names of its checkpoints.

A BERT whose sequence goes on, after the text, with the regions of an image (github.com/microsoft/Oscar,
oscar/modeling/modeling_bert.py). captionlab.captioners.vinvl says what attends to what.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from captionlab.networks.bert import EPSILON, Layer, Pooler, TextEmbeddings


class Encoder(nn.Module):
    """The layers."""

    def __init__(self, width: int, layers: int, heads: int, feed_forward: int, dropout: float):
        super().__init__()
        self.layer = nn.ModuleList(Layer(width, heads, feed_forward, dropout) for _ in range(layers))


class Bert(nn.Module):
    """Embeddings of word pieces and of regions, and the layers."""

    def __init__(
        self,
        vocabulary: int,
        positions: int,
        width: int,
        layers: int,
        heads: int,
        feed_forward: int,
        region_size: int,
        dropout: float,
    ):
        super().__init__()
        self.embeddings = TextEmbeddings(vocabulary, positions, width, dropout)
        self.encoder = Encoder(width, layers, heads, feed_forward, dropout)
        # Published with the rest; captioning does not use it.
        self.pooler = Pooler(width, width).requires_grad_(False)
        self.img_embedding, self.LayerNorm = nn.Linear(region_size, width), nn.LayerNorm(width, eps=EPSILON)
        self.dropout = nn.Dropout(dropout)

    def embed_text(self, ids: Tensor, positions: Tensor, segment: int) -> Tensor:
        """Embeddings (B, T, width) of word pieces (B, T) at positions (T,) of a segment."""
        tables = self.embeddings
        summed = tables.word_embeddings(ids) + tables.position_embeddings(positions)
        return tables.dropout(tables.LayerNorm(summed + tables.token_type_embeddings.weight[segment]))

    def embed_regions(self, regions: Tensor) -> Tensor:
        """Embeddings (B, R, width) of features (B, R, region_size): no position, no segment."""
        return self.dropout(self.LayerNorm(self.img_embedding(regions)))


class Transform(nn.Module):
    """The hidden layer of the head."""

    def __init__(self, width: int):
        super().__init__()
        self.dense, self.LayerNorm = nn.Linear(width, width), nn.LayerNorm(width, eps=EPSILON)

    def forward(self, states: Tensor) -> Tensor:
        """Map (..., width) to the same shape."""
        return self.LayerNorm(functional.gelu(self.dense(states)))


class Predictions(nn.Module):
    """Logits of the vocabulary; the output matrix is that of the word embeddings."""

    def __init__(self, words: nn.Embedding):
        super().__init__()
        vocabulary, width = words.weight.shape
        self.transform = Transform(width)
        self.decoder = nn.Linear(width, vocabulary, bias=False)
        self.decoder.weight = words.weight
        self.bias = nn.Parameter(torch.zeros(vocabulary))

    def forward(self, states: Tensor) -> Tensor:
        """Map (..., width) to (..., vocabulary)."""
        return functional.linear(self.transform(states), self.decoder.weight, self.bias)


class Head(nn.Module):
    """The head of masked-token prediction."""

    def __init__(self, words: nn.Embedding):
        super().__init__()
        self.predictions = Predictions(words)
