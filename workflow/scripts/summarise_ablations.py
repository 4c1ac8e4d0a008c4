"""Measure the ablations of the discritune paper: means over seeds with intervals, and differences."""

from typing import Any

from captionlab import paths
from captionlab.evaluation.devices import device_note
from captionlab.evaluation.schemas import ROLE_DIFFERENCES, ROLE_VALUES
from captionlab.evaluation.spice import SPICE
from captionlab.evaluation.summary import Job
from captionlab.papers.discritune.variants import ablation_rows, evaluated_results
from captionlab.schemas import NLG, RETRIEVAL
from captionlab.scripting import run
from captionlab.tables import read_table, write_table


def main(snakemake: Any) -> None:
    params, inputs = snakemake.params, snakemake.input
    retrieval, spice = (
        {paths.captioner_of(path): path for path in found} for found in (inputs.retrieval, inputs.spice)
    )
    results: dict[str, dict[str, Any]] = {}
    for path in inputs.nlg:
        captioner, evaluation = place = paths.captioner_of(path)
        results.setdefault(evaluation, {})[captioner] = evaluated_results(
            Job(captioner, evaluation, **params.evaluations[evaluation]),
            params.seed,
            read_table(path, NLG),
            retrieval=read_table(retrieval[place], RETRIEVAL) if place in retrieval else None,
            spice=read_table(spice[place], SPICE) if place in spice else None,
        )
    found = [
        ablation_rows(name, ablation, results[ablation["evaluation"]]) for name, ablation in params.ablations.items()
    ]
    notes = device_note([*inputs.captions, *inputs.retrieval])
    for path, kind, number in (
        (snakemake.output.values, ROLE_VALUES, 0),
        (snakemake.output.differences, ROLE_DIFFERENCES, 1),
    ):
        rows = [row for one in found for row in one[number]]
        write_table(path, kind, {name: [row[name] for row in rows] for name in kind.columns}, notes)


if __name__ == "__main__":
    run(main, globals())
