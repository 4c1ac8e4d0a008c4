"""Write the captions that a model compared, with its answers and reasons, as a table with images."""

from captionlab.comparisons.images import first_captions
from captionlab.comparisons.schemas import PREFERENCES
from captionlab.images.locations import LOCATION
from captionlab.jobs.provenance import commit
from captionlab.jobs.scripting import script
from captionlab.reporting.tables.comparisons_table import SHOWN, Shown, pairs_table
from captionlab.reporting.tables.formats.files import write_table_files
from captionlab.reporting.tables.thumbnails import thumbnail
from captionlab.storage.schemas import IMAGES
from captionlab.storage.tables import read_metadata, read_table


@script
def main(snakemake):
    input, params = snakemake.input, snakemake.params
    rows = read_table(input.preferences, PREFERENCES).to_pylist()
    keys = list(dict.fromkeys((row["corpus"], row["image_id"]) for row in rows))[:SHOWN]
    files = {
        (corpus, row["image_id"]): row
        for corpus, table in zip(params.corpora, input.images, strict=True)
        for row in read_table(table, IMAGES, ["image_id", *LOCATION]).to_pylist()
    }
    texts = {name: first_captions(table) for name, table in zip(params.captioners, input.captions, strict=True)}
    shown = {
        key: Shown(thumbnail(files[key]), {name: of[key[0]][key[1]] for name, of in texts.items()}) for key in keys
    }
    here = [row for row in rows if (row["corpus"], row["image_id"]) in shown]
    provenance = {"commit": commit(), **params.provenance, "device": read_metadata(input.preferences)["device"]}
    table = pairs_table(snakemake.wildcards.comparison, params.model, here, shown, provenance)
    write_table_files(table, snakemake.output.tables)
