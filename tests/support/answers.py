"""The table of bad input: what a user may do wrong, and the sentence that they get for it.

`tests/bad_input.md` is made from the tests that get these sentences: `pytest -n 0 --update-answers` writes the rows of
the tests that it runs anew. Without the option the test and the input of each row must be there.
"""

import re
from pathlib import Path

TABLE = Path(__file__).parents[1] / "bad_input.md"
HEAD = """# What is said to bad input

Made from the tests by `pytest -n 0 --update-answers`; `…` stands for the folder that a test works in.

| test | input | answer |
|---|---|---|
"""


class Answers:
    """Holds the answers that one test gets against the table, or writes them there."""

    def __init__(self, test: str, folder: Path, update: bool):
        self.test, self.folder, self.update = test, folder, update

    def hold(self, given: str, message: object, names: str) -> str:
        """Return the sentence of a message that names a file, row or key. The table lists it beside the input.

        A message may list mistakes, a line each that begins with a dash; each of them is a sentence of its own.
        """
        lines = [line.strip() for line in str(message).replace(str(self.folder), "…").splitlines() if line.strip()]
        mistakes = [line.removeprefix("- ") for line in lines if line.startswith("- ")] or [" ".join(lines)]
        answer = next((mistake for mistake in mistakes if names in mistake), "")
        assert answer, f"{given}: {mistakes} do not name {names}"
        assert "Traceback" not in answer
        key, there = (self.test, _cell(given)), rows()
        if self.update:
            write({**there, key: _cell(answer)})
        else:
            assert key in there, f"{given}: not in {TABLE.name}; look at {answer!r}, then pytest -n 0 --update-answers"
        return answer


def rows() -> dict[tuple[str, str], str]:
    """Return the answers in the table by test and input."""
    lines = TABLE.read_text(encoding="utf-8").splitlines() if TABLE.is_file() else []
    cells = [re.split(r"(?<!\\) \| ", line[2:-2]) for line in lines if line.startswith("| ")][1:]
    return {(test, given): answer for test, given, answer in cells}


def write(answers: dict[tuple[str, str], str]) -> None:
    """Write the table with these answers by test and input."""
    lines = [f"| {test} | {given} | {answer} |\n" for (test, given), answer in sorted(answers.items())]
    TABLE.write_text(HEAD + "".join(lines), encoding="utf-8")


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())
