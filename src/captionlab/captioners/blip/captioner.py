"""BLIP (Li et al. 2022) as captioner: its text decoder, which reads the image through cross-attention.

The decoder is transformers' BlipTextLMHeadModel, which has the parameter names of the checkpoints of salesforce/BLIP
and salesforce/LAVIS. The vision tower is an encoder (captionlab.encoders.blip.encoder) and is never trained, as in the
code of Dessì et al. 2023. Importing transformers takes longer than importing torch, so it is imported when a captioner
is built.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import torch
from torch import Tensor
from torch.nn import functional

from captionlab.captioners.captioner import Captioner, check_features, log_probs_of
from captionlab.networks.bert import read_sizes, split
from captionlab.networks.caches import Cache, images_kept
from captionlab.networks.tokenizer import Tokenizer
from captionlab.networks.wordpiece import pieces_tokenizer

# Ids of "[DEC] a picture of" in the vocabulary of bert-base-uncased with the two pieces that BLIP adds.
PROMPT = (30522, 1037, 3861, 1997)

ADDED = ("[DEC]", "[ENC]")
DECODER = "text_decoder."


@dataclass(frozen=True)
class State:
    """N captions being generated for G images. N / G consecutive captions belong to the same image."""

    image: list[tuple[Tensor, Tensor]]
    """keys and values (G, heads, S, head size) for each layer"""
    captions: Cache
    """keys and values of the prompt and the words so far"""


class Blip(Captioner[State]):
    """BLIP as captioner. `visual` is the output of the vision tower at all places of an image, (B, S, visual_size)."""

    finetuned_as: ClassVar = {"log_prob": "mean-with-end", "freeze_embeddings": False}
    output_layer = "text_decoder.cls.predictions.decoder"
    replayable = True
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
        """Build a captioner with random weights. The ids of the `prompt` precede every caption."""
        super().__init__({**locals(), "prompt": list(prompt)})
        from transformers import BlipTextConfig, BlipTextLMHeadModel

        self.heads, self.dropout = heads, dropout
        self.prompt_length, self.longest = len(prompt), positions - len(prompt)
        self.text_decoder: Any = BlipTextLMHeadModel(
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

    @staticmethod
    def special_ids(tokenizer: Tokenizer) -> dict[str, Any]:
        """Return the prompt of a captioner that is trained from scratch: the end token."""
        return {"prompt": [tokenizer.end]}

    @classmethod
    def from_published(
        cls, checkpoint: Mapping[str, Any], heads: int | None = None, prompt: Sequence[int] = PROMPT
    ) -> tuple[Self, dict[str, Tensor]]:
        """Return a captioner with the sizes of a published checkpoint, and the weights to load into it.

        Weights of the vision tower are left out, because the tower is an encoder. Raises KeyError for weights of
        another family, and CheckpointError if `heads` is None.
        """
        found: Mapping[str, Tensor] = checkpoint.get("model", checkpoint)
        decoder = (name for name in found if name.startswith(DECODER) and not name.endswith("position_ids"))
        weights = {name: found[name] for name in decoder}
        keys = weights[f"{DECODER}bert.encoder.layer.0.crossattention.self.key.weight"]
        sizes = read_sizes(weights, heads, f"{DECODER}bert.", "encoder.layer")
        return cls(visual_size=keys.shape[1], prompt=prompt, **sizes), weights

    @staticmethod
    def read_tokenizer(path: str | os.PathLike[str]) -> Tokenizer:
        """Read the tokenizer from a published vocab.txt of bert-base-uncased, or from a tokenizer.json.

        The pieces [DEC] and [ENC] are added to a vocab.txt that lacks them.
        """
        if Path(path).suffix == ".json":
            return Tokenizer.load(path)
        pieces = Path(path).read_text(encoding="utf-8").split()
        return pieces_tokenizer([*pieces, *(piece for piece in ADDED if piece not in pieces)])

    def log_probs(self, visual: Tensor, tokens: Tensor, mask: Tensor) -> Tensor:
        """Return the log-probability (nats, with gradient) of each token after the tokens before it, as float32 (B, T).

        `tokens` and `mask` are (B, T). Raises ValueError if there are more than `longest` tokens.
        """
        return log_probs_of(self.text_decoder.cls, self._hidden(visual, tokens), tokens, mask)

    def logits(self, visual: Tensor, tokens: Tensor) -> Tensor:
        """Return the logits (B, T, vocabulary), with gradient, of each of the tokens (B, T) after the tokens before it.

        Raises ValueError if there are more than `longest` tokens.
        """
        return self.text_decoder.cls(self._hidden(visual, tokens))

    def start(self, visual: Tensor, max_tokens: int) -> tuple[Tensor, State]:
        """Return the logits (B, vocabulary) of the first token, and a state with room for `max_tokens` tokens."""
        check_features(visual, self.architecture["visual_size"], "patches")
        self.check_length(max_tokens)
        prompt = self.prompt.expand(len(visual), -1)
        readers = [layer.crossattention.self for layer in self.text_decoder.bert.encoder.layer]
        image = [(split(part.key(visual), self.heads), split(part.value(visual), self.heads)) for part in readers]
        size = self.architecture["width"] // self.heads
        cache = Cache.empty(visual, len(self.prompt) + max_tokens, len(image), len(visual), self.heads, size)
        return self._read(prompt, State(image, cache))

    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        """Return the logits (N, vocabulary) after `tokens` (N,), and the state, which is changed in place."""
        return self._read(tokens[:, None], state)

    def reorder(self, state: State, index: Tensor) -> State:
        """Return the state of the rows `index` (N,), in this order. The old state must not be used again.

        Rows may be repeated or left out.
        """
        image = state.image
        kept = images_kept(state.captions.keys.shape[2], len(image[0][0]), index)
        if kept is not None:
            image = [(keys[kept], values[kept]) for keys, values in image]
        return State(image, state.captions.reorder(index))

    def _hidden(self, visual: Tensor, tokens: Tensor) -> Tensor:
        """Return the states (B, T, width) from which the tokens (B, T) are predicted."""
        check_features(visual, self.architecture["visual_size"], "patches")
        self.check_length(tokens.shape[1])
        ids = torch.cat([self.prompt.expand(len(tokens), -1), tokens[:, :-1]], dim=1)
        states = self.text_decoder.bert(ids, encoder_hidden_states=visual, is_decoder=True, use_cache=False)
        return states.last_hidden_state[:, len(self.prompt) - 1 :]

    def _read(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        """Return the logits after new tokens (N, T) that follow the tokens of the state, and the state.

        T > 1 only at the start.
        """
        cache, new = state.captions, tokens.shape[1]
        states = self.text_decoder.bert.embeddings(input_ids=tokens, past_key_values_length=cache.length)
        layers = zip(self.text_decoder.bert.encoder.layer, state.image, strict=True)
        for number, (layer, (keys, values)) in enumerate(layers):
            own = layer.attention.self
            words = cache.extend(number, split(own.key(states), self.heads), split(own.value(states), self.heads))
            gathered = self._gather(own.query(states), *words, causal=new > 1)
            states = layer.attention.output(gathered, states)
            # Captions of an image share its keys and values, so their queries are attended as one longer sequence.
            shared = states.reshape(len(keys), -1, states.shape[2])
            gathered = self._gather(layer.crossattention.self.query(shared), keys, values)
            shared = layer.feed_forward_chunk(layer.crossattention.output(gathered, shared))
            states = shared.view(states.shape)
        cache.length += new
        logits: Tensor = self.text_decoder.cls(states[:, -1])
        return logits, state

    def _gather(self, query: Tensor, keys: Tensor, values: Tensor, causal: bool = False) -> Tensor:
        """Return the attended values (B, T, width) of projected queries (B, T, width).

        Keys and values are (B, heads, S, head size).
        """
        dropout = self.dropout if self.training else 0.0
        gathered = functional.scaled_dot_product_attention(
            split(query, self.heads), keys, values, dropout_p=dropout, is_causal=causal
        )
        return gathered.transpose(1, 2).flatten(2)


FAMILY = Blip
