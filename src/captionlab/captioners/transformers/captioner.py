"""Captioners from image-text-to-text models of the Hugging Face hub, by the classes of transformers.

The image side of a model is never trained. If the type of the model allows it, the output of the image side is stored
as a table of features. Otherwise, it is computed when images are decoded. A batch is split into groups of images with
prompts of equal length, so no padding precedes a caption. Importing transformers takes longer than importing torch, so
it is imported when a captioner is built.
"""

import logging
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import torch
from PIL import Image
from torch import Tensor

from captionlab.captioners.captioner import Captioner, check_features, log_probs_of
from captionlab.captioners.pictures import Pictures, PictureTable, Seen
from captionlab.captioners.prompts import (
    AnswerTokenizer,
    answer_form,
    of_image,
    of_words,
    processor_files,
    processor_of,
    read_prompt,
    write_processor,
)
from captionlab.networks import hub
from captionlab.networks.checkpoints import CheckpointError
from captionlab.networks.tokenizer import Tokenizer
from captionlab.storage.files import replacing_folder

logger = logging.getLogger(__name__)

AnyPath = str | os.PathLike[str]
# Sizes of blank images that show, on import, how a prompt looks and whether it depends on the size.
_SIZES = ((384, 384), (512, 256))
# Largest difference between log-probabilities of cached steps and of a whole pass, as a share of the largest
# log-probability, by precision of the weights.
_TOLERANCE = {"float32": 1e-3, "bfloat16": 5e-2}


@dataclass
class Group:
    """Captions being generated for images that are read in one pass."""

    rows: Tensor
    """(n,) row numbers of the captions in the batch"""
    cache: Any
    """transformers' cache of keys and values of the positions so far"""
    words: int
    """number of words so far, prompt included"""
    remembered: Tensor | None
    """(n, ...) what the model keeps of the images between passes (HubType.remembers), if anything"""


