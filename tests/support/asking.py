"""Requests of a job that asks a model behind a server once."""

from collections.abc import Sequence

from captionlab.config.served import Served
from captionlab.served.client import Answer, Client
from captionlab.served.requests import Request


def ask(server: Served, requests: Sequence[Request], asker: str) -> list[Answer]:
    """Return the response to each request."""
    return Client(server, asker).ask(requests)
