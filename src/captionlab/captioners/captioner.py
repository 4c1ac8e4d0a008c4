"""What every captioner offers: the contract of a family, with defaults for what not every family needs.

A family is a module of this package: its FAMILY is a subclass of Captioner, its DECLARATION says what the graph must
know of it (captionlab.declarations.CaptionerFamily), and its name is the name of the module.
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic, Literal, Self, TypeVar

from torch import Tensor, nn
from torch.nn import functional

from captionlab.declarations import Member
from captionlab.encoders.embeddings import embedding_shape
from captionlab.networks.checkpoints import Rebuilt
from captionlab.networks.gpt2 import Projection
from captionlab.networks.tokenizer import Tokenizer

State = TypeVar("State")
AnyPath = str | os.PathLike[str]


@dataclass(frozen=True)
class Adapters:
    """What a captioner has adapters of (captionlab.captioners.adapters), and which."""

    settings: Mapping[str, Any]
    """those of peft's LoraConfig that are not its defaults, by its names"""
    parent: Mapping[str, str]
    """the captioner without them: the name of its folder, its file of weights and the digest of that"""
    frozen: frozenset[str]
    """parameters that are not trained without adapters either"""


class Captioner(Rebuilt, Member, ABC, Generic[State]):
    """A model that gives an image a text. `visual` is whatever the family reads, a row for each of B images."""

    finetuned_as: ClassVar[Mapping[str, Any]] = {"log_prob": "mean", "freeze_embeddings": True}
    """defaults of the objective reinforce: how Dessì et al. 2023 finetuned the family"""
    start_id: int
    """the token before every caption, for the objective mlm"""
    mask_id: int
    """the token that stands for another one, for the same"""
    cut_keeps_end: ClassVar[bool] = False
    """whether a reference that is cut still ends"""
    differentiable_steps: ClassVar[bool] = False
    """whether `step` changes no tensor in place, so that a caption can be sampled with gradient"""
    replayable: ClassVar[bool] = False
    """whether `start` and `step` look at no number of a tensor and always do the same for tensors of the same shapes,
    so that a GPU may replay them (captionlab.generation.replay)"""
    longest: int
    """the most tokens of a reference that are learnt, the end token included: each family's constructor sets it"""
    adapters: Adapters | None = None
    """those that it has, beside which all its parameters are frozen"""
    output_layer: ClassVar[str] = ""
    """name of the linear layer that gives logits, which adapters leave alone"""
    exported_part: ClassVar[str] = ""
    """name of the module in it that other libraries know, the whole of it where none is given"""
    prompt_length: int = 1
    """positions before a caption that the original's decoding begins with: prefix, prompt, or the start token"""

    @classmethod
    def for_corpus(
        cls, texts: Iterable[str], other_texts: Iterable[str], visual_size: int, architecture: Mapping[str, Any]
    ) -> tuple[Self, Tokenizer]:
        """A captioner with random weights for features of `visual_size` numbers, and its tokenizer.

        The tokenizer is learnt from the training references `texts`, and perhaps all others; `architecture` is that of
        the config. By default it is byte pairs of the former, and the size the first argument of the constructor.
        """
        family: Any = cls
        sizes = dict(architecture)
        tokenizer = Tokenizer.train(texts, sizes.pop("vocabulary"))
        return family(visual_size, vocabulary=tokenizer.size, **cls.special_ids(tokenizer), **sizes), tokenizer

    @staticmethod
    def special_ids(tokenizer: Tokenizer) -> dict[str, Any]:
        """What the constructor must know of byte pairs that were learnt here, beside their number."""
        return {}

    @classmethod
    def from_published(cls, *checkpoint: Any, **options: Any) -> tuple[Self, dict[str, Tensor]]:
        """A captioner of the sizes that a published checkpoint, a dict, has, and the weights to load into it.

        `options` are what the weights do not tell: the keys of the config that the family declares. KeyError,
        IndexError or ValueError say that it is not a checkpoint of this family.
        """
        raise ValueError("no published weights of this family are known")

    @staticmethod
    def read_tokenizer(path: str | os.PathLike[str]) -> Tokenizer:
        """The tokenizer that goes with published weights; by default a tokenizer.json."""
        return Tokenizer.load(path)

    @classmethod
    def from_folder(cls, folder: str | os.PathLike[str], block: Mapping[str, Any]) -> tuple[Self, Tokenizer]:
        """A captioner that was published as a folder, by the keys of its block in the config, and its tokenizer."""
        raise ValueError("published weights of this family are a file")

    def load_tokenizer(self, path: str | os.PathLike[str]) -> Tokenizer:
        """The tokenizer that was stored with this captioner."""
        return Tokenizer.load(path)

    @staticmethod
    def measure_images(paths: Sequence[str]) -> tuple[int, list[str]]:
        """How many numbers a vector of an image has in these tables, and what the tokenizer must know of them."""
        return embedding_shape(paths)[-1], []

    def open_images(self, features: Sequence[str], tokenizer: Tokenizer) -> Any:
        """The images of these tables; None, the default, where they are embeddings.

        Of images by their identifiers, `rows` gives what the captioner takes as `visual`, in that order, and `places`
        where they lie in their table (captionlab.order.Places).
        """
        return None

    @abstractmethod
    def log_probs(self, visual: Any, tokens: Tensor, mask: Tensor) -> Tensor:
        """Log-probability (nats, with gradient) of each of the given tokens after those before it, (B, T) float32.

        `tokens` (B, T) are ids, padded at the end with any id; `mask` (B, T) tells tokens from padding, where the
        result is 0. With the option scheduled_sampling it also takes a probability `sampled`. ValueError when there are
        more tokens than the captioner can read.
        """

    def logits(self, visual: Any, tokens: Tensor) -> Tensor:
        """Logits (B, T, vocabulary), with gradient, of each of the tokens (B, T): for the option teacher."""
        raise NotImplementedError(f"a {self.family} cannot follow a teacher")

    def masked_logits(self, visual: Any, ids: Tensor, chosen: Tensor) -> Tensor:
        """Logits (n, vocabulary), with gradient, of n `chosen` positions (B, T), row by row: for the objective mlm.

        `ids` (B, T) are captions from the start token on with some tokens masked, padded at the end with any id.
        """
        raise NotImplementedError(f"a {self.family} predicts no masked tokens")

    @abstractmethod
    def start(self, visual: Any, max_tokens: int) -> tuple[Tensor, State]:
        """Logits (B, vocabulary) of the first token, and a state: a row for each image, room for `max_tokens`."""

    @abstractmethod
    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        """Logits (N, vocabulary) after `tokens` (N,), and the next state; the old one is not used again."""

    def reorder(self, state: Any, index: Tensor) -> Any:
        """The rows `index` (N,) of a state, in that order, repeated or left out; the old state is not used again.

        A family whose state has no method `reorder` that does this overrides it.
        """
        return state.reorder(index)

    def linear_layers(self) -> list[str]:
        """Names of the layers that may have adapters: all linear ones that are not frozen, but the output layer."""
        linear = ((name, one) for name, one in self.named_modules() if isinstance(one, (nn.Linear, Projection)))
        return [name for name, layer in linear if layer.weight.requires_grad and name != self.output_layer]

    def export(self, tokenizer: Tokenizer, directory: Path, image_side: Mapping[str, Tensor]) -> None:
        """Write the whole captioner into a folder as transformers has it; ValueError where that has no such layout.

        `image_side` are the weights of the encoder whose patches it reads, if any.
        """
        raise ValueError(f"a {self.family} has no layout that transformers knows; only adapters of it can be exported")

    def check_length(self, tokens: int) -> None:
        """Raise ValueError for more tokens than the longest caption has, for families whose positions set that."""
        if tokens > self.longest:
            raise ValueError(
                f"a prompt of {self.prompt_length} and {tokens} tokens do not fit into "
                f"{self.prompt_length + self.longest} positions; lower max_tokens, or give the captioner more "
                "positions in its architecture"
            )


def log_probs_of(output: Callable[[Tensor], Tensor], states: Tensor, tokens: Tensor, mask: Tensor) -> Tensor:
    """Log-probabilities (B, T) of tokens (B, T) by an output layer on states (B, T, any); 0 where `mask` is not set.

    The output layer is the largest matrix by far, so padding does not go through it.
    """
    mask = mask.bool()
    losses = functional.cross_entropy(output(states[mask]).float(), tokens[mask], reduction="none")
    return losses.new_zeros(tokens.shape).masked_scatter(mask, -losses)


def check_features(visual: Tensor, size: int, what: Literal["vectors", "patches"]) -> None:
    """Raise ValueError for features of other images than a captioner reads: (B, size), or of patches (B, S, size)."""
    if visual.ndim != {"vectors": 2, "patches": 3}[what] or visual.shape[-1] != size:
        raise ValueError(
            f"the features of an image are {tuple(visual.shape[1:])} and this captioner reads {what} of {size} "
            "numbers; give it the encoder that it was trained with"
        )
