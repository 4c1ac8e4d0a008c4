"""Read the answers of the study, exclude participants who failed its controls, and compare the types of captions."""

from captionlab.jobs.scripting import script
from captionlab.storage.tables import read_metadata, read_table, write_table
from captionlab.study.analysis import Accuracies, agreement
from captionlab.study.responses import SIMULATED, participants, read_answers
from captionlab.study.schemas import ACCURACY, AGREEMENT, ANSWERS, PAIRWISE, PARTICIPANTS, STIMULI
from captionlab.study.stimuli import StudyError


@script
def main(snakemake):
    stimuli, output = snakemake.input.stimuli, snakemake.output
    simulated = snakemake.wildcards.participants == SIMULATED
    study = read_metadata(stimuli)["study"]
    answers = read_answers(snakemake.input.responses, study, read_table(stimuli, STIMULI).to_pylist(), simulated)
    if all(answer["excluded"] or answer["role"] != "question" for answer in answers):
        raise StudyError("no participant is left: everybody missed more than one control, or answered nothing else")
    accuracies = Accuracies(answers, snakemake.params.seed)
    for path, kind, rows in (
        (output.answers, ANSWERS, answers),
        (output.participants, PARTICIPANTS, participants(answers)),
        (output.accuracy, ACCURACY, accuracies.table()),
        (output.pairwise, PAIRWISE, accuracies.pairwise()),
        (output.agreement, AGREEMENT, agreement(answers, snakemake.params.seed)),
    ):
        write_table(path, kind, rows, {"study": study})
