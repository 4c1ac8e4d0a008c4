"""VinVL (Zhang et al. 2021) as captioner: Oscar's single BERT over a caption, the tags of objects, and regions.

After github.com/microsoft/Oscar (oscar/modeling/modeling_bert.py, oscar/run_captioning.py), with the parameter names of
its checkpoints. Words are predicted at [MASK] tokens. A word of the caption attends to itself, the words before it, all
tags and all regions; tags and regions attend to each other and never to the caption. So what a caption attends to in an
image, in every layer, is computed once per image, whatever the caption, the step and the beam.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Self

import torch
from torch import Tensor
from torch.nn import functional

from captionlab.captioners.captioner import Captioner
from captionlab.captioners.oscar import Bert, Head
from captionlab.captioners.sharing import images_kept
from captionlab.declarations import CaptionerFamily
from captionlab.networks.bert import attend, count_layers, initialise
from captionlab.networks.gpt2 import Cache
from captionlab.networks.tokenizer import Tokenizer
from captionlab.networks.wordpiece import MASK as MASK_PIECE
from captionlab.networks.wordpiece import SPECIAL, learn_pieces, piece_id, pieces_tokenizer, read_pieces
from captionlab.networks.wordpiece import START as START_PIECE
from captionlab.regions.tagged_images import TaggedImages, measure_tagged_images, open_tagged_images
from captionlab.regions.tagged_regions import TaggedRegions

DECLARATION = CaptionerFamily(
    reads="tagged-regions",
    libraries=(),
    objectives=("cross-entropy", "mlm", "reinforce", "self-critical"),
    options=(),
    attention=True,
    imported={
        "heads": {"type": "integer", "minimum": 1, "description": "attention heads when they are not width / 64"},
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
        "heads": {"type": "integer", "minimum": 1, "description": "attention heads of a layer"},
        "feed_forward": {"type": "integer", "minimum": 1, "description": "units inside a feed-forward part"},
        "tag_position": {"type": "integer", "minimum": 2, "default": 40, "description": "where tags' positions start"},
        "max_pieces": {"type": "integer", "minimum": 1, "default": 30, "description": "word pieces of tags read"},
        "max_regions": {"type": "integer", "minimum": 1, "default": 50, "description": "regions that are read"},
        "dropout": {"type": "number", "minimum": 0, "exclusiveMaximum": 1, "default": 0.1, "description": "share"},
    },
)

# Ids of [CLS] and [MASK] in the vocabulary of bert-base-uncased, and where the positions of tags start in training
# (max_seq_a_length), which captioning keeps whatever the length of captions.
START, MASK, TAG_POSITION = 101, 103, 40
# What is read of an image: max_seq_length - max_seq_a_length, and max_img_seq_length.
MAX_PIECES, MAX_REGIONS = 30, 50
CAPTION, TAGS = 0, 1


@dataclass(frozen=True)
class Context:
    """What captions attend to in B images: S positions, tags and then regions."""

    keys: list[Tensor]
    """of each layer, (B, S, width)"""
    values: list[Tensor]
    """of each layer, (B, S, width)"""
    mask: Tensor
    """(B, S)"""


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

    @property
    def rows(self) -> int:
        """N."""
        return self.captions.keys.shape[2]


class Vinvl(Captioner[State]):
    """The captioner. `visual` always is the tags and regions of B images; tokens do not include [CLS]."""

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
        self.bert = Bert(vocabulary, positions, width, layers, heads, feed_forward, region_size, dropout)
        initialise(self)
        self.cls = Head(self.bert.embeddings.word_embeddings)
        initialise(self.cls.predictions.transform)
        self.heads, self.tag_position = heads, tag_position
        self.start_id, self.mask_id = start, mask

    @classmethod
    def from_published(
        cls,
        checkpoint: Mapping[str, Any],
        heads: int | None = None,
        tag_position: int = TAG_POSITION,
        start: int = START,
        mask: int = MASK,
        max_pieces: int = MAX_PIECES,
        max_regions: int = MAX_REGIONS,
    ) -> tuple[Self, dict[str, Tensor]]:
        """A captioner of the sizes that a published state dict has, and the weights to load into it.

        Without `heads`, a head is 64 wide. A KeyError names a tensor that a checkpoint of this family must have.
        """
        renamed = {
            name.replace(".gamma", ".weight").replace(".beta", ".bias"): value for name, value in checkpoint.items()
        }
        # The second head of pre-training.
        weights = {name: value for name, value in renamed.items() if not name.startswith("cls.seq_relationship.")}
        vocabulary, width = weights["bert.embeddings.word_embeddings.weight"].shape
        stack = "bert.encoder."
        captioner = cls(
            vocabulary=vocabulary,
            positions=len(weights["bert.embeddings.position_embeddings.weight"]),
            width=width,
            layers=count_layers((name.removeprefix(stack) for name in weights if name.startswith(stack)), "layer"),
            heads=heads or max(1, width // 64),
            feed_forward=len(weights["bert.encoder.layer.0.intermediate.dense.bias"]),
            region_size=weights["bert.img_embedding.weight"].shape[1],
            tag_position=tag_position,
            start=start,
            mask=mask,
            max_pieces=max_pieces,
            max_regions=max_regions,
        )
        return captioner, weights

    @classmethod
    def for_corpus(
        cls, texts: Iterable[str], other_texts: Iterable[str], visual_size: int, architecture: Mapping[str, Any]
    ) -> tuple[Self, Tokenizer]:
        """A captioner with random weights for regions of `visual_size` numbers, and its tokenizer.

        Its word pieces are whole words of `texts`, references and labels of tags, and single characters.
        """
        sizes = dict(architecture)
        first, rest = learn_pieces(texts, sizes.pop("vocabulary") - 1), len(SPECIAL) - 1
        tokenizer = pieces_tokenizer([*first[:rest], SPECIAL[-1], *first[rest:]])
        ids = {"start": piece_id(tokenizer, START_PIECE), "mask": piece_id(tokenizer, MASK_PIECE)}
        return cls(vocabulary=tokenizer.size, region_size=visual_size, **ids, **sizes), tokenizer

    read_tokenizer = staticmethod(read_pieces)

    @classmethod
    def measure_images(cls, features: Sequence[str]) -> tuple[int, list[str]]:
        """How many numbers a region has, its box included, and the labels of all tags."""
        return measure_tagged_images(features)

    # A reference that is cut to the places before the tags still ends.
    cut_keeps_end = True

    @property
    def longest(self) -> int:
        """The most tokens of a reference that are learnt, the end token included: [CLS] and they stand before tags."""
        return int(self.tag_position) - 1

    def open_images(self, features: Sequence[str], tokenizer: Tokenizer) -> TaggedImages:
        """What gives this captioner images by their identifiers, from their tables of regions and of tags."""
        return open_tagged_images(
            features,
            tokenizer,
            self.architecture["region_size"],
            max_pieces=self.architecture["max_pieces"],
            max_regions=self.architecture["max_regions"],
        )

    def masked_logits(self, visual: TaggedRegions, ids: Tensor, chosen: Tensor) -> Tensor:
        """Logits (n, vocabulary), with gradient, of what stands at the n `chosen` positions (B, T), row by row.

        `ids` (B, T) are captions from [CLS] on with some tokens masked, padded at the end with any id.
        """
        length = ids.shape[1]
        self._check_positions(length)
        positions = torch.arange(length, device=ids.device)
        causal = torch.ones(length, length, dtype=torch.bool, device=ids.device).tril()
        states = self._read(self.bert.embed_text(ids, positions, CAPTION), causal, self.context(visual))
        logits: Tensor = self.cls.predictions(states[chosen])
        return logits

    def log_probs(self, visual: TaggedRegions, tokens: Tensor, mask: Tensor) -> Tensor:
        """Log-probability (nats, with gradient) of each of the given tokens after those before it, (B, T) float32.

        `tokens` (B, T) are ids, padded at the end with any id; `mask` (B, T) tells tokens from padding, where the
        result is 0. Token t is read at a [MASK] that sees the tokens before it, as in generation; all T of them are
        read in one pass.
        """
        length, device = tokens.shape[1], tokens.device
        self._check_positions(length + 1)
        mask = mask.bool()
        words = torch.cat([torch.full_like(tokens[:, :1], self.start_id), tokens[:, :-1]], dim=1)
        ids = torch.cat([words, torch.full_like(words, self.mask_id)], dim=1)
        places = torch.arange(length, device=device)
        positions = torch.cat([places, places + 1])
        before = torch.ones(length, length, dtype=torch.bool, device=device).tril()
        itself = torch.eye(length, dtype=torch.bool, device=device)
        seen = torch.cat([before, before]), torch.cat([torch.zeros_like(before), itself])
        embedded = self.bert.embed_text(ids, positions, CAPTION)
        states = self._read(embedded, torch.cat(seen, dim=1), self.context(visual))[:, length:]
        losses = functional.cross_entropy(self.cls.predictions(states[mask]).float(), tokens[mask], reduction="none")
        return losses.new_zeros(tokens.shape).masked_scatter(mask, -losses)

    def context(self, visual: TaggedRegions) -> Context:
        """What captions of these images attend to, with gradient."""
        states, mask = self._embed_image(visual), visual.mask
        keys, values = [], []
        for number, layer in enumerate(self._layers, 1):
            heads = layer.attention.self
            keys.append(heads.key(states))
            values.append(heads.value(states))
            if number < len(self._layers):
                states = self._layer(layer, states, keys[-1], values[-1], mask)
        return Context(keys, values, mask)

    def states(self, visual: TaggedRegions, ids: Tensor, layers: int | None = None) -> Tensor:
        """States (B, T + S, width) of captions (B, T), tags and regions after so many layers, by default all.

        Those of padding mean nothing.
        """
        return self._whole(visual, ids, layers)[0]

    def attentions(self, visual: TaggedRegions, ids: Tensor) -> Iterator[Tensor]:
        """Attention (B, heads, query, key) in each layer, over captions (B, T) from [CLS] on, tags and regions.

        Rows of padding mean nothing; columns of padding are 0 in all others.
        """
        states, mask = self._whole(visual, ids, 0)
        for layer in self._layers:
            heads = layer.attention.self
            query, key = (self._split(project(states)) for project in (heads.query, heads.key))
            scores = query @ key.transpose(2, 3) / query.shape[-1] ** 0.5
            yield scores.masked_fill(~mask[:, None], -torch.inf).softmax(-1)
            states = layer(states, mask)

    def attention(self, visual: TaggedRegions, ids: Tensor, layer: int) -> Tensor:
        """Attention in one layer, from 1; ValueError for a layer that there is not."""
        if not 1 <= layer <= len(self._layers):
            raise ValueError(f"there is no layer {layer}, but 1 to {len(self._layers)}")
        return next(islice(self.attentions(visual, ids), layer - 1, None))

    def start(self, visual: TaggedRegions, max_tokens: int) -> tuple[Tensor, State]:
        """Logits (B, vocabulary) of the first token and a state with room for `max_tokens`."""
        self._check_positions(max_tokens + 1)
        context, count = self.context(visual), len(visual)
        keys, values = (torch.stack([self._split(part) for part in parts]) for parts in (context.keys, context.values))
        shape = max_tokens + 1, len(keys), count, self.heads, keys.shape[-1]
        cache = Cache(keys.new_empty(shape), keys.new_empty(shape))
        state = State(keys, values, ~context.mask[:, None, None], cache)
        return self.step(visual.tags.new_full((count,), self.start_id), state)

    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        """Logits (N, vocabulary) of the token after `tokens` (N,); the state is changed in place.

        Two positions are computed: the new token, which is kept, and the [MASK] after it, which is read.
        """
        cache = state.captions
        place = cache.length
        ids = torch.stack([tokens, torch.full_like(tokens, self.mask_id)], dim=1)
        states = self.bert.embed_text(ids, torch.arange(place, place + 2, device=tokens.device), CAPTION)
        last = len(self._layers) - 1
        for number, layer in enumerate(self._layers):
            heads = layer.attention.self
            for memory, project in ((cache.keys, heads.key), (cache.values, heads.value)):
                memory[place : place + 2, number] = project(states).unflatten(-1, (self.heads, -1)).transpose(0, 1)
            if number == last:
                states = states[:, 1:]
            states = layer.after(self._attend_step(self._split(heads.query(states)), number, state), states)
        cache.length += 1
        logits: Tensor = self.cls.predictions(states[:, 0])
        return logits, state

    def reorder(self, state: State, index: Tensor) -> State:
        """The state of the rows `index` (N,), in that order, repeated or left out; the old one is not used again."""
        kept = images_kept(state.rows, len(state.hidden), index)
        captions = state.captions.reorder(index)
        if kept is None:
            return State(state.keys, state.values, state.hidden, captions)
        return State(state.keys[:, kept], state.values[:, kept], state.hidden[kept], captions)

    @property
    def _layers(self) -> list[Any]:
        return list(self.bert.encoder.layer)

    def _attend_step(self, query: Tensor, layer: int, state: State) -> Tensor:
        """What the last positions of captions gather: (N, T, width) for queries (N, heads, T, head size)."""
        rows, images, positions = state.rows, len(state.hidden), query.shape[2]
        query = query / query.shape[-1] ** 0.5
        length = state.captions.length + 2
        keys, values = (
            part[:length, layer].permute(1, 2, 0, 3) for part in (state.captions.keys, state.captions.values)
        )
        words = query @ keys.transpose(2, 3)
        if positions > 1:  # the new token does not see the mask after it
            words[:, :, 0, -1] = -torch.inf
        # Captions of an image share its keys and values: their queries are read as those of one longer sequence.
        shared = query.unflatten(0, (images, rows // images)).transpose(1, 2).flatten(2, 3)
        image = (shared @ state.keys[layer].transpose(2, 3)).masked_fill(state.hidden, -torch.inf)
        weights = torch.cat([words, self._ungroup(image, positions)], dim=3).softmax(3)
        weights = functional.dropout(weights, self.bert.dropout.p, self.training)
        of_words, of_image = weights.split([length, image.shape[3]], dim=3)
        grouped = of_image.unflatten(0, (images, rows // images)).transpose(1, 2).flatten(2, 3)
        gathered = of_words @ values + self._ungroup(grouped @ state.values[layer], positions)
        return gathered.transpose(1, 2).flatten(2)

    @staticmethod
    def _ungroup(grouped: Tensor, positions: int) -> Tensor:
        """(G, heads, N / G * positions, any) as (N, heads, positions, any)."""
        return grouped.unflatten(2, (-1, positions)).transpose(1, 2).flatten(0, 1)

    def _read(self, states: Tensor, seen: Tensor, context: Context) -> Tensor:
        """Final states (B, T, width) of captions whose embeddings are `states` and of which `seen` (T, T) is seen."""
        rows, length, _ = states.shape
        image = context.mask[:, None].expand(-1, length, -1)
        mask = torch.cat([seen.expand(rows, -1, -1), image], dim=2)
        for layer, keys, values in zip(self._layers, context.keys, context.values, strict=True):
            heads = layer.attention.self
            keys = torch.cat([heads.key(states), keys], dim=1)
            values = torch.cat([heads.value(states), values], dim=1)
            states = self._layer(layer, states, keys, values, mask)
        return states

    def _layer(self, layer: Any, states: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
        """The output of a layer at positions (B, T, width) that attend to keys and values (B, S, width)."""
        heads = layer.attention.self
        dropout = heads.dropout if self.training else 0.0
        output: Tensor = layer.after(attend(heads.query(states), keys, values, self.heads, mask, dropout), states)
        return output

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
        return torch.cat([tags, self.bert.embed_regions(visual.regions)], dim=1)

    def _whole(self, visual: TaggedRegions, ids: Tensor, layers: int | None) -> tuple[Tensor, Tensor]:
        """States (B, N, width) of captions, tags and regions after so many layers, and who sees whom, (B, N, N)."""
        rows, length = ids.shape
        text = self.bert.embed_text(ids, torch.arange(length, device=ids.device), CAPTION)
        states = torch.cat([text, self._embed_image(visual)], dim=1)
        total = states.shape[1]
        mask = torch.zeros(rows, total, total, dtype=torch.bool, device=ids.device)
        mask[:, :length, :length] = mask.new_ones(length, length).tril()
        mask[:, :, length:] = visual.mask[:, None]
        for layer in self._layers[:layers]:
            states = layer(states, mask)
        return states, mask

    def _split(self, states: Tensor) -> Tensor:
        """(B, S, width) as (B, heads, S, head size)."""
        return states.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def _check_positions(self, positions: int) -> None:
        if positions > self.architecture["positions"]:
            raise ValueError(
                f"{positions} positions are asked for and there are {self.architecture['positions']}; lower max_tokens "
                "or the number of tags, or give the captioner more positions in its architecture"
            )


FAMILY = Vinvl
