"""The tables of Cafagna et al. 2022, this run's numbers and examples with the published numbers beside them."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from captionlab.ablation.schemas import COVERAGE, PMI, SPLITS
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
from captionlab.reporting.render import Table
from captionlab.tables import TableSchema, read_metadata, read_table

Given = Mapping[str, Any]


def tabulate(inputs: Given, params: Given, provenance: Given) -> Iterator[Table]:
    """Every table of the paper."""
    provenance = {**provenance, **read_metadata(inputs["values"])}
    scenes = read_run(inputs, params)
    captions = read_captions(inputs["captions"])
    objects = ablated_objects(captions)
    of_objects, of_scenes = (read_described(inputs[name][0]) for name in ("object_captions", "scene_captions"))
    splits = read_splits(inputs["images"][0], inputs["training_images"][0])
    examples = drawn_examples(captions, of_objects, of_scenes, splits, params["seed"])
    shown = [row["image_id"] for row in shown_samples(captions["finetuned"], objects)]
    wanted = [*shown, *(one.image for of_place in examples for one in of_place)]
    pictures = read_pictures(inputs["images"][0], wanted)
    probed = read_probed(inputs["encodings"][0], splits)
    samples = Counter((row["split"], row["objects"]) for row in captions["finetuned"] if row["objects"])

    def rows(name: str, kind: TableSchema) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = read_table(inputs[name], kind).to_pylist()
        return found

    yield metrics_table(scenes, provenance)
    yield overlap_table(scenes, rows("overlaps", OVERLAPS), rows("correlations", CORRELATIONS), provenance)
    yield objects_table(scenes, rows("pmi", PMI), provenance)
    yield samples_table(scenes, Counter(splits.values()), samples, provenance)
    yield data_table(scenes, *examples, pictures, provenance)
    yield attention_table(scenes, rows("attention", DIFFERENCES), provenance)
    yield special_table(scenes, provenance)
    yield ablation_table(scenes, rows("coverage", COVERAGE), rows("splits", SPLITS), provenance)
    yield examples_table(scenes, captions, pictures, objects, provenance)
    for table in (probes_table, classifiers_table, splits_table, classes_table, object_probes_table):
        yield table(scenes, probed, provenance)
