"""Measure roles and constructed captions: means over seeds with intervals, and differences."""

from captionlab.evaluation.metrics.nlg import NLG
from captionlab.evaluation.metrics.spice import SPICE
from captionlab.evaluation.summary import Job
from captionlab.language.schemas import CONSTRUCTED, MEASURES, PATTERNS, TAGGED
from captionlab.papers.probing.constructed import constructed_rows
from captionlab.papers.probing.paper import REFERENCE
from captionlab.papers.probing.roles import PrintedScorer, between_rows, captioner_results, pattern_rows
from captionlab.reporting.reading import Rows, read_by, read_rows
from captionlab.reporting.roles import difference_rows, value_rows
from captionlab.reporting.runs import Row
from captionlab.schemas import ALIGNMENT
from captionlab.tables import read_table

OF_CAPTIONERS = {"alignment": ALIGNMENT, "nlg": NLG, "measures": MEASURES, "tags": TAGGED, "spice": SPICE}
OF_CONSTRUCTED = ("constructions", "constructed", "originals")


def summarise(inputs: Row, params: Row) -> tuple[Rows, Rows, list[str]]:
    """Rows of values and of differences, and the tables that know the device of what they were measured on."""
    roles, parents, seed = params["roles"], params["parents"], params["seed"]
    scorers = {name: PrintedScorer(**printed) for name, printed in params["scorers"].items()}
    results = {}
    for number, captioner in enumerate(params["captioners"]):
        tables = {name: read_table(inputs[name][number], kind) for name, kind in OF_CAPTIONERS.items() if inputs[name]}
        results[captioner] = captioner_results(Job(captioner, **params["job"]), scorers, seed, **tables)
    of_patterns = pattern_rows(roles, read_by(params["captioners"], inputs["patterns"], PATTERNS))
    parts = [
        (read_rows(made, CONSTRUCTED), read_rows(scores, ALIGNMENT), read_rows(original, ALIGNMENT))
        for made, scores, original in zip(*(inputs[name] for name in OF_CONSTRUCTED), strict=True)
    ]
    of_constructed = constructed_rows(parts, scorers, REFERENCE, seed)
    differences = difference_rows(roles, results, REFERENCE, parents, params["rewards"])
    between = between_rows(roles, results, REFERENCE, parents)
    return (
        [*value_rows(roles, results), *of_patterns[0], *of_constructed[0]],
        [*differences, *between, *of_patterns[1], *of_constructed[1]],
        [path for name in ("captions", "alignment", *OF_CONSTRUCTED[1:]) for path in inputs[name]],
    )
