"""Measure roles and constructed captions: means over seeds with intervals, and differences."""

from collections.abc import Mapping
from typing import Any

from captionlab.evaluation.metrics.nlg import NLG
from captionlab.evaluation.metrics.spice import SPICE
from captionlab.evaluation.summary import Job
from captionlab.language.schemas import CONSTRUCTED, MEASURES, PATTERNS, TAGGED
from captionlab.papers.probing.constructed import constructed_rows
from captionlab.papers.probing.paper import REFERENCE
from captionlab.papers.probing.roles import PrintedScorer, between_rows, captioner_results, pattern_rows
from captionlab.reporting.roles import difference_rows, value_rows
from captionlab.schemas import ALIGNMENT
from captionlab.tables import TableSchema, read_table

Rows = list[dict[str, Any]]


def summarise(inputs: Mapping[str, Any], params: Mapping[str, Any]) -> tuple[Rows, Rows, list[str]]:
    """Rows of values and of differences, and the tables that know the device of what they were measured on."""
    scorers = {name: PrintedScorer(**printed) for name, printed in params["scorers"].items()}
    results = {}
    for number, captioner in enumerate(params["captioners"]):
        results[captioner] = captioner_results(
            Job(captioner, **params["job"]),
            scorers,
            params["seed"],
            alignment=read_table(inputs["alignment"][number], ALIGNMENT),
            nlg=read_table(inputs["nlg"][number], NLG),
            measures=read_table(inputs["measures"][number], MEASURES),
            tagged=read_table(inputs["tags"][number], TAGGED),
            spice=read_table(inputs["spice"][number], SPICE) if inputs["spice"] else None,
        )
    patterns = {
        name: _rows(path, PATTERNS) for name, path in zip(params["captioners"], inputs["patterns"], strict=True)
    }
    of_patterns = pattern_rows(params["roles"], patterns)
    made = zip(inputs["constructions"], inputs["constructed"], inputs["originals"], strict=True)
    of_constructed = constructed_rows(
        [
            (_rows(constructions, CONSTRUCTED), _rows(scores, ALIGNMENT), _rows(original, ALIGNMENT))
            for constructions, scores, original in made
        ],
        scorers,
        REFERENCE,
        params["seed"],
    )
    differences = [
        *difference_rows(params["roles"], results, REFERENCE, params["parents"], params["rewards"]),
        *between_rows(params["roles"], results, REFERENCE, params["parents"]),
    ]
    return (
        [*value_rows(params["roles"], results), *of_patterns[0], *of_constructed[0]],
        [*differences, *of_patterns[1], *of_constructed[1]],
        [path for name in ("captions", "alignment", "constructed", "originals") for path in inputs[name]],
    )


def _rows(path: str, kind: TableSchema) -> Rows:
    found: Rows = read_table(path, kind).to_pylist()
    return found
