"""Captions of images by a model behind a server."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from captionlab.config.captioners import ServedCaptioner
from captionlab.config.evaluations import Decoding
from captionlab.generation.captions import one_line
from captionlab.images.locations import LOCATION
from captionlab.served.client import Answer, Client
from captionlab.served.requests import Message, Picture, Request, decoding_parameters
from captionlab.served.responses import Failure
from captionlab.storage.schemas import IMAGES
from captionlab.storage.tables import read_table
from captionlab.texts.answers import caption_in, cut_after


@dataclass(frozen=True)
class ServedCaptions:
    """Captions of a model behind a server."""

    captions: list[dict[str, Any]]
    """rows of GENERATED; the caption is empty where a request failed"""
    failures: list[dict[str, Any]]
    """rows of FAILED_REQUESTS"""


def request_captions(
    captioner: ServedCaptioner,
    name: str,
    images: Mapping[str, tuple[Sequence[str], str]],
    decoding: Decoding,
    seed: int,
) -> ServedCaptions:
    """Ask the model of a captioner for captions.

    `images` has by corpus the ids of the images, in the order of the captions, and the table of the corpus (IMAGES).
    `name` is the name of the captioner, for messages. The samples of an image are drawn with consecutive seeds from
    `seed` on. Raises captionlab.served.client.ServerError.
    """
    keys, requests = [], []
    for corpus, (ids, table) in images.items():
        rows = {row["image_id"]: row for row in read_table(table, IMAGES, ["image_id", *LOCATION]).to_pylist()}
        for image_id, index in product(ids, range(decoding.captions_per_image)):
            parameters = decoding_parameters(decoding, seed + index)
            keys.append({"corpus": corpus, "image_id": image_id, "caption_index": index})
            requests.append(Request(_messages(captioner, rows[image_id]), parameters))
    answers = Client(captioner, f"captioners.{name}").ask(requests)
    answered = [*zip(keys, answers, strict=True)]
    unknown = {"log_prob": None, "confidence": None}
    return ServedCaptions(
        [{**key, "caption": _caption(answer, captioner, decoding), **unknown} for key, answer in answered],
        [{**key, "reason": answer.reason} for key, answer in answered if isinstance(answer, Failure)],
    )


def _messages(captioner: ServedCaptioner, row: Mapping[str, Any]) -> list[Message]:
    """Return the chat about an image: what the system says, if anything, and a user who shows the image."""
    system: list[Message] = [("system", [captioner.system])] if captioner.system else []
    return [*system, ("user", [Picture(row, captioner.image_size), captioner.prompt])]


def _caption(answer: Answer, captioner: ServedCaptioner, decoding: Decoding) -> str:
    if isinstance(answer, Failure):
        return ""
    kept = captioner.answer
    caption = caption_in(answer.text, kept.first_sentence, kept.max_words) if kept else caption_in(answer.text)
    return one_line(cut_after(caption, decoding.stop))
