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


@contextmanager
def advice(*parameters: str, say: str) -> Iterator[None]:
    """Add advice to a ServerError in the block whose message names one of the parameters of requests."""
    try:
        yield
    except ServerError as error:
        if say and any(name in str(error) for name in parameters):
            raise ServerError(f"{error}; if the server does not know {parameters[0]}, {say}") from error
        raise


class Client:
    """A model behind a server that a job asks. The budget and the failures that are allowed are for the whole job."""

    def __init__(self, server: Served, asker: str):
        """Take a model, and its place in the config, for messages. Raises ServerError if address or key are missing."""
        self.server, self.asker = server, asker
        self.address, self.key = _address(server, asker), _key(server, asker)
        self.requests = self.answered = self.failed = 0
        self.price = 0.0  # of all responses, of the cache too
        self.heard = False  # whether the server ever sent a response
        self.models: set[str] = set()  # that answered, as the server names them

    def ask(self, requests: Sequence[Request]) -> list[Answer]:
        """Return the response to each request, in order; a Failure where a request failed for good.

        Responses in the cache are not asked for again, and each response is in the cache as soon as it is there, so a
        job that was killed goes on where it was. `parameters` of the config are added to the parameters of each
        request. Raises ServerError, whose message has no key, if the server cannot be asked, if more requests of the
        job failed than `max_failed` allows, or if its responses would cost more than `budget`. Before, requests under
        way are answered and kept.
        """
        if not requests:
            return []
        self.requests += len(requests)
        asking = _Asking(self, requests)
        with _quiet():
            asyncio.run(asking.run())
        answers = [answer for answer in asking.answers if answer is not None]
        self.models |= {answer.model for answer in answers if isinstance(answer, Response)} - {""}
        answered_by(self.models)
        _log(answers, self.asker)
        return answers

    def record(self, answer: Answer) -> None:
        """Count an answer. Raises ServerError if more requests failed than are allowed; one failure always is."""
        if isinstance(answer, Response):
            price = self.price_of(answer)
            self.answered += 1
            self.price += price
            usage.add(Usage(1, int(answer.cached), *answer.tokens, price))
            return
        self.failed += 1
        share = self.server.max_failed
        if self.failed > (max(1.0, share * self.requests) if share else 0):
            raise ServerError(
                f"{self.asker}: {self.failed} of {self.requests} requests failed, more than max_failed ({share:g}) "
                f"allows; the last one: {answer.reason}. All responses so far are kept"
            )

    def price_of(self, response: Response) -> float:
        """Return the price of a response; 0 if the config names none."""
        if self.server.price is None:
            return 0.0
        read, written = response.tokens
        return (read * self.server.price.input + written * self.server.price.output) / 1e6

    def is_spent(self, under_way: int) -> bool:
        """Return whether another request could cost more than the budget, with the requests that are under way."""
        if self.server.budget is None or not self.answered:
            return False
        return self.price + (under_way + 1) * self.price / self.answered > self.server.budget

    def check_estimate(self, first: Sequence[Answer | None]) -> None:
        """Log what all requests would cost, by the first ones. Raises ServerError if that is above the budget."""
        responses = [answer for answer in first if isinstance(answer, Response)]
        if not responses:
            return
        if self.server.budget is not None and not any(sum(response.tokens) for response in responses):
            raise ServerError(
                f"{self.asker}: {self.address} does not state the tokens of its responses (usage), so their price "
                "is unknown; remove budget"
            )
        whole = self.price / self.answered * self.requests
        number = len(first)
        logger.info("%s: %d requests will cost about %.4g, by the first %d", self.asker, self.requests, whole, number)
        if self.server.budget is not None and whole > self.server.budget:
            raise ServerError(
                f"{self.asker}: {self.requests} requests would cost about {whole:.4g}, by the first {number}, and "
                f"the budget is {self.server.budget:g}; raise it, or ask about fewer images (limit)"
            )

    def without_key(self, text: str) -> str:
        """Return a text in which the key of the server is replaced."""
        return text if self.key == _NO_KEY else text.replace(self.key, "(key)")


