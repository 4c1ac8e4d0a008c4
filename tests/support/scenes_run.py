"""A small corpus in which objects tell scenes, and a folder in which every script of the scenes paper ran on it."""

from pathlib import Path
from typing import Any

import numpy as np
from support import vinvl_stand_in as stand_in
from support.figure_checks import figure_files
from support.paper_jobs import drawings, published, run_paper, table_files
from support.running import run_script

from captionlab.captioners.store import save_captioner
from captionlab.papers.scenes.values import ScenesRun
from captionlab.regions.tables import ImageRegions, write_regions
from captionlab.storage.schemas import CAPTIONS, COMPARISONS, IMAGES, OBJECTS, SCENE_CAPTIONS, SUMMARY
from captionlab.storage.tables import write_table

ROOT = Path(__file__).parents[2]
# The tables and figures of the paper.
TABLES = [
    "table1_metrics", "table2_overlap", "table3_objects", "table4_probes", "table5_samples", "table6_classifiers",
    "table7_splits", "table8_examples", "figure4_attention", "figure5_examples", "figure6_ablation", "figure9_classes",
    "figure10_special_tokens", "object_probes",
]  # fmt: skip
FIGURES = [
    "figure2_captions", "figure3_attention", "figure4_attention_density", "figure5_examples", "figure6_confidence",
    "figure8_classes", "figure9_probes", "figure10_special_tokens", "figure11_layers", "figure12_splits",
    "figure13_probes",
]  # fmt: skip
# What an image of a scene shows, and how its scene captions go.
TELLING = {"sea": ["boat", "sky"], "road": ["car", "sky"], "restaurant": ["wine glass"]}
PLACES = {"sea": "at the sea", "road": "on a road", "restaurant": "the picture is taken in a restaurant"}
PER_SCENE = 12
DECODING = {"kind": "beam", "max_tokens": 5, "rules": "oscar", "beams": 3}


def write_corpus(folder: Path) -> None:
    """Images of three scenes, a third of them for testing; their objects, regions of the same boxes, and captions."""
    generator = np.random.default_rng(0)
    scenes = [scene for scene in TELLING for _ in range(PER_SCENE)]
    ids = [str(place) for place in range(len(scenes))]
    images = {
        "image_id": ids,
        "position": range(len(ids)),
        "split": ["test" if i % 3 == 0 else "train" for i in range(len(ids))],
    }
    sizes = {
        "path": ["x"] * len(ids),
        "offset": [None] * len(ids),
        "length": [None] * len(ids),
        "data": [None] * len(ids),
        "width": [10] * len(ids),
        "height": [10] * len(ids),
    }
    write_table(folder / "images.parquet", IMAGES, {**images, **sizes, "image_set": [None] * len(ids)})
    texts = [(image, index, PLACES[scene]) for image, scene in zip(ids, scenes, strict=True) for index in range(3)]
    texts[1] = (texts[1][0], 1, PLACES["road"])  # one annotator saw something else
    columns = dict(zip(("image_id", "scene_index", "caption"), map(list, zip(*texts, strict=True)), strict=True))
    nothing = [None] * len(texts)
    write_table(folder / "scene_captions.parquet", SCENE_CAPTIONS, {**columns, "scene": nothing, "confidence": nothing})
    objects, regions = [], []
    for image, scene in zip(ids, scenes, strict=True):
        labels = [*TELLING[scene], *(["man"] if generator.random() < 0.5 else [])]
        boxes = [[0, 0, 4 + place, 5] for place in range(len(labels))]
        features = generator.normal(size=(len(labels), 3)).astype(np.float32) + list(TELLING).index(scene)
        regions.append(ImageRegions(image, 10, 10, np.array(boxes, np.float32), features, label=labels))
        objects += [(image, place, label, *boxes[place], []) for place, label in enumerate(labels)]
    write_regions(folder / "regions.parquet", regions)
    names = ("image_id", "object_index", "label", "x1", "y1", "x2", "y2", "attributes")
    write_table(
        folder / "objects.parquet", OBJECTS, dict(zip(names, map(list, zip(*objects, strict=True)), strict=True))
    )


