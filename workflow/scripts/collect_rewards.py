"""Write the table of rewards before and after trainings."""

from captionlab.jobs.provenance import commit
from captionlab.jobs.scripting import script
from captionlab.reporting.tables.formats.files import write_table_files
from captionlab.reporting.tables.rewards import change_of, rewards_table
from captionlab.storage import paths
from captionlab.storage.schemas import REWARDS
from captionlab.storage.tables import read_metadata, read_table


@script
def main(snakemake):
    tables, params = snakemake.input.rewards, snakemake.params
    changes = {paths.owner_of(path): change_of(read_table(path, REWARDS).to_pylist(), params.seed) for path in tables}
    provenance = {"commit": commit(), **params.provenance, **read_metadata(tables[0])}
    write_table_files(rewards_table(changes, params.trainings, provenance), snakemake.output.tables)
