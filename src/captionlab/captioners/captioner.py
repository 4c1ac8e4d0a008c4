"""Captioner: the interface of all families of captioners, with defaults for methods that not every family needs.

A family is a folder of this package and has the name of the folder. In `captioner.py`, FAMILY is a subclass of
Captioner. `config.py` has the keys of the family, and FACTS (captionlab.config.captioners.CaptionerFacts), which the
workflow reads without importing the network.
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic, Literal, Self, TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from captionlab.captioners.decoded import Decoded
from captionlab.config.evaluations import Decoding
from captionlab.encoders.embeddings import embedding_shape
from captionlab.networks.checkpoints import Rebuilt
from captionlab.networks.gpt2 import Projection
from captionlab.networks.tokenizer import Tokenizer
from captionlab.plugins import Member

State = TypeVar("State")
AnyPath = str | os.PathLike[str]


@dataclass(frozen=True)
class Adapters:
    """Settings and parent of the adapters of a captioner (captionlab.captioners.adapters)."""

    settings: Mapping[str, Any]
    """arguments of peft's LoraConfig that are not defaults, by name"""
    parent: Mapping[str, str]
    """the captioner without adapters: the name of its folder, its file of weights and their SHA-256 digest"""
    frozen: frozenset[str]
    """names of parameters that were frozen before the adapters were added"""


