"""Judgements in each published format, and simulated ones, through the workflow up to how metrics agree with them."""

import json
import math
from collections.abc import Iterable
from pathlib import Path

import pytest
from PIL import Image
from scipy.stats import kendalltau
from support.foil_files import valse_entry, winoground_example, write_sugarcrepe, write_valse, write_winoground
from support.interval_ranges import intervals_outside
from support.judged_files import (
    BY_ID,
    COCO,
    PAIRS,
    SENTENCES,
    TEXTS,
    WRITERS,
    foil_annotations,
    shown_pascal,
    write_composite,
    write_flickr8k,
    write_foil,
    write_hub,
    write_pascal,
    write_polaris,
)
from support.small import start

from captionlab.config.families import judgement_readers
from captionlab.evaluation.metrics.nlg.metric import NLG
from captionlab.judgements.readers.simulated.reader import SOURCES
from captionlab.judgements.schemas import CANDIDATES, CORRELATIONS, PREFERENCES, RATINGS
from captionlab.reporting.tables.formats.csv import read_records
from captionlab.storage import paths
from captionlab.storage.tables import read_table

pytestmark = pytest.mark.slow


# Tables of the paper about CLIPScore. tests/runs/test_every_key.py has Table 1, tests/papers/test_clipscore_tables.py
# Table 2.
OF_PAPER = ("table3_composite", "table4_pascal", "table5_foil")
# Numbers of the tables of the paper about foils, by measure and category; the mean of one category alone is not shown.
FOIL_TABLES = {
    # Plurality is in the second of the two sets alone.
    "table2_pieces": {("acc_r", "existence"), ("AUROC", "noun phrases"), ("acc_r", "plurality"), ("acc_r", "")},
    "sugarcrepe": {("acc_r", "add att"), ("AUROC", "add att")},
    "winoground": {
        (measure, tag) for measure in ("text score", "image score", "group score") for tag in ("", "Object")
    },
}
ENCODER = {
    "family": "clip",
    "corpus": "toy",
    "architecture": {
        "embed_dim": 8,
        "vision_cfg": {"image_size": 32, "layers": 1, "width": 64, "patch_size": 16},
        "text_cfg": {"context_length": 16, "width": 32, "heads": 4, "layers": 1},
    },
    "optimizer": {"kind": "adamw", "lr": 1e-3, "batch": 4, "steps": 2},
}


def write_karpathy(path: Path, references: dict[str, list[str]], images: str | None = "photos") -> dict:
    """A corpus in Karpathy's format, with or without images; its block of a config."""
    entries = [
        {"filename": f"{image}.jpg", "split": "test", "sentences": [{"raw": text} for text in texts]}
        for image, texts in references.items()
    ]
    path.write_text(json.dumps({"images": entries}))
    return {"reader": "karpathy", "annotations": path.name, "images": images}


def write_photos(folder: Path, names: Iterable[str]) -> None:
    """Write images, each another one."""
    folder.mkdir()
    for number, name in enumerate(names):
        Image.new("RGB", (40, 30), (30 * number, 255 - 30 * number, 90)).save(folder / f"{name}.jpg")


def foil_sets(data: Path) -> dict:
    """Blocks of sets of foils in each published format, whose files it writes, and of foils of the toy world."""
    first, second = (f"COCO_val2014_{int(image):012}.jpg" for image in COCO)
    pairs = [valse_entry(first, "There is a cat.", "There is no cat."), valse_entry(second, "A bus.", "A dog.", (2, 1))]
    invalid = valse_entry(second, "There are no cats.", "There are cats.", (1, 1))
    by_kind = {"add_att": [(first, "A cat sits.", "A green cat sits."), (second, "A bus waits.", "A red bus waits.")]}
    examples = [winoground_example(number, ["a cat on a bus", "a bus on a cat"]) for number in (0, 1)]
    pieces = {"existence": [*pairs, invalid], "foil-it": pairs}
    return {
        "valse": {"reader": "valse", "corpus": "coco", "clipscore": ["it"], **write_valse(data, pieces)},
        "sugarcrepe": {
            "reader": "sugarcrepe", "corpus": "coco", "clipscore": ["it"], **write_sugarcrepe(data, by_kind),
        },
        "winoground": {
            "reader": "winoground", "corpus": "winoground-images", "clipscore": ["it"],
            **write_winoground(data, examples),
        },
        "toy-foils": {"reader": "toyworld-foils", "corpus": "toy", "split": "test", "images": 8, "clipscore": ["it"]},
    }  # fmt: skip


