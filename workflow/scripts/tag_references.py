"""Find words, lemmas and parts of speech of the references of the evaluated split of a corpus."""

from captionlab.jobs.progress import progress
from captionlab.jobs.scripting import script
from captionlab.storage.schemas import CAPTIONS, IMAGES, TAGGED
from captionlab.storage.tables import read_table, write_table
from captionlab.texts.tagging import load_tagger, tag


@script
def main(snakemake):
    images = read_table(snakemake.input.images, IMAGES, ["image_id", "split"]).to_pylist()
    here = {row["image_id"] for row in images if row["split"] == snakemake.params.split}
    references = [row for row in read_table(snakemake.input.captions, CAPTIONS).to_pylist() if row["image_id"] in here]
    tagger, texts = load_tagger(snakemake.params.tagger), [row["caption"] for row in references]
    found = list(progress(tag(tagger, texts), "references", len(texts)))
    columns = {name: [row[place] for row in found] for place, name in enumerate(("words", "lemmas", "tags"))}
    keys = {name: [row[name] for row in references] for name in ("image_id", "caption_index")}
    write_table(snakemake.output[0], TAGGED, {"corpus": [snakemake.wildcards.corpus] * len(texts), **keys, **columns})
