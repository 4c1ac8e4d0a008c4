"""HTML page of the table of claims: a card for each claim, and counts of verdicts that filter the cards."""

from collections import Counter, defaultdict
from collections.abc import Mapping

from captionlab.reporting.claims.claim_verdicts import VERDICTS
from captionlab.reporting.tables.render import MISSING, Block, Table, Value, notes_of, remarks_of
from captionlab.reporting.templates import template

# A sign for each verdict, so that a verdict can be told without its colour.
SIGNS = {"holds": "✓", "mixed": "±", "does not hold": "✗", "cannot tell": "?", "not tested in this run": MISSING}


def claim_cards(table: Table) -> str:
    """Return a self-contained HTML page of the table made by `claims_table`. Without its script all cards are shown."""
    counts = Counter(str(record["verdict"]) for record in table.records)
    claims = {(record["paper"], record["claim"]): record for record in table.records}
    papers = defaultdict[Value, list[tuple[Mapping[str, Value], Block]]](list)
    for claim, block in zip(claims.values(), table.blocks, strict=True):
        papers[claim["paper"]].append((claim, block))
    return template("claims.html.jinja").render(
        title=table.title,
        table=table,
        counts={verdict: counts[verdict] for verdict in VERDICTS if counts[verdict]},
        signs=SIGNS,
        papers=papers,
        notes=notes_of(table),
        remarks=remarks_of(table),
    )
