"""BLIP (Li et al. 2022) as captioner: its text decoder, which reads the image through cross-attention.

The decoder is transformers' BlipTextLMHeadModel, whose names are those of the checkpoints of salesforce/BLIP and
salesforce/LAVIS. The vision tower is an encoder (captionlab.encoders.blip): it never trains (Dessì et al. 2023, code).
Importing transformers takes longer than torch, so it is imported when a captioner is built.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import torch
from torch import Tensor
from torch.nn import functional

from captionlab.captioners.captioner import Captioner
from captionlab.captioners.sharing import images_kept
from captionlab.declarations import CaptionerFamily
from captionlab.networks.gpt2 import Cache
from captionlab.networks.tokenizer import Tokenizer
from captionlab.networks.wordpiece import pieces_tokenizer

DECLARATION = CaptionerFamily(
    reads="patches",
    libraries=("transformers",),
    objectives=("cross-entropy", "reinforce", "self-critical"),
    options=("teacher",),
    attention=False,
    imported={
        "heads": {"type": "integer", "minimum": 1, "description": "attention heads when they are not width / 64"}
    },
    architecture={
        "width": {"type": "integer", "minimum": 1, "description": "numbers in a state"},
        "layers": {"type": "integer", "minimum": 1, "description": "layers of the text decoder"},
        "heads": {"type": "integer", "minimum": 1, "description": "attention heads of a layer"},
        "feed_forward": {"type": "integer", "minimum": 1, "description": "units inside a feed-forward part"},
        "positions": {"type": "integer", "minimum": 2, "description": "prompt and caption together"},
        "dropout": {"type": "number", "minimum": 0, "exclusiveMaximum": 1, "default": 0.1, "description": "share"},
        "vocabulary": {"type": "integer", "minimum": 257, "description": "most tokens; 256 are bytes, one is the end"},
    },
)

# Ids of "[DEC] a picture of" in the vocabulary of bert-base-uncased with the two pieces that BLIP adds to it.
PROMPT = (30522, 1037, 3861, 1997)
ADDED = ("[DEC]", "[ENC]")
DECODER = "text_decoder."


@dataclass(frozen=True)
class State:
    """N captions in the making, N / G consecutive ones for each of G images."""

    image: list[tuple[Tensor, Tensor]]
    """of each layer, keys and values (G, heads, S, head size)"""
    captions: Cache
    """keys and values of prompt and words so far"""


class Blip(Captioner[State]):
    """The captioner. `visual` is what the vision tower says of the places of an image, (B, S, visual_size)."""

    finetuned_as: ClassVar = {"log_prob": "mean-with-end", "freeze_embeddings": False}
    prompt: Tensor

    def __init__(
        self,
        visual_size: int,
        vocabulary: int,
        width: int,
        layers: int,
        heads: int,
        feed_forward: int,
        positions: int,
        prompt: Sequence[int] = PROMPT,
        dropout: float = 0.1,
    ):
        """Build a captioner with random weights; the ids of the `prompt` stand before every caption."""
        super().__init__({**locals(), "prompt": list(prompt)})
        from transformers import BlipTextConfig, BlipTextLMHeadModel

        self.heads, self.positions, self.dropout = heads, positions, dropout
        self.text_decoder = BlipTextLMHeadModel(
            BlipTextConfig(
                vocab_size=vocabulary,
                hidden_size=width,
                encoder_hidden_size=visual_size,
                intermediate_size=feed_forward,
                num_hidden_layers=layers,
                num_attention_heads=heads,
                max_position_embeddings=positions,
                hidden_dropout_prob=dropout,
                attention_probs_dropout_prob=dropout,
                is_decoder=True,
            )
        )
        self.register_buffer("prompt", torch.tensor(list(prompt)), persistent=False)

    @classmethod
    def for_corpus(
        cls, texts: Iterable[str], other_texts: Iterable[str], visual_size: int, architecture: Mapping[str, Any]
    ) -> tuple[Self, Tokenizer]:
        """A captioner with random weights for features of `visual_size` numbers, and its tokenizer.

        The byte pairs are learnt from the training references `texts` alone; the end token is the prompt.
        """
        sizes = dict(architecture)
        tokenizer = Tokenizer.train(texts, sizes.pop("vocabulary"))
        return cls(visual_size, tokenizer.size, prompt=[tokenizer.end], **sizes), tokenizer

    @classmethod
    def from_published(
        cls, checkpoint: Mapping[str, Any], heads: int | None = None, prompt: Sequence[int] = PROMPT
    ) -> tuple[Self, dict[str, Tensor]]:
        """A captioner of the sizes that a published checkpoint has, and the weights of its decoder.

        Checkpoints of LAVIS and BLIP have the whole model under "model"; what is not the decoder's is left to the
        encoder. Without `heads`, a head is 64 wide. A KeyError names a tensor that is missing.
        """
        found: Mapping[str, Tensor] = checkpoint.get("model", checkpoint)
        weights = {
            name: value
            for name, value in found.items()
            if name.startswith(DECODER) and not name.endswith("position_ids")
        }
        embeddings = f"{DECODER}bert.embeddings"
        vocabulary, width = weights[f"{embeddings}.word_embeddings.weight"].shape
        stack = f"{DECODER}bert.encoder.layer."
        captioner = cls(
            visual_size=weights[f"{stack}0.crossattention.self.key.weight"].shape[1],
            vocabulary=vocabulary,
            width=width,
            layers=1 + max(int(name[len(stack) :].split(".")[0]) for name in weights if name.startswith(stack)),
            heads=heads or max(1, width // 64),
            feed_forward=len(weights[f"{stack}0.intermediate.dense.bias"]),
            positions=len(weights[f"{embeddings}.position_embeddings.weight"]),
            prompt=prompt,
        )
        return captioner, weights

    @staticmethod
    def read_tokenizer(path: str | os.PathLike[str]) -> Tokenizer:
        """The tokenizer of a published vocab.txt of bert-base-uncased, or of a tokenizer.json."""
        if Path(path).suffix == ".json":
            return Tokenizer.load(path)
        pieces = Path(path).read_text(encoding="utf-8").split()
        return pieces_tokenizer([*pieces, *(piece for piece in ADDED if piece not in pieces)])

    @property
    def prompt_length(self) -> int:
        """Positions before a caption that the authors' decoding begins with: those of the prompt."""
        return len(self.architecture["prompt"])

    @property
    def longest(self) -> int:
        """The most tokens of a reference that are learnt, the end token included."""
        return self.positions - len(self.architecture["prompt"])

    def log_probs(self, visual: Tensor, tokens: Tensor, mask: Tensor) -> Tensor:
        """Log-probability (nats, with gradient) of each of the given tokens after those before it, (B, T) float32.

        `tokens` (B, T) are ids, padded at the end with any id; `mask` (B, T) tells tokens from padding, where the
        result is 0. ValueError when prompt and tokens need more positions than there are.
        """
        mask = mask.bool()
        hidden = self._hidden(visual, tokens)[mask]
        losses = functional.cross_entropy(self.text_decoder.cls(hidden).float(), tokens[mask], reduction="none")
        return losses.new_zeros(tokens.shape).masked_scatter(mask, -losses)

    def logits(self, visual: Tensor, tokens: Tensor) -> Tensor:
        """Logits (B, T, vocabulary), with gradient, of each of the tokens (B, T) after those before it."""
        logits: Tensor = self.text_decoder.cls(self._hidden(visual, tokens))
        return logits

    def start(self, visual: Tensor, max_tokens: int) -> tuple[Tensor, State]:
        """Logits (B, vocabulary) of the first token and a state with room for `max_tokens`."""
        self._check(visual, max_tokens)
        prompt = self.prompt.expand(len(visual), -1)
        image = [(self._split(part.key(visual)), self._split(part.value(visual))) for part in self._readers]
        size = self.architecture["width"] // self.heads
        shape = len(self.prompt) + max_tokens, len(image), len(visual), self.heads, size
        return self._read(prompt, State(image, Cache(visual.new_empty(shape), visual.new_empty(shape))))

    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        """Logits (N, vocabulary) of the token after `tokens` (N,); the state is changed in place."""
        return self._read(tokens[:, None], state)

    def reorder(self, state: State, index: Tensor) -> State:
        """The state of the rows `index` (N,), in that order, repeated or left out; the old one is not used again."""
        image = state.image
        kept = images_kept(state.captions.keys.shape[2], len(image[0][0]), index)
        if kept is not None:
            image = [(keys[kept], values[kept]) for keys, values in image]
        return State(image, state.captions.reorder(index))

    @property
    def _layers(self) -> list[Any]:
        return list(self.text_decoder.bert.encoder.layer)

    @property
    def _readers(self) -> list[Any]:
        """The cross-attention of each layer."""
        return [layer.crossattention.self for layer in self._layers]

    def _hidden(self, visual: Tensor, tokens: Tensor) -> Tensor:
        """States (B, T, width) from which the tokens (B, T) are predicted."""
        self._check(visual, tokens.shape[1])
        ids = torch.cat([self.prompt.expand(len(tokens), -1), tokens[:, :-1]], dim=1)
        states = self.text_decoder.bert(ids, encoder_hidden_states=visual, is_decoder=True, use_cache=False)
        hidden: Tensor = states.last_hidden_state[:, len(self.prompt) - 1 :]
        return hidden

    def _read(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        """Logits after new tokens (N, T), which follow those of the state; several only at the start."""
        cache, new = state.captions, tokens.shape[1]
        first, end = cache.length, cache.length + new
        cache.length = end
        states = self.text_decoder.bert.embeddings(input_ids=tokens, past_key_values_length=first)
        for number, (layer, (keys, values)) in enumerate(zip(self._layers, state.image, strict=True)):
            own = layer.attention.self
            for memory, project in ((cache.keys, own.key), (cache.values, own.value)):
                memory[first:end, number] = self._split(project(states)).permute(2, 0, 1, 3)
            keys_so_far, values_so_far = (part[:end, number].permute(1, 2, 0, 3) for part in (cache.keys, cache.values))
            gathered = self._gather(own.query(states), keys_so_far, values_so_far, causal=new > 1)
            states = layer.attention.output(gathered, states)
            # Captions of an image share its keys and values: their queries are read as those of one longer sequence.
            shared = states.reshape(len(keys), -1, states.shape[2])
            gathered = self._gather(layer.crossattention.self.query(shared), keys, values)
            shared = layer.feed_forward_chunk(layer.crossattention.output(gathered, shared))
            states = shared.view(states.shape)
        logits: Tensor = self.text_decoder.cls(states[:, -1])
        return logits, state

    def _gather(self, query: Tensor, keys: Tensor, values: Tensor, causal: bool = False) -> Tensor:
        """What projected queries (B, T, width) gather from keys and values (B, heads, S, head size)."""
        dropout = self.dropout if self.training else 0.0
        gathered = functional.scaled_dot_product_attention(
            self._split(query), keys, values, dropout_p=dropout, is_causal=causal
        )
        return gathered.transpose(1, 2).flatten(2)

    def _split(self, states: Tensor) -> Tensor:
        """(B, S, width) as (B, heads, S, head size)."""
        return states.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def _check(self, visual: Tensor, tokens: int) -> None:
        if visual.ndim != 3 or visual.shape[2] != self.architecture["visual_size"]:
            raise ValueError(
                f"the features of an image are {tuple(visual.shape[1:])} and this captioner reads a grid of vectors of "
                f"{self.architecture['visual_size']} numbers; give it the encoder that it was trained with"
            )
        if len(self.prompt) + tokens > self.positions:
            raise ValueError(
                f"a prompt of {len(self.prompt)} and {tokens} tokens do not fit into {self.positions} positions; lower "
                "max_tokens, or give the captioner more positions in its architecture"
            )


FAMILY = Blip
