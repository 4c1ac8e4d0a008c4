"""A table as an HTML page."""

import base64
import html as html_escapes
from collections.abc import Mapping, Sequence
from itertools import zip_longest

from captionlab.reporting.tables.formats.columns import SCRIPT
from captionlab.reporting.tables.formats.page import html_page
from captionlab.reporting.tables.render import Block, Cell, Column, Link, Table, groups_of, notes_of, remarks_of


def html(table: Table) -> str:
    """Return a self-contained HTML page with the table, its caption and its notes. How the table was made is folded."""
    notes, escape = notes_of(table), html_escapes.escape
    firsts = {start for start, group, _ in groups_of(table.columns) if group}
    classes = [_classes(column, index in firsts) for index, column in enumerate(table.columns)]
    named = table.places()
    parts = [
        f'<div class="scroll" role="region" aria-label="{escape(table.title)}" tabindex="0">\n<table>',
        f"<caption>{escape(table.description)}</caption>\n<thead>",
        *_head(table, classes),
        "</thead>",
    ]
    for block in table.blocks:
        parts.append("<tbody>")
        if block.heading:
            parts.append(f'<tr><th colspan="{len(table.columns)}" scope="rowgroup">{_heading(block)}</th></tr>')
        for first, *others in block.rows:
            cells = (
                f"<td{of_column}{_value(cell)}{_id(cell, named)}>{content(cell, notes)}</td>"
                for of_column, cell in zip(classes[1:], others, strict=True)
            )
            parts.append(f'<tr><th scope="row"{_value(first)}>{content(first, notes)}</th>{"".join(cells)}</tr>')
        parts.append("</tbody>")
    parts += ["</table>", "</div>", *below(table, notes)]
    return html_page(table.title, "\n".join(parts), script=f"{SCRIPT}\n")


def content(cell: Cell, notes: Mapping[str, str]) -> str:
    """Return the HTML of a cell's content. The text comes first, then the mark of its note, then the detail."""
    escape = html_escapes.escape
    lines = zip_longest(cell.text.split("\n"), cell.links, fillvalue=())
    text = "\n".join(escape(str(line)) + _links(links) for line, links in lines) if cell.links else escape(cell.text)
    text = f"<strong>{text}</strong>" if cell.best else text
    if cell.link:
        text = f'<a class="beside" href="{escape(cell.link)}" title="the captions behind this">{text}</a>'
    mark = f"<sup>{notes[cell.note]}</sup>" if cell.note else ""
    return text + mark + (f"<small>{escape(cell.detail)}</small>" if cell.detail else "")


def _links(links: Sequence[Link]) -> str:
    escape = html_escapes.escape
    shown = (
        f'<a class="beside" href="{escape(one.address)}" title="{escape(one.title)}">{escape(one.text)}</a>'
        for one in links
    )
    return f' <span class="links">\N{RIGHTWARDS ARROW} {", ".join(shown)}</span>' if links else ""


def below(table: Table, notes: Mapping[str, str]) -> list[str]:
    """Return the HTML below a table: its notes and, folded, how it was made."""
    escape = html_escapes.escape
    lines = [f"<li><sup>{letter}</sup> {escape(note)}</li>" for note, letter in notes.items()]
    lines += [f"<li>{escape(note)}</li>" for note in remarks_of(table)]
    made = [f"<li>{escape(note)}</li>" for note in table.made]
    folded = ['<details class="made">', "<summary>How it was made</summary>", "<ul>", *made, "</ul>", "</details>"]
    return [*(['<ul class="notes">', *lines, "</ul>"] if lines else []), *(folded if made else [])]


def _head(table: Table, classes: list[str]) -> list[str]:
    """Return the rows of the head: groups, if there are any, above the columns."""
    grouped = any(column.group for column in table.columns)
    upper, lower = list[str](), list[str]()
    for start, group, count in groups_of(table.columns):
        span = ' rowspan="2"' if grouped and not group else ""
        headings = [
            f'<th scope="col" data-column="{index}"{classes[index]}{span}>'
            f"{content(Cell(column.heading, column.detail), {})}</th>"
            for index, column in enumerate(table.columns[start : start + count], start)
        ]
        if group:
            place = f'data-first="{start}" data-end="{start + count}"'
            upper.append(
                f'<th colspan="{count}" scope="colgroup" class="first" {place}>{html_escapes.escape(group)}</th>'
            )
        (lower if group else upper).extend(headings)
    return [f"<tr>{''.join(row)}</tr>" for row in (upper, lower) if row]


def _heading(block: Block) -> str:
    heading = html_escapes.escape(block.heading)
    if not block.image:
        return heading
    picture = base64.b64encode(block.image).decode("ascii")
    return f'<img src="data:image/png;base64,{picture}" alt="">{heading}'


def _classes(column: Column, first: bool) -> str:
    names = ["number" if column.numeric else "text", *["first"] * first, *["paper"] * column.of_paper]
    return f' class="{" ".join(names)}"'


def _value(cell: Cell) -> str:
    return "" if cell.value is None else f' data-value="{cell.value:.12g}"'


def _id(cell: Cell, named: Mapping[str, Cell]) -> str:
    """Return the id attribute of a number's cell. If two cells have the same place, only the first has an id."""
    return f' id="{html_escapes.escape(cell.place)}"' if named.get(cell.place) is cell else ""
