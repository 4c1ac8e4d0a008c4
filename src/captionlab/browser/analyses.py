"""Numbers of a paper that are of captions but of no metric, for the page of captions to explain."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from captionlab.config.metrics import Definition
from captionlab.evaluation.definitions import INTERVALS, INTERVALS_OF_DIFFERENCES
from captionlab.evaluation.rows import GENERATED
from captionlab.evaluation.schemas import ROLE_DIFFERENCES, ROLE_VALUES
from captionlab.storage.tables import read_table

Row = Mapping[str, Any]


def read_analyses(papers: Mapping[str, Row], values: Sequence[str], differences: Sequence[str]) -> list[dict[str, Any]]:
    """Return the numbers of papers that are no metrics.

    `papers` has, by the name of the paper, its `evaluation`, the `first` captioner of each role, the `scorers` by the
    paper's labels, and `analyses`: the fields of the Definition of each number by its measure. `values` and
    `differences` are files of ROLE_VALUES and ROLE_DIFFERENCES in the same order. A number has the paper, the
    evaluation, the corpus, the metric, the captioner and the `role`, `retriever` (None or a scorer of the config) and
    `scorer` (its label), `value` with its interval, `n`, `seeds`, and the definition. A difference has `against`, a
    captioner, and `against_role`; both are None for a value.
    """
    found: list[dict[str, Any]] = []
    for (paper, spoken), *files in zip(papers.items(), values, differences, strict=True):
        rows = [*read_table(files[0], ROLE_VALUES).to_pylist(), *read_table(files[1], ROLE_DIFFERENCES).to_pylist()]
        definitions = {measure: Definition(**fields) for measure, fields in spoken["analyses"].items()}
        found += _numbers(paper, spoken, rows, definitions)
    return found


def _numbers(
    paper: str, spoken: Row, rows: Iterable[Row], definitions: Mapping[str, Definition]
) -> Iterator[dict[str, Any]]:
    """Yield the numbers of captions of roles, of the rows of a paper."""
    first: Mapping[str, str] = spoken["first"]
    for row in rows:
        against = row.get("against")
        definition = next((one for name, one in definitions.items() if fnmatchcase(row["measure"], name)), None)
        is_of_roles = row["experiment"] == GENERATED and row["subject"] in first and against in (None, *first)
        if definition is None or not is_of_roles:
            continue
        yield {
            "paper": paper,
            "evaluation": spoken["evaluation"],
            "corpus": row["corpus"],
            "metric": row["measure"],
            "retriever": spoken["scorers"].get(row["scorer"], row["scorer"]),
            "captioner": first[row["subject"]],
            "role": row["subject"],
            "scorer": row["scorer"],
            "against": against and first[against],
            "against_role": against,
            "value": row["difference"] if against else row["value"],
            **{name: row[name] for name in ("ci_low", "ci_high", "n", "seeds")},
            **_defined(definition, bool(against)),
        }


def _defined(definition: Definition, difference: bool) -> dict[str, str]:
    methods = INTERVALS_OF_DIFFERENCES if difference else INTERVALS
    return {
        "definition": definition.sentence,
        "unit": definition.unit,
        "interval": methods[definition.computation],
    }
