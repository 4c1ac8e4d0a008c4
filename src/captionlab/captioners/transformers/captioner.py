"""Captioners from image-text-to-text models of the Hugging Face hub, by the classes of transformers.

`generate` of the model writes captions, and one forward pass over prompt and caption gives the log-probabilities of a
caption. The processor of the model makes its inputs. The image side of a model is never trained. If the type of the
model takes the output of its image side whole, a table of features can replace the images. Importing transformers takes
longer than importing torch, so it is imported when a captioner is built.
"""

import inspect
import logging
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
import torch
from jinja2 import TemplateError
from PIL import Image
from torch import Tensor

from captionlab.captioners.captioner import Captioner, check_features, log_probs_of
from captionlab.captioners.decoded import Decoded
from captionlab.captioners.pictures import Pictures, PictureTable
from captionlab.captioners.prompts import (
    AnswerTokenizer,
    Prompter,
    answer_form,
    of_words,
    processor_files,
    processor_of,
    write_processor,
)
from captionlab.captioners.transformers.generation import Stop, decoded_captions, joined, options_of, seeded
from captionlab.config.evaluations import Decoding, Greedy
from captionlab.networks import hub
from captionlab.networks.checkpoints import CheckpointError
from captionlab.networks.tokenizer import Tokenizer
from captionlab.storage.files import replacing_folder

logger = logging.getLogger(__name__)

AnyPath = str | os.PathLike[str]
# Heights and widths of images of noise that are captioned on import.
_SIZES = ((384, 384), (256, 512))
# Largest number of logits (float32, kept twice in a beam search) of one call of `generate`; a larger batch is divided.
_MOST_LOGITS = 2**29
# Tokens of captions that are written on import, to compare features with pixels.
_FEW = 8


