"""Judge the claims of the papers by the comparisons of this run."""

from captionlab.jobs.provenance import commit
from captionlab.jobs.scripting import script
from captionlab.plugins import module, module_of
from captionlab.reporting.claims.claim_cards import claim_cards
from captionlab.reporting.claims.claims import claims_table, read_claims
from captionlab.reporting.claims.effects import EFFECTS, main_effects
from captionlab.reporting.tables.cells import read_cells
from captionlab.reporting.tables.formats.files import write_table_files, write_text
from captionlab.storage.tables import read_metadata, write_table


@script
def main(snakemake):
    claims, evidence, cells = [], {}, {}
    for paper, params in snakemake.params.papers.items():
        start = f"{paper}_"
        given = {name.removeprefix(start): files for name, files in snakemake.input.items() if name.startswith(start)}
        claims += read_claims(given["claims"], paper)
        evidence[paper] = module(f"{module_of('papers', paper)}.evidence").evidence(given, params)
        cells[paper] = read_cells(given["cells"]) if "cells" in given else {}
    provenance = {"commit": commit(), **snakemake.params.provenance, **read_metadata(snakemake.input.summary)}
    table = claims_table(claims, evidence, provenance, cells)
    write_table_files(table, snakemake.output.tables)
    write_text(snakemake.output.page, claim_cards(table))
    write_table(snakemake.output.effects, EFFECTS, main_effects(claims, evidence))
