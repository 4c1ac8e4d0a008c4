"""Read the answers of the study, leave out who missed its controls, and compare the types of captions."""

from typing import Any

from captionlab.scripting import run
from captionlab.study.analysis import Accuracies, agreement
from captionlab.study.responses import SIMULATED, participants, read_answers
from captionlab.study.schemas import ACCURACY, AGREEMENT, ANSWERS, PAIRWISE, PARTICIPANTS, STIMULI
from captionlab.study.stimuli import StudyError
from captionlab.tables import TableSchema, read_metadata, read_table, write_table


def main(snakemake: Any) -> None:
    stimuli, output = snakemake.input.stimuli, snakemake.output
    simulated = snakemake.wildcards.participants == SIMULATED
    study = read_metadata(stimuli)["study"]
    answers = read_answers(snakemake.input.responses, study, read_table(stimuli, STIMULI).to_pylist(), simulated)
    if all(answer["excluded"] or answer["role"] != "question" for answer in answers):
        raise StudyError("no participant is left: everybody missed more than one control, or answered nothing else")
    accuracies = Accuracies(answers, snakemake.params.seed)

    def write(path: str, kind: TableSchema, rows: list[dict[str, Any]]) -> None:
        write_table(path, kind, {name: [row[name] for row in rows] for name in kind.columns}, {"study": study})

    write(output.answers, ANSWERS, answers)
    write(output.participants, PARTICIPANTS, participants(answers))
    write(output.accuracy, ACCURACY, accuracies.table())
    write(output.pairwise, PAIRWISE, accuracies.pairwise())
    write(output.agreement, AGREEMENT, agreement(answers, snakemake.params.seed))


if __name__ == "__main__":
    run(main, globals())
