"""VinVL (Zhang et al. 2021) as captioner: Oscar's single BERT over a caption, the tags of objects, and regions.

After github.com/microsoft/Oscar (oscar/modeling/modeling_bert.py, oscar/run_captioning.py), with the parameter names of
its checkpoints. Words are predicted at [MASK] tokens. A word of the caption attends to itself, the words before it, all
tags and all regions; tags and regions attend to each other and never to the caption. So what a caption attends to in an
image, in every layer, is computed once per image, whatever the caption, the step and the beam.
"""

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Self

import torch
from torch import Tensor, nn
from torch.nn import functional

from captionlab.captioners.captioner import Captioner, log_probs_of
from captionlab.declarations import CaptionerFamily
from captionlab.networks.bert import (
    EPSILON,
    Layer,
    Pooler,
    TextEmbeddings,
    attend,
    initialise,
    read_sizes,
    split,
    without_prefixes,
)
from captionlab.networks.caches import Cache, images_kept
from captionlab.networks.linear import Linear, linear
from captionlab.networks.tokenizer import Tokenizer
from captionlab.networks.wordpiece import MASK as MASK_PIECE
from captionlab.networks.wordpiece import SPECIAL, learn_pieces, piece_id, pieces_tokenizer, read_pieces
from captionlab.networks.wordpiece import START as START_PIECE
from captionlab.regions.tagged_images import TaggedImages, measure_tagged_images
from captionlab.regions.tagged_regions import TaggedRegions

DECLARATION = CaptionerFamily(
    reads="tagged-regions",
    libraries=(),
    objectives=("cross-entropy", "mlm", "reinforce", "self-critical", "grpo"),
    options=(),
    attention=True,
    imported={
        "heads": {"type": "integer", "minimum": 1, "description": "attention heads, which weights do not tell"},
        "tag_position": {"type": "integer", "minimum": 1, "default": 40, "description": "where tags' positions start"},
        "start": {"type": "integer", "minimum": 0, "default": 101, "description": "id of [CLS]"},
        "mask": {"type": "integer", "minimum": 0, "default": 103, "description": "id of [MASK]"},
        "max_pieces": {"type": "integer", "minimum": 1, "default": 30, "description": "word pieces of tags read"},
        "max_regions": {"type": "integer", "minimum": 1, "default": 50, "description": "regions that are read"},
    },
    architecture={
        "vocabulary": {"type": "integer", "minimum": 6, "description": "most word pieces"},
        "positions": {"type": "integer", "minimum": 3, "description": "of captions and, from tag_position on, of tags"},
        "width": {"type": "integer", "minimum": 1, "description": "numbers in a state"},
        "layers": {"type": "integer", "minimum": 1, "description": "layers of the BERT"},
        "heads": {"type": "integer", "minimum": 1, "divides": "width", "description": "attention heads of a layer"},
        "feed_forward": {"type": "integer", "minimum": 1, "description": "units inside a feed-forward part"},
        "tag_position": {"type": "integer", "minimum": 2, "default": 40, "description": "where tags' positions start"},
        "max_pieces": {"type": "integer", "minimum": 1, "default": 30, "description": "word pieces of tags read"},
        "max_regions": {"type": "integer", "minimum": 1, "default": 50, "description": "regions that are read"},
        "dropout": {"type": "number", "minimum": 0, "exclusiveMaximum": 1, "default": 0.1, "description": "share"},
    },
    longest={"positions": 1, "": -1},
    finetuned_as={"log_prob": "mean", "freeze_embeddings": True},
)

# Ids of [CLS] and [MASK] in the vocabulary of bert-base-uncased, and where the positions of tags start in training
# (max_seq_a_length), which captioning keeps whatever the length of captions.
START, MASK, TAG_POSITION = 101, 103, 40
# What is read of an image: max_seq_length - max_seq_a_length, and max_img_seq_length.
MAX_PIECES, MAX_REGIONS = 30, 50
CAPTION, TAGS = 0, 1


