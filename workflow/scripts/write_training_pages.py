"""Write the pages of all trainings: curves, captions over time, model cards, and the line to each model."""

from collections import defaultdict
from pathlib import Path

from captionlab.jobs.provenance import commit
from captionlab.jobs.scripting import script
from captionlab.reporting.tables.footnotes import run_notes
from captionlab.reporting.trainings.captions import OverTime, at_snapshots, at_validations, before_and_after
from captionlab.reporting.trainings.pages import Run, write_training_pages
from captionlab.storage import paths


def captions_over_time(inputs, params) -> dict[str, list[OverTime]]:
    """Return the captions over time of each captioner: at validations, or else before and after, and at snapshots."""
    captions = defaultdict(list)
    for path in inputs.training_captions:
        if over_time := at_validations(path, params.corpora[name := paths.owner_of(path)]):
            captions[name].append(over_time)
    for path in inputs.rewards:
        if (name := paths.owner_of(path)) not in captions:
            captions[name].append(before_and_after(path, params.corpora[name]))
    generated = {paths.captioner_of(path)[0]: path for path in inputs.captions}
    for name, snapshots in params.snapshots.items():
        files = [(time, generated[captioner]) for captioner, time in snapshots.items()]
        if over_time := at_snapshots(files):
            captions[name].append(over_time)
    return captions


@script
def main(snakemake):
    inputs, params = snakemake.input, snakemake.params
    keys = [tuple(Path(path).parts[-3:-1]) for path in inputs.training]
    run = Run(
        models=params.models,
        logs=dict(zip(keys, inputs.training, strict=True)),
        cards=dict(zip(keys, inputs.cards, strict=True)),
        captions=captions_over_time(inputs, params),
        images={paths.owner_of(path): path for path in inputs.images},
        shown=params.shown,
        made=run_notes({"commit": commit(), **params.provenance}),
        caveats=params.get("caveats", []),
    )
    write_training_pages(run, Path(snakemake.output[0]))