class HubCaptioner(Captioner[list[Group]]):
    """A captioner from a model of the Hugging Face hub.

    `visual` is a tensor of features (B, S, visual_size), or Pictures.
    """

    finetuned_as: ClassVar = {"log_prob": "mean-with-end", "freeze_embeddings": False}
    exported_part: ClassVar = "model"

    def __init__(
        self,
        visual_size: int,
        config: Mapping[str, Any],
        vocabulary: int,
        end: int,
        prompt: Mapping[str, Sequence[int]],
        reads: Literal["table", "encoder", "pixels"],
        listed: bool,
        answer: Mapping[str, Any],
        unsaid: Sequence[int] = (),
        block: Mapping[str, Any] | None = None,
        files: Mapping[str, str] | None = None,
        dtype: str = "float32",
    ):
        """Build a captioner with random weights.

        `config` is the config of transformers. `vocabulary` is the number of ids that have logits, and `end` is the id
        that ends a caption. `reads` is "table" for a table of features from the model's own image side, "encoder" for
        patches of any encoder that go through the model's projector, or "pixels". `prompt` has the ids of the inputs
        that are equal for all images; a single placeholder stands for all placeholders of an image. `listed` says
        whether the model takes features as a list with one tensor per image. `answer` has options of AnswerTokenizer.
        `unsaid` are ids that no caption has: placeholders of images, and end tokens other than `end`. `block` (keys of
        the config) and `files` (the files of the processor) are used to preprocess pixels. `dtype` is the precision of
        the weights.
        """
        super().__init__(locals())
        self.kind, self.reads, self.listed = hub.type_of(config), reads, listed
        self.model: Any = hub.build(config).to(hub.PRECISIONS[dtype])
        if reads == "pixels":
            hub.freeze_image_side(self.model, self.kind)
        else:
            kept = self.kind.projector if reads == "encoder" else ""
            hub.drop_image_side(self.model, self.kind, kept)
        self.unsaid = list(unsaid)
        self.prompt = {name: torch.tensor([list(ids)]) for name, ids in prompt.items()}
        self.prompt_length = max((ids.shape[1] for ids in self.prompt.values()), default=1)
        self.positions = self.model.config.get_text_config().max_position_embeddings
        self.longest = self.positions - self.prompt_length

    # ------------------------------------------------------------------------------------------------ construction
    @classmethod
    def for_corpus(
        cls, texts: Iterable[str], other_texts: Iterable[str], visual_size: int, architecture: Mapping[str, Any]
    ) -> tuple[Self, Tokenizer]:
        """Return a captioner to be trained from scratch on the patches of an encoder, and its tokenizer.

        Raises ValueError if the type of the model cannot be trained from scratch.
        """
        tokenizer = Tokenizer.train(texts, architecture["vocabulary"])
        config, vocabulary = hub.config_from_scratch(architecture["config"], visual_size, tokenizer.size, tokenizer.end)
        prompt = [tokenizer.end] if vocabulary == tokenizer.size else [vocabulary - 1, tokenizer.end]
        listed = not hub.type_of(config).bypassed
        captioner = cls(
            visual_size,
            config,
            vocabulary,
            tokenizer.end,
            {"input_ids": prompt},
            "encoder",
            listed,
            answer={},
            unsaid=hub.placeholders(config),
        )
        return captioner, AnswerTokenizer(tokenizer.tokenizer, **captioner.said_to_tokenizer)

    @classmethod
    def from_folder(cls, folder: AnyPath, block: Mapping[str, Any]) -> tuple[Self, Tokenizer]:
        """Return the captioner in a folder of the Hugging Face hub and its tokenizer.

        `block` is its block of the config. The key `reads` of `block` is "table" or "pixels". Raises CheckpointError if
        transformers cannot read the folder, if features of images cannot be stored as a table, or if captions cannot be
        continued word by word. Raises ValueError if both `prompt` and `chat` are set.
        """
        model, processor, inputs = _opened(folder, block)
        config, kind, table = model.config.to_dict(), hub.type_of(model.config.to_dict()), block["reads"] == "table"
        seeing = table or hub.takes_features(model)
        features: list[Any] = [hub.image_features(model, kind, of_image(one)) for one in inputs] if seeing else [()]
        ends = _ends(model, processor)
        lead, end = answer_form(processor, block, ends, inputs[0]["input_ids"][0].tolist())
        captioner = cls(
            visual_size=int(features[0][0].shape[-1]) if table else 0,
            config=config,
            vocabulary=len(model.get_output_embeddings().weight),
            end=end,
            prompt={name: ids[0].tolist() for name, ids in of_words(inputs[0]).items()} if table else {},
            reads=block["reads"],
            listed=isinstance(features[0], list | tuple),
            answer={"lead": lead, **block.get("answer", {})},
            unsaid=sorted({*hub.placeholders(config), *ends} - {end}),
            block={key: block[key] for key in ("prompt", "chat") if key in block},
            files=processor_files(processor),
            dtype=block["dtype"],
        )
        own = captioner.model.state_dict()
        captioner.model.load_state_dict({name: value for name, value in model.state_dict().items() if name in own})
        captioner.eval()
        seen = (
            torch.cat([torch.stack([*one]) for one in features]) if table else Pictures([*map(captioner.see, inputs)])
        )
        _check_steps(folder, model, inputs, captioner, seen)
        return captioner, AnswerTokenizer(processor.tokenizer.backend_tokenizer, **captioner.said_to_tokenizer)

    @property
    def said_to_tokenizer(self) -> dict[str, Any]:
        """Return the options of AnswerTokenizer."""
        return {"end": self.architecture["end"], "size": self.architecture["vocabulary"], **self.architecture["answer"]}

    def load_tokenizer(self, path: AnyPath) -> Tokenizer:
        """Read the tokenizer that was stored with this captioner."""
        return AnswerTokenizer.load(path, **self.said_to_tokenizer)

    def linear_layers(self) -> list[str]:
        """Return the names of the language side's linear layers, which may have adapters, without its output layer."""
        output = self.model.get_output_embeddings()
        return [name for name in super().linear_layers() if self.get_submodule(name) is not output]

    # ------------------------------------------------------------------------------------------------------ images
    def open_images(self, features: Sequence[str], tokenizer: Tokenizer) -> PictureTable | None:
        """Return the images of tables of images, or None if the captioner reads features instead of pixels."""
        kind = self.architecture["config"]["model_type"]
        if self.reads != "pixels":
            logger.info("A captioner of the type %s: images are read from a table of features.", kind)
            return None
        logger.info("A captioner of the type %s: images are decoded when they are asked for.", kind)
        processor = processor_of(self.architecture["files"], tokenizer)
        return PictureTable(features, partial(read_prompt, processor, self.architecture["block"]), self.see)

    @torch.no_grad()
    def see(self, inputs: Mapping[str, Tensor]) -> Seen:
        """Return the inputs of the model for a preprocessed image: its prompt, and features or pixels.

        If the model takes the output of its image side, these features (1, S, d) replace the pixels.
        """
        if not hub.takes_features(self.model):
            return dict(inputs)
        device = self.model.device
        training = self.model.training
        features = hub.image_features(
            self.model.eval(), self.kind, {n: v.to(device) for n, v in of_image(inputs).items()}
        )
        self.model.train(training)
        rest = {name: value for name, value in inputs.items() if not name.startswith("pixel")}
        return {**rest, "features": features[0][None]}

    def export(self, tokenizer: Tokenizer, directory: Path, image_side: Mapping[str, Tensor]) -> None:
        """Write the whole model into a folder as `save_pretrained` does, together with its processor.

        Raises ValueError if the captioner was trained on patches of another encoder, because transformers has no such
        model.
        """
        if self.reads == "encoder":
            raise ValueError("a captioner from scratch reads patches of an encoder that transformers does not have")
        model = hub.build(self.architecture["config"]).to(self.model.dtype)
        model.load_state_dict({**image_side, **self.model.state_dict()})
        model.generation_config.update(eos_token_id=tokenizer.end)
        with replacing_folder(directory) as folder:
            model.save_pretrained(folder)
            write_processor(self.architecture["files"], tokenizer, folder)

    # ------------------------------------------------------------------------------------------------- the interface
    def log_probs(self, visual: Any, tokens: Tensor, mask: Tensor) -> Tensor:
        """Return the log-probability (nats, with gradient) of each token after the tokens before it, as float32 (B, T).

        Raises ValueError if prompt and tokens exceed the positions of the model.
        """
        found, order = [], []
        for rows, words, images in self._groups(visual):
            self._check_room(words, tokens.shape[1])
            chosen = tokens[rows]
            output = self._read(words, images, chosen[:, :-1], keep=chosen.shape[1], use_cache=False)
            logits = self.said(output.logits[:, -chosen.shape[1] :])
            found.append(log_probs_of(lambda states: states, logits, chosen, mask[rows]))
            order.append(rows)
        return torch.cat(found)[torch.cat(order).argsort()]

    def start(self, visual: Any, max_tokens: int) -> tuple[Tensor, list[Group]]:
        """Return the logits (B, vocabulary) of the first token, and a state with one group for each length of prompt.

        Raises ValueError if a prompt and `max_tokens` tokens exceed the positions of the model.
        """
        logits, groups = [], []
        for rows, words, images in self._groups(visual):
            self._check_room(words, max_tokens)
            output = self._read(words, images, None, keep=1, use_cache=True)
            inner = output.language_model_outputs if self.kind.continued_by else output
            remembered = hub.remembered(self.model, self.kind)
            groups.append(Group(rows, inner.past_key_values, words["input_ids"].shape[1], remembered))
            logits.append(self.said(output.logits[:, -1]))
        return _in_order(logits, groups), groups

    def step(self, tokens: Tensor, state: list[Group]) -> tuple[Tensor, list[Group]]:
        """Return the logits (N, vocabulary) after `tokens` (N,), and the state, which is changed in place."""
        reader, logits = self.model.get_submodule(self.kind.continued_by), []
        for group in state:
            ids = tokens[group.rows][:, None]
            options = {"position_ids": torch.full_like(ids, group.words)} if self.kind.counts_words else {}
            if group.remembered is not None:
                hub.remember(self.model, self.kind, group.remembered)
            output = reader(input_ids=ids, past_key_values=group.cache, use_cache=True, **options)
            group.words += 1
            logits.append(self.said(output.logits[:, -1]))
        return _in_order(logits, state), state

    def reorder(self, state: list[Group], index: Tensor) -> list[Group]:
        """Return the state of the rows `index` (N,), in this order. The old state must not be used again.

        Rows may be repeated or left out.
        """
        count = sum(len(group.rows) for group in state)
        groups = []
        for group in state:
            place = torch.full((count,), -1, device=index.device)
            place[group.rows] = torch.arange(len(group.rows), device=index.device)
            chosen = place[index]
            rows = (chosen >= 0).nonzero()[:, 0]
            if len(rows) == 0:
                continue
            group.cache.batch_select_indices(chosen[rows])
            remembered = None if group.remembered is None else group.remembered[chosen[rows]]
            groups.append(Group(rows, group.cache, group.words, remembered))
        return groups

    def _check_room(self, words: Mapping[str, Tensor], tokens: int) -> None:
        """Raise ValueError if a prompt and `tokens` more tokens exceed the positions of the model."""
        length = words["input_ids"].shape[1]
        if length + tokens > self.positions:
            raise ValueError(
                f"a prompt of {length} and {tokens} tokens do not fit into {self.positions} positions; lower max_tokens"
            )

    def said(self, logits: Tensor) -> Tensor:
        """Return logits (..., vocabulary) in which the ids that no caption has are -inf."""
        return logits.index_fill(-1, torch.tensor(self.unsaid, dtype=torch.long, device=logits.device), -torch.inf)

    def _groups(self, visual: Any) -> Iterator[tuple[Tensor, dict[str, Tensor], dict[str, Any]]]:
        """Yield groups of images that are read in one pass: row numbers, prompts and inputs for the images."""
        if isinstance(visual, Pictures):
            for rows, alike in visual.alike():
                joined = {name: torch.cat([seen[name] for seen in alike.images]) for name in alike.images[0]}
                yield torch.tensor(rows, device=self.model.device), of_words(joined), self._given(of_image(joined))
            return
        check_features(visual, self.architecture["visual_size"], "patches")
        words = {name: self._spread(ids.to(visual.device), visual) for name, ids in self.prompt.items()}
        yield torch.arange(len(visual), device=visual.device), words, self._given({"features": visual})

    def _spread(self, ids: Tensor, visual: Tensor) -> Tensor:
        """Return the prompt of each image, (B, P). If patches of an encoder are read, each patch gets a placeholder."""
        if self.reads == "encoder" and not self.kind.bypassed:
            ids = torch.cat([ids[:, :1].expand(-1, visual.shape[1]), ids[:, 1:]], dim=1)
        return ids.expand(len(visual), -1)

    def _given(self, images: dict[str, Any]) -> dict[str, Any]:
        """Return the inputs that describe images under the names that the model expects."""
        if "features" not in images:
            return images
        features = images.pop("features").to(self.model.dtype)
        if self.kind.bypassed:
            return {"pixel_values": features[:, None]}
        if self.reads == "encoder":
            features = self.model.get_submodule(self.kind.projector)(features)
        handed = hub.Features(list(features) if self.listed else features)
        return {**images, "pixel_values": None, "mm_encoder_outputs": {"image": handed}}

    def _read(
        self, words: Mapping[str, Tensor], images: Mapping[str, Any], tokens: Tensor | None, keep: int, use_cache: bool
    ) -> Any:
        """Return the model's output for prompts and then `tokens` (n, t), with logits of `keep` or more positions."""
        if tokens is not None:
            words = hub.followed(words, tokens, self.kind)
        return self.model(**words, **images, logits_to_keep=keep, use_cache=use_cache)


