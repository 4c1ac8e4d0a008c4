"""Measure the conditions that must hold in a run for its experiments to be meaningful."""

from functools import partial

from captionlab.jobs.provenance import commit
from captionlab.jobs.scripting import script
from captionlab.reporting.claims import validity
from captionlab.reporting.claims.validity_of_captions import Learned, variety_findings, word_findings
from captionlab.reporting.tables.formats.csv import read_records
from captionlab.reporting.tables.formats.files import write_table_files
from captionlab.reporting.tables.rewards import change_of
from captionlab.scorers.schemas import MATCHING
from captionlab.storage import paths
from captionlab.storage.schemas import CAPTIONS, GENERATED, OBJECTS, REWARDS, SUMMARY
from captionlab.storage.tables import read_table
from captionlab.study.schemas import ACCURACY


def by_owner(tables: list[str]) -> dict[str, str]:
    """Return tables by the corpus, scorer or group of participants that they are about."""
    return {paths.owner_of(path): path for path in tables}


@script
def main(snakemake):
    inputs, params = snakemake.input, snakemake.params
    summary = read_table(inputs.summary, SUMMARY).to_pylist()
    accuracy = {name: read_table(path, ACCURACY).to_pylist() for name, path in by_owner(inputs.accuracy).items()}
    matching = {
        name: read_table(path, MATCHING).to_pylist() for name, path in zip(params.scorers, inputs.matching, strict=True)
    }
    changes = {
        name: change_of(read_table(path, REWARDS).to_pylist(), params.seed)
        for name, path in by_owner(inputs.rewards).items()
    }
    claims = [row for path in inputs.claims for row in read_records(path)]
    # Tables are read one at a time, when they are asked for: together they may not fit into memory.
    captions = {paths.captioner_of(path): partial(read_table, path, GENERATED) for path in inputs.captions}
    references = {corpus: partial(read_table, path, CAPTIONS) for corpus, path in by_owner(inputs.references).items()}
    objects = {corpus: partial(read_table, path, OBJECTS) for corpus, path in by_owner(inputs.objects).items()}
    notes: list[str] = []
    findings = [
        *validity.retrieval_findings(summary, params.corpus, params.humans, params.rewarding),
        *variety_findings(captions, Learned(params.learned, references, objects, params.toyworld), params.seed, notes),
        *validity.reward_findings(changes, params.rewarded),
        *validity.participants_findings(accuracy, params.study_human),
        *validity.matching_findings(matching),
        *word_findings(captions, references, params.seed),
        *validity.power_findings(claims),
    ]
    notes += validity.power_notes(claims)
    table = validity.validity_table(findings, notes, {"commit": commit(), **params.provenance})
    write_table_files(table, snakemake.output.tables)
