"""CaMEL (Barraco et al. 2022): a memory-augmented encoder over patch features, and a meshed or plain decoder.

Follows github.com/aimagelab/camel (models/transformer/) and uses the parameter names of its checkpoints. Layers, memory
and mesh are as in Cornia et al. 2020. The keys and values of an image are computed once, for all steps and beams.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import torch
from torch import Tensor, nn
from torch.nn import functional

from captionlab.captioners.captioner import Captioner, check_features, log_probs_of
from captionlab.networks.bert import check_heads, said, split
from captionlab.networks.caches import Cache, images_kept
from captionlab.networks.checkpoints import count_layers
from captionlab.networks.linear import Linear
from captionlab.networks.tokenizer import Tokenizer

# Sizes of the published captioner: captions of up to 40 tokens, images of up to 500 places. Ids of CLIP's start token
# and of padding, which is also the id of "!".
HEAD_SIZE, LONGEST, PLACES = 64, 40, 500
START, PADDING = 49406, 0
NETWORKS = {"online": "state_dict_o", "target": "state_dict_t"}


class Projections(nn.Module):
    """The four projections of an attention layer, and optionally memory: keys and values that belong to no input."""

    def __init__(self, width: int, heads: int, head_size: int, memory: int = 0):
        super().__init__()
        inner = heads * head_size
        self.heads, self.head_size, self.memory = heads, head_size, memory
        self.fc_q, self.fc_k, self.fc_v = (Linear(width, inner) for _ in range(3))
        self.fc_o = Linear(inner, width)
        if memory:
            self.m_k, self.m_v = (nn.Parameter(torch.empty(1, memory, inner)) for _ in range(2))

    def context(self, states: Tensor) -> tuple[Tensor, Tensor]:
        """Return keys and values (B, heads, S, head size) of states (B, S, width), followed by the memory, if any."""
        keys, values = self.fc_k(states), self.fc_v(states)
        if self.memory:
            rows = len(states)
            keys = torch.cat([keys, self.head_size**0.5 * self.m_k.expand(rows, -1, -1)], dim=1)
            values = torch.cat([values, self.memory**0.5 * self.m_v.expand(rows, -1, -1)], dim=1)
        return split(keys, self.heads), split(values, self.heads)


class Attention(nn.Module):
    """Attention with a residual connection and layer normalisation."""

    def __init__(self, width: int, heads: int, head_size: int, dropout: float, memory: int = 0):
        super().__init__()
        self.attention = Projections(width, heads, head_size, memory)
        self.dropout, self.layer_norm = nn.Dropout(dropout), nn.LayerNorm(width)

    def forward(self, states: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None = None) -> Tensor:
        """Map (B, T, width) to the same shape, attending to keys and values (B, heads, S, head size)."""
        query = split(self.attention.fc_q(states), self.attention.heads)
        gathered = functional.scaled_dot_product_attention(query, keys, values, attn_mask=mask)
        return self.layer_norm(states + self.dropout(self.attention.fc_o(gathered.transpose(1, 2).flatten(2))))


class FeedForward(nn.Module):
    """Two linear layers with a ReLU in between, a residual connection and layer normalisation."""

    def __init__(self, width: int, inner: int, dropout: float):
        super().__init__()
        self.fc1, self.fc2, self.layer_norm = Linear(width, inner), Linear(inner, width), nn.LayerNorm(width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, states: Tensor) -> Tensor:
        """Map (..., width) to the same shape."""
        inner = self.dropout(functional.relu(self.fc1(states)))
        return self.layer_norm(states + self.dropout(self.fc2(inner)))


class EncoderLayer(nn.Module):
    """A layer of the encoder: attention of places to each other and to memory, then a feed-forward layer."""

    def __init__(self, width: int, heads: int, head_size: int, feed_forward: int, memory: int, dropout: float):
        super().__init__()
        self.mhatt = Attention(width, heads, head_size, dropout, memory)
        self.pwff = FeedForward(width, feed_forward, dropout)

    def forward(self, states: Tensor) -> Tensor:
        """Map (B, S, width) to the same shape."""
        return self.pwff(self.mhatt(states, *self.mhatt.attention.context(states)))


class DecoderLayer(nn.Module):
    """A layer of the decoder: self-attention, attention to the image, then a feed-forward layer.

    In the meshed decoder, a gate for each of `levels` layers of the encoder weights the attention to the image.
    """

    def __init__(self, width: int, heads: int, head_size: int, feed_forward: int, levels: int, dropout: float):
        super().__init__()
        self.self_att = Attention(width, heads, head_size, dropout)
        self.enc_att = Attention(width, heads, head_size, dropout)
        self.pwff = FeedForward(width, feed_forward, dropout)
        self.fc_alpha = nn.ModuleList(Linear(2 * width, width) for _ in range(levels))

    def read(self, states: Tensor, image: list[tuple[Tensor, Tensor]]) -> Tensor:
        """Map states after self-attention (N, T, width) to the layer's output.

        `image` has the keys and values (G, heads, S, head size) of each level. N / G consecutive rows share an image.
        """
        rows, length, _ = states.shape
        shared = states.reshape(len(image[0][0]), -1, states.shape[2])  # one longer sequence for each image
        found = [self.enc_att(shared, keys, values) for keys, values in image]
        if not self.fc_alpha:
            [mixed] = found
        else:
            gates = [gate(torch.cat([shared, level], dim=-1)) for gate, level in zip(self.fc_alpha, found, strict=True)]
            parts = [gate.sigmoid() * level for gate, level in zip(gates, found, strict=True)]
            mixed = torch.stack(parts).sum(dim=0) / len(parts) ** 0.5
        return self.pwff(mixed).reshape(rows, length, -1)


class Encoder(nn.Module):
    """The encoder: a projection of patch features, then layers."""

    def __init__(self, visual_size: int, layers: int, layer: tuple[int, int, int, int, int, float], positions: bool):
        super().__init__()
        width, dropout, self.positions = layer[0], layer[-1], positions
        self.fc, self.layer_norm, self.dropout = Linear(visual_size, width), nn.LayerNorm(width), nn.Dropout(dropout)
        # The weights have this table even if it is not used.
        self.pos_emb = nn.Embedding(PLACES + 1, visual_size).requires_grad_(False)
        self.layers = nn.ModuleList(EncoderLayer(*layer) for _ in range(layers))

    def forward(self, visual: Tensor) -> list[Tensor]:
        """Return the output (B, S, width) of each layer for features (B, S, visual_size)."""
        if self.positions:
            visual = visual + self.pos_emb.weight[1 : visual.shape[1] + 1]
        states = [self.layer_norm(self.dropout(functional.relu(self.fc(visual))))]
        for layer in self.layers:
            states.append(layer(states[-1]))
        return states[1:]


Image = list[list[tuple[Tensor, Tensor]]]


@dataclass(frozen=True)
class State:
    """N captions being generated for G images. N / G consecutive captions belong to the same image."""

    image: Image
    """keys and values (G, heads, S, head size) for each layer and level"""
    captions: Cache
    """keys and values of the words so far"""
    hidden: Tensor
    """(positions, N) whether a word is padding, which is not attended to"""


class Camel(Captioner[State]):
    """CaMEL as captioner. `visual` is patch features (B, S, visual_size) as the encoder returns them."""

    finetuned_as: ClassVar = {"log_prob": "mean-with-end", "freeze_embeddings": False}
    output_layer = "decoder.fc"
    replayable = True

    def __init__(
        self,
        visual_size: int,
        vocabulary: int,
        width: int,
        encoder_layers: int,
        decoder_layers: int,
        heads: int,
        feed_forward: int,
        memory: int,
        meshed: bool,
        start: int,
        padding: int | None = None,
        longest: int = LONGEST,
        head_size: int = HEAD_SIZE,
        grid_positions: bool = False,
        dropout: float = 0.1,
    ):
        """Build a captioner with random weights.

        `start` is the id before every caption. `padding` is an id that is never attended to. After `padding`, every
        word is equally likely, as the original treats id 0 at every position. `longest` is the most tokens of a
        caption, the end token included. `grid_positions` adds embeddings of positions to the patch features.
        """
        super().__init__(locals())
        self.start_id, self.longest, self.meshed = start, longest, meshed
        self.padding = -1 if padding is None else padding  # no token has the id -1
        self.heads, self.head_size = heads, head_size
        sizes = width, heads, head_size, feed_forward
        self.encoder = Encoder(visual_size, encoder_layers, (*sizes, memory, dropout), grid_positions)
        # A generator, so that the layers draw their random weights after the tables above them in the dict.
        layers = (DecoderLayer(*sizes, encoder_layers if meshed else 0, dropout) for _ in range(decoder_layers))
        self.decoder: Any = nn.ModuleDict(
            {
                "word_emb": nn.Embedding(vocabulary, width),
                "pos_emb": nn.Embedding(longest + 1, width).requires_grad_(False),
                "layers": nn.ModuleList(layers),
                "fc": Linear(width, vocabulary, bias=False),
            }
        )
        for parameter in self.parameters():
            if parameter.ndim > 1:  # tables of positions, too: in the original they are not sinusoids
                nn.init.xavier_uniform_(parameter)
        for module in self.modules():
            if isinstance(module, nn.Linear) and module.bias is not None:
                nn.init.zeros_(module.bias)

    @staticmethod
    def special_ids(tokenizer: Tokenizer) -> dict[str, Any]:
        """Return the id of the start token: the end token also begins captions."""
        return {"start": tokenizer.end}

    @classmethod
    def from_published(
        cls,
        checkpoint: Mapping[str, Any],
        heads: int | None = None,
        network: str = "online",
        start: int = START,
        padding: int | None = PADDING,
        **options: Any,
    ) -> tuple[Self, dict[str, Tensor]]:
        """Return a captioner with the sizes of a published checkpoint, and the weights to load into it.

        A training has two networks. `network` is "online" for the network that Dessì et al. 2023 finetune, or "target"
        for its running mean, which CaMEL's authors evaluate. A plain state dict has only one network, and `network` is
        ignored. The option `grid_positions` says whether the network was trained with positions in its grid (the
        authors' --with_pe). The weights contain the table of positions in both cases. Raises CheckpointError if `heads`
        is None.
        """
        found: Mapping[str, Tensor] = checkpoint.get(NETWORKS[network], checkpoint)
        # A counter of the last generation, not a parameter.
        weights = {name: value for name, value in found.items() if not name.endswith("running_seq")}
        vocabulary, width = weights["decoder.word_emb.weight"].shape
        first = "encoder.layers.0.mhatt.attention"
        memory, inner, heads = weights.get(f"{first}.m_k"), len(weights[f"{first}.fc_q.bias"]), said(heads)
        check_heads(inner, heads)
        captioner = cls(
            visual_size=weights["encoder.fc.weight"].shape[1],
            vocabulary=vocabulary,
            width=width,
            encoder_layers=count_layers(weights, "encoder.layers"),
            decoder_layers=count_layers(weights, "decoder.layers"),
            heads=heads,
            head_size=inner // heads,
            feed_forward=len(weights["encoder.layers.0.pwff.fc1.bias"]),
            memory=0 if memory is None else memory.shape[1],
            meshed="decoder.layers.0.fc_alpha.0.weight" in weights,
            start=start,
            padding=padding,
            longest=len(weights["decoder.pos_emb.weight"]) - 1,
            **options,
        )
        return captioner, weights

    def log_probs(self, visual: Tensor, tokens: Tensor, mask: Tensor) -> Tensor:
        """Return the log-probability (nats, with gradient) of each token after the tokens before it, as float32 (B, T).

        `tokens` and `mask` are (B, T). Raises ValueError if there are more than `longest` tokens.
        """
        return log_probs_of(nn.Identity(), self.logits(visual, tokens), tokens, mask)

    def logits(self, visual: Tensor, tokens: Tensor) -> Tensor:
        """Return the logits (B, T, vocabulary), with gradient, of each of the tokens (B, T) after the tokens before it.

        Raises ValueError if there are more than `longest` tokens.
        """
        self.check_length(tokens.shape[1])
        words = torch.cat([torch.full_like(tokens[:, :1], self.start_id), tokens[:, :-1]], dim=1)
        length, padded = words.shape[1], words == self.padding
        causal = torch.ones(length, length, dtype=torch.bool, device=words.device).tril()
        # Padding attends to itself, to avoid rows without any key. Its state is set to 0 below.
        seen = causal & (~padded[:, None] | torch.eye(length, dtype=torch.bool, device=words.device))
        places = torch.arange(1, length + 1, device=words.device).expand_as(words).masked_fill(padded, 0)
        states = self.decoder.word_emb(words) + self.decoder.pos_emb(places)
        for layer, image in zip(self.decoder.layers, self._read_image(visual), strict=True):
            attention = layer.self_att
            states = attention(states, *attention.attention.context(states), seen[:, None])
            states = layer.read(states, image).masked_fill(padded[:, :, None], 0)
        return self.decoder.fc(states)

    def start(self, visual: Tensor, max_tokens: int) -> tuple[Tensor, State]:
        """Return the logits (B, vocabulary) of the first token, and a state with room for `max_tokens` tokens."""
        self.check_length(max_tokens)
        captions = Cache.empty(visual, max_tokens, len(self.decoder.layers), len(visual), self.heads, self.head_size)
        hidden = torch.zeros(max_tokens, len(visual), dtype=torch.bool, device=visual.device)
        state = State(self._read_image(visual), captions, hidden)
        return self.step(torch.full((len(visual),), self.start_id, device=visual.device), state)

    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        """Return the logits (N, vocabulary) after `tokens` (N,), and the state, which is changed in place."""
        cache, padded = state.captions, tokens == self.padding
        place = cache.length
        state.hidden[place] = padded
        seen = ~state.hidden[: place + 1].T
        seen[:, -1] = True
        states = (self.decoder.word_emb(tokens) + self.decoder.pos_emb.weight[place + 1])[:, None]
        for number, (layer, image) in enumerate(zip(self.decoder.layers, state.image, strict=True)):
            attention = layer.self_att
            words = cache.extend(number, *attention.attention.context(states))
            states = layer.read(attention(states, *words, seen[:, None, None]), image)
            states = states.masked_fill(padded[:, None, None], 0)
        cache.length += 1
        logits: Tensor = self.decoder.fc(states[:, 0])
        return logits, state

    def reorder(self, state: State, index: Tensor) -> State:
        """Return the state of the rows `index` (N,), in this order. The old state must not be used again.

        Rows may be repeated or left out.
        """
        image = state.image
        kept = images_kept(state.hidden.shape[1], len(image[0][0][0]), index)
        if kept is not None:
            image = [[(keys[kept], values[kept]) for keys, values in levels] for levels in image]
        return State(image, state.captions.reorder(index), state.hidden[:, index])

    def _read_image(self, visual: Tensor) -> Image:
        """Return the keys and values of images for each layer of the decoder and each level of the encoder."""
        check_features(visual, self.architecture["visual_size"], "patches")
        outputs = self.encoder(visual)
        levels = outputs if self.meshed else outputs[-1:]
        return [[layer.enc_att.attention.context(level) for level in levels] for layer in self.decoder.layers]


FAMILY = Camel