def _in_order(logits: list[Tensor], groups: list[Group]) -> Tensor:
    """Return the logits of all groups in the order of the rows of the batch."""
    return torch.cat(logits)[torch.cat([group.rows for group in groups]).argsort()] if len(groups) > 1 else logits[0]


def _ends(model: Any, processor: Any) -> list[int]:
    """Return the ids of the tokens that end an answer of the model."""
    ends = model.generation_config.eos_token_id
    ends = processor.tokenizer.eos_token_id if ends is None else ends
    return ends if isinstance(ends, list) else [ends]


def _opened(folder: AnyPath, block: Mapping[str, Any]) -> tuple[Any, Any, list[dict[str, Tensor]]]:
    """Return the model and the processor in a folder, and the inputs of the model for two images of different size.

    Raises CheckpointError if the folder has no decoder-only captioner. Raises ValueError if `block` has both prompt and
    chat.
    """
    if "chat" in block and block.get("prompt"):
        raise ValueError("prompt and chat are both given; write one of them")
    model, processor = hub.read_folder(folder, block["dtype"], block.get("processor", {}))
    if model.config.is_encoder_decoder or model.config.get_text_config().is_encoder_decoder:
        raise CheckpointError(f"{folder} is an encoder and a decoder of texts; only decoders alone can be captioners")
    inputs = [read_prompt(processor, block, Image.new("RGB", size)) for size in _SIZES]
    if block["reads"] == "table":
        _check_table(folder, model.config.model_type, hub.type_of(model.config.to_dict()), inputs)
    return model, processor, inputs


