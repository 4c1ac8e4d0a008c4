"""Table of the baselines of Cafagna et al. 2023 by axis, with published numbers beside ours."""

from collections.abc import Iterator

from captionlab.papers.hl.values import MEASURES, TABLE, HlRun
from captionlab.reporting.claims.reading import Provenance, measured_on, read_measured
from captionlab.reporting.runs.values import Row
from captionlab.reporting.tables.builder import Line, Number, blocks_of, columns_of
from captionlab.reporting.tables.render import Table
from captionlab.reporting.tables.sheets import RECORD_COLUMNS, Sheet

COLUMNS = [name for name in RECORD_COLUMNS if name not in ("scorer", "experiment", "source", "level", "against")]
# Signature that the library prints for its default settings.
SIGNATURE = "SacreBLEU: case:mixed|eff:no|tok:13a|smooth:exp|version:{}."


def _baselines(inputs: Row, params: Row, provenance: Provenance) -> Iterator[Table]:
    run = HlRun(*read_measured(inputs), params["config"], params["cells"])
    yield baselines_table(run, params["versions"]["sacrebleu"], measured_on(provenance, inputs["values"]))


TABLES = (_baselines,)


def baselines_table(run: HlRun, version: str, provenance: Provenance) -> Table:
    """Return the table of metrics of each model on each axis. `version` is the version of sacrebleu."""
    sheet = Sheet(run, provenance, COLUMNS, of_roles=False)
    numbers = [Number({"measure": measure}, measure, printed=measure) for measure in MEASURES]
    lines = [Line([model], {"subject": model}, model) for model in run.models]
    blocks = blocks_of(sheet, TABLE, lines, numbers)
    sheet.notes += [SIGNATURE.format(version), *sheet.trainings_notes("a model")]
    return sheet.table(
        f"hl_{TABLE}",
        "HL: models on each axis",
        "Captions of models, each finetuned on one axis, held against what people wrote on it; on narratives against "
        "what a model made of that.",
        columns_of(["model"], numbers),
        blocks,
    )