class Captioner(Rebuilt, Member, ABC, Generic[State]):
    """A model that writes captions for images. `visual` is the input of the model: a row for each of B images."""

    finetuned_as: ClassVar[Mapping[str, Any]] = {"log_prob": "mean", "freeze_embeddings": True}
    """defaults of the objective reinforce, as Dessì et al. 2023 finetuned the family"""
    start_id: int
    """id of the token before every caption, for the objective mlm"""
    mask_id: int
    """id of the token that masks another token, for the objective mlm"""
    cut_keeps_end: ClassVar[bool] = False
    """whether a reference that is cut keeps its end token"""
    differentiable_steps: ClassVar[bool] = False
    """whether `step` changes no tensor in place, so that a caption can be sampled with gradient"""
    replayable: ClassVar[bool] = False
    """whether `start` and `step` do not depend on values of tensors and always do the same work for tensors of the same
    shapes, so that a GPU can replay them (captionlab.generation.replay)"""
    generates: ClassVar[bool] = False
    """whether `generate` writes captions; all other families are decoded step by step by captionlab.generation"""
    longest: int
    """most tokens of a reference that are learnt, the end token included; set by each family's constructor"""
    adapters: Adapters | None = None
    """the adapters of the captioner, if any; all other parameters are frozen then"""
    output_layer: ClassVar[str] = ""
    """name of the linear layer that computes the logits, which gets no adapters"""
    exported_part: ClassVar[str] = ""
    """name of the submodule that other libraries know; the whole captioner if empty"""
    prompt_length: int = 1
    """positions before a caption in the original's decoding: prefix, prompt or start token"""

    @classmethod
    def for_corpus(
        cls, texts: Iterable[str], other_texts: Iterable[str], visual_size: int, architecture: Mapping[str, Any]
    ) -> tuple[Self, Tokenizer]:
        """Return a captioner with random weights, to be trained from scratch, and its tokenizer.

        `texts` are the training references and, for families that read tags, the labels of the tags. `other_texts` are
        the captions of all other images of the corpus. `visual_size` is the size of a feature vector of an image.
        `architecture` is the block of this name in the config. By default, the tokenizer is byte-level BPE learnt from
        `texts`, and `visual_size` is the first argument of the constructor.
        """
        family: Any = cls
        sizes = dict(architecture)
        tokenizer = Tokenizer.train(texts, sizes.pop("vocabulary"))
        return family(visual_size, vocabulary=tokenizer.size, **cls.special_ids(tokenizer), **sizes), tokenizer

    @staticmethod
    def special_ids(tokenizer: Tokenizer) -> dict[str, Any]:
        """Return the arguments of the constructor, other than `vocabulary`, that a newly learnt tokenizer sets."""
        return {}

    @classmethod
    def from_published(cls, *checkpoint: Any, **options: Any) -> tuple[Self, dict[str, Tensor]]:
        """Return a captioner with the sizes of a published checkpoint, a dict, and the weights to load into it.

        `options` are sizes that cannot be read off the weights: the keys of the config that the family declares. Raises
        KeyError, IndexError or ValueError if the checkpoint is not of this family.
        """
        raise ValueError("no published weights of this family are known")

    @staticmethod
    def read_tokenizer(path: str | os.PathLike[str]) -> Tokenizer:
        """Read the tokenizer that belongs to published weights. By default, the file is a tokenizer.json."""
        return Tokenizer.load(path)

    @classmethod
    def from_folder(cls, folder: str | os.PathLike[str], block: Mapping[str, Any]) -> tuple[Self, Tokenizer]:
        """Return a captioner that was published as a folder, and its tokenizer. `block` is its block of the config.

        Raises ValueError if the published weights of this family are a file.
        """
        raise ValueError("published weights of this family are a file")

    def load_tokenizer(self, path: str | os.PathLike[str]) -> Tokenizer:
        """Read the tokenizer that was stored with this captioner."""
        return Tokenizer.load(path)

    @staticmethod
    def measure_images(paths: Sequence[str]) -> tuple[int, list[str]]:
        """Return the size of a feature vector in these tables, and texts, such as tags, for learning a tokenizer."""
        return embedding_shape(paths)[-1], []

    def open_images(self, features: Sequence[str], tokenizer: Tokenizer) -> Any:
        """Return an object that reads images from these tables, or None, the default, if the tables contain embeddings.

        The object has two methods that take identifiers of images. `rows` returns the images in that order, as the
        captioner reads them (`visual`). `places` returns where the images are in their table
        (captionlab.storage.order.Places), or None.
        """
        return None

    @abstractmethod
    def log_probs(self, visual: Any, tokens: Tensor, mask: Tensor) -> Tensor:
        """Return the log-probability (nats, with gradient) of each token after the tokens before it, as float32 (B, T).

        `tokens` (B, T) are ids, padded at the end with any id. `mask` (B, T) is True for tokens and False for padding;
        the result is 0 at padding. A family with the option scheduled_sampling also takes the probability `sampled`.
        Raises ValueError if there are more tokens than the captioner can read.
        """

    def logits(self, visual: Any, tokens: Tensor) -> Tensor:
        """Return the logits (B, T, vocabulary), with gradient, of the tokens (B, T).

        The option teacher needs this method. Raises NotImplementedError for a family that cannot follow a teacher.
        """
        raise NotImplementedError(f"a {self.family} cannot follow a teacher")

    def masked_logits(self, visual: Any, ids: Tensor, chosen: Tensor) -> Tensor:
        """Return the logits (n, vocabulary), with gradient, of n `chosen` positions (B, T), for the objective mlm.

        The logits are in the order of the rows. `ids` (B, T) are captions that begin with the start token and have some
        tokens masked, padded at the end with any id. Raises NotImplementedError for a family that does not predict
        masked tokens.
        """
        raise NotImplementedError(f"a {self.family} predicts no masked tokens")

    def generate(
        self, visual: Any, decoding: Decoding, vocabulary: Tokenizer, generator: torch.Generator | None
    ) -> Decoded:
        """Return captions of images, without gradient, by the decoding of another library.

        `generator`, on the captioner's device, makes samples repeatable. A family with `generates` implements this
        method; every other family implements `start`, `step` and `reorder`.
        """
        raise NotImplementedError(f"a {self.family} is decoded step by step")

    def start(self, visual: Any, max_tokens: int) -> tuple[Tensor, State]:
        """Return the logits (B, vocabulary) of the first token, and a state with one row for each image.

        The state has room for `max_tokens` tokens.
        """
        raise NotImplementedError(f"a {self.family} is not decoded step by step")

    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        """Return the logits (N, vocabulary) after `tokens` (N,), and the next state.

        The old state must not be used again.
        """
        raise NotImplementedError(f"a {self.family} is not decoded step by step")

    def reorder(self, state: Any, index: Tensor) -> Any:
        """Return the state of the rows `index` (N,), in this order. The old state must not be used again.

        Rows may be repeated or left out. A family whose state has no method `reorder` overrides this method.
        """
        return state.reorder(index)

    def linear_layers(self) -> list[str]:
        """Return the names of the layers that may have adapters: all trainable linear layers but the output layer."""
        linear = ((name, one) for name, one in self.named_modules() if isinstance(one, (nn.Linear, Projection)))
        return [name for name, layer in linear if layer.weight.requires_grad and name != self.output_layer]

    def export(self, tokenizer: Tokenizer, directory: Path, image_side: Mapping[str, Tensor]) -> None:
        """Write the whole captioner into a folder in the format of transformers.

        `image_side` are the weights of the encoder whose patches the captioner reads, if any. Raises ValueError if
        transformers has no such model.
        """
        raise ValueError(f"a {self.family} has no layout that transformers knows; only adapters of it can be exported")

    def check_length(self, tokens: int) -> None:
        """Raise ValueError if `tokens` is above `longest`, for families with a limited number of positions."""
        if tokens > self.longest:
            raise ValueError(
                f"a prompt of {self.prompt_length} and {tokens} tokens do not fit into "
                f"{self.prompt_length + self.longest} positions; lower max_tokens, or give the captioner more "
                "positions in its architecture"
            )


def log_probs_of(output: Callable[[Tensor], Tensor], states: Tensor, tokens: Tensor, mask: Tensor) -> Tensor:
    """Return log-probabilities (B, T) of tokens (B, T), from an output layer on states (B, T, any).

    The result is 0 at padding, where `mask` (B, T) is False. The output layer is the largest matrix by far, so padding
    does not go through it.
    """
    mask = mask.bool()
    losses = functional.cross_entropy(output(states[mask]).float(), tokens[mask], reduction="none")
    return losses.new_zeros(tokens.shape).masked_scatter(mask, -losses)


def check_features(visual: Tensor, size: int, what: Literal["vectors", "patches"]) -> None:
    """Raise ValueError if `visual` is not (B, size), for vectors, or (B, places, size), for patches."""
    if visual.ndim != {"vectors": 2, "patches": 3}[what] or visual.shape[-1] != size:
        raise ValueError(
            f"the features of an image are {tuple(visual.shape[1:])} and this captioner reads {what} of {size} "
            "numbers; give it the encoder that it was trained with"
        )