def _check_table(folder: AnyPath, name: str, kind: hub.HubType, inputs: Sequence[Mapping[str, Tensor]]) -> None:
    """Raise CheckpointError if the features of images cannot be stored as a table."""
    without = "leave out `encoder`, and images are decoded in every update"
    if not kind.makes_table:
        raise CheckpointError(f"{folder} is a {name}, of whose images {hub.NO_TABLE}; {without}")
    first, second = ({name: value for name, value in one.items() if name != "pixel_values"} for one in inputs)
    differing = [name for name, value in first.items() if not torch.equal(value, second[name])]
    if differing or inputs[0]["pixel_values"].shape != inputs[1]["pixel_values"].shape:
        raise CheckpointError(
            f"{folder}: images of other shapes become other numbers of patches, so they cannot be a table; tell "
            f"its processor to make them alike (a smolvlm's: `processor: {{do_image_splitting: false}}`), or {without}"
        )


def _check_steps(
    folder: AnyPath, model: Any, inputs: Sequence[Mapping[str, Tensor]], captioner: HubCaptioner, visual: Any
) -> None:
    """Raise CheckpointError if a captioner that reads two images in a batch differs from its model on each image alone.

    Captions are continued word by word, in another order and with other passes in between. They are also read in one
    pass.
    """
    name = captioner.architecture["config"]["model_type"]
    try:
        apart = max(_apart(model, inputs, captioner, visual))
    except (AttributeError, TypeError, IndexError, RuntimeError, KeyError) as error:
        raise CheckpointError(f"{folder} is a {name}, which cannot be continued word by word: {error!r}") from error
    if not apart < _TOLERANCE[captioner.architecture["dtype"]]:
        raise CheckpointError(
            f"{folder} is a {name}, and words after words come out otherwise than in one pass (by {apart:.1%}): what "
            "it does in another way is to be said in captionlab.networks.hub"
        )


