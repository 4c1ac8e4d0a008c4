"""Models of judges: models behind servers that score captions, each by one kind of question."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from annotated_types import Len
from pydantic import BeforeValidator, Field, PositiveInt
from pydantic_core import PydanticCustomError

from captionlab.config.model import FilePath, Model, Text
from captionlab.config.plugins import cases_by
from captionlab.config.served import Served

Range = tuple[float, float]
SHARE: Range = (0.0, 1.0)


class Judge(Served):
    """A model that scores captions."""

    max_tokens: PositiveInt = Field(1024, description="largest number of tokens of an answer")

    @property
    def range(self) -> Range:
        """Return the lowest and the highest score."""
        return SHARE

    @property
    def factor(self) -> float:
        """Return the factor of scores in tables: scores from 0 to 1 are printed times 100, others as they are."""
        return 100.0 if self.range == SHARE else 1.0

    @property
    def reads_references(self) -> bool:
        """Return whether the judge reads references, so that human captions have no score."""
        return False

    @property
    def sees_images(self) -> bool:
        """Return whether the judge sees the image of a caption."""
        return False


class Structured(Judge):
    """A judge that answers in JSON."""

    structured: bool = Field(
        True,
        description="whether the server is asked for JSON of a schema (`response_format`); without it, answers are "
        "checked against the same schema",
    )


class Seeing(Judge):
    """A judge that may see the image."""

    image_size: PositiveInt = Field(
        1024, description="most pixels of the longer side of an image; a larger image is made smaller before it is sent"
    )


class Clair(Structured):
    """CLAIR (Chan et al. 2023): how likely a caption describes the same image as the references, with a reason."""

    kind: Literal["clair"]

    @property
    def reads_references(self) -> bool:
        """Return true."""
        return True


class Fleur(Seeing):
    """FLEUR (Lee et al. 2024): how accurately and clearly a caption describes its image, without references."""

    kind: Literal["fleur"]
    smoothing: bool = Field(
        True,
        description="whether the server is asked for the probabilities of tokens, by which scores are smoothed; where "
        "it gives none, scores are as the judge writes them",
    )
    reasons: bool = Field(False, description="whether the judge is then asked for its reason, by another request")

    @property
    def sees_images(self) -> bool:
        """Return true."""
        return True


def _with_words(choices: Any) -> Any:
    """Return choices. Raises PydanticCustomError for a word without quotes that YAML reads as true or false."""
    if isinstance(choices, Mapping) and any(isinstance(word, bool) for word in choices):
        sentence = 'has words that YAML reads as true or false; quote them, as in {"yes": 1, "no": 0}'
        raise PydanticCustomError("reference", "{sentence}", {"sentence": sentence})
    return choices


class AnswerFormat(Model):
    """What an answer says beside its reason: a number, or one of several words."""

    score: Annotated[list[float], Len(2, 2)] | None = Field(
        None, description="lowest and highest number that the judge may give"
    )
    choices: Annotated[dict[Text, float], Len(2), BeforeValidator(_with_words)] | None = Field(
        None, description='words that the judge may choose from, each with its score, such as `{"yes": 1, "no": 0}`'
    )

    def mistakes(self, config: Mapping[str, Any]) -> Iterator[str]:
        """Yield a sentence if there is not one format, or if no two scores differ."""
        if (self.score is None) == (self.choices is None):
            yield "{place} must have either score or choices"
        elif self.score and self.score[0] >= self.score[1]:
            yield f"{{place}}.score is {self.score}; write the lowest number first, and then a higher one"
        elif self.choices and len({*self.choices.values()}) == 1:
            yield "{place}.choices have one score; give a better choice a higher score"


class Rubric(Structured, Seeing):
    """A question of the user's own."""

    kind: Literal["rubric"]
    template: FilePath = Field(
        description="Jinja template of the question, with `{{ caption }}` and, with `references: true`, "
        "`{{ references }}`; how to answer is added to it"
    )
    answer: AnswerFormat = Field(description="what an answer says beside its reason")
    image: bool = Field(True, description="whether the image is shown before the question")
    references: bool = Field(
        False, description="whether the template reads references; human captions have no score then"
    )

    @property
    def range(self) -> Range:
        """Return the lowest and the highest score."""
        scores = self.answer.score or list((self.answer.choices or {}).values())
        return float(min(scores)), float(max(scores))

    @property
    def reads_references(self) -> bool:
        """Return whether the template reads references."""
        return self.references

    @property
    def sees_images(self) -> bool:
        """Return whether the image is shown."""
        return self.image


JUDGES: Mapping[str, type[Judge]] = {"clair": Clair, "fleur": Fleur, "rubric": Rubric}
AnyJudge = Annotated[Judge, cases_by("kind", lambda: JUDGES)]


def read_judge(block: Mapping[str, Any]) -> Judge:
    """Return the judge of a checked block of a config."""
    return JUDGES[block["kind"]].model_validate(dict(block))
