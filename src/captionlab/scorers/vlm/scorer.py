"""A model of the Hugging Face hub as a scorer: the probability of its answer yes, or the likelihood of a caption.

The probability of the answer to a question about image and caption is VQAScore (Lin et al. 2024, arXiv 2404.01291,
github.com/linzhiqiu/t2v_metrics). The likelihood of the caption as an answer is VisualGPTScore (Lin et al. 2024, arXiv
2306.01879), which the same code computes as a mean over the tokens of the caption and the end token. Both are
log-probabilities of the tokens of an answer, from one forward pass over the chat with the answer. The processor and
the chat template of the model make its inputs.
"""

import inspect
import json
import os
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby, islice, takewhile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self

import torch
from jinja2 import TemplateError
from PIL import Image
from torch import Tensor

from captionlab.networks.checkpoints import CheckpointError
from captionlab.networks.hub import first_line, read_files, read_folder, write_files
from captionlab.plugins import Member
from captionlab.scorers.pixels import open_pixels
from captionlab.scorers.scorer import Scorer
from captionlab.scorers.vlm.config import CAPTION
from captionlab.storage.files import replacing
from captionlab.userfiles.model_config import NAME, WEIGHTS

AnyPath = str | os.PathLike[str]
TOKENIZER = "tokenizer.json"
# An answer that shows where the answer stands in a chat.
_PROBE = "dog"
# Size of a blank image that shows, on import, whether the model reads images.
_BLANK = (384, 384)
# `save_pretrained` splits the weights of a model with more bytes than these into several files.
_LARGEST = 2**62


class Pictures(list[Image.Image]):
    """Images, which become inputs of a model together with their captions."""

    def to(self, device: str | torch.device) -> Self:
        """Return the images. They stay in memory until they are inputs of the model."""
        return self


