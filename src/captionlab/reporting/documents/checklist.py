"""Table of answers to the reviewing checklists, as far as the run knows them.

Each question has an answer, or the reason why there is none. The questions paraphrase the Responsible NLP Research
checklist of ACL Rolling Review (A1 to E1) and the NeurIPS Paper Checklist (1 to 16).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from captionlab.reporting.tables.render import Block, Cell, Column, Table, Value
from captionlab.reporting.tables.sheets import PROVENANCE, table_of

RECORD_COLUMNS = ("topic", "name", "question", "of", "answered", "answer", "where", "acl", "neurips", *PROVENANCE)
NOTES = (
    "ACL: number of the question in the Responsible NLP Research checklist of ACL Rolling Review; NeurIPS: in the "
    "NeurIPS Paper Checklist. The questions are in our words; the checklists themselves say what is wanted.",
    "Answers are what this run knows: its config, its tables, and what its jobs said of themselves. What begins with "
    "'Not known' only authors can answer. Nothing here says that an answer is good enough.",
)


@dataclass(frozen=True)
class Answer:
    """A fact about a model, a corpus or another item named by `of`; an empty name stands for the whole run."""

    text: str
    of: str = ""

    def line(self) -> str:
        """Return the answer, preceded by the name of the item if there is one."""
        return f"{self.of}: {self.text}" if self.of else self.text


@dataclass(frozen=True)
class Question:
    """A question, its answers, the file that has them, and the numbers of the question in the checklists.

    If `answered` is False, the answers say why there is no value.
    """

    topic: str
    name: str  # one or two words
    text: str
    answers: Sequence[Answer]
    where: str = ""
    acl: str = ""
    neurips: str = ""
    answered: bool = True


def unknown(topic: str, name: str, text: str, why: str, acl: str = "", neurips: str = "") -> Question:
    """Return a question that the run cannot answer, with the reason as its answer."""
    return Question(topic, name, text, [Answer(why)], "", acl, neurips, answered=False)


def checklist_table(questions: Iterable[Question], provenance: Mapping[str, Any]) -> Table:
    """Return the table: a block for each topic, a row for each question, and a record for each answer.

    Neighbouring questions of the same topic form a block.
    """
    asked, records = list(questions), list[dict[str, Value]]()
    blocks = []
    for topic, of_topic in groupby(asked, key=lambda question: question.topic):
        rows = []
        for question in of_topic:
            answers = ";\n".join(answer.line() for answer in question.answers)
            numbers = {"ACL": question.acl, "NeurIPS": question.neurips}
            asked_by = "; ".join(f"{who} {number}" for who, number in numbers.items() if number)
            rows.append([Cell(question.name, asked_by), Cell(answers, question.where), Cell(question.text)])
            fixed: dict[str, Value] = {"topic": topic, "name": question.name, "question": question.text}
            fixed["answered"] = question.answered
            numbered: dict[str, Value] = {"where": question.where, "acl": question.acl, "neurips": question.neurips}
            records += [{**fixed, "of": one.of, "answer": one.text, **numbered} for one in question.answers]
        blocks.append(Block(rows, topic))
    answered = sum(question.answered for question in asked)
    headings = ("asked", "answer, and where it stands", "in full")
    columns = [Column(heading, numeric=False) for heading in headings]
    description = (
        f"What reviewers ask about experiments, as far as this run knows: {answered} of {len(asked)} questions have an "
        "answer, the others say why not."
    )
    texts = ("checklist", "For reviewers: what this run did", description)
    return table_of(*texts, columns, blocks, records, RECORD_COLUMNS, NOTES, provenance)