def all_formats(data: Path) -> dict:
    """A config with a set of each format, whose files it writes; of one set nobody has the images.

    CLIPScore is measured where a paper's table needs it.
    """
    expert = write_flickr8k(data, BY_ID, [["22_b.jpg", "11_a.jpg#0", 1, 2, 1], ["11_a.jpg", "22_b.jpg#1", 3, 3, 4]])
    crowd = {"reader": "flickr8k-cf", **expert, "annotations": "crowd.txt"}
    (data / "crowd.txt").write_text("33_c.jpg\t22_b.jpg#1\t0.25\t1\t3\n11_a.jpg\t22_b.jpg#1\t1\t3\t0\n")
    pascal = write_pascal(data, PAIRS, WRITERS, shown_pascal())
    foil = write_foil(data, foil_annotations())
    write_photos(data / "photos", (*TEXTS, *COCO, *SENTENCES))
    write_photos(data / "winoground", tuple(f"ex_{example}_img_{image}" for example in (0, 1) for image in (0, 1)))
    # Candidates are the first two, three and four words of a reference, so that metrics tell them apart.
    scaled = [
        (f"{image}.jpg", " ".join(texts[1].split()[: n + 2]), texts[1:], 0.25 * n)
        for n, (image, texts) in enumerate(TEXTS.items())
    ]
    photo = (data / "photos" / "11_a.jpg").read_bytes()
    write_hub(data / "nebula" / "test-00000-of-00001.parquet", scaled, image=photo)
    for split in ("dci_test.desc", "dci_test.rel"):
        write_hub(data / "longcap" / f"{split}-00000-of-00001.parquet", scaled, "cand", "score", photo)
    hub = {"reader": "huggingface", "captions": "refs", "image_id": "file_name"}
    polaris = {"reader": "polaris", **write_polaris(data, scaled)}
    composite = {}
    for name, first, second in (("flickr8k", "11_a", "22_b"), ("coco", "COCO_val2014_000000391895", "522418")):
        captions = ["a dog runs", "a cat", f"a {name}"]
        rows = [(f"{first}.jpg", captions, [4, 2, 1]), (f"{second}.jpg", captions, [4, 2, 3])]
        file = data / write_composite(data, rows)["annotations"]
        composite[f"composite-{name}"] = {
            "reader": "composite", "corpus": name, "annotations": file.rename(data / f"{name}.csv").name,
            "clipscore": ["it"],
        }  # fmt: skip
    return {
        "seed": 1,
        "data": str(data),
        "spice": "off",
        "corpora": {
            "toy": {"reader": "toyworld", "domain": "coco", "seed": 2, "images": {"train": 8, "test": 30}},
            "flickr8k": write_karpathy(data / "flickr8k.json", TEXTS),
            "texts": write_karpathy(data / "texts.json", TEXTS, images=None),
            "coco": write_karpathy(data / "coco.json", COCO),
            "pascal": {"reader": "pascal-50s", "images": "photos", **pascal},
            "polaris-images": {**polaris, "images": "photos"},
            "nebula-images": {**hub, "folder": "nebula"},
            "longcap-images": {**hub, "folder": "longcap", "split_in_id": True},
            "winoground-images": {"reader": "folder", "images": "winoground"},
        },
        "encoders": {"it": ENCODER},
        "judgements": {
            "expert": {"reader": "flickr8k-expert", "corpus": "flickr8k", **expert},
            "crowd": {**crowd, "corpus": "texts"},
            **composite,
            "foil-4": {"reader": "foil", "corpus": "coco", "references_per_image": 4, **foil, "clipscore": ["it"]},
            "pascal-50s": {
                "reader": "pascal-50s", "corpus": "pascal", "references_per_image": 5, **pascal, "clipscore": ["it"],
            },
            "simulated": {"reader": "simulated", "corpus": "toy", "images": 10},
            "polaris": {**polaris, "corpus": "polaris-images"},
            "nebula": {"reader": "nebula", "corpus": "nebula-images", "folder": "nebula", "splits": ["test"]},
            "longcap": {
                "reader": "longcap-arena", "corpus": "longcap-images", "folder": "longcap",
                "splits": ["dci_test.desc"],
            },
            **foil_sets(data),
        },
        "papers": {
            "clipscore": {
                "comparable": False,
                "judgements": {"Composite": [*composite], "Pascal-50S": "pascal-50s", "FOIL-4": "foil-4"},
                "encoder": "it",
            },
            "valse": {
                "comparable": False,
                "judgements": {
                    "VALSE": ["valse", "toy-foils"], "SugarCrepe": "sugarcrepe", "Winoground": "winoground",
                },
                "scorers": {},
            },
        },
    }  # fmt: skip