class HubCaptioner(Captioner[None]):
    """A captioner from a model of the Hugging Face hub.

    `visual` is a tensor of features (B, S, visual_size), or Pictures.
    """

    finetuned_as: ClassVar = {"log_prob": "mean-with-end", "freeze_embeddings": False}
    exported_part: ClassVar = "model"
    generates: ClassVar = True

    def __init__(
        self,
        config: Mapping[str, Any],
        vocabulary: int,
        ends: Sequence[int],
        reads: Literal["table", "encoder", "pixels"],
        visual_size: int = 0,
        prompt: Mapping[str, Sequence[int]] | None = None,
        decoder_prompt: Sequence[int] = (),
        reads_prompt: Literal["decoder", "encoder", "none"] = "decoder",
        listed: bool = False,
        image_side: Sequence[str] = (),
        trained: Sequence[str] | None = None,
        float32: Sequence[str] = (),
        generation: Mapping[str, Any] | None = None,
        answer: Mapping[str, Any] | None = None,
        block: Mapping[str, Any] | None = None,
        files: Mapping[str, str] | None = None,
        dtype: str = "float32",
    ):
        """Build a captioner without weights, or with random weights if it reads patches of an encoder.

        `config` is the config of transformers. `vocabulary` is the number of ids that have logits. A caption ends with
        one of the ids `ends`; references end with the first of them. `reads` is "table" for a table of features from
        the model's own image side, "encoder" for patches of any encoder that go through the model's projector, or
        "pixels". `prompt` has the ids of the inputs that are equal for all images, if features are read. The decoder of
        an encoder-decoder begins with `decoder_prompt`. `reads_prompt` is explained at Prompter. `listed` says whether
        the model takes features as a list with one tensor per image. `image_side` and `trained` are names of
        parameters with numbers replaced by *: only images go through `image_side`, and `trained` can be trained (None:
        all). `float32` are names of parameters that stay in float32 whatever `dtype` is. `generation` is the content of
        the model's generation_config.json. `answer` has options of AnswerTokenizer. `block` (keys of the config) and
        `files` (the files of the processor) are used to preprocess pixels.
        """
        super().__init__(locals())
        self.reads, self.listed, self.ends = reads, listed, list(ends)
        self.image_side, self.trained, self.float32 = {*image_side}, trained, float32
        self.generation = dict(generation or {})
        self.model: Any = self.shaped(hub.build(config, dtype, random=reads == "encoder"))
        self.image_modules = hub.whole_modules(self.model, hub.is_of(self.image_side))
        self.prompt = {name: torch.tensor([list(ids)]) for name, ids in (prompt or {}).items()}
        self.decoder_prompt = torch.tensor([list(decoder_prompt)], dtype=torch.long)
        self.placeholders = torch.tensor(hub.placeholders(config), dtype=torch.long)
        self.prompt_length = len(decoder_prompt or self.prompt.get("input_ids", [[0]])[0])
        text = self.model.config.get_text_config(decoder=True).to_dict()
        self.positions = text.get("max_position_embeddings") or sys.maxsize
        self.longest = self.positions - self.prompt_length
        self.keeps_logits = "logits_to_keep" in inspect.signature(self.model.forward).parameters

    def train(self, mode: bool = True) -> Self:
        """Turn training on or off, for dropout. The image side is never trained, so nothing of it is dropped."""
        super().train(mode)
        for name in self.image_modules:
            self.model.get_submodule(name).eval()
        return self

    def shaped(self, model: Any) -> Any:
        """Return a model of transformers without the parts that are not read, its untrained parameters frozen."""
        from transformers import GenerationConfig

        tower, _ = hub.FROM_SCRATCH.get(model.config.model_type, ("", ""))
        if self.reads == "table":
            hub.drop_parameters(model, hub.is_of(self.image_side))
        if self.reads != "pixels" and tower:
            model.set_submodule(tower, hub.Bypass())
        if self.generation:
            model.generation_config = GenerationConfig.from_dict(self.generation)
        for name, parameter in model.named_parameters():
            if name in self.float32:
                parameter.data = parameter.data.float()
            if self.trained is not None:
                parameter.requires_grad_(hub.stacked(name) in self.trained)
        return model

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
        generation: dict[str, Any] = {
            "eos_token_id": tokenizer.end,
            "pad_token_id": tokenizer.end,
            "bos_token_id": tokenizer.end,
        }
        if written := hub.placeholders(config):
            generation["suppress_tokens"] = written
        captioner = cls(
            config,
            vocabulary,
            [tokenizer.end],
            "encoder",
            visual_size=visual_size,
            prompt={"input_ids": prompt},
            listed=config["model_type"] not in hub.BYPASSED,
            generation=generation,
        )
        return captioner, AnswerTokenizer(tokenizer.tokenizer, **captioner.tokenizer_options)

    @classmethod
    def from_folder(cls, folder: AnyPath, block: Mapping[str, Any]) -> tuple[Self, Tokenizer]:
        """Return the captioner in a folder of the Hugging Face hub and its tokenizer.

        `block` is its block of the config. The key `reads` of `block` is "table" or "pixels". Raises CheckpointError if
        transformers cannot read or run the model, or if features of images cannot be stored as a table. Raises
        ValueError if both `prompt` and `chat` are set.
        """
        if "chat" in block and block.get("prompt"):
            raise ValueError("prompt and chat are both given; write one of them")
        model, processor = hub.read_folder(folder, block["dtype"], block.get("processor", {}))
        try:
            return cls._of_model(model, processor, block)
        except CheckpointError as error:
            raise CheckpointError(f"{folder}: {error}") from error

    @classmethod
    def _of_model(cls, model: Any, processor: Any, block: Mapping[str, Any]) -> tuple[Self, Tokenizer]:
        kept = {key: block[key] for key in ("prompt", "chat") if key in block}
        prompter = Prompter(processor, kept, _reader_of_prompt(model))
        pixels = np.random.default_rng(0)
        noise = [Image.fromarray(pixels.integers(0, 255, (*size, 3), dtype=np.uint8)) for size in _SIZES]
        images = Pictures(noise, prompter, torch.device("cpu"))
        ends = _ends(model, processor)
        try:
            lead, end = answer_form(prompter, ends, images[:1].inputs.get("input_ids"))
        except TemplateError as error:
            raise CheckpointError(f"its chat template refuses a message ({error}); write a `prompt`") from error
        captioner = cls(
            hub.described(model),
            model.config.get_text_config(decoder=True).vocab_size,
            [end, *(other for other in ends if other != end)],
            "pixels",
            decoder_prompt=_decoder_prompt(model, prompter),
            reads_prompt=prompter.reads_prompt,
            float32=[name for name, value in model.named_parameters() if value.dtype != hub.PRECISIONS[block["dtype"]]],
            generation=model.generation_config.to_dict(),
            answer={"lead": lead, **block.get("answer", {})},
            block=kept,
            files=processor_files(processor),
            dtype=block["dtype"],
        )
        captioner.model = captioner.shaped(model)
        captioner = captioner.with_trained_parameters(images)
        tokenizer = AnswerTokenizer(processor.tokenizer.backend_tokenizer, **captioner.tokenizer_options)
        if block["reads"] == "table":
            captioner = captioner.by_table(images, tokenizer)
        return captioner.eval(), tokenizer

    def with_trained_parameters(self, images: Pictures) -> Self:
        """Return this captioner with only those parameters trainable that get gradients and see more than images.

        Raises CheckpointError if transformers cannot run the model.
        """
        name = self.architecture["config"]["model_type"]
        try:
            side = hub.image_side(self.model, self.inputs(images[:1]))
            tokens = torch.full((len(images), 2), self.ends[0])
            read = hub.reached(self.model, self.log_probs(images, tokens, torch.ones_like(tokens)).sum())
        except (AttributeError, TypeError, IndexError, RuntimeError, KeyError, ValueError) as error:
            raise CheckpointError(
                f"transformers does not run this {name} on an image ({error!r}); name another model, or correct its "
                "files"
            ) from error
        if not side:
            logger.warning("The image side of a %s cannot be told from the rest of it, and is trained, too.", name)
        captioner = self._with(image_side=sorted(side), trained=sorted(read - side))
        counts = [(value.numel(), value.requires_grad) for value in captioner.parameters()]
        trained = sum(number for number, learns in counts if learns)
        logger.info("%s of the %s parameters of a %s can be trained.", trained, sum(n for n, _ in counts), name)
        return captioner

    def _with(self, **changes: Any) -> Self:
        """Return a captioner with this one's model, and another architecture."""
        other = type(self)(**{**self.architecture, **changes})
        other.model = other.shaped(self.model)
        return other

    def by_table(self, images: Pictures, tokenizer: Tokenizer) -> Self:
        """Return this captioner for a table of its features, after a comparison of captions of both.

        Raises CheckpointError if features of images cannot be stored as a table, or if captions differ.
        """
        name, without = self.architecture["config"]["model_type"], "leave out `encoder`, and images are decoded"
        found = [self._features(images[row : row + 1]) for row in range(len(images))]
        if not hub.takes_features(self.model) or any(one is None or _pooled(one) is None for one in found):
            raise CheckpointError(f"a {name} reads no features in the place of pixels; {without}")
        prompts = [of_words(images[row : row + 1].inputs) for row in range(len(images))]
        first, second = ({key: value.tolist() for key, value in one.items()} for one in prompts)
        pooled = [_pooled(one) for one in found]
        shapes = {one[0].shape for one in pooled}
        if first != second or len(shapes) > 1 or any(len(one) > 1 for one in pooled):
            raise CheckpointError(
                "images of other shapes become other numbers of patches, so they cannot be a table; tell the "
                f"processor to make them alike (a smolvlm's: `processor: {{do_image_splitting: false}}`), or {without}"
            )
        decoding = Greedy(kind="greedy", max_tokens=_FEW)
        expected = self.generate(images, decoding, tokenizer, None)
        captioner = self._with(
            reads="table",
            visual_size=shapes.pop()[-1],
            prompt={key: value[0] for key, value in first.items()},
            listed=not isinstance(pooled[0], Tensor),
        )
        try:
            features = torch.stack([one[0] for one in pooled]).float()
            written = captioner.generate(features, decoding, tokenizer, None)
        except (AttributeError, TypeError, IndexError, RuntimeError, KeyError, ValueError) as error:
            raise CheckpointError(f"a {name} does not take its features whole: {error!r}; {without}") from error
        if not torch.equal(written.tokens, expected.tokens):
            raise CheckpointError(f"captions of a {name} differ if it reads its features; {without}")
        return captioner

    @torch.no_grad()
    def _features(self, images: Pictures) -> Any:
        return hub.image_features(self.model, self.inputs(images))

    @property
    def tokenizer_options(self) -> dict[str, Any]:
        """Return the options of AnswerTokenizer."""
        answer = self.architecture["answer"] or {}
        return {"ends": self.ends, "size": self.architecture["vocabulary"], **answer}

    def load_tokenizer(self, path: AnyPath) -> Tokenizer:
        """Read the tokenizer that was stored with this captioner."""
        return AnswerTokenizer.load(path, **self.tokenizer_options)

    def linear_layers(self) -> list[str]:
        """Return the names of the language side's linear layers, which may have adapters, without its output layer."""
        from transformers.pytorch_utils import Conv1D

        # Classes that extend Linear, such as routers of experts, may return something else, which adapters do not.
        output, linear = self.model.get_output_embeddings(), (torch.nn.Linear, Conv1D)
        layers = ((name, layer) for name, layer in self.named_modules() if type(layer) in linear)
        return [name for name, layer in layers if layer.weight.requires_grad and layer is not output]

    # ------------------------------------------------------------------------------------------------------ images
    def open_images(self, features: Sequence[str], tokenizer: Tokenizer) -> PictureTable | None:
        """Return the images of tables of images, or None if the captioner reads features instead of pixels."""
        kind = self.architecture["config"]["model_type"]
        if self.reads != "pixels":
            logger.info("A captioner of the type %s: images are read from a table of features.", kind)
            return None
        logger.info("A captioner of the type %s: images are decoded when they are asked for.", kind)
        processor = processor_of(self.architecture["files"], tokenizer)
        block, reads_prompt = self.architecture["block"], self.architecture["reads_prompt"]
        return PictureTable(features, Prompter(processor, block, reads_prompt))

    def export(self, tokenizer: Tokenizer, directory: Path, image_side: Mapping[str, Tensor]) -> None:
        """Write the whole model into a folder as `save_pretrained` does, together with its processor.

        Raises ValueError if the captioner was trained on patches of another encoder, because transformers has no such
        model.
        """
        if self.reads == "encoder":
            raise ValueError("a captioner from scratch reads patches of an encoder that transformers does not have")
        model = self.model
        if self.reads == "table":
            model = hub.build(self.architecture["config"], self.architecture["dtype"], random=False)
            model.load_state_dict({**image_side, **self.model.state_dict()})
            model.generation_config = self.model.generation_config
        with replacing_folder(directory) as folder:
            model.save_pretrained(folder)
            write_processor(self.architecture["files"], tokenizer, folder)

    def inputs(self, visual: Any) -> dict[str, Any]:
        """Return the inputs of the model for images and the prompt. Raises ValueError for features of another size."""
        if isinstance(visual, Pictures):
            found = dict(visual.inputs)
        else:
            check_features(visual, self.architecture["visual_size"], "patches")
            found = {name: self._spread(ids.to(visual.device), visual) for name, ids in self.prompt.items()}
            found |= self._handed(visual)
        if self.decoder_prompt.numel():
            found["decoder_input_ids"] = self.decoder_prompt.to(self.model.device).expand(len(visual), -1)
        if self.architecture["config"]["model_type"] == "blip":  # as in the training of BLIP, and in its `generate`
            found["input_ids"] = found["input_ids"].clone()
            found["input_ids"][:, 0] = self.model.config.text_config.bos_token_id
        dtype = hub.PRECISIONS[self.architecture["dtype"]]
        return {
            name: value.to(dtype) if isinstance(value, Tensor) and value.is_floating_point() else value
            for name, value in found.items()
        }

    def _spread(self, ids: Tensor, visual: Tensor) -> Tensor:
        """Return the prompt of each image, (B, P). If patches of an encoder are read, each patch gets a placeholder."""
        if self.reads == "encoder" and self.listed:
            ids = torch.cat([ids[:, :1].expand(-1, visual.shape[1]), ids[:, 1:]], dim=1)
        return ids.expand(len(visual), -1)

    def _handed(self, features: Tensor) -> dict[str, Any]:
        """Return features (B, S, d) under the name by which the model takes them."""
        features = features.to(hub.PRECISIONS[self.architecture["dtype"]])
        name = self.architecture["config"]["model_type"]
        if name in hub.BYPASSED:
            return {"pixel_values": features[:, None]}
        if self.reads == "encoder":
            features = self.model.get_submodule(hub.FROM_SCRATCH[name][1])(features)
        return {"mm_encoder_outputs": {"image": hub.Features(list(features) if self.listed else features)}}

    # ------------------------------------------------------------------------------------------------- the interface
    def log_probs(self, visual: Any, tokens: Tensor, mask: Tensor) -> Tensor:
        """Return the log-probability (nats, with gradient) of each token after the tokens before it, as float32 (B, T).

        After a placeholder of an image, which stands for no image in a caption, words are read as after an end. Raises
        ValueError if prompt and tokens exceed the positions of the model.
        """
        inputs, length = self.inputs(visual), tokens.shape[1]
        self._check_room(inputs, length)
        before = tokens[:, :-1].masked_fill(
            torch.isin(tokens[:, :-1], self.placeholders.to(tokens.device)), self.ends[0]
        )
        if self.decoder_prompt.numel():
            inputs["decoder_input_ids"] = torch.cat([inputs["decoder_input_ids"], before], dim=1)
        else:
            inputs |= {name: self._followed(name, ids, before) for name, ids in of_words(inputs).items()}
        kept = {"logits_to_keep": length} if self.keeps_logits else {}
        logits = self.model(**inputs, **kept, use_cache=False).logits[:, -length:]
        return log_probs_of(lambda states: states, logits, tokens, mask)

    def _followed(self, name: str, ids: Tensor, tokens: Tensor) -> Tensor:
        """Return an input per word (B, P, ...) for the words of the prompt and `tokens` (B, t), as in `generate`."""
        if name == "input_ids":
            return torch.cat([ids, tokens], dim=1)
        behind = ids[:, -1:].expand(-1, tokens.shape[1], *ids.shape[2:])
        if name == "token_type_ids" and self.architecture["config"]["model_type"] == "paligemma":
            behind = torch.ones_like(behind)  # words of a caption do not see later words, words of a prompt do
        return torch.cat([ids, behind], dim=1)

    @torch.no_grad()
    def generate(
        self, visual: Any, decoding: Decoding, vocabulary: Tokenizer, generator: torch.Generator | None
    ) -> Decoded:
        """Return captions by `generate` of the model.

        Settings in the model's generation_config.json hold unless `decoding` replaces them. Samples are drawn without
        its temperature, top_k, top_p and penalties. Raises ValueError for rules of other programs, for several captions
        of an image by a type whose images transformers mixes up then, and if prompt and tokens exceed the positions of
        the model.
        """
        name = self.architecture["config"]["model_type"]
        if name in hub.ONE_CAPTION and decoding.rows_per_image > 1:
            raise ValueError(
                f"`generate` of transformers mixes up images of a {name} with beams or several captions of an image; "
                "use greedy decoding, or a single sample of each image"
            )
        if decoding.rules != "transformers":
            raise ValueError(
                f"decoding.rules is {decoding.rules!r}, and captions of the family transformers are written by "
                "`generate` of transformers; leave `rules` out of their decoding"
            )
        row = decoding.rows_per_image * decoding.max_tokens * self.architecture["vocabulary"]
        with seeded(generator, self.model.device):
            parts = [self._written(part, decoding, vocabulary) for part in visual.split(max(1, _MOST_LOGITS // row))]
        return joined(parts, self.ends[0])

    def _written(self, visual: Any, decoding: Decoding, vocabulary: Tokenizer) -> Decoded:
        inputs = self.inputs(visual)
        self._check_room(inputs, decoding.max_tokens)
        options = options_of(decoding)
        if self.architecture["config"]["model_type"] == "blip":  # its `generate` leaves out the last word of a prompt
            inputs |= {name: torch.cat([ids, ids[:, -1:]], dim=1) for name, ids in of_words(inputs).items()}
        else:
            options |= {"eos_token_id": self.ends, "pad_token_id": self.ends[0]}
        if decoding.stop is not None:
            options["logits_processor"] = [Stop(vocabulary.stop_ids(decoding.stop), self.ends[0])]
        output = self.model.generate(**inputs, **options, return_dict_in_generate=True, output_logits=True)
        return decoded_captions(output, self.ends)

    def _check_room(self, inputs: Mapping[str, Any], tokens: int) -> None:
        """Raise ValueError if a prompt and `tokens` more tokens exceed the positions of the model."""
        length = inputs["decoder_input_ids" if self.decoder_prompt.numel() else "input_ids"].shape[1]
        if length + tokens > self.positions:
            raise ValueError(
                f"a prompt of {length} and {tokens} tokens do not fit into {self.positions} positions; lower max_tokens"
            )


def _pooled(features: Any) -> Any:
    """Return the vectors of an image side's output that words see, or None if words see something else."""
    return vars(features).get("pooler_output")


def _reader_of_prompt(model: Any) -> Literal["decoder", "encoder", "none"]:
    """Return which part of a model reads the prompt (captionlab.captioners.prompts.Prompter)."""
    taken = inspect.signature(model.forward).parameters
    if "input_ids" not in taken:
        return "none"
    text = model.config.get_text_config()
    return "encoder" if model.config.is_encoder_decoder or text.is_encoder_decoder else "decoder"


def _setting(model: Any, name: str) -> Any:
    """Return a setting of generation: of the model's generation_config.json, or of its config.json."""
    text = model.config.get_text_config()
    sources = (model.generation_config, model.config, text, model.config.get_text_config(decoder=True))
    return next((value for source in sources if (value := getattr(source, name, None)) is not None), None)


def _decoder_prompt(model: Any, prompter: Prompter) -> list[int]:
    """Return the ids with which the decoder of an encoder-decoder begins; none for a decoder alone."""
    if prompter.reads_prompt == "decoder":
        return []
    start = _setting(model, "decoder_start_token_id")
    first = [_setting(model, "bos_token_id") if start is None else start]
    if (forced := _setting(model, "forced_bos_token_id")) is not None:
        first.append(forced)
    if prompter.reads_prompt == "none" and prompter.text:
        first += prompter.processor.tokenizer(prompter.text, add_special_tokens=False).input_ids
    return first


def _ends(model: Any, processor: Any) -> list[int]:
    """Return the ids of the tokens that end an answer of the model."""
    if model.config.model_type == "blip":
        return [model.config.text_config.sep_token_id]
    ends = _setting(model, "eos_token_id")
    ends = processor.tokenizer.eos_token_id if ends is None else ends
    if ends is None:
        raise CheckpointError(
            "nothing says by which token captions end; write eos_token_id into generation_config.json"
        )
    return list(ends) if isinstance(ends, list) else [ends]


FAMILY = HubCaptioner
