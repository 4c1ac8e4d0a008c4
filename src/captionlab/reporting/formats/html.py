"""A table as a page of HTML."""

import base64
import html as html_escapes

from captionlab.reporting.render import Cell, Table, groups_of, notes_of

_STYLE = """
:root { color-scheme: light dark; --ink: #1c1f23; --soft: #5b6470; --line: #c9ced6; --head: #f3f4f6; --paper: #ffffff; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e7eb; --soft: #a3acb8; --line: #454c57; --head: #23272e; --paper: #16191d; }
}
* { box-sizing: border-box; }
body { margin: 0; padding: 2rem clamp(1rem, 4vw, 3rem); background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
h1 { font-size: 1.4rem; margin: 0 0 .5rem; text-wrap: balance; }
h2 { font-size: 1.05rem; margin: 1.5rem 0 .25rem; }
p, ul { max-width: 75ch; margin: .25rem 0 1rem; }
a { color: inherit; }
.scroll { overflow-x: auto; max-width: 100%; }
.scroll:focus-visible { outline: 2px solid var(--soft); outline-offset: 4px; }
table { border-collapse: separate; border-spacing: 0; font-variant-numeric: tabular-nums; }
caption { text-align: left; padding: 0 0 .75rem; color: var(--soft); position: sticky; left: 0;
  max-width: min(75ch, 100vw - 2 * clamp(1rem, 4vw, 3rem)); }
th, td { padding: .3rem .7rem; text-align: left; vertical-align: top; font-weight: normal; }
th.number, td.number { text-align: right; white-space: nowrap; }
thead th { background: var(--head); font-weight: 600; vertical-align: bottom; }
thead tr:first-child th { border-top: 2px solid var(--ink); }
thead tr:last-child th { border-bottom: 1px solid var(--ink); }
thead tr:first-child th[rowspan] { border-bottom: 1px solid var(--ink); }
th[scope="colgroup"] { text-align: center; border-bottom: 1px solid var(--line); }
th[scope="rowgroup"] { font-weight: 600; padding-top: .8rem; border-bottom: 1px solid var(--line); }
th[scope="rowgroup"] img { display: block; width: 240px; max-width: 100%; margin-bottom: .3rem; }
tbody th[scope="row"] { white-space: nowrap; }
td.text { min-width: 12ch; max-width: 62ch; white-space: pre-line; }
tbody tr:last-child > * { border-bottom: 1px solid var(--line); }
tbody:last-child tr:last-child > * { border-bottom: 2px solid var(--ink); }
.first { border-left: 1px solid var(--line); }
tbody th, thead tr:first-child th:first-child { position: sticky; left: 0; }
tbody th { background: var(--paper); }
small { display: block; color: var(--soft); font-size: .82em; font-weight: normal; }
.notes { color: var(--soft); font-size: .9em; padding-left: 1.2rem; margin-top: 1rem; }
""".strip()


def html(table: Table) -> str:
    """A self-contained page with the table: caption, scopes, notes; light or dark as the reader's system is."""
    notes, groups, escape = notes_of(table), list(groups_of(table.columns)), html_escapes.escape
    firsts = {start for start, group, _ in groups if group}

    def content(cell: Cell) -> str:
        mark = f"<sup>{notes[cell.note]}</sup>" if cell.note else ""
        return escape(cell.text) + mark + (f"<small>{escape(cell.detail)}</small>" if cell.detail else "")

    def classes(index: int) -> str:
        names = ["number" if table.columns[index].numeric else "text"] + ["first"] * (index in firsts)
        return f' class="{" ".join(names)}"'

    upper, lower = list[str](), list[str]()
    for start, group, count in groups:
        span = ' rowspan="2"' if firsts and not group else ""
        headings = [
            f'<th scope="col"{classes(index)}{span}>{content(Cell(column.heading, column.detail))}</th>'
            for index, column in enumerate(table.columns[start : start + count], start)
        ]
        if group:
            upper.append(f'<th colspan="{count}" scope="colgroup" class="first">{escape(group)}</th>')
        (lower if group else upper).extend(headings)
    parts = [
        f'<div class="scroll" role="region" aria-label="{escape(table.title)}" tabindex="0">\n<table>',
        f"<caption>{escape(table.description)}</caption>\n<thead>",
        *(f"<tr>{''.join(row)}</tr>" for row in (upper, lower) if row),
        "</thead>",
    ]
    for block in table.blocks:
        parts.append("<tbody>")
        if block.heading:
            heading = escape(block.heading)
            if block.image:
                picture = base64.b64encode(block.image).decode("ascii")
                heading = f'<img src="data:image/png;base64,{picture}" alt="{heading}">{heading}'
            parts.append(f'<tr><th colspan="{len(table.columns)}" scope="rowgroup">{heading}</th></tr>')
        for first, *others in block.rows:
            cells = (f"<td{classes(index)}>{content(cell)}</td>" for index, cell in enumerate(others, start=1))
            parts.append(f'<tr><th scope="row">{content(first)}</th>{"".join(cells)}</tr>')
        parts.append("</tbody>")
    parts += ["</table>", "</div>"]
    below = [f"<li><sup>{letter}</sup> {escape(note)}</li>" for note, letter in notes.items()]
    below += [f"<li>{escape(note)}</li>" for note in table.footnotes]
    if below:
        parts += ['<ul class="notes">', *below, "</ul>"]
    return html_page(table.title, "\n".join(parts))


def html_page(title: str, body: str) -> str:
    """A self-contained page around a body that is already HTML."""
    title = html_escapes.escape(title)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>\n{_STYLE}\n</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n"
        f"{body}\n</main>\n</body>\n</html>\n"
    )
