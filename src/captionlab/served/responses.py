"""Responses of models behind servers, and the cache that keeps them for all runs of a user.

The cache is the folder `responses` of captionlab's cache folder (captionlab.storage.cache). Each response is a file of
its own, named by everything that the response depends on, and can be deleted at any time.
"""

import json
import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from captionlab.storage.cache import cache_folder
from captionlab.storage.files import replacing

logger = logging.getLogger(__name__)
# Most tokens of an answer whose log-probabilities are kept.
SCORED_TOKENS = 16


class ResponseError(ValueError):
    """A server answered with something that is not a response of a chat."""


@dataclass(frozen=True)
class Failure:
    """A request that failed for good."""

    reason: str


@dataclass(frozen=True)
class Response:
    """A response to a request; `content` is the JSON that the server sent."""

    content: dict[str, Any]
    cached: bool = False
    """whether an earlier job got the response"""

    @classmethod
    def read(cls, text: str | bytes) -> "Response":
        """Return a response that a server sent. Raises ResponseError if it is not JSON, or has no answer.

        A blank answer that the model ended itself is an answer. A blank answer that was cut is none: the model used up
        its tokens before the answer, perhaps by thinking.
        """
        try:
            content = json.loads(text)
        except ValueError:
            start = " ".join((text if isinstance(text, str) else text.decode(errors="replace"))[:60].split())
            raise ResponseError(f"not JSON, but {start!r}") from None
        try:
            answer = content["choices"][0]["message"]["content"]
        except (KeyError, IndexError, TypeError):
            raise ResponseError(f"JSON without choices[0].message.content: {str(content)[:100]}") from None
        end = content["choices"][0].get("finish_reason")
        if not isinstance(answer, str) or (not answer.strip() and end != "stop"):
            raise ResponseError(f"an answer without content (finish_reason: {end})")
        content["choices"][0]["logprobs"] = _short_log_probs(content["choices"][0].get("logprobs"))
        return cls(content)

    @property
    def text(self) -> str:
        """Return the answer."""
        return str(self.content["choices"][0]["message"]["content"])

    @property
    def is_cut(self) -> bool:
        """Return whether the answer ends because it has the most tokens that it may have."""
        return bool(self.content["choices"][0].get("finish_reason") == "length")

    @property
    def model(self) -> str:
        """Return the model that the server says has answered, and its system fingerprint, if any."""
        names = (self.content.get("model"), self.content.get("system_fingerprint"))
        return " ".join(str(name) for name in names if name)

    @cached_property
    def tokens(self) -> tuple[int, int]:
        """Return the number of tokens of the prompt and of the answer; 0 where the server does not state it."""
        usage = self.content.get("usage") or {}
        return int(usage.get("prompt_tokens") or 0), int(usage.get("completion_tokens") or 0)

    def top_log_probs(self) -> list[dict[str, float]]:
        """Return for each token of the answer the log-probabilities (nats) of the likeliest tokens; [] if unknown.

        If several likely tokens are the same text, the likeliest one counts.
        """
        tokens = (self.content["choices"][0].get("logprobs") or {}).get("content") or []
        return [_likeliest(token.get("top_logprobs") or []) for token in tokens]


def _short_log_probs(log_probs: Any) -> Any:
    """Return the log-probabilities of an answer of a few tokens, without what nobody reads; None for a longer answer.

    With 20 likely tokens, those of a long answer are a megabyte, and only short answers are scored by them.
    """
    tokens = (log_probs or {}).get("content") or []
    if not tokens or len(tokens) > SCORED_TOKENS:
        return None
    kept = ("token", "logprob")
    tops = [[{name: top[name] for name in kept} for top in token.get("top_logprobs") or []] for token in tokens]
    return {"content": [{"top_logprobs": top} for top in tops]}


def _likeliest(tokens: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    found: dict[str, float] = {}
    for token in tokens:
        if token["logprob"] is not None:
            found[token["token"]] = max(float(token["logprob"]), found.get(token["token"], -math.inf))
    return found


def kept_response(key: str) -> Response | None:
    """Return the response that the cache has for a key (captionlab.served.requests.Request.key), if any.

    A damaged file counts as missing.
    """
    try:
        return Response(Response.read(_file(key).read_bytes()).content, cached=True)
    except (RuntimeError, OSError, ResponseError):  # RuntimeError: a user without a home folder
        return None


def keep_response(key: str, response: Response) -> None:
    """Keep a response. If that fails, log a warning."""
    try:
        with replacing(_file(key)) as partial:
            partial.write_text(json.dumps(response.content), encoding="utf-8")
    except (RuntimeError, OSError) as error:
        logger.warning("A response is not kept for other runs: %s", error)


def _file(key: str) -> Path:
    return cache_folder() / "responses" / key[:2] / f"{key}.json"
