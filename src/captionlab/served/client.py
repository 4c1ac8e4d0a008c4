"""The client of models behind servers: many requests at the same time, with retries, a cache and a budget.

The package `openai` sends requests and repeats them after 408, 429, 5xx, broken connections and timeouts.
"""

import asyncio
import logging
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import openai

from captionlab.config.served import ADDRESS_VARIABLE, Served, checked_address
from captionlab.jobs.progress import Bar, count
from captionlab.jobs.provenance import answered_by
from captionlab.jobs.usage import Usage, usage
from captionlab.served.requests import Request
from captionlab.served.responses import Failure, Response, ResponseError, keep_response, kept_response

logger = logging.getLogger(__name__)
Answer = Response | Failure
# Requests that are sent first, to learn what one costs.
FIRST = 8
# The client wants a key, and servers without keys do not look at it.
_NO_KEY = "none"


class ServerError(RuntimeError):
    """A server cannot be asked: it is not there, it refuses, too many requests failed, or the budget is spent."""


def ask(server: Served, requests: Sequence[Request], asker: str) -> list[Answer]:
    """Return the response to each request, in order; a Failure where a request failed for good.

    Responses in the cache are not asked for again, and each response is in the cache as soon as it is there, so a job
    that was killed goes on where it was. `parameters` of the config are added to the parameters of each request.
    `asker` is the place of the model in the config, for messages. Raises ServerError, whose message has no key, if the
    server cannot be asked, if more requests failed than `max_failed` allows, or if the responses would cost more than
    `budget`.
    """
    asking = _Asking(server, requests, asker)
    with _quiet():
        asyncio.run(asking.run())
    answers = [answer for answer in asking.answers if answer is not None]
    answered_by({answer.model for answer in answers if isinstance(answer, Response)} - {""})
    _log(answers, asker)
    return answers


class _Asking:
    """The state of a call of `ask`."""

    def __init__(self, server: Served, requests: Sequence[Request], asker: str):
        self.server, self.asker = server, asker
        self.requests = [request.with_parameters(server.parameters or {}) for request in requests]
        self.address, self.key = _address(server, asker), _key(server, asker)
        self.answers: list[Answer | None] = [None] * len(requests)
        # One for each different request, so that equal requests are asked one after the other, the second the cache.
        self.locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self.sending = asyncio.Semaphore(server.concurrency)
        self.heard = False  # whether the server ever sent a response
        self.answered = self.failed = self.under_way = 0
        self.price = 0.0  # of all responses, of the cache too

    async def run(self) -> None:
        """Answer all requests; the first few before the others if there is a price."""
        first = min(FIRST, len(self.requests)) if self.server.price else 0
        client = openai.AsyncOpenAI(
            base_url=self.address, api_key=self.key, timeout=self.server.timeout, max_retries=self.server.retries
        )
        async with client:
            with Bar(desc=f"requests of {self.asker}", total=len(self.requests)) as bar:
                await self._answer(client, range(first), bar.update)
                self._estimate(first)
                await self._answer(client, range(first, len(self.requests)), bar.update)

    async def _answer(self, client: openai.AsyncOpenAI, numbers: range, done: Callable[[], object]) -> None:
        """Answer the requests of these numbers, as many at the same time as the server may be asked.

        Raises ServerError if the budget is spent, after the responses that were under way.
        """
        waiting = iter(numbers)

        async def work() -> None:
            for number in waiting:
                answer = await self._one(client, self.requests[number])
                if answer is None:
                    return
                self._record(number, answer)
                done()

        # Twice as many as are sent at the same time, so that the next images are encoded while the server works.
        await asyncio.gather(*(work() for _ in range(min(2 * self.server.concurrency, len(numbers)))))
        if any(self.answers[number] is None for number in numbers):
            raise ServerError(
                f"{self.asker}: {self.answered} of {len(self.requests)} requests cost {self.price:.4g}, and more would "
                f"cost more than the budget of {self.server.budget:g}; all responses so far are kept, so a higher "
                "budget goes on from here"
            )

    async def _one(self, client: openai.AsyncOpenAI, request: Request) -> Answer | None:
        """Return the response to a request, from the cache or from the server; None if the budget is spent."""
        key = await asyncio.to_thread(request.key, self.server.model)
        async with self.locks[key]:
            if kept := await asyncio.to_thread(kept_response, key):
                return kept
            body = await asyncio.to_thread(request.body, self.server.model)
            async with self.sending:
                if self._is_spent():
                    return None
                self.under_way += 1
                answer = await self._sent(client, body)
                # A response is kept before the next request is sent, so that a kill loses no more than is under way.
                if isinstance(answer, Response):
                    self.heard = True
                    await asyncio.to_thread(keep_response, key, answer)
                    usage.add(Usage(1, *answer.tokens, self._price(answer)))
                self.under_way -= 1
        return answer

    async def _sent(self, client: openai.AsyncOpenAI, body: dict[str, Any]) -> Answer:
        """Return the response of the server. Raises ServerError without its cause, which may have the key."""
        try:
            sent = await client.chat.completions.with_raw_response.create(**body)
        except openai.APIStatusError as error:
            failure = self._refused(error)
        except openai.APIConnectionError as error:  # a timeout, too
            failure = self._broken(error)
        else:
            for _ in range(sent.retries_taken):
                count("requests that were sent again")
            try:
                return Response.read(self._without_key(sent.content.decode(errors="replace")))
            except ResponseError as error:
                failure = Failure(str(error))
        if isinstance(failure, ServerError):
            raise failure
        return failure

    def _record(self, number: int, answer: Answer) -> None:
        self.answers[number] = answer
        if isinstance(answer, Response):
            self.answered += 1
            self.price += self._price(answer)
            return
        self.failed += 1
        if self.failed > self.server.max_failed * len(self.requests):
            raise ServerError(
                f"{self.asker}: {self.failed} of {len(self.requests)} requests failed, more than max_failed "
                f"({self.server.max_failed:g}) allows; the last one: {answer.reason}. All responses so far are kept"
            )

    def _refused(self, error: openai.APIStatusError) -> Failure | ServerError:
        """Return the failure of a request that the server refused; a ServerError if it refuses all requests."""
        if error.status_code in (401, 403):  # the message of the server may have a part of the key
            variable = self.server.api_key_variable
            wrong = f"the key in {variable}" if variable else "requests without a key; set api_key_variable"
            return ServerError(f"{self.asker}: {self.address} refuses {wrong} (HTTP {error.status_code})")
        reason = f"HTTP {error.status_code}: {' '.join(self._without_key(error.response.text)[:300].split())}"
        if error.status_code == 404:
            return ServerError(
                f"{self.asker}: {self.address} does not know the model {self.server.model!r}, or the address lacks its "
                f"end, such as /v1 ({reason})"
            )
        return Failure(reason)

    def _broken(self, error: openai.APIConnectionError) -> Failure | ServerError:
        """Return the failure of a request without a response; a ServerError if there never was a response."""
        tries = f"{self.server.retries + 1} times"
        if isinstance(error, openai.APITimeoutError):
            reason = f"no response in {self.server.timeout:g} s, {tries}"
            hint = "the server is there, but hangs, or needs a higher timeout or a lower concurrency"
        else:
            reason = self._without_key(f"no connection, {tries}: {error.__cause__ or error}")
            hint = "start a server, or set url to the address of one that runs (docs/served.md)"
        if not self.heard:
            return ServerError(f"{self.asker}: nothing answers at {self.address}: {reason}; {hint}")
        return Failure(reason)

    def _price(self, response: Response) -> float:
        if self.server.price is None:
            return 0.0
        read, written = response.tokens
        return (read * self.server.price.input + written * self.server.price.output) / 1e6

    def _estimate(self, first: int) -> None:
        """Log what all requests would cost, by the first ones. Raises ServerError if that is above the budget."""
        if not first or not self.answered:
            return
        responses = [answer for answer in self.answers if isinstance(answer, Response)]
        if self.server.budget is not None and not any(sum(response.tokens) for response in responses):
            raise ServerError(
                f"{self.asker}: {self.address} does not state the tokens of its responses (usage), so their price "
                "is unknown; remove budget"
            )
        whole = self.price / self.answered * len(self.requests)
        logger.info(
            "%s: %d requests will cost about %.4g, by the first %d", self.asker, len(self.requests), whole, first
        )
        if self.server.budget is not None and whole > self.server.budget:
            raise ServerError(
                f"{self.asker}: {len(self.requests)} requests would cost about {whole:.4g}, by the first {first}, and "
                f"the budget is {self.server.budget:g}; raise it, or ask about fewer images (limit)"
            )

    def _is_spent(self) -> bool:
        """Return whether another request could cost more than the budget, with the requests that are under way."""
        if self.server.budget is None or not self.answered:
            return False
        return self.price + (self.under_way + 1) * self.price / self.answered > self.server.budget

    def _without_key(self, text: str) -> str:
        return text if self.key == _NO_KEY else text.replace(self.key, "(key)")