def test_every_judged_caption_is_scored_and_metrics_are_held_against_its_judges(tmp_path):
    config = all_formats(tmp_path)
    folder, output = tmp_path / "run", tmp_path / "output"
    # Nobody described the images of Winoground, so no metric against references scores its captions.
    files = {name: paths.nlg(name) for name in config["judgements"] if name != "winoground"}
    held = {name: paths.judgements("correlations", judgements=name) for name in config["judgements"]}
    pool = ("composite-flickr8k", "composite-coco")
    pooled = paths.judgements("correlations", judgements="+".join(pool))
    targets = [*files.values(), *held.values(), pooled, paths.TABLES]
    assert start(folder, config, "--cores", "2", *targets, output=output).wait() == 0, output.read_text()
    table = read_records(folder / paths.table("judgements.csv"))
    assert {row["judgements"] for row in table} == {*config["judgements"]}
    assert not (folder / paths.table("evaluation.csv")).exists()
    for name in OF_PAPER:
        rows = read_records(folder / paths.table(f"clipscore_{name}.csv"))
        assert {"BLEU-4", "CIDEr", "SPICE"} <= {row["subject"] for row in rows}, name
        assert {"CLIP-S", "RefCLIP-S"} <= {row["subject"] for row in rows if row["value"]}, name
    assert {row["scorer"] for row in table if row["metric"] == "CLIPScore"} == {"it"}
    differences = read_records(folder / paths.table("judgement_differences.csv"))
    assert {"composite-coco", "pascal-50s", "simulated", "polaris"} <= {row["judgements"] for row in differences}
    assert all(float(row["p_holm"]) >= float(row["p_value"]) for row in differences if row["p_value"])
    # Ten images of the toy world have captions of four sources; the other sets have fewer images.
    slices = read_records(folder / paths.table("judgement_slices.csv"))
    assert {row["judgements"] for row in slices} == {"simulated"}
    assert {row["slice"] for row in slices if row["by"] == "source"} == {*SOURCES}
    for name, places in FOIL_TABLES.items():
        rows = read_records(folder / paths.table(f"valse_{name}.csv"))
        assert {(row["measure"], row["source"]) for row in rows if row["value"]} >= places, name
    outside, intervals = intervals_outside(folder / "results")
    assert outside == []
    assert intervals > 20
    cider: dict[str, dict] = {}
    together: list[tuple[float, float]] = []
    for name, file in files.items():
        tables = {"candidates": CANDIDATES, "ratings": RATINGS, "preferences": PREFERENCES}
        made = {
            table: read_table(folder / paths.judgements(table, judgements=name), kind).to_pylist()
            for table, kind in tables.items()
        }
        rows = read_table(folder / file, NLG).to_pylist()
        cider[name] = {(row["image_id"], row["caption_index"]): row["cider"] for row in rows}
        assert [*cider[name]] == [(row["image_id"], row["caption_index"]) for row in made["candidates"]]
        rated = judgement_readers()[config["judgements"][name]["reader"]].ratings
        assert [bool(made["ratings"]), bool(made["preferences"])] == [rated, not rated]
        found = {
            row["coefficient"]: row
            for row in read_table(folder / held[name], CORRELATIONS).to_pylist()
            if row["metric"] == "CIDEr" and row["category"] is None
        }
        if rated:
            given = [cider[name][row["image_id"], row["caption_index"]] for row in made["ratings"]]
            if name in pool:
                together += zip(given, [row["rating"] for row in made["ratings"]], strict=True)
            tau = kendalltau(given, [row["rating"] for row in made["ratings"]], variant="c")[0]
            # Where all scores are the same there is none.
            assert found["tau-c"]["value"] == (None if math.isnan(tau) else pytest.approx(tau, abs=1e-12))
            assert name != "simulated" or tau > 0
            assert found["tau-c"]["n"] == len(given)
        else:
            assert {coefficient: row["n"] for coefficient, row in found.items()} == {
                "accuracy": len(made["preferences"])
            }
        for row in made["preferences"] if name.startswith("foil") else []:
            true, foil = (cider[name][row["image_id"], row[index]] for index in ("caption_index", "other_index"))
            assert true > foil
    (row,) = (
        row
        for row in read_table(folder / pooled, CORRELATIONS).to_pylist()
        if (row["metric"], row["coefficient"]) == ("CIDEr", "tau-c")
    )
    assert row["value"] == pytest.approx(kendalltau(*zip(*together, strict=True), variant="c")[0], abs=1e-12)
    assert (row["n"], row["images"]) == (12, 4)
    own, others = ([s for (_, n), s in cider["simulated"].items() if (n == 0) == first] for first in (True, False))
    assert sum(own) / len(own) > sum(others) / len(others)
