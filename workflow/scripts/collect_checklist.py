"""Answer the questions of reviewers' checklists about experiments, from the files of the run."""

from pathlib import Path

from captionlab.jobs.provenance import commit
from captionlab.jobs.scripting import script
from captionlab.probes.schemas import SEARCH
from captionlab.reporting.documents.checklist import checklist_table
from captionlab.reporting.documents.checklist_answers import Known, questions
from captionlab.reporting.documents.costs import COSTS
from captionlab.reporting.documents.facts import counts, parameters, validated
from captionlab.reporting.tables.formats.csv import read_records
from captionlab.reporting.tables.formats.files import write_table_files
from captionlab.storage import paths
from captionlab.storage.files import read_yaml
from captionlab.storage.schemas import COMPARISONS
from captionlab.storage.tables import read_table
from captionlab.study.schemas import PARTICIPANTS


def lines_of(files: list[str]) -> int | None:
    """Return the number of lines of files that are not empty; None without files."""
    texts = [Path(path).read_text(encoding="utf-8") for path in files]
    return sum(bool(line.strip()) for text in texts for line in text.splitlines()) if texts else None


@script
def main(snakemake):
    inputs, params = snakemake.input, snakemake.params
    run = {"commit": commit(), **params.provenance}
    trained = [model for model in params.models if model["job"]]
    logs = dict(
        zip((f"{m['section']}/{m['name']}" for m in trained), zip(trained, inputs.training, strict=True), strict=True)
    )
    known = Known(
        models=params.models,
        parameters=[parameters(path) for path in inputs.weights],
        validated={name: validated(path, model["select"]) for name, (model, path) in logs.items()},
        seeds=params.seeds,
        corpora=params.corpora,
        counts={
            paths.owner_of(of_corpus[0]): counts(*of_corpus)
            for of_corpus in zip(inputs.images, inputs.captions, inputs.rejects, strict=True)
        },
        costs=read_table(inputs.costs, COSTS).to_pylist(),
        training_rules=params.training_rules,
        comparisons=read_table(inputs.comparisons, COMPARISONS).to_pylist(),
        evaluations=params.evaluations,
        decodings=params.decodings,
        metrics=params.metrics,
        searches={paths.owner_of(path): read_table(path, SEARCH).to_pylist() for path in inputs.searches},
        validity=[row for path in inputs.validity for row in read_records(path)],
        claims=[row for path in inputs.claims for row in read_records(path)],
        papers=params.papers,
        participants={paths.owner_of(path): read_table(path, PARTICIPANTS).to_pylist() for path in inputs.participants},
        excluded_images=lines_of(inputs.excluded),
        judgements=params.judgements,
        software=read_yaml(inputs.software),
        run=run,
    )
    write_table_files(checklist_table(questions(known), run), snakemake.output.tables)
