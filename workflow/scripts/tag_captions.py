"""Find words, lemmas and parts of speech of the captions of a captioner for an evaluation."""

from captionlab.progress import progress
from captionlab.schemas import GENERATED, TAGGED
from captionlab.scripting import script
from captionlab.tables import read_table, write_table
from captionlab.texts.tagging import load_tagger, tag


@script
def main(snakemake):
    captions = read_table(snakemake.input.captions, GENERATED, [*TAGGED.key, "caption"])
    tagger = load_tagger(snakemake.params.tagger)
    found = list(progress(tag(tagger, captions["caption"].to_pylist()), "captions", captions.num_rows))
    columns = {name: [row[place] for row in found] for place, name in enumerate(("words", "lemmas", "tags"))}
    write_table(snakemake.output[0], TAGGED, {**{key: captions[key] for key in TAGGED.key}, **columns})