class _Asking:
    """The state of a call of `Client.ask`."""

    def __init__(self, client: Client, requests: Sequence[Request]):
        self.client, self.server = client, client.server
        self.requests = [request.with_parameters(self.server.parameters or {}) for request in requests]
        self.answers: list[Answer | None] = [None] * len(requests)
        # One for each different request, so that equal requests are asked one after the other, the second the cache.
        self.locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self.sending = asyncio.Semaphore(self.server.concurrency)
        self.under_way = 0
        self.stop: ServerError | None = None  # why no more requests are sent, if not for the budget
        self.is_spent = False

    async def run(self) -> None:
        """Answer all requests; the first few before the others if there is a price. Raises ServerError."""
        first = min(FIRST, len(self.requests)) if self.server.price and self.client.answered < FIRST else 0
        server = openai.AsyncOpenAI(
            base_url=self.client.address,
            api_key=self.client.key,
            timeout=self.server.timeout,
            max_retries=self.server.retries,
        )
        async with server:
            with Bar(desc=f"requests of {self.client.asker}", total=len(self.requests)) as bar:
                await self._answer(server, range(first), bar.update)
                if first:
                    self.client.check_estimate(self.answers[:first])
                await self._answer(server, range(first, len(self.requests)), bar.update)

    async def _answer(self, server: openai.AsyncOpenAI, numbers: range, done: Callable[[], object]) -> None:
        """Answer the requests of these numbers, as many at the same time as the server may be asked.

        Raises ServerError if requests cannot be sent any more, after the requests that are under way.
        """
        waiting = iter(numbers)

        async def work() -> None:
            for number in waiting:
                try:
                    self.answers[number] = answer = await self._one(server, self.requests[number])
                    if answer is None:
                        return
                    self.client.record(answer)
                except ServerError as error:
                    self.stop = self.stop or error
                    return
                done()

        # Twice as many as are sent at the same time, so that the next images are encoded while the server works.
        await asyncio.gather(*(work() for _ in range(min(2 * self.server.concurrency, len(numbers)))))
        if self.stop:
            raise self.stop from None
        if self.is_spent:
            raise ServerError(
                f"{self.client.asker}: {self.client.answered} of {self.client.requests} requests cost "
                f"{self.client.price:.4g}, and more would cost more than the budget of {self.server.budget:g}; all "
                "responses so far are kept, so a higher budget goes on from here"
            )

    async def _one(self, server: openai.AsyncOpenAI, request: Request) -> Answer | None:
        """Return the response to a request, from the cache or from the server; None if no more requests are sent."""
        key = await asyncio.to_thread(request.key, self.server.model)
        async with self.locks[key]:
            if kept := await asyncio.to_thread(kept_response, key):
                return kept
            body = await asyncio.to_thread(request.body, self.server.model)
            async with self.sending:
                self.is_spent = self.is_spent or self.client.is_spent(self.under_way)
                if self.is_spent or self.stop:
                    return None
                self.under_way += 1
                try:
                    answer = await self._sent(server, body)
                    # Kept before the next request is sent, so that a kill loses no more than is under way.
                    if isinstance(answer, Response):
                        self.client.heard = True
                        await asyncio.to_thread(keep_response, key, answer)
                finally:
                    self.under_way -= 1
        return answer

    async def _sent(self, server: openai.AsyncOpenAI, body: dict[str, Any]) -> Answer:
        """Return the response of the server. Raises ServerError without its cause, which may have the key."""
        try:
            sent = await server.chat.completions.with_raw_response.create(**body)
        except openai.APIStatusError as error:
            failure = self._refused(error)
        except openai.APIConnectionError as error:  # a timeout, too
            failure = self._broken(error)
        else:
            for _ in range(sent.retries_taken):
                count("requests that were sent again")
            try:
                return Response.read(self.client.without_key(sent.content.decode(errors="replace")))
            except ResponseError as error:
                failure = Failure(str(error))
        if isinstance(failure, ServerError):
            raise failure
        return failure

    def _refused(self, error: openai.APIStatusError) -> Failure | ServerError:
        """Return the failure of a request that the server refused; a ServerError if it refuses all requests."""
        asker, address = self.client.asker, self.client.address
        if error.status_code in (401, 403):  # the message of the server may have a part of the key
            variable = self.server.api_key_variable
            wrong = f"the key in {variable}" if variable else "requests without a key; set api_key_variable"
            return ServerError(f"{asker}: {address} refuses {wrong} (HTTP {error.status_code})")
        reason = f"HTTP {error.status_code}: {' '.join(self.client.without_key(error.response.text)[:300].split())}"
        if error.status_code == 404:
            return ServerError(
                f"{asker}: {address} does not know the model {self.server.model!r}, or the address lacks its end, such "
                f"as /v1 ({reason})"
            )
        return Failure(reason)

    def _broken(self, error: openai.APIConnectionError) -> Failure | ServerError:
        """Return the failure of a request without a response; a ServerError if there never was a response."""
        tries = f"{self.server.retries + 1} times"
        if isinstance(error, openai.APITimeoutError):
            reason = f"no response in {self.server.timeout:g} s, {tries}"
            hint = "the server is there, but hangs, or needs a higher timeout or a lower concurrency"
        else:
            reason = self.client.without_key(f"no connection, {tries}: {error.__cause__ or error}")
            hint = "start a server, or set url to the address of one that runs (docs/served.md)"
        if not self.client.heard:
            return ServerError(f"{self.client.asker}: nothing answers at {self.client.address}: {reason}; {hint}")
        return Failure(reason)


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
