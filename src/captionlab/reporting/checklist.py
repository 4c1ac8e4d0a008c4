"""What reviewers ask about experiments, answered by what a run knows: for each question a value, or why not.

The questions are those of two checklists, in our words: the Responsible NLP Research checklist of ACL Rolling Review
(A1 to E1) and the NeurIPS Paper Checklist (1 to 16).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from captionlab.reporting.render import Block, Cell, Column, Table, Value
from captionlab.reporting.sheets import PROVENANCE, table_of

RECORD_COLUMNS = ("topic", "name", "question", "of", "answered", "answer", "where", "acl", "neurips", *PROVENANCE)
NOTES = (
    "ACL: number of the question in the Responsible NLP Research checklist of ACL Rolling Review; NeurIPS: in the "
    "NeurIPS Paper Checklist. The questions are in our words; the checklists themselves say what is wanted.",
    "Answers are what this run knows: its config, its tables, and what its jobs said of themselves. What begins with "
    "'Not known' only authors can answer. Nothing here says that an answer is good enough.",
)


@dataclass(frozen=True)
class Answer:
    """What is known of a model, a corpus or the like; of the run as a whole without a name."""

    text: str
    of: str = ""

    def line(self) -> str:
        """The answer with what it is of."""
        return f"{self.of}: {self.text}" if self.of else self.text


@dataclass(frozen=True)
class Question:
    """A question, what is known, in which file, and its numbers in the checklists.

    `answered` says whether that is a value; else it is why there is none.
    """

    topic: str
    name: str  # in a word or two
    text: str
    answers: Sequence[Answer]
    where: str = ""
    acl: str = ""
    neurips: str = ""
    answered: bool = True


def unknown(topic: str, name: str, text: str, why: str, acl: str = "", neurips: str = "") -> Question:
    """A question that the run has no answer to, and why."""
    return Question(topic, name, text, [Answer(why)], "", acl, neurips, answered=False)


def checklist_table(questions: Iterable[Question], provenance: Mapping[str, Any]) -> Table:
    """A block for each topic, a row for each question; a record for each answer."""
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
