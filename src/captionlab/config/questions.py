"""Models of sets of questions about images, and of answerers."""

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Len
from pydantic import Field

from captionlab.config.model import Model, Ref, Unique
from captionlab.config.plugins import PluginUnion


@dataclass(frozen=True, kw_only=True)
class ReaderFacts:
    """Facts of a reader of questions, which the graph reads."""

    files: tuple[str, ...] = ()
    """keys that name the files it reads"""
    rendered: bool = False
    """whether it writes questions about corpora of the toy world, from what is known of the images"""
    libraries: tuple[str, ...] = ()
    """libraries whose versions change the questions"""


@dataclass(frozen=True, kw_only=True)
class AnswererFacts:
    """Facts of a kind of answerer, which the graph reads."""

    of_toyworld: bool = False
    """whether it only understands the questions that the reader toyworld writes"""
    libraries: tuple[str, ...] = ()
    """libraries whose versions change the answers"""


class Answerer(Model):
    """A program that answers questions from captions alone."""


AnyAnswerer = Annotated[Answerer, PluginUnion("questions.answerers", "kind")]


class Questions(Model):
    """Questions about images, and their answerer."""

    corpora: Annotated[list[Annotated[str, Ref("corpora")]], Len(1), Unique()] = Field(
        description="corpora whose images the questions are about"
    )
    answerer: AnyAnswerer = Field(description="answerer of the questions, which reads a caption and sees no image")


AnyQuestions = Annotated[Questions, PluginUnion("questions.readers", "reader")]
