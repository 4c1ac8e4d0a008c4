"""Read METEOR's table of paraphrases once for all jobs that score captions."""

import inspect
from pathlib import Path
from typing import Any

from pycocoevalcap.meteor.meteor import Meteor

from captionlab.evaluation.paraphrases import index_paraphrases
from captionlab.evaluation.schemas import PARAPHRASES, PHRASES
from captionlab.scripting import script
from captionlab.tables import write_table


@script
def main(snakemake: Any) -> None:
    phrases, paraphrases = index_paraphrases(Path(inspect.getfile(Meteor)).parent / "data" / "paraphrase-en.gz")
    write_table(snakemake.output.phrases, PHRASES, phrases)
    write_table(snakemake.output.paraphrases, PARAPHRASES, paraphrases)
