"""VinVL (Zhang et al. 2021) as captioner: Oscar's single BERT over a caption, the tags of objects, and regions.

Follows github.com/microsoft/Oscar (oscar/modeling/modeling_bert.py, oscar/run_captioning.py) and uses the parameter
names of its checkpoints. Words are predicted at [MASK] tokens. A word of the caption attends to itself, the words
before it, all tags and all regions. Tags and regions attend to each other and never to the caption. So the keys and
values of an image are computed once in every layer, for all captions, steps and beams.
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

# Ids of [CLS] and [MASK] in the vocabulary of bert-base-uncased, and the first position of tags in training
# (max_seq_a_length). Captioning keeps this position for captions of any length.
START, MASK, TAG_POSITION = 101, 103, 40
# Limits for the tags and regions of an image: max_seq_length - max_seq_a_length, and max_img_seq_length.
MAX_PIECES, MAX_REGIONS = 30, 50
CAPTION, TAGS = 0, 1


@dataclass(frozen=True)
class State:
    """N captions being generated for G images. N / G consecutive captions belong to the same image."""

    keys: Tensor
    """(layers, G, heads, S, head size) keys of the images"""
    values: Tensor
    """(layers, G, heads, S, head size) values of the images"""
    hidden: Tensor
    """(G, 1, 1, S) whether a position of an image is padding"""
    captions: Cache
    """keys and values of the words so far, with room for another position, the mask's"""


class Bert(nn.Module):
    """BERT over word pieces and regions. `layer` has width, heads, feed-forward units and dropout of each layer."""

    def __init__(
        self, vocabulary: int, positions: int, region_size: int, layers: int, layer: tuple[int, int, int, float]
    ):
        super().__init__()
        width, dropout = layer[0], layer[-1]
        self.embeddings = TextEmbeddings(vocabulary, positions, width, dropout)
        self.encoder: Any = nn.ModuleDict({"layer": nn.ModuleList(Layer(*layer) for _ in range(layers))})
        # Part of the published weights, but not used by captioning.
        self.pooler = Pooler(width, width).requires_grad_(False)
        self.img_embedding, self.LayerNorm = Linear(region_size, width), nn.LayerNorm(width, eps=EPSILON)
        self.dropout = nn.Dropout(dropout)

    def embed_text(self, ids: Tensor, positions: Tensor, segment: int) -> Tensor:
        """Return the embeddings (B, T, width) of word pieces (B, T) at positions (T,) of a segment."""
        tables = self.embeddings
        summed = tables.word_embeddings(ids) + tables.position_embeddings(positions)
        return tables.dropout(tables.LayerNorm(summed + tables.token_type_embeddings.weight[segment]))


class Predictions(nn.Module):
    """Logits of the vocabulary. The output layer shares its weight with the word embeddings."""

    def __init__(self, words: nn.Embedding):
        super().__init__()
        vocabulary, width = words.weight.shape
        hidden = {"dense": Linear(width, width), "act": nn.GELU(), "LayerNorm": nn.LayerNorm(width, eps=EPSILON)}
        self.transform = nn.Sequential(OrderedDict(hidden))
        self.decoder = Linear(width, vocabulary, bias=False)
        self.decoder.weight = words.weight
        self.bias = nn.Parameter(torch.zeros(vocabulary))

    def forward(self, states: Tensor) -> Tensor:
        """Map states (..., width) to logits (..., vocabulary)."""
        return linear(self.transform(states), self.decoder.weight, self.bias)


