"""Where a table or a figure stands in the report of Snakemake, and which pages the index of the tables names."""

import re
from dataclasses import dataclass

from captionlab.plugins import names
from captionlab.workflow.basis import Wildcards

# What is no paper's own.
RUN = "this run"
# How the name of a table starts that has a number in its paper.
_NUMBERED = re.compile(r"(?:table|figure)\d+[a-z]?")


@dataclass(frozen=True)
class Page:
    """A page of the run that the index of its tables names: what a rule makes, and the file of that to open."""

    title: str
    sentence: str
    made: str
    entry: str = ""  # of a folder

    @property
    def file(self) -> str:
        """The file that is opened."""
        return f"{self.made}/{self.entry}" if self.entry else self.made


def paper_of(wildcards: Wildcards) -> str:
    """The category of a table: the paper that its name starts with."""
    start: str = wildcards.name.split("_")[0]
    return start if start in names("papers") else RUN


def labels_of(wildcards: Wildcards) -> dict[str, str]:
    """The labels of a table: its number in the paper, what it shows, and whether it is a page or rows of data."""
    name = wildcards.name.removeprefix(f"{paper_of(wildcards)}_")
    number = _NUMBERED.match(name)
    what = name[number.end() :] if number else name
    shown = re.sub(r"(?<=[a-z])(?=\d)", " ", number.group()) if number else ""
    return {
        "table": ", ".join(filter(None, (shown, what.strip("_").replace("_", " ")))),
        "as": {"html": "page", "csv": "rows"}[wildcards.ending],
    }
