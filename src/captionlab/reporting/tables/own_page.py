"""The page on which a reader chooses rows, columns and form of an own table, and copies the table or its choice."""

import json
from collections.abc import Mapping
from typing import Any

from captionlab.config.own_tables import WIDTHS
from captionlab.reporting.runs.links import PAGE
from captionlab.reporting.tables import own_table
from captionlab.reporting.tables.best import BETTER
from captionlab.reporting.tables.evaluation_table import metrics_of
from captionlab.reporting.tables.footnotes import OVER_IMAGES, footnotes_of_run, run_notes, titled
from captionlab.reporting.tables.formats.latex import printed_characters
from captionlab.reporting.tables.own_table import PLACE, Numbers
from captionlab.reporting.tables.render import BEST
from captionlab.reporting.tables.sheets import PROVENANCE
from captionlab.reporting.templates import template

VALUES = (*PLACE, "split", "decoding", "value", "ci_low", "ci_high", "seeds", "n")
DIFFERENCES = (*PLACE, "against", "difference", "ci_low", "ci_high", "p_holm", "seeds")


def make_table_page(numbers: Numbers, provenance: Mapping[str, Any]) -> str:
    """Return the page. The numbers are in it in full precision, so that it needs no other file."""
    written, printed = printed_characters()
    caveats = provenance.get("caveats", [])
    made = {key: provenance.get(key) for key in PROVENANCE} | ({"caveats": "; ".join(caveats)} if caveats else {})
    data = {
        "values": {"columns": VALUES, "rows": [[row[name] for name in VALUES] for row in numbers.summary]},
        "differences": {
            "columns": DIFFERENCES,
            "rows": [[row[name] for name in DIFFERENCES] for row in numbers.comparisons],
        },
        "published": [[*place, text] for place, text in numbers.published.items()],
        "metrics": metrics_of(numbers.summary),
        "better": BETTER,
        "humans": numbers.humans,
        "widths": WIDTHS,
        "marks": own_table.MARKS,
        "made": made,
        "notes": {
            "intervals": OVER_IMAGES,
            "differences": own_table.OF_DIFFERENCES,
            "published": f"{own_table.OF_PAPERS} {own_table.CONTEXT}" if numbers.context else own_table.OF_PAPERS,
            "missing": own_table.NOT_MEASURED,
            "run": footnotes_of_run(provenance),
            "best": BEST,
        },
        "latex": {"written": written, "printed": printed},
        "captions": PAGE,
    }
    # A "<" in a name would end the script that the data stand in.
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    title = titled("Make your own table", caveats)
    return template("make_table.html.jinja").render(title=title, data=text, made=run_notes(provenance))
