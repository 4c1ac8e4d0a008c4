"""Requests to a model behind a server: chats with texts and images, and the parameters of an answer."""

import base64
import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from captionlab.config.evaluations import Decoding, Sample
from captionlab.images.locations import location_of, open_location
from captionlab.images.pixels import open_image


@dataclass(frozen=True)
class Picture:
    """An image in a request."""

    row: Mapping[str, Any] = field(repr=False)
    """row of captionlab.storage.schemas.IMAGES, at least the columns LOCATION"""
    longest: int
    """most pixels of the longer side; a larger image is made smaller"""

    def digest(self) -> str:
        """Return the BLAKE2b digest, 32 hexadecimal digits, of the encoded image as it is stored."""
        with open_location(location_of(self.row)) as file:
            return hashlib.blake2b(file.read(), digest_size=16).hexdigest()

    def data_url(self) -> str:
        """Return the image as a data URL: upright, RGB, resized, and without loss as PNG."""
        image = open_image(self.row)
        image.thumbnail((self.longest, self.longest))
        encoded = io.BytesIO()
        image.save(encoded, "png", compress_level=1)  # a higher level takes five times as long for a tenth less
        return f"data:image/png;base64,{base64.b64encode(encoded.getvalue()).decode()}"


# A message of a chat: the role of its speaker (system, user or assistant), and its texts and images in order.
Message = tuple[str, Sequence[str | Picture]]


@dataclass(frozen=True)
class Request:
    """A chat that a model answers."""

    messages: Sequence[Message]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """parameters of the answer, as OpenAI's interface names them, such as max_tokens, temperature and seed"""

    def with_parameters(self, others: Mapping[str, Any]) -> "Request":
        """Return the request with other parameters on top; a parameter that is None there is taken out."""
        parameters = {name: value for name, value in {**self.parameters, **others}.items() if value is not None}
        return replace(self, parameters=parameters)

    def key(self, model: str) -> str:
        """Return a digest, 32 hexadecimal digits, of all that a response of `model` depends on."""
        chat = [(role, [_content_key(content) for content in contents]) for role, contents in self.messages]
        text = json.dumps([model, chat, self.parameters], sort_keys=True)
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()

    def body(self, model: str) -> dict[str, Any]:
        """Return the arguments of the client of OpenAI for a response of `model`; images are encoded here."""
        chat = [{"role": role, "content": _content(contents)} for role, contents in self.messages]
        return {"model": model, "messages": chat, "extra_body": dict(self.parameters)}


def decoding_parameters(decoding: Decoding, seed: int) -> dict[str, Any]:
    """Return the parameters of a request for a caption by a decoding. `seed` is the seed of a caption that is drawn.

    A `stop` is not sent, because servers leave it out of the caption; `captionlab.generation.served` cuts captions.
    Servers of open models take `top_k` and `repetition_penalty`, which OpenAI's interface does not have. Raises
    ValueError for beam search.
    """
    parameters: dict[str, Any] = {"max_tokens": decoding.max_tokens, "temperature": 0.0}
    if decoding.rows_per_image > decoding.captions_per_image:
        raise ValueError("servers have no beam search; decode greedily or by samples")
    if isinstance(decoding, Sample):
        sampling = {"temperature": decoding.temperature, "top_p": decoding.top_p, "top_k": decoding.top_k}
        parameters |= {name: value for name, value in sampling.items() if value is not None}
        parameters["seed"] = seed
    if decoding.repetition_penalty is not None:
        parameters["repetition_penalty"] = decoding.repetition_penalty
    return parameters


def _content_key(content: str | Picture) -> Any:
    return content if isinstance(content, str) else {"image": content.digest(), "longest": content.longest}


def _content(contents: Sequence[str | Picture]) -> Any:
    """Return a text if there is nothing else, because some servers take no list of texts."""
    if all(isinstance(content, str) for content in contents):
        return "\n".join(map(str, contents))
    return [
        {"type": "text", "text": content}
        if isinstance(content, str)
        else {"type": "image_url", "image_url": {"url": content.data_url()}}
        for content in contents
    ]
