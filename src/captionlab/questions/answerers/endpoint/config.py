"""Config of an answerer behind a server."""

from typing import Literal

from pydantic import Field, PositiveInt

from captionlab.config.questions import Answerer, AnswererFacts
from captionlab.config.served import Served

FACTS = AnswererFacts(libraries=("jsonschema",))


class Config(Answerer, Served):
    """A model behind a server, which reads a caption and a question."""

    kind: Literal["endpoint"]
    structured: bool = Field(
        True,
        description="whether the server is asked for JSON of a schema (`response_format`); without it, answers are "
        "checked against the same schema",
    )
    max_tokens: PositiveInt = Field(1024, description="largest number of tokens of an answer")