@torch.no_grad()
def _apart(model: Any, inputs: Sequence[Mapping[str, Tensor]], captioner: HubCaptioner, visual: Any) -> Iterator[float]:
    """Yield the largest difference in log-probability between a captioner and its model, by position.

    Each difference is a share of the largest log-probability.
    """
    tokens = torch.tensor([[token for token in range(16) if token not in captioner.unsaid][:4]])
    alone = [model(**hub.followed(one, tokens[:, :-1], captioner.kind)).logits[0, -4:] for one in inputs]
    whole = [captioner.said(logits.float()).log_softmax(-1) for logits in alone]
    order = torch.tensor([1, 0, 1])
    logits, state = captioner.start(visual, 4)
    state = captioner.reorder(state, order)
    found = [logits[order]]
    for token in tokens[0, :-1]:
        at_once = captioner.log_probs(visual, tokens.expand(2, -1), torch.ones(2, 4))  # a pass between two steps
        logits, state = captioner.step(token.expand(3), state)
        found.append(logits)
    for position, logits in enumerate(found):
        for row, image in enumerate(order):
            expected = whole[image][position]
            given = logits[row].float().log_softmax(-1)
            sayable = expected.isfinite()
            yield float((given - expected)[sayable].abs().max() / expected[sayable].abs().max())
    for image, expected in enumerate(whole):
        of_tokens = expected.gather(1, tokens.T)[:, 0]
        yield float((at_once[image] - of_tokens).abs().max() / of_tokens.abs().max())


FAMILY = HubCaptioner
