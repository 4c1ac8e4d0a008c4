"""Where a table or a figure stands in the report of Snakemake, and which pages the index of the tables names."""

import re

from captionlab.graph.software import Wildcards
from captionlab.plugins import names

# The category of tables that belong to no paper.
RUN = "this run"
# The start of the name of a table that has a number in its paper.
_NUMBERED = re.compile(r"(?:table|figure)\d+[a-z]?")


def paper_of(wildcards: Wildcards) -> str:
    """Return the category of a table: the paper that its name starts with, or RUN."""
    start: str = wildcards.name.split("_")[0]
    return start if start in names("papers") else RUN


def labels_of(wildcards: Wildcards) -> dict[str, str]:
    """Return the labels of a table: its number in the paper and its title, and whether it is a page or rows of data."""
    name = wildcards.name.removeprefix(f"{paper_of(wildcards)}_")
    number = _NUMBERED.match(name)
    what = name[number.end() :] if number else name
    shown = re.sub(r"(?<=[a-z])(?=\d)", " ", number.group()) if number else ""
    return {
        "table": ", ".join(filter(None, (shown, what.strip("_").replace("_", " ")))),
        "as": {"html": "page", "csv": "rows"}[wildcards.ending],
    }
