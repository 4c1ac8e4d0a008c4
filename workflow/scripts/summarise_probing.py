"""Measure roles and constructed captions of the probing paper: means over seeds with intervals, and differences."""

from typing import Any

from captionlab.evaluation.devices import device_note
from captionlab.evaluation.schemas import ROLE_DIFFERENCES, ROLE_VALUES
from captionlab.evaluation.spice import SPICE
from captionlab.evaluation.summary import Job
from captionlab.language.schemas import CONSTRUCTED, MEASURES, PATTERNS, TAGGED
from captionlab.papers.probing.constructed import constructed_rows
from captionlab.papers.probing.roles import (
    PrintedScorer,
    between_rows,
    captioner_results,
    difference_rows,
    pattern_rows,
    value_rows,
)
from captionlab.schemas import ALIGNMENT, NLG
from captionlab.scripting import run
from captionlab.tables import Kind, read_table, write_table

REFERENCE = "CE"


def main(snakemake: Any) -> None:
    params, paths = snakemake.params, snakemake.input
    scorers = {name: PrintedScorer(**printed) for name, printed in params.scorers.items()}
    results = {}
    for number, captioner in enumerate(params.captioners):
        results[captioner] = captioner_results(
            Job(captioner, **params.job),
            scorers,
            params.seed,
            alignment=read_table(paths.alignment[number], ALIGNMENT),
            nlg=read_table(paths.nlg[number], NLG),
            measures=read_table(paths.measures[number], MEASURES),
            tagged=read_table(paths.tags[number], TAGGED),
            spice=read_table(paths.spice[number], SPICE) if paths.spice else None,
        )
    patterns = {
        name: read_table(path, PATTERNS).to_pylist()
        for name, path in zip(params.captioners, paths.patterns, strict=True)
    }
    of_patterns = pattern_rows(params.roles, patterns)
    of_constructed = constructed_rows(
        [
            (rows(made, CONSTRUCTED), rows(scores, ALIGNMENT), rows(original, ALIGNMENT))
            for made, scores, original in zip(paths.constructions, paths.constructed, paths.originals, strict=True)
        ],
        scorers,
        REFERENCE,
        params.seed,
    )
    differences = [
        *difference_rows(params.roles, results, REFERENCE, params.parents, params.rewards),
        *between_rows(params.roles, results, REFERENCE, params.parents),
    ]
    notes = device_note([*paths.captions, *paths.alignment, *paths.constructed, *paths.originals])
    for path, kind, found in (
        (
            snakemake.output.values,
            ROLE_VALUES,
            [*value_rows(params.roles, results), *of_patterns[0], *of_constructed[0]],
        ),
        (snakemake.output.differences, ROLE_DIFFERENCES, [*differences, *of_patterns[1], *of_constructed[1]]),
    ):
        write_table(path, kind, {name: [row[name] for row in found] for name in kind.columns}, notes)


def rows(path: str, kind: Kind) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = read_table(path, kind).to_pylist()
    return found


if __name__ == "__main__":
    run(main, globals())