@dataclass(frozen=True)
class State:
    """N captions in the making, N / G consecutive ones for each of G images."""

    keys: Tensor
    """(layers, G, heads, S, head size) of the images"""
    values: Tensor
    """(layers, G, heads, S, head size) of the images"""
    hidden: Tensor
    """(G, 1, 1, S) whether a position of an image is padding"""
    captions: Cache
    """keys and values of the words so far, with room for one more: the mask's"""


class Bert(nn.Module):
    """Embeddings of word pieces and of regions, and layers: width, heads, feed-forward units and dropout of each."""

    def __init__(
        self, vocabulary: int, positions: int, region_size: int, layers: int, layer: tuple[int, int, int, float]
    ):
        super().__init__()
        width, dropout = layer[0], layer[-1]
        self.embeddings = TextEmbeddings(vocabulary, positions, width, dropout)
        self.encoder: Any = nn.ModuleDict({"layer": nn.ModuleList(Layer(*layer) for _ in range(layers))})
        # Published with the rest; captioning does not use it.
        self.pooler = Pooler(width, width).requires_grad_(False)
        self.img_embedding, self.LayerNorm = Linear(region_size, width), nn.LayerNorm(width, eps=EPSILON)
        self.dropout = nn.Dropout(dropout)

    def embed_text(self, ids: Tensor, positions: Tensor, segment: int) -> Tensor:
        """Embeddings (B, T, width) of word pieces (B, T) at positions (T,) of a segment."""
        tables = self.embeddings
        summed = tables.word_embeddings(ids) + tables.position_embeddings(positions)
        return tables.dropout(tables.LayerNorm(summed + tables.token_type_embeddings.weight[segment]))


class Predictions(nn.Module):
    """Logits of the vocabulary; the output matrix is that of the word embeddings."""

    def __init__(self, words: nn.Embedding):
        super().__init__()
        vocabulary, width = words.weight.shape
        hidden = {"dense": Linear(width, width), "act": nn.GELU(), "LayerNorm": nn.LayerNorm(width, eps=EPSILON)}
        self.transform = nn.Sequential(OrderedDict(hidden))
        self.decoder = Linear(width, vocabulary, bias=False)
        self.decoder.weight = words.weight
        self.bias = nn.Parameter(torch.zeros(vocabulary))

    def forward(self, states: Tensor) -> Tensor:
        """Map (..., width) to (..., vocabulary)."""
        return linear(self.transform(states), self.decoder.weight, self.bias)