class Vinvl(Captioner[State]):
    """VinVL as captioner. `visual` is the tags and regions of B images (TaggedRegions). Tokens do not include [CLS]."""

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

        The positions of tags begin at `tag_position`. `start` and `mask` are the ids of [CLS] and [MASK]. For each
        image, the first `max_pieces` word pieces of its tags are read, the end token included, and the first
        `max_regions` regions.
        """
        super().__init__(locals())
        self.bert = Bert(vocabulary, positions, region_size, layers, (width, heads, feed_forward, dropout))
        initialise(self)
        predictions = Predictions(self.bert.embeddings.word_embeddings)
        initialise(predictions.transform)
        self.cls: Any = nn.ModuleDict({"predictions": predictions})
        self.heads, self.tag_position, self.longest = heads, tag_position, tag_position - 1  # [CLS] has a position
        self.start_id, self.mask_id = start, mask

    @classmethod
    def from_published(
        cls, checkpoint: Mapping[str, Any], heads: int | None = None, **options: int
    ) -> tuple[Self, dict[str, Tensor]]:
        """Return a captioner with the sizes of a published checkpoint, and the weights to load into it.

        `heads` is the number of attention heads, and `options` are further arguments of the constructor. Raises
        KeyError for weights of another family, and CheckpointError if `heads` is None.
        """
        weights = {without_prefixes(name): value for name, value in checkpoint.items()}
        # The second head of pre-training, which captioning does not use.
        weights = {name: value for name, value in weights.items() if not name.startswith("cls.seq_relationship.")}
        region_size = weights["bert.img_embedding.weight"].shape[1]
        sizes = read_sizes(weights, heads, "bert.", "encoder.layer")
        return cls(region_size=region_size, **sizes, **options), weights

    @classmethod
    def for_corpus(
        cls, texts: Iterable[str], other_texts: Iterable[str], visual_size: int, architecture: Mapping[str, Any]
    ) -> tuple[Self, Tokenizer]:
        """Return a captioner with random weights, to be trained from scratch, and its tokenizer.

        `texts` are references and labels of tags. The word pieces are all characters and the most frequent words of
        `texts`. `visual_size` is the number of numbers of a region, its box included.
        """
        sizes = dict(architecture)
        first, rest = learn_pieces(texts, sizes.pop("vocabulary") - 1), len(SPECIAL) - 1
        tokenizer = pieces_tokenizer([*first[:rest], SPECIAL[-1], *first[rest:]])
        ids = {"start": piece_id(tokenizer, START_PIECE), "mask": piece_id(tokenizer, MASK_PIECE)}
        return cls(vocabulary=tokenizer.size, region_size=visual_size, **ids, **sizes), tokenizer

    read_tokenizer = staticmethod(read_pieces)
    measure_images = staticmethod(measure_tagged_images)

    def open_images(self, features: Sequence[str], tokenizer: Tokenizer) -> TaggedImages:
        """Return the images of tables of regions and tags."""
        return TaggedImages(
            features, tokenizer, *(self.architecture[name] for name in ("region_size", "max_pieces", "max_regions"))
        )

    def masked_logits(self, visual: TaggedRegions, ids: Tensor, chosen: Tensor) -> Tensor:
        """Return the logits (n, vocabulary), with gradient, of n `chosen` positions (B, T), in the order of the rows.

        `ids` (B, T) are captions that begin with [CLS] and have some tokens masked.
        """
        length = ids.shape[1]
        self._check_positions(length)
        positions = torch.arange(length, device=ids.device)
        causal = torch.ones(length, length, dtype=torch.bool, device=ids.device).tril()
        states = self._read(self.bert.embed_text(ids, positions, CAPTION), causal, visual)
        return self.cls.predictions(states[chosen])

    def log_probs(self, visual: TaggedRegions, tokens: Tensor, mask: Tensor) -> Tensor:
        """Return the log-probability (nats, with gradient) of each token after the tokens before it, as float32 (B, T).

        Each token is predicted at a [MASK] that attends to the tokens before it, as in generation.
        """
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
        """Return the keys and values (B, S, width) of B images in each layer, with gradient.

        Captions attend to them.
        """
        states, found = self._embed_image(visual), []
        for number, layer in enumerate(self.bert.encoder.layer, 1):
            heads = layer.attention.self
            found.append((heads.key(states), heads.value(states)))
            if number < len(self.bert.encoder.layer):
                states = self._layer(layer, states, *found[-1], visual.mask)
        return found

    def states(self, visual: TaggedRegions, ids: Tensor, layers: int | None = None) -> Tensor:
        """Return states (B, T + S, width) of captions, tags and regions after `layers` layers, by default all.

        States at padding have no meaning.
        """
        return self._whole(visual, ids, layers)[0]

    def attentions(self, visual: TaggedRegions, ids: Tensor) -> Iterator[Tensor]:
        """Yield the attention (B, heads, query, key) in each layer, over captions (B, T), tags and regions.

        Captions begin with [CLS]. Rows of padding have no meaning. Columns of padding are 0 in all other rows.
        """
        states, mask = self._whole(visual, ids, 0)
        for layer in self.bert.encoder.layer:
            heads = layer.attention.self
            query, key = (split(project(states), self.heads) for project in (heads.query, heads.key))
            scores = query @ key.transpose(2, 3) / query.shape[-1] ** 0.5
            yield scores.masked_fill(~mask[:, None], -torch.inf).softmax(-1)
            states = layer(states, mask)

    def attention(self, visual: TaggedRegions, ids: Tensor, layer: int) -> Tensor:
        """Return the attention (B, heads, query, key) in layer number `layer`, counted from 1.

        Raises ValueError if there is no such layer.
        """
        if not 1 <= layer <= len(self.bert.encoder.layer):
            raise ValueError(f"there is no layer {layer}, but 1 to {len(self.bert.encoder.layer)}")
        return next(islice(self.attentions(visual, ids), layer - 1, None))

    def start(self, visual: TaggedRegions, max_tokens: int) -> tuple[Tensor, State]:
        """Return the logits (B, vocabulary) of the first token, and a state with room for `max_tokens` tokens."""
        self._check_positions(max_tokens + 1)
        count, context = len(visual), zip(*self.context(visual), strict=True)
        keys, values = (torch.stack([split(part, self.heads) for part in parts]) for parts in context)
        cache = Cache.empty(keys, max_tokens + 1, len(keys), count, self.heads, keys.shape[-1])
        state = State(keys, values, ~visual.mask[:, None, None], cache)
        return self.step(visual.tags.new_full((count,), self.start_id), state)

    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        """Return the logits (N, vocabulary) after `tokens` (N,), and the state, which is changed in place.

        Two positions are computed: the new token, whose keys and values are kept, and the [MASK] after it, which is
        read.
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
        """Return the state of the rows `index` (N,), in this order. The old state must not be used again.

        Rows may be repeated or left out.
        """
        kept = images_kept(state.captions.keys.shape[2], len(state.hidden), index)
        captions = state.captions.reorder(index)
        if kept is None:
            return State(state.keys, state.values, state.hidden, captions)
        return State(state.keys[:, kept], state.values[:, kept], state.hidden[kept], captions)

    def _attend_step(self, query: Tensor, words: tuple[Tensor, Tensor], layer: int, state: State) -> Tensor:
        """Return the attended values (N, T, width) at the last positions, from the captions and from the images.

        `words` are the keys and values of the captions.
        """
        rows, images, positions = len(query), len(state.hidden), query.shape[2]
        query = query / query.shape[-1] ** 0.5
        keys, values = words
        own = query @ keys.transpose(2, 3)
        if positions > 1:  # the new token does not attend to the mask after it
            own[:, :, 0, -1] = -torch.inf
        # Captions of an image share its keys and values, so their queries are attended as one longer sequence.
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
        """Reshape (G, heads, N / G * positions, any) to (N, heads, positions, any)."""
        return grouped.unflatten(2, (-1, positions)).transpose(1, 2).flatten(0, 1)

    def _read(self, states: Tensor, seen: Tensor, visual: TaggedRegions) -> Tensor:
        """Return the final states (B, T, width) of captions with the embeddings `states` and the mask `seen` (T, T)."""
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
        """Return the output of a layer at positions (B, T, width) that attend to keys and values (B, S, width)."""
        heads = layer.attention.self
        dropout = heads.dropout if self.training else 0.0
        return layer.after(attend(heads.query(states), keys, values, self.heads, mask, dropout), states)

    def _embed_image(self, visual: TaggedRegions) -> Tensor:
        """Return the embeddings (B, S, width) of tags and regions.

        Raises ValueError if they do not fit this captioner.
        """
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
        """Return states (B, N, width) of captions, tags and regions after some layers, and the mask (B, N, N)."""
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
