"""Put this run's numbers and examples into the tables of the scenes paper, the published ones beside them."""

from collections import Counter
from typing import Any

from captionlab.ablation.schemas import COVERAGE, INFORMATION, SPLITS
from captionlab.attention.schemas import CORRELATIONS, DIFFERENCES, OVERLAPS
from captionlab.papers.scenes.ablation import (
    ablation_table,
    attention_table,
    examples_table,
    shown_samples,
    special_table,
)
from captionlab.papers.scenes.examples import data_table, drawn_examples
from captionlab.papers.scenes.objects import metrics_table, objects_table, overlap_table, samples_table
from captionlab.papers.scenes.pages import (
    ablated_objects,
    read_captions,
    read_described,
    read_pictures,
    read_probed,
    read_run,
    read_splits,
)
from captionlab.papers.scenes.probes import (
    classes_table,
    classifiers_table,
    object_probes_table,
    probes_table,
    splits_table,
)
from captionlab.provenance import commit
from captionlab.reporting.render import write_table_files
from captionlab.scripting import run
from captionlab.tables import Kind, read_metadata, read_table


def main(snakemake: Any) -> None:
    params, paths = snakemake.params, snakemake.input
    provenance = {"commit": commit(), **params.provenance, **read_metadata(paths.values)}
    scenes = read_run(paths.values, paths.differences, paths.published, params.config["comparable"], params.job)
    captions = read_captions(paths.captions)
    objects = ablated_objects(captions)
    described = (read_described(path[0]) for path in (paths.object_captions, paths.scene_captions))
    splits = read_splits(paths.images[0], paths.training_images[0])
    examples = drawn_examples(captions, *described, splits, params.seed)
    shown = [row["image_id"] for row in shown_samples(captions["finetuned"], objects)]
    pictures = read_pictures(paths.images[0], [*shown, *(one.image for of_place in examples for one in of_place)])
    probed = read_probed(paths.encodings[0], splits)
    samples = Counter((row["split"], row["objects"]) for row in captions["finetuned"] if row["objects"])
    made = [
        metrics_table(scenes, provenance),
        overlap_table(scenes, rows(paths.overlaps, OVERLAPS), rows(paths.correlations, CORRELATIONS), provenance),
        objects_table(scenes, rows(paths.information, INFORMATION), provenance),
        probes_table(scenes, probed, provenance),
        samples_table(scenes, Counter(splits.values()), samples, provenance),
        classifiers_table(scenes, probed, provenance),
        splits_table(scenes, probed, provenance),
        data_table(scenes, *examples, pictures, provenance),
        attention_table(scenes, rows(paths.attention, DIFFERENCES), provenance),
        special_table(scenes, provenance),
        ablation_table(scenes, rows(paths.coverage, COVERAGE), rows(paths.splits, SPLITS), provenance),
        examples_table(scenes, captions, pictures, objects, provenance),
        classes_table(scenes, probed, provenance),
        object_probes_table(scenes, probed, provenance),
    ]
    for table in made:
        write_table_files(table, [path for path in snakemake.output if f"/{table.name}." in str(path)])


def rows(path: str, kind: Kind) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = read_table(path, kind).to_pylist()
    return found


if __name__ == "__main__":
    run(main, globals())
