"""HTML page of the table of claims: a card for each claim, and counts of verdicts that filter the cards."""

import html
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby

from captionlab.reporting.claims.claim_verdicts import VERDICTS
from captionlab.reporting.tables.formats.html import below, content
from captionlab.reporting.tables.formats.page import html_page
from captionlab.reporting.tables.render import MISSING, Block, Cell, Table, notes_of

# A sign for each verdict, so that a verdict can be told without its colour.
SIGNS = {"holds": "✓", "mixed": "±", "does not hold": "✗", "cannot tell": "?", "not tested in this run": MISSING}
_COLOURS = {"holds": "--good", "mixed": "--mixed", "does not hold": "--bad"}
_RULES = "".join(f'[data-verdict="{verdict}"] {{ --tone: var({name}); }}\n' for verdict, name in _COLOURS.items())
_STYLE = f"""
.counts {{ list-style: none; padding: 0; max-width: none; display: flex; flex-wrap: wrap; gap: .5rem; margin: 1rem 0; }}
.counts li, .counts button {{ border: 1px solid var(--line); border-radius: 1rem; padding: .2rem .8rem;
  background: none; }}
.counts li:has(button) {{ border: 0; padding: 0; }}
.counts button[aria-pressed="true"] {{ border-color: var(--accent); box-shadow: inset 0 0 0 1px var(--accent); }}
.counts b, .verdict {{ color: var(--tone, var(--soft)); font-weight: 600; }}
.claim {{ border: 1px solid var(--line); border-radius: 6px; padding: 1rem 1.1rem; margin: 1rem 0; max-width: 56rem; }}
.claim .where {{ color: var(--soft); font-size: .85em; margin: 0; }}
.judged {{ border-left: 3px solid var(--tone, var(--line)); padding-left: .8rem; margin-top: .8rem; }}
.judged p {{ margin: 0; }}
.judged dl {{ margin: .4rem 0 0; font-size: .92em; }}
.judged dt {{ color: var(--soft); }}
.judged dd {{ margin: 0 0 .5rem; white-space: pre-line; overflow-wrap: anywhere; }}
.judged summary {{ color: var(--soft); font-size: .92em; }}
{_RULES}"""
_SCRIPT = """
const items = [...document.querySelectorAll(".counts li")], chosen = new Set();
for (const item of items) {
  const button = document.createElement("button"), { verdict } = item.dataset;
  button.type = "button";
  button.setAttribute("aria-pressed", "false");
  button.append(...item.childNodes);
  button.addEventListener("click", () => {
    if (!chosen.delete(verdict)) chosen.add(verdict);
    button.setAttribute("aria-pressed", String(chosen.has(verdict)));
    for (const part of document.querySelectorAll(".judged")) {
      part.hidden = chosen.size > 0 && !chosen.has(part.dataset.verdict);
    }
    for (const outer of [...document.querySelectorAll(".claim"), ...document.querySelectorAll(".paper")]) {
      outer.hidden = !outer.querySelector(".judged:not([hidden])");
    }
  });
  item.append(button);
}
"""


def claim_cards(table: Table) -> str:
    """Return a self-contained HTML page of the table made by `claims_table`. Without its script all cards are shown."""
    notes, escape = notes_of(table), html.escape
    counts = Counter(str(record["verdict"]) for record in table.records)
    parts = [f'<p class="description">{escape(table.description)}</p>', "<p>Verdicts:</p>", '<ul class="counts">']
    parts += [
        f'<li data-verdict="{verdict}"><b>{SIGNS[verdict]} {counts[verdict]}</b> {verdict}</li>'
        for verdict in VERDICTS
        if counts[verdict]
    ]
    parts.append("</ul>")
    claims = list(dict.fromkeys((r["paper"], r["claim"], r["section"], r["statement"]) for r in table.records))
    for paper, of_paper in groupby(zip(claims, table.blocks, strict=True), key=lambda one: str(one[0][0])):
        parts += ['<section class="paper">', f"<h2>{escape(paper)}</h2>"]
        for (_, name, section, statement), block in of_paper:
            parts += [
                f'<article class="claim" id="{escape(f"{paper}-{name}")}">',
                f'<p class="where">section {escape(str(section))}</p>',
                f"<h3>{escape(str(statement))}</h3>",
                *_judged(block, notes),
                "</article>",
            ]
        parts.append("</section>")
    return html_page(table.title, "\n".join([*parts, *below(table, notes)]), style=_STYLE, script=_SCRIPT)


def _judged(block: Block, notes: Mapping[str, str]) -> list[str]:
    """Return the HTML of each scope of a claim: its verdict, how many comparisons agree, and the folded evidence."""
    parts = []
    for scope, verdict, count, evidence, smallest in block.rows:
        counted = f"; as claimed: {content(count, notes)}" if count.text else ""
        parts += [
            f'<div class="judged" data-verdict="{verdict.text}">',
            f'<p><span class="verdict">{SIGNS[verdict.text]} {content(verdict, notes)}</span>: '
            f"{content(scope, notes)}{counted}</p>",
            *_evidence((evidence, smallest), notes),
            "</div>",
        ]
    return parts


def _evidence(cells: Sequence[Cell], notes: Mapping[str, str]) -> list[str]:
    if not any(cell.text for cell in cells):
        return []
    named = zip(("Evidence", "Could show"), cells, strict=True)
    lines = [f"<dt>{name}</dt><dd>{content(cell, notes)}</dd>" for name, cell in named if cell.text]
    return ["<details>", "<summary>Evidence</summary>", f"<dl>{''.join(lines)}</dl>", "</details>"]
