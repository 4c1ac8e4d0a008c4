"""Models behind servers with OpenAI's interface of chats, such as vLLM, SGLang, llama.cpp and hosted models."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt
from pydantic_core import PydanticCustomError

from captionlab.config.model import Idle, IdleMark, Model, Share, Text

# The environment variable of an address that a config does not name, as in the client of OpenAI.
ADDRESS_VARIABLE = "OPENAI_BASE_URL"

# Parameters of a request that its sender sets.
_RESERVED = {"messages", "model", "n", "stream"}


def checked_address(address: str) -> str:
    """Return an address. Raises PydanticCustomError, without the address, which may have a password in it."""
    try:
        parts = urlsplit(address)
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise PydanticCustomError(
            "reference", "{sentence}", {"sentence": "is no address such as http://localhost:8000/v1"}
        )
    if parts.username or parts.password or parts.query:
        sentence = "has a user, a password or a query in it; name the variable of the key under api_key_variable"
        raise PydanticCustomError("reference", "{sentence}", {"sentence": sentence})
    return address


def _checked_variable(name: str) -> str:
    """Return the name of a variable. Raises PydanticCustomError, without the name, which may be the key itself."""
    if not name.replace("_", "").isalnum() or name != name.upper() or name[0].isdigit():
        sentence = (
            "must be the name of an environment variable, in upper case, such as OPENAI_API_KEY; the key itself stands "
            "in no file"
        )
        raise PydanticCustomError("reference", "{sentence}", {"sentence": sentence})
    return name


class Price(Model):
    """Price of a million tokens."""

    input: NonNegativeFloat = Field(description="of prompts, which images are a part of")
    output: NonNegativeFloat = Field(description="of answers")


class Served(Model):
    """A model behind a server with OpenAI's interface of chats. Responses do not depend on keys with the mark Idle."""

    url: Annotated[Annotated[Text, AfterValidator(checked_address)] | None, Idle] = Field(
        None,
        description=f"address, usually with /v1 at its end; by default the environment variable {ADDRESS_VARIABLE}; "
        "another address asks nothing again",
    )
    model: Text = Field(description="name of the model, as the server knows it")
    parameters: dict[str, Any] | None = Field(
        None,
        description="further parameters of every request, as the server names them, such as `chat_template_kwargs: "
        "{enable_thinking: false}`; null takes a parameter out, as in `max_tokens: null, max_completion_tokens: 60`",
    )
    api_key_variable: Annotated[Annotated[Text, AfterValidator(_checked_variable)] | None, Idle] = Field(
        None, description="environment variable that has the key of the server; without it no key is sent"
    )
    price: Annotated[Price | None, Idle] = Field(None, description="price of a million tokens, in any currency")
    budget: Annotated[PositiveFloat | None, Idle] = Field(
        None,
        description="most that the responses of one job may cost, in the currency of `price`, responses of earlier "
        "runs included; a job that would cost more stops before it does",
    )
    concurrency: Annotated[PositiveInt, Idle] = Field(32, description="requests that one job sends at the same time")
    timeout: Annotated[PositiveFloat, Idle] = Field(
        120, description="seconds after which a request without a response is repeated"
    )
    retries: Annotated[NonNegativeInt, Idle] = Field(
        5,
        description="how often a request is repeated after 408, 429, 5xx, a broken connection or a timeout, after a "
        "pause that doubles or that the server asks for",
    )
    max_failed: Annotated[Share, Idle] = Field(
        0.01,
        description="share of the requests of a job that may fail for good, above which the job stops; one request "
        "may, unless this is 0",
    )

    def mistakes(self, config: Mapping[str, Any]) -> Iterator[str]:
        """Yield a sentence for a budget without a price, and for parameters that captionlab sets itself."""
        yield from super().mistakes(config)
        if self.budget is not None and self.price is None:
            yield "{place}.budget needs a price; add `price: {input: ..., output: ...}`"
        for key in sorted(_RESERVED & {*(self.parameters or {})}):
            yield f"{{place}}.parameters.{key} is set by captionlab; drop it"


# Keys that no response depends on.
TRANSPORT = frozenset(
    name for name, field in Served.model_fields.items() if any(isinstance(mark, IdleMark) for mark in field.metadata)
)