def _address(server: Served, asker: str) -> str:
    """Return the address of a server. Raises ServerError, without the address, if there is none or it is wrong."""
    address = server.url or os.environ.get(ADDRESS_VARIABLE)
    if not address:
        raise ServerError(f"{asker} has no url, and the environment variable {ADDRESS_VARIABLE} is not set; set one")
    try:
        return checked_address(address)
    except ValueError as error:
        raise ServerError(f"{asker}: the environment variable {ADDRESS_VARIABLE} {error}") from None


def _key(server: Served, asker: str) -> str:
    """Return the key of a server. Raises ServerError, without the key, if it is not set or cannot be sent."""
    if server.api_key_variable is None:
        return _NO_KEY
    key = os.environ.get(server.api_key_variable, "").strip()
    if not key:
        raise ServerError(f"{asker}: the environment variable {server.api_key_variable}, the key, is not set")
    if not (key.isascii() and key.isprintable()) or " " in key:  # it could not be sent, and messages would repeat it
        raise ServerError(f"{asker}: the environment variable {server.api_key_variable} has letters that no key has")
    return key


def _log(answers: Sequence[Answer], asker: str) -> None:
    """Log which models answered, how many answers were cut, and why requests failed."""
    responses = [answer for answer in answers if isinstance(answer, Response)]
    for model, number in Counter(response.model for response in responses).items():
        logger.info("%s: %d responses of %s", asker, number, model or "a model that the server does not name")
    for reason, number in Counter(answer.reason for answer in answers if isinstance(answer, Failure)).most_common(5):
        logger.warning("%s: %d requests failed: %s", asker, number, reason)
    for what, number in {
        "responses were in the cache": sum(response.cached for response in responses),
        "responses are blank": sum(not response.text.strip() for response in responses),
        "responses end at max_tokens": sum(response.is_cut for response in responses),
    }.items():
        logger.info("%s: %d of %d %s", asker, number, len(answers), what)


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep the lines of single requests and retries out of the log within the block; retries are counted."""
    loggers = [logging.getLogger(name) for name in ("httpx2", "openai")]
    levels = [each.level for each in loggers]
    try:
        for each in loggers:
            each.setLevel(logging.WARNING)
        yield
    finally:
        for each, level in zip(loggers, levels, strict=True):
            each.setLevel(level)
