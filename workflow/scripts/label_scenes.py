"""Label images of a corpus with the scenes that they depict: the nouns of their scene captions or references."""

from captionlab.ablation.scene_labels import frequent_scenes, images_of_scenes, label_scenes, scene_nouns, stop_words
from captionlab.ablation.schemas import CHOSEN, LABELS
from captionlab.jobs.progress import progress
from captionlab.jobs.scripting import script
from captionlab.storage.schemas import CAPTIONS, IMAGES, SCENE_CAPTIONS
from captionlab.storage.tables import read_table, write_table
from captionlab.texts.tagging import load_tagger, tag


@script
def main(snakemake):
    params = snakemake.params
    kind = SCENE_CAPTIONS if params.config["table"] == "scene_captions" else CAPTIONS
    table = read_table(snakemake.input.captions, kind, ["image_id", "caption"])
    tagged = progress(tag(load_tagger(params.tagger), table["caption"].to_pylist()), "captions", table.num_rows)
    stopped = stop_words()
    nouns = [scene_nouns(*of_caption, stopped) for of_caption in tagged]
    if not any(nouns):
        raise ValueError(
            f"{snakemake.input.captions}: none of the {table.num_rows} captions has a noun, so no image has a scene; "
            "scene_analysis.corpus or scene_analysis.labels.table must be captions that say where an image is"
        )
    labels = label_scenes(zip(table["image_id"].to_pylist(), nouns, strict=True))
    images = read_table(snakemake.input.images, IMAGES, ["image_id", "split"]).to_pydict()
    split = dict(zip(images["image_id"], images["split"], strict=True))
    rows = [(image, split[image], *item) for image, found in labels.items() for item in sorted(found.items())]
    write_table(snakemake.output.labels, LABELS, [dict(zip(LABELS.columns, row, strict=True)) for row in rows])
    min_count = params.config["min_captions"]
    chosen = params.config.get("names") or frequent_scenes(labels, params.config["number"], min_count)
    depicting = images_of_scenes(labels, chosen, min_count)
    rows = [{"scene": name, "rank": rank, "images": len(depicting[name])} for rank, name in enumerate(chosen, 1)]
    write_table(snakemake.output.chosen, CHOSEN, rows)