class Vinvl(Captioner[State]):
    """The captioner. `visual` always is the tags and regions of B images; tokens do not include [CLS]."""

    cut_keeps_end = True
    output_layer = "cls.predictions.decoder"
    replayable = True

    def __init__(
        self,
        vocabulary: int,
        positions: int,
        width: int,
        layers: int,
        heads: int,
        feed_forward: int,
        region_size: int,
        tag_position: int = TAG_POSITION,
        start: int = START,
        mask: int = MASK,
        max_pieces: int = MAX_PIECES,
        max_regions: int = MAX_REGIONS,
        dropout: float = 0.1,
    ):
        """Build a captioner with random weights for regions with `region_size` numbers, the box included.

        Tags have the positions from `tag_position` on; `start` and `mask` are the ids of [CLS] and [MASK]. Of the word
        pieces of an image's tags the first `max_pieces` are read, the end token among them, and of its regions the
        first `max_regions`.
        """
        super().__init__(locals())
        self.bert = Bert(vocabulary, positions, region_size, layers, (width, heads, feed_forward, dropout))
        initialise(self)
        predictions = Predictions(self.bert.embeddings.word_embeddings)
        initialise(predictions.transform)
        self.cls: Any = nn.ModuleDict({"predictions": predictions})
        self.heads, self.tag_position, self.longest = heads, tag_position, tag_position - 1  # [CLS] is before them
        self.start_id, self.mask_id = start, mask

    @classmethod
    def from_published(
        cls, checkpoint: Mapping[str, Any], heads: int | None = None, **options: int
    ) -> tuple[Self, dict[str, Tensor]]:
        """As for every family; `options` are arguments of the constructor."""
        weights = {without_prefixes(name): value for name, value in checkpoint.items()}
        # The second head of pre-training.
        weights = {name: value for name, value in weights.items() if not name.startswith("cls.seq_relationship.")}
        region_size = weights["bert.img_embedding.weight"].shape[1]
        sizes = read_sizes(weights, heads, "bert.", "encoder.layer")
        return cls(region_size=region_size, **sizes, **options), weights

    @classmethod
    def for_corpus(
        cls, texts: Iterable[str], other_texts: Iterable[str], visual_size: int, architecture: Mapping[str, Any]
    ) -> tuple[Self, Tokenizer]:
        """As for every family; word pieces are characters and whole words of `texts`: references and labels of tags."""
        sizes = dict(architecture)
        first, rest = learn_pieces(texts, sizes.pop("vocabulary") - 1), len(SPECIAL) - 1
        tokenizer = pieces_tokenizer([*first[:rest], SPECIAL[-1], *first[rest:]])
        ids = {"start": piece_id(tokenizer, START_PIECE), "mask": piece_id(tokenizer, MASK_PIECE)}
        return cls(vocabulary=tokenizer.size, region_size=visual_size, **ids, **sizes), tokenizer

    read_tokenizer = staticmethod(read_pieces)
    measure_images = staticmethod(measure_tagged_images)

    def open_images(self, features: Sequence[str], tokenizer: Tokenizer) -> TaggedImages:
        """The images of their tables of regions and of tags."""
        return TaggedImages(
            features, tokenizer, *(self.architecture[name] for name in ("region_size", "max_pieces", "max_regions"))
        )

    def masked_logits(self, visual: TaggedRegions, ids: Tensor, chosen: Tensor) -> Tensor:
        """Logits (n, vocabulary), with gradient, of what stands at the n `chosen` positions (B, T), row by row."""
        length = ids.shape[1]
        self._check_positions(length)
        positions = torch.arange(length, device=ids.device)
        causal = torch.ones(length, length, dtype=torch.bool, device=ids.device).tril()
        states = self._read(self.bert.embed_text(ids, positions, CAPTION), causal, visual)
        return self.cls.predictions(states[chosen])

    def log_probs(self, visual: TaggedRegions, tokens: Tensor, mask: Tensor) -> Tensor:
        """As for every family; each token is read at a [MASK] that sees those before it, as in generation."""
        length, device = tokens.shape[1], tokens.device
        self._check_positions(length + 1)
        words = torch.cat([torch.full_like(tokens[:, :1], self.start_id), tokens[:, :-1]], dim=1)
        ids = torch.cat([words, torch.full_like(words, self.mask_id)], dim=1)
        places = torch.arange(length, device=device)
        positions = torch.cat([places, places + 1])
        before = torch.ones(length, length, dtype=torch.bool, device=device).tril()
        itself = torch.eye(length, dtype=torch.bool, device=device)
        seen = torch.cat([before, before]), torch.cat([torch.zeros_like(before), itself])
        embedded = self.bert.embed_text(ids, positions, CAPTION)
        states = self._read(embedded, torch.cat(seen, dim=1), visual)[:, length:]
        return log_probs_of(self.cls.predictions, states, tokens, mask)

    def context(self, visual: TaggedRegions) -> list[tuple[Tensor, Tensor]]:
        """What captions attend to in B images, with gradient: keys and values (B, S, width) of each layer."""
        states, found = self._embed_image(visual), []
        for number, layer in enumerate(self.bert.encoder.layer, 1):
            heads = layer.attention.self
            found.append((heads.key(states), heads.value(states)))
            if number < len(self.bert.encoder.layer):
                states = self._layer(layer, states, *found[-1], visual.mask)
        return found

    def states(self, visual: TaggedRegions, ids: Tensor, layers: int | None = None) -> Tensor:
        """States (B, T + S, width) of captions, tags and regions after some layers; those of padding mean nothing."""
        return self._whole(visual, ids, layers)[0]

    def attentions(self, visual: TaggedRegions, ids: Tensor) -> Iterator[Tensor]:
        """Attention (B, heads, query, key) in each layer, over captions (B, T) from [CLS] on, tags and regions.

        Rows of padding mean nothing; columns of padding are 0 in all others.
        """
        states, mask = self._whole(visual, ids, 0)
        for layer in self.bert.encoder.layer:
            heads = layer.attention.self
            query, key = (split(project(states), self.heads) for project in (heads.query, heads.key))
            scores = query @ key.transpose(2, 3) / query.shape[-1] ** 0.5
            yield scores.masked_fill(~mask[:, None], -torch.inf).softmax(-1)
            states = layer(states, mask)

    def attention(self, visual: TaggedRegions, ids: Tensor, layer: int) -> Tensor:
        """Attention in one layer, from 1; ValueError for a layer that there is not."""
        if not 1 <= layer <= len(self.bert.encoder.layer):
            raise ValueError(f"there is no layer {layer}, but 1 to {len(self.bert.encoder.layer)}")
        return next(islice(self.attentions(visual, ids), layer - 1, None))

    def start(self, visual: TaggedRegions, max_tokens: int) -> tuple[Tensor, State]:
        """Logits (B, vocabulary) of the first token and a state with room for `max_tokens`."""
        self._check_positions(max_tokens + 1)
        count, context = len(visual), zip(*self.context(visual), strict=True)
        keys, values = (torch.stack([split(part, self.heads) for part in parts]) for parts in context)
        cache = Cache.empty(keys, max_tokens + 1, len(keys), count, self.heads, keys.shape[-1])
        state = State(keys, values, ~visual.mask[:, None, None], cache)
        return self.step(visual.tags.new_full((count,), self.start_id), state)

    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        """Logits (N, vocabulary) of the token after `tokens` (N,); the state is changed in place.

        Two positions are computed: the new token, which is kept, and the [MASK] after it, which is read.
        """
        cache = state.captions
        place = cache.length
        ids = torch.stack([tokens, torch.full_like(tokens, self.mask_id)], dim=1)
        states = self.bert.embed_text(ids, torch.arange(place, place + 2, device=tokens.device), CAPTION)
        last = len(self.bert.encoder.layer) - 1
        for number, layer in enumerate(self.bert.encoder.layer):
            heads = layer.attention.self
            words = cache.extend(number, *(split(part(states), self.heads) for part in (heads.key, heads.value)))
            if number == last:
                states = states[:, 1:]
            query = split(heads.query(states), self.heads)
            states = layer.after(self._attend_step(query, words, number, state), states)
        cache.length += 1
        logits: Tensor = self.cls.predictions(states[:, 0])
        return logits, state

    def reorder(self, state: State, index: Tensor) -> State:
        """The state of the rows `index` (N,), in that order, repeated or left out; the old one is not used again."""
        kept = images_kept(state.captions.keys.shape[2], len(state.hidden), index)
        captions = state.captions.reorder(index)
        if kept is None:
            return State(state.keys, state.values, state.hidden, captions)
        return State(state.keys[:, kept], state.values[:, kept], state.hidden[kept], captions)

    def _attend_step(self, query: Tensor, words: tuple[Tensor, Tensor], layer: int, state: State) -> Tensor:
        """What the last positions gather, (N, T, width), from `words`, their own keys and values, and from images."""
        rows, images, positions = len(query), len(state.hidden), query.shape[2]
        query = query / query.shape[-1] ** 0.5
        keys, values = words
        own = query @ keys.transpose(2, 3)
        if positions > 1:  # the new token does not see the mask after it
            own[:, :, 0, -1] = -torch.inf
        # Captions of an image share its keys and values: their queries are read as those of one longer sequence.
        shared = query.unflatten(0, (images, rows // images)).transpose(1, 2).flatten(2, 3)
        image = (shared @ state.keys[layer].transpose(2, 3)).masked_fill(state.hidden, -torch.inf)
        weights = torch.cat([own, self._ungroup(image, positions)], dim=3).softmax(3)
        weights = functional.dropout(weights, self.bert.dropout.p, self.training)
        of_words, of_image = weights.split([own.shape[3], image.shape[3]], dim=3)
        grouped = of_image.unflatten(0, (images, rows // images)).transpose(1, 2).flatten(2, 3)
        gathered = of_words @ values + self._ungroup(grouped @ state.values[layer], positions)
        return gathered.transpose(1, 2).flatten(2)

    @staticmethod
    def _ungroup(grouped: Tensor, positions: int) -> Tensor:
        """(G, heads, N / G * positions, any) as (N, heads, positions, any)."""
        return grouped.unflatten(2, (-1, positions)).transpose(1, 2).flatten(0, 1)

    def _read(self, states: Tensor, seen: Tensor, visual: TaggedRegions) -> Tensor:
        """Final states (B, T, width) of captions whose embeddings are `states` and of which `seen` (T, T) is seen."""
        rows, length, _ = states.shape
        image = visual.mask[:, None].expand(-1, length, -1)
        mask = torch.cat([seen.expand(rows, -1, -1), image], dim=2)
        for layer, (keys, values) in zip(self.bert.encoder.layer, self.context(visual), strict=True):
            heads = layer.attention.self
            keys = torch.cat([heads.key(states), keys], dim=1)
            values = torch.cat([heads.value(states), values], dim=1)
            states = self._layer(layer, states, keys, values, mask)
        return states

    def _layer(self, layer: Any, states: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
        """The output of a layer at positions (B, T, width) that attend to keys and values (B, S, width)."""
        heads = layer.attention.self
        dropout = heads.dropout if self.training else 0.0
        return layer.after(attend(heads.query(states), keys, values, self.heads, mask, dropout), states)

    def _embed_image(self, visual: TaggedRegions) -> Tensor:
        """Embeddings (B, S, width) of tags and regions; ValueError when they do not fit this captioner."""
        if visual.regions.shape[2] != self.architecture["region_size"]:
            raise ValueError(
                f"the regions have {visual.regions.shape[2]} numbers, the box included, and this captioner reads "
                f"{self.architecture['region_size']}; give it the regions that it was trained with"
            )
        self._check_positions(self.tag_position + visual.tags.shape[1])
        positions = torch.arange(self.tag_position, self.tag_position + visual.tags.shape[1], device=visual.device)
        tags = self.bert.embed_text(visual.tags, positions, TAGS)
        # Regions have no position and no segment.
        regions = self.bert.dropout(self.bert.LayerNorm(self.bert.img_embedding(visual.regions)))
        return torch.cat([tags, regions], dim=1)

    def _whole(self, visual: TaggedRegions, ids: Tensor, layers: int | None) -> tuple[Tensor, Tensor]:
        """States (B, N, width) of captions, tags and regions after so many layers, and who sees whom, (B, N, N)."""
        rows, length = ids.shape
        text = self.bert.embed_text(ids, torch.arange(length, device=ids.device), CAPTION)
        states = torch.cat([text, self._embed_image(visual)], dim=1)
        total = states.shape[1]
        mask = torch.zeros(rows, total, total, dtype=torch.bool, device=ids.device)
        mask[:, :length, :length] = mask.new_ones(length, length).tril()
        mask[:, :, length:] = visual.mask[:, None]
        for layer in self.bert.encoder.layer[:layers]:
            states = layer(states, mask)
        return states, mask

    def _check_positions(self, positions: int) -> None:
        if positions > self.architecture["positions"]:
            raise ValueError(
                f"{positions} positions are asked for and there are {self.architecture['positions']}; lower max_tokens "
                "or the number of tags, or give the captioner more positions in its architecture"
            )


FAMILY = Vinvl