def make(folder: Path) -> None:
    """Run every script in a folder."""
    write_corpus(folder)
    tables = {name: folder / f"{name}.parquet" for name in ("images", "scene_captions", "objects")}
    tags, labels, chosen = (folder / f"{name}.parquet" for name in ("tags", "labels", "chosen"))
    run_script("read_tags", tables, [tags], config={"source": "objects"})
    run_script(
        "label_scenes",
        {"images": tables["images"], "captions": tables["scene_captions"]},
        {"labels": labels, "chosen": chosen},
        tagger="en_ewt_sm",
        config={"number": 3, "min_captions": 2, "table": "scene_captions"},
    )
    studied = {"labels": labels, "chosen": chosen}
    features = {"features": [str(folder / "regions.parquet"), str(tags)]}
    information = folder / "pmi.parquet"
    run_script(
        "compute_pmi",
        {**studied, "tags": [tags]},
        [information],
        config={"min_count": 2, "min_captions": 2, "smoothing": "none"},
    )
    for seed, name in enumerate(("pretrained", "finetuned")):
        save_captioner(stand_in.captioner(seed), stand_in.tokenizer(), folder / name)
    run_script(
        "match_regions",
        {**tables, **features, "model": [folder / "pretrained" / "config.json"]},
        {"matches": folder / "matches.parquet", "coverage": folder / "coverage.parquet"},
        config={"overlap": 0.6, "inside": 0.8},
    )
    removal = {**studied, **features, "pmi": information, "matches": folder / "matches.parquet"}
    for name in ("pretrained", "finetuned"):
        here = folder / name
        model = {"config": here / "config.json"}
        run_script(
            "extract_attention",
            {**model, **tables, **features},
            {table: here / f"{table}.parquet" for table in ("blocks", "received", "shares", "matrices")},
            corpus="corpus",
            split="test",
            seed=1,
            decoding=DECODING,
            config={"images": 8, "examples": 2, "layer": 1},
        )
        run_script(
            "ablate_objects",
            {**model, **removal},
            [here / "captions.parquet"],
            splits=["test", "train"],
            decoding=DECODING,
            config={"min_captions": 2, "objects": [1, 2], "mask": "kept"},
        )
        run_script(
            "encode_scenes",
            {**model, **removal},
            [here / "encodings.parquet"],
            splits=["test", "train"],
            seed=1,
            config={
                "min_captions": 2,
                "scenes": 3,
                "selection": "diagnostic-objects",
                "images": 30,
                "objects": 1,
                "mask": "kept",
            },
        )
        run_script(
            "train_probe",
            {"encodings": here / "encodings.parquet", "tags": [tags]},
            {table: here / f"{table}.parquet" for table in ("scores", "search", "objects")},
            captioner=name,
            seed=1,
            config={"seeds": 2, "test_shares": [0.5], "search": name == "finetuned"},
        )
    both = {
        table: {name: folder / name / f"{table}.parquet" for name in ("pretrained", "finetuned")}
        for table in ("blocks", "received", "captions")
    }
    run_script(
        "estimate_density",
        both["blocks"],
        {name: folder / f"{name}.parquet" for name in ("densities", "differences")},
        seed=1,
        config={"steps": 20},
    )
    run_script(
        "rank_objects",
        {**both["received"], **studied, "tags": [tags]},
        {name: folder / f"{name}.parquet" for name in ("rankings", "overlaps", "correlations")},
        split="test",
        seed=1,
        config={"min_captions": 2, "frequent": "other-splits", "mean": False, "depths": [1, 2, 3]},
    )
    run_script(
        "compare_captions", both["captions"], {n: folder / f"{n}.parquet" for n in ("effects", "splits")}, seed=1
    )


