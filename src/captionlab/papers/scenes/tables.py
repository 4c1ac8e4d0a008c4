"""Tables of Cafagna et al. 2022: values and examples of this run, with the published numbers beside them."""

from collections import Counter
from collections.abc import Iterator

from captionlab.ablation.schemas import COVERAGE, PMI, SPLITS
from captionlab.attention.schemas import CORRELATIONS, DIFFERENCES, OVERLAPS
from captionlab.config.roles import FINETUNED
from captionlab.papers.scenes.ablation import ablation_table
from captionlab.papers.scenes.attention import attention_table, special_table
from captionlab.papers.scenes.captions import changes_table, data_table, metrics_table
from captionlab.papers.scenes.objects import objects_table, overlap_table, samples_table
from captionlab.papers.scenes.pages import Pages, read_run
from captionlab.papers.scenes.probes import PROBE_TABLES
from captionlab.papers.scenes.values import ScenesRun
from captionlab.reporting.claims.reading import Provenance, measured_on, read_rows
from captionlab.reporting.runs.values import Row
from captionlab.reporting.tables.render import Table


def _of_run(inputs: Row, params: Row, provenance: Provenance) -> Iterator[Table]:
    run, made = _run(inputs, params, provenance)
    yield metrics_table(run, made)
    yield special_table(run, made)


def _of_attention(inputs: Row, params: Row, provenance: Provenance) -> Iterator[Table]:
    run, made = _run(inputs, params, provenance)
    yield attention_table(run, read_rows(inputs["attention"], DIFFERENCES), made)


def _of_overlaps(inputs: Row, params: Row, provenance: Provenance) -> Iterator[Table]:
    run, made = _run(inputs, params, provenance)
    overlaps, correlations = read_rows(inputs["overlaps"], OVERLAPS), read_rows(inputs["correlations"], CORRELATIONS)
    yield overlap_table(run, overlaps, correlations, made)


def _of_pmi(inputs: Row, params: Row, provenance: Provenance) -> Iterator[Table]:
    run, made = _run(inputs, params, provenance)
    yield objects_table(run, read_rows(inputs["pmi"], PMI), made)


def _of_ablation(inputs: Row, params: Row, provenance: Provenance) -> Iterator[Table]:
    run, made = _run(inputs, params, provenance)
    yield ablation_table(run, read_rows(inputs["coverage"], COVERAGE), read_rows(inputs["splits"], SPLITS), made)


def _of_samples(inputs: Row, params: Row, provenance: Provenance) -> Iterator[Table]:
    (run, made), pages = _run(inputs, params, provenance), Pages(inputs, params)
    samples = Counter((row["split"], row["objects"]) for row in pages.captions[FINETUNED] if row["objects"])
    yield samples_table(run, Counter(pages.splits.values()), samples, made)


def _of_captions(inputs: Row, params: Row, provenance: Provenance) -> Iterator[Table]:
    (run, made), pages = _run(inputs, params, provenance), Pages(inputs, params)
    yield data_table(run, *pages.examples, pages.pictures, made)
    yield changes_table(run, pages.changes, pages.pictures, pages.objects, made)


def _of_probes(inputs: Row, params: Row, provenance: Provenance) -> Iterator[Table]:
    (run, made), pages = _run(inputs, params, provenance), Pages(inputs, params)
    yield from (table(run, pages.probed, made) for table in PROBE_TABLES)


TABLES = (_of_run, _of_attention, _of_overlaps, _of_pmi, _of_ablation, _of_samples, _of_captions, _of_probes)


def _run(inputs: Row, params: Row, provenance: Provenance) -> tuple[ScenesRun, Provenance]:
    return read_run(inputs, params), measured_on(provenance, inputs["values"])
