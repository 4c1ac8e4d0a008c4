"""The tables of Cafagna et al. 2022, this run's numbers and examples with the published numbers beside them."""

from collections import Counter
from collections.abc import Iterator

from captionlab.ablation.schemas import COVERAGE, PMI, SPLITS
from captionlab.attention.schemas import CORRELATIONS, DIFFERENCES, OVERLAPS
from captionlab.papers.scenes.ablation import ablation_table
from captionlab.papers.scenes.attention import attention_table, special_table
from captionlab.papers.scenes.captions import changes_table, data_table, metrics_table
from captionlab.papers.scenes.objects import objects_table, overlap_table, samples_table
from captionlab.papers.scenes.pages import read_pages, read_run
from captionlab.papers.scenes.probes import PROBE_TABLES
from captionlab.reporting.reading import Provenance, read_rows
from captionlab.reporting.render import Table
from captionlab.reporting.runs import Row
from captionlab.roles import FINETUNED
from captionlab.tables import read_metadata


def tabulate(inputs: Row, params: Row, provenance: Provenance) -> Iterator[Table]:
    """Every table of the paper."""
    provenance = {**provenance, **read_metadata(inputs["values"])}
    run, pages = read_run(inputs, params), read_pages(inputs, params)
    samples = Counter((row["split"], row["objects"]) for row in pages.captions[FINETUNED] if row["objects"])
    overlaps, correlations = read_rows(inputs["overlaps"], OVERLAPS), read_rows(inputs["correlations"], CORRELATIONS)
    coverage, splits = read_rows(inputs["coverage"], COVERAGE), read_rows(inputs["splits"], SPLITS)
    yield metrics_table(run, provenance)
    yield overlap_table(run, overlaps, correlations, provenance)
    yield objects_table(run, read_rows(inputs["pmi"], PMI), provenance)
    yield samples_table(run, Counter(pages.splits.values()), samples, provenance)
    yield data_table(run, *pages.examples, pages.pictures, provenance)
    yield attention_table(run, read_rows(inputs["attention"], DIFFERENCES), provenance)
    yield special_table(run, provenance)
    yield ablation_table(run, coverage, splits, provenance)
    yield changes_table(run, pages.changes, pages.pictures, pages.objects, provenance)
    yield from (table(run, pages.probed, provenance) for table in PROBE_TABLES)
