"""Choice files of own tables: which captioners, corpora and metrics a table has, and how its numbers are printed.

The page `make_table.html` of a run writes such files; the key `own_tables` of a config names them.
"""

import os
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from annotated_types import Len
from pydantic import Field, ValidationError

from captionlab.config.checking import PLAIN
from captionlab.config.config_files import read_document
from captionlab.config.model import Model, Nullable, Text, Unique
from captionlab.config.names import hint

Width = Literal["acl-column", "acl-text", "neurips", "cvpr-column", "cvpr-text"]
# Inches: acl.sty, neurips_2025.sty, and the author kit of CVPR.
WIDTHS: Mapping[Width, float] = {
    "acl-column": 3.03, "acl-text": 6.3, "neurips": 5.5, "cvpr-column": 3.25, "cvpr-text": 6.875,
}  # fmt: skip
Names = Annotated[list[Text], Len(1), Unique()]


class ChoiceError(ValueError):
    """A choice file cannot be read, or names something that the run does not have."""


class ChosenMetric(Model):
    """A metric of an own table. Metrics of a retriever or scorer are told apart by its name and by the candidates."""

    metric: Text = Field(description="name of the metric, as in the table `evaluation`")
    retriever: Annotated[Text | None, Nullable] = Field(None, description="retriever or scorer of the metric")
    candidates: Annotated[Text | None, Nullable] = Field(
        None, description="candidates of the retriever, as `full` or `100 file-order`"
    )

    @property
    def key(self) -> tuple[str | None, str | None, str]:
        """Return what identifies the metric in a row of SUMMARY: retriever, candidates and name."""
        return self.retriever, self.candidates, self.metric


class Choice(Model):
    """Rows, columns and form of an own table. Rows and columns are in the order of the lists."""

    captioners: Names = Field(description="captioners, a row each; a captioner with `seeds` is the mean over them")
    corpora: Names = Field(description="corpora, a block of rows each")
    evaluations: Names = Field(description="evaluations of these captioners and corpora, a block of rows each")
    metrics: Annotated[list[ChosenMetric], Len(1), Unique()] = Field(description="metrics, a column each")
    decimals: Annotated[int, Field(ge=0, le=6)] = Field(1, description="decimals of all numbers")
    intervals: bool = Field(True, description="whether 95 % intervals stand below the numbers")
    best: bool = Field(True, description="whether the best number of a column and block is bold")
    differences: Annotated[Text | None, Nullable] = Field(
        None, description="captioner; the difference of each captioner from it stands beside each metric"
    )
    published: bool = Field(
        False, description="whether numbers that a paper prints for the captioner and corpus stand beside a metric"
    )
    notes: list[Text] = Field([], description="sentences below the table")
    width: Width = Field("acl-text", description="width of the LaTeX table, to which a wider table is scaled down")


def read_choice(path: str | os.PathLike[str]) -> Choice:
    """Read a choice file. Raises ChoiceError, which names the file and each key that is wrong."""
    try:
        content = read_document(Path(path))
    except ValueError as error:
        raise ChoiceError(str(error)) from error
    if not isinstance(content, Mapping):
        raise ChoiceError(f"{path} has no keys; a choice of a table has {', '.join(_needed())}")
    try:
        return Choice.model_validate(content)
    except ValidationError as failure:
        raise listing(path, dict.fromkeys(_sentences(failure))) from failure


def check_names(
    choice: Choice, path: str | os.PathLike[str], captioners: Mapping[str, Collection[str]], corpora: Collection[str]
) -> None:
    """Raise a ChoiceError that lists the names of a choice file that a run does not have.

    `captioners` has the captioners of each evaluation of the run, `corpora` the corpora of all of them.
    """
    mistakes = [
        f"evaluations.{place} is {name!r}, which is no evaluation of the run; {hint(name, captioners)}"
        for place, name in enumerate(choice.evaluations)
        if name not in captioners
    ]
    mistakes += [
        f"corpora.{place} is {name!r}, which no evaluation of the run has; {hint(name, corpora)}"
        for place, name in enumerate(choice.corpora)
        if name not in corpora
    ]
    chosen = [name for name in choice.evaluations if name in captioners]
    there = list(dict.fromkeys(captioner for name in chosen for captioner in captioners[name]))
    named = [(f"captioners.{place}", name) for place, name in enumerate(choice.captioners)]
    named += [("differences", choice.differences)] if choice.differences else []
    mistakes += [
        f"{key} is {name!r}, which is not among the captioners of {' and '.join(chosen)}; {hint(name, there)}"
        for key, name in named
        if chosen and name not in there
    ]
    if mistakes:
        raise listing(path, mistakes)


def listing(path: str | os.PathLike[str], mistakes: Collection[str]) -> ChoiceError:
    """Return an error that lists the mistakes of a choice file, one on each line."""
    return ChoiceError(f"{Path(path)} is no choice of a table:\n" + "\n".join(f"  - {one}" for one in mistakes))


def _needed() -> list[str]:
    return [name for name, field in Choice.model_fields.items() if field.is_required()]


def _sentences(failure: ValidationError) -> Iterator[str]:
    """Yield a sentence for each error of pydantic, beginning with the key."""
    for error in failure.errors(include_url=False):
        where, kind, value = ".".join(map(str, error["loc"])), error["type"], error["input"]
        context: dict[str, Any] = error.get("ctx", {})
        above, _, key = where.rpartition(".")
        if kind == "extra_forbidden":
            model = ChosenMetric if above else Choice
            yield f"{above or 'the file'} has no key {key!r}; {hint(key, model.model_fields, 'known keys:')}"
        elif kind == "missing":
            yield f"{above or 'the file'} lacks the key {key}"
        elif kind == "rules":
            yield from (sentence.replace("{place}", where or "the file") for sentence in context["sentences"])
        elif value is None or value == []:
            yield f"{where} has no value; write one{'' if key in _needed() else ' or drop the key'}"
        elif kind == "literal_error":
            yield f"{where} is {value!r}; it must be one of {', '.join(get_args(Width))}"
        elif kind == "model_type":
            yield f"{where} is {value!r}; write {{metric: NAME}}, with retriever and candidates if it has them"
        else:
            yield (
                f"{where} {PLAIN[kind].format(value=value, **context)}" if kind in PLAIN else f"{where}: {error['msg']}"
            )