class VlmScorer(Scorer, Member):
    """A scorer that is an image-text-to-text model with a chat template."""

    def __init__(self, model: Any, processor: Any, settings: Mapping[str, Any]):
        """Join a model, its processor, and the settings: keys of the scorer's block in the config with their defaults.

        Raises CheckpointError if the model cannot score by these settings.
        """
        super().__init__()
        self.model, self.processor, self.settings = model, processor, dict(settings)
        self.tokenizer = processor.tokenizer
        if model.config.is_encoder_decoder:
            raise CheckpointError("the model has an encoder and a decoder; name a model of one decoder")
        if not processor.chat_template:
            raise CheckpointError(
                "the model has no chat template, so it cannot be asked; name a model that follows instructions, or add "
                "a chat_template.jinja to its folder"
            )
        special = sorted(self.tokenizer.all_special_tokens, key=len, reverse=True)
        self._special = re.compile("|".join(map(re.escape, special)))
        self._end = self._end_token()
        self._check_answer()

    @classmethod
    def from_folder(cls, folder: AnyPath, settings: Mapping[str, Any]) -> Self:
        """Return the scorer in a folder of the hub, for the keys of its block in the config with their defaults.

        Raises CheckpointError if the folder cannot be read, or if the model cannot score a blank image.
        """
        model, processor = read_folder(folder, settings["dtype"])
        try:
            scorer = cls(model, processor, settings)
            scorer.score(Pictures([Image.new("RGB", _BLANK)]), [_PROBE])
        except CheckpointError as error:
            raise CheckpointError(f"{folder}: {error}") from error
        except (ValueError, TypeError, KeyError, IndexError, RuntimeError) as error:
            raise CheckpointError(
                f"{folder}: the model reads no image with the text of its chat template ({first_line(error)}); name "
                "another model, or correct chat_template.jinja"
            ) from error
        return scorer

    # --------------------------------------------------------------------------------------------------- files
    def save(self, directory: AnyPath, origin: Mapping[str, Any] | None = None) -> None:
        """Write config.json, model.safetensors and tokenizer.json.

        config.json has the settings and, as texts, all other files that `save_pretrained` writes for the model and its
        processor. `origin` is stored in config.json.
        """
        directory = Path(directory)
        directory.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=directory) as name:
            folder = Path(name)
            self.model.save_pretrained(folder, max_shard_size=_LARGEST)
            self.processor.save_pretrained(folder)
            for file in (WEIGHTS, TOKENIZER):
                with replacing(directory / file) as path:
                    shutil.move(folder / file, path)
            files = read_files(folder)
        config = {"family": self.family, "matching": self.settings, "files": files, "origin": dict(origin or {})}
        with replacing(directory / NAME) as path:
            path.write_text(json.dumps(config, indent=2, sort_keys=True) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, directory: AnyPath, device: str | torch.device = "cpu", **settings: Any) -> Self:
        """Return the scorer that `save` wrote, frozen, with `settings` in place of its own.

        Raises CheckpointError that names the folder if its files do not fit.
        """
        directory = Path(directory).resolve()
        try:
            stored = json.loads((directory / NAME).read_text(encoding="utf-8"))
            with TemporaryDirectory() as name:
                folder = Path(name)
                write_files(stored["files"], folder)
                for file in (WEIGHTS, TOKENIZER):
                    (folder / file).symlink_to(directory / file)
                chosen = {**stored["matching"], **settings}
                scorer = cls(*read_folder(folder, chosen["dtype"]), chosen)
        except (OSError, ValueError, KeyError) as error:
            raise CheckpointError(f"{directory} does not hold a scorer: {error}; make the scorer again") from error
        return scorer.to(device).requires_grad_(False).eval()

    # --------------------------------------------------------------------------------------------------- images
    def open_images(self, paths: Sequence[str]) -> Callable[[Sequence[str]], Pictures]:
        """Return a function that decodes images of tables by their ids."""
        read = open_pixels(paths, lambda image: image)
        return lambda images: Pictures(read(images))

    def encode_image(self, images: Pictures) -> Pictures:
        """Return the images. The model reads an image together with the text of a chat."""
        return images

    # --------------------------------------------------------------------------------------------------- scores
    @torch.no_grad()
    def score(
        self, visual: Pictures, captions: Sequence[str], rows: Sequence[int] | Tensor | None = None, batch: int = 8
    ) -> Tensor:
        """Return the scores (B,) of captions, without gradient; `rows` as for Scorer.score.

        Each distinct pair is read once. Only pairs with images of one size are read together, because some processors
        give all images of a batch the size of one of them.
        """
        images = range(len(captions)) if rows is None else torch.as_tensor(rows).tolist()
        pairs = list(zip(images, captions, strict=True))
        order = sorted(dict.fromkeys(pairs), key=lambda pair: (visual[pair[0]].size, len(pair[1])))
        parts = []
        for _, alike in groupby(order, key=lambda pair: visual[pair[0]].size):
            while part := list(islice(alike, batch)):
                chats = [self._chat(caption) for _, caption in part]
                parts.append(self._log_probs([visual[image] for image, _ in part], chats))
        rank = {pair: place for place, pair in enumerate(order)}
        means = torch.cat(parts)[[rank[pair] for pair in pairs]]
        return self.settings["scale"] * (means if self.settings["score"] == "likelihood" else means.exp())

    def _chat(self, caption: str) -> tuple[str, str]:
        """Return the text before the answer and the answer.

        Special tokens are removed from the caption, so that a caption cannot write a placeholder of an image.
        """
        caption = self._special.sub("", caption).strip()
        if self.settings["score"] == "likelihood":
            return self._prompt(self.settings["chat"]), caption + self._end
        return self._prompt(self.settings["question"].replace(CAPTION, caption)), self.settings["answer"]

    def _prompt(self, message: str) -> str:
        """Return the chat of a user who shows an image with a message, up to where the answer of the model begins."""
        return self._rendered(message, continue_final_message=True).removesuffix(_PROBE)

    def _rendered(self, message: str, **options: Any) -> str:
        """Return the chat of a user who shows an image with a message, and of the model that answers _PROBE."""
        text = [{"type": "text", "text": message}] if message else []
        user = {"role": "user", "content": [{"type": "image"}, *text]}
        model = {"role": "assistant", "content": [{"type": "text", "text": _PROBE}]}
        return str(self.processor.apply_chat_template([user, model], **options))

    def _end_token(self) -> str:
        """Return the token that ends an answer: what the chat template writes there, if the model ends by that token.

        Otherwise, it is the first token by which the model ends. Raises CheckpointError if the chat template does not
        write an answer as it is.
        """
        try:
            opened, whole = self._rendered("", continue_final_message=True), self._rendered("")
        except (ValueError, TypeError, TemplateError) as error:
            raise CheckpointError(
                f"its chat template fails ({first_line(error)}); correct chat_template.jinja"
            ) from error
        if not opened.endswith(_PROBE):
            raise CheckpointError(
                f"its chat template does not write the answer {_PROBE!r} as it is; correct chat_template.jinja"
            )
        ends = self.model.generation_config.eos_token_id
        ends = [self.tokenizer.eos_token_id] if ends is None else [*ends] if isinstance(ends, list) else [ends]
        behind = self._ids(whole.removeprefix(opened).strip() if whole.startswith(opened) else "")
        end = behind[0] if behind and behind[0] in ends else ends[0]
        return str(self.tokenizer.convert_ids_to_tokens(end))

    def _check_answer(self) -> None:
        """Raise CheckpointError if the tokenizer has no tokens for the answer whose probability is asked for."""
        unknown = self.tokenizer.unk_token_id
        if self.settings["score"] == "answer" and unknown is not None and unknown in self._ids(self.settings["answer"]):
            raise CheckpointError(
                f"its tokenizer does not know the answer {self.settings['answer']!r}; write another `answer`"
            )

    def _ids(self, text: str) -> list[int]:
        return list(self.tokenizer(text, add_special_tokens=False).input_ids)

    def _span(self, prompt: str, answer: str, options: Mapping[str, Any]) -> tuple[int, int]:
        """Return how many tokens an answer has behind a prompt, and how many tokens the tokenizer writes behind it.

        A token of the answer may begin with characters of the prompt, such as the space between them.
        """
        before, whole = (self.tokenizer(text, **options).input_ids for text in (prompt, prompt + answer))
        start = _common(before, whole)
        behind = _common(before[start:][::-1], whole[start:][::-1])
        return len(whole) - start - behind, behind

    def _log_probs(self, images: Sequence[Image.Image], chats: Sequence[tuple[str, str]]) -> Tensor:
        """Return the mean log-probability (B,) of the tokens of each answer.

        Padding stands behind a chat, so a causal model gives every token the position that it has without padding.
        """
        begin = self.tokenizer.bos_token
        # A template that writes the token that begins a text writes all special tokens.
        options = {"add_special_tokens": not (begin and chats[0][0].startswith(begin))}
        spans = torch.tensor([self._span(*chat, options) for chat in chats], device=self.model.device)
        inputs = self.processor(
            text=[prompt + answer for prompt, answer in chats],
            images=[[image] for image in images],
            padding=True,
            padding_side="right",
            return_tensors="pt",
            **options,
        ).to(self.model.device, self.model.dtype)
        ids = inputs["input_ids"]
        ends = inputs["attention_mask"].sum(1) - spans[:, 1]
        starts = ends - spans[:, 0]
        kept = ids.shape[1] - int(starts.min()) + 1
        some = {"logits_to_keep": kept} if "logits_to_keep" in inspect.signature(self.model.forward).parameters else {}
        logits = self.model(**inputs, use_cache=False, **some).logits[:, -kept:-1]
        log_probs = logits.float().log_softmax(2).gather(2, ids[:, 1 - kept :, None])[..., 0]
        places = torch.arange(ids.shape[1] - kept + 1, ids.shape[1], device=ids.device)
        answered = (places >= starts[:, None]) & (places < ends[:, None])
        return log_probs.where(answered, 0.0).sum(1) / spans[:, 0]


def _common(tokens: Sequence[int], others: Sequence[int]) -> int:
    """Return how many tokens two sequences share at their beginning."""
    pairs = zip(tokens, others, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


FAMILY = VlmScorer
