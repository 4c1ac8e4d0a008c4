"""Delimited files of PsychoPy, which puts quotes around some cells and leaves quotes inside these cells as they are."""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from heapq import nsmallest
from pathlib import Path
from typing import NamedTuple

from captionlab.userfiles.delimited import SEPARATORS
from captionlab.userfiles.reading import GivenError

# Words between quotes, of which the first does not follow a word and the second does not precede a word or bracket.
_QUOTATION = re.compile(r'(?<![^\W_]|[.,;:!?)\]}])"(?=[^\s"])[^"]*[^\W_][^"]*(?<=[^\s"])"(?![^\W_]|[(\[{])')


class _Division(NamedTuple):
    """The cells of a row, and the number of cells in which not every quote has a counterpart."""

    unpaired: int
    cells: tuple[str, ...]


def is_unescaped(text: str) -> bool:
    """Return whether a separator ends the header of a file, as PsychoPy writes every row and no spreadsheet does."""
    return text.partition("\n")[0].removesuffix("\r").endswith(tuple(SEPARATORS))


def unescaped(path: str | Path, text: str) -> Iterator[tuple[str, dict[str, str | None]]]:
    """Yield each row of a file as a dict with its position for messages; `text` is the text of the file.

    PsychoPy (ExperimentHandler.saveAsWideText) writes a separator after every cell. It puts quotes around a cell if the
    cell holds a comma or a line break, whatever the separator, and changes nothing inside the cell. If a comma
    separates the cells and several divisions of a row are possible, the division counts in which all quotes inside the
    cells come in pairs. Raises GivenError, which names the row, if this is not one division.
    """
    lines = text.rstrip("\r\n").split("\n")
    if lines[0].endswith("\r"):
        lines = [line.removesuffix("\r") for line in lines]
    mark = lines[0][-1]
    header = lines[0].removesuffix(mark).split(mark)
    start, waiting = 0, ""  # text that is no whole row yet, and the number of its first line
    for number, part in _parts(lines, mark):
        divisions = _divisions(part, mark, len(header))
        if not waiting:
            start, waiting = number, part
        elif divisions and not divisions[0].unpaired:  # a row of its own, so the text before it never becomes a row
            break
        else:
            waiting = f"{waiting}\n{part}"
            divisions = _divisions(waiting, mark, len(header))
        if divisions:
            if len(divisions) > 1 and (mark != "," or divisions[0].unpaired or not divisions[1].unpaired):
                raise GivenError(
                    f"{path}, line {start}: quotes and {mark!r} inside texts of the row that begins here allow several "
                    f"divisions into the {len(header)} columns of the header; take them out of its texts"
                )
            yield f"{path}, line {start}", dict(zip(header, divisions[0].cells, strict=True))
            waiting = ""
    if waiting:
        raise GivenError(
            f"{path}, line {start}: the row that begins here cannot be divided into the {len(header)} columns of the "
            f"header; is the file complete? Else take quotes, {mark!r} and line breaks out of the texts of the row"
        )


def _parts(lines: Sequence[str], mark: str) -> Iterator[tuple[int, str]]:
    """Yield the text up to each line that a separator ends, as every row, with the number of its first line.

    The header is left out.
    """
    part: list[str] = []
    for number, line in enumerate(lines[1:], 2):
        part.append(line)
        if line.endswith(mark) or number == len(lines):
            yield number - len(part) + 1, "\n".join(part)
            part = []


def _divisions(row: str, mark: str, columns: int) -> list[_Division]:
    """Return the two divisions of a row into cells with the fewest unpaired cells, among all that are possible."""
    *pieces, behind = row.split(mark)  # nothing may be behind the last separator
    cells_from = cache(lambda start: [(end, _unpaired(cell), cell) for end, cell in _cells(pieces, start, mark)])

    @cache
    def divisions(start: int, number: int) -> list[_Division]:
        """Return divisions of the pieces from `start` on into a number of cells."""
        if number == 0 or len(pieces) - start < number:
            return [_Division(0, ())] if number == 0 and start == len(pieces) else []
        ways = (
            _Division(unpaired + others.unpaired, (cell, *others.cells))
            for end, unpaired, cell in cells_from(start)
            for others in divisions(end, number - 1)
        )
        return nsmallest(2, ways)

    return divisions(0, columns) if not behind else []


def _unpaired(cell: str) -> bool:
    """Return whether quotes remain in a text without its quotations."""
    return '"' in _QUOTATION.sub("", cell)


def _cells(pieces: Sequence[str], start: int, mark: str) -> Iterator[tuple[int, str]]:
    """Yield the cells that may begin with a piece, and for each the number of the first piece behind it."""
    for end in range(start + 1, len(pieces) + 1):
        if (end > start + 1 and mark == ",") or _in_quotes(pieces[end - 1]):
            break
        yield end, mark.join(pieces[start:end])
    if pieces[start].startswith('"'):
        for end in range(start + 1, len(pieces) + 1):
            cell = mark.join(pieces[start:end])[1:-1] if pieces[end - 1].endswith('"') else ""
            if _in_quotes(cell):
                yield end, cell


def _in_quotes(text: str) -> bool:
    """Return whether PsychoPy puts quotes around a text."""
    return "," in text or "\n" in text