def scenes_run(values: Any = (), comparable: bool = False, **job: Any) -> ScenesRun:
    """A run with these values, all on one corpus but where `job` says otherwise."""
    about: dict[str, Any] = {**dict.fromkeys(("corpus", "validation", "training"), "corpus"), "split": "test"}
    about |= {"evaluation": "main", "labels": {}, **job}
    return ScenesRun(values, [], published("scenes"), comparable, about)


def report(folder: Path) -> dict[str, dict[str, Any]]:
    """The values, tables and figures of the paper, from what `make` left in the folder; by kind and name."""
    both = [folder / role for role in ("pretrained", "finetuned")]
    job = {
        "corpus": "corpus", "split": "test", "validation": "corpus", "training": "corpus", "evaluation": "main",
        "labels": {"first": "pretrained", "early": "1", "second": "2", "third": "10"}, "end": "third", "layer": 1,
    }  # fmt: skip
    summary = {"split": "val", "decoding": "beam", "retriever": None, "candidates": None, "seeds": 1, "n": 9}
    summary["device"] = "abacus"
    place = {"corpus": "corpus", "evaluation": "main", "metric": "CIDEr"}
    values = [
        {"captioner": name, "value": value}
        for name, value in (("first", 10.0), ("early", 120.0), ("second", 150.0), ("third", 155.0))
    ]
    rows = [{**summary, **place, **row, "ci_low": row["value"] - 1, "ci_high": row["value"] + 1} for row in values]
    write_table(folder / "summary.parquet", SUMMARY, {name: [row[name] for row in rows] for name in SUMMARY.columns})
    pair = {
        **summary,
        **place,
        "captioner": "second",
        "against": "first",
        "p_value": 0.001,
        "p_holm": 0.001,
        "test": "bootstrap",
    }
    gain = pair | {"difference": 140.0, "ci_low": 138.0, "ci_high": 142.0}
    early = pair | {"captioner": "early", "difference": 110.0, "ci_low": 108.0, "ci_high": 112.0}
    # Two epochs are 3 below ten, which is within 5 % of 155.
    left = pair | {"against": "third", "difference": -3.0, "ci_low": -4.0, "ci_high": -2.0}
    made = {name: [gain[name], early[name], left[name]] for name in COMPARISONS.columns}
    write_table(folder / "comparisons.parquet", COMPARISONS, made)
    analysed = {
        name: folder / f"{name}.parquet"
        for name in (
            "summary", "comparisons", "differences", "rankings", "overlaps", "correlations", "effects", "pmi",
            "coverage", "splits", "densities",
        )
    }  # fmt: skip
    of_roles = {
        name: [role / f"{name}.parquet" for role in both]
        for name in ("blocks", "shares", "captions", "scores", "objects", "matrices")
    }
    found = {name: folder / f"scenes_{name}.parquet" for name in ("values", "differences")}
    params: dict[str, Any] = {"config": {"comparable": False}, "job": job, "seed": 1}
    run_paper("summarise", "scenes", {**analysed, **of_roles}, found, **params)
    given = {
        **analysed, **of_roles, **found, "attention": analysed["differences"], "images": folder / "images.parquet",
        "training_images": folder / "images.parquet",
        "encodings": both[0] / "encodings.parquet", "object_captions": folder / "object_captions.parquet",
        "scene_captions": folder / "scene_captions.parquet",
    }  # fmt: skip
    tables = {path.name: path for path in table_files(folder, [f"scenes_{name}" for name in TABLES]).values()}
    ids = [str(place) for place in range(0, len(TELLING) * PER_SCENE, 2)]
    objects = {"image_id": ids, "caption_index": [0] * len(ids), "caption": [f"objects of {image}" for image in ids]}
    write_table(folder / "object_captions.parquet", CAPTIONS, objects)
    made_of = {**params, "provenance": {"config": "made up", "seed": 1}}
    run_paper("tabulate", "scenes", given, {"tables": list(tables.values())}, **made_of)
    figures = figure_files(folder / "figures", [f"scenes_{name}" for name in FIGURES])
    run_paper("plot", "scenes", given, figures, **params)
    return {"values": found, "tables": tables, "figures": figures, "drawings": drawings("scenes", given, **params)}
