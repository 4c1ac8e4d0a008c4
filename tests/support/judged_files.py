"""Files of judgements in their published formats, and a corpus of the images that they are about."""

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from scipy.io import savemat
from support.running import run_script

from captionlab.judgements.schemas import CANDIDATES, PREFERENCES, RATINGS
from captionlab.storage.schemas import CAPTIONS, GENERATED, IMAGES, OBJECTS
from captionlab.storage.tables import read_table, write_table

# The tables that the script makes.
MADE = {
    "candidates": CANDIDATES,
    "ratings": RATINGS,
    "preferences": PREFERENCES,
    "generated": GENERATED,
    "images": IMAGES,
    "captions": CAPTIONS,
    "objects": OBJECTS,
}

# File of the image, judged caption, references and rating.
RatedRow = tuple[str, object, object, object]

# As Flickr8k has them: with a space before the full stop; one has two.
TEXTS = {
    image: [f"A {word} dog runs on {ground} ." for ground in ("grass", "sand", "snow", "a road", "a floor  ")]
    for image, word in (("11_a", "black"), ("22_b", "brown"), ("33_c", "white"))
}
BY_ID = {f"{image}.jpg#{n}": text for image, texts in TEXTS.items() for n, text in enumerate(texts)}
COCO = {str(image): [f"a {noun} number {n} ." for n in range(5)] for image, noun in ((391895, "cat"), (522418, "bus"))}


# Of two images: pairs of people's captions, of one about another image, of a system's and of two systems'.
SENTENCES = {image: [f"sentence {n} about {image}" for n in range(50)] for image in ("2008_000008", "2008_000053")}
PAIRS = [
    ("2008_000008.jpg", *SENTENCES["2008_000008"][:2]),
    ("2008_000008.jpg", SENTENCES["2008_000008"][3], SENTENCES["2008_000053"][7]),
    ("2008_000053.jpg", SENTENCES["2008_000053"][4], "a bus of a system"),
    ("2008_000053.jpg", "a bus of a system", "a boat of another"),
]
WRITERS = [(6, 6), (6, 7), (6, 4), (1, 5)]


def write_corpus(
    folder: Path, references: Mapping[str, Sequence[str]], splits: Mapping[str, str] | None = None
) -> dict:
    """Tables of a corpus with these references of its images; the files of the tables by name."""
    images = [
        {"image_id": image, "position": n, "split": (splits or {}).get(image, "test"), "path": f"{image}.jpg"}
        for n, image in enumerate(references)
    ]
    rows = {
        "images": [
            {**row, "offset": None, "length": None, "data": None, "width": 4, "height": 3, "image_set": None}
            for row in images
        ],
        "captions": [
            {"image_id": image, "caption_index": n, "caption": text}
            for image, texts in references.items()
            for n, text in enumerate(texts)
        ],
        "objects": [
            {"image_id": image, "object_index": 0, "label": image, "attributes": [], "x1": 0, "y1": 0, "x2": 1, "y2": 1}
            for image in references
        ],
    }
    files = {table: folder / f"{table}.parquet" for table in rows}
    for table, path in files.items():
        write_table(path, MADE[table], rows[table])
    return files


def read_set(folder: Path, corpus: Mapping[str, Path], /, **config: object) -> dict[str, list[dict]]:
    """What rule read_judgements makes of files in a folder, by table."""
    outputs = {table: folder / "made" / f"{table}.parquet" for table in MADE}
    run_script(
        *("read_judgements", dict(corpus), outputs), wildcards={"judgements": "mine"}, config=config, data=str(folder)
    )
    return {table: read_table(path, MADE[table]).to_pylist() for table, path in outputs.items()}


def write_flickr8k(folder: Path, captions: Mapping[str, str], lines: Sequence[Sequence[object]]) -> dict[str, str]:
    """`Flickr8k.token.txt` and a file of judgements; the keys of a config that name them."""
    tokens = "".join(f"{caption_id}\t{caption}\n" for caption_id, caption in captions.items())
    (folder / "Flickr8k.token.txt").write_text(tokens)
    (folder / "judged.txt").write_text("".join("\t".join(map(str, line)) + "\n" for line in lines))
    return {"annotations": "judged.txt", "captions": "Flickr8k.token.txt"}


def write_composite(folder: Path, rows: Sequence[tuple[str, Sequence[object], Sequence[object]]]) -> dict[str, str]:
    """A file as 8k_correctness.csv: address, captions and ratings of an image in each row; the key that names it."""
    most = max(len(captions) for _, captions, _ in rows)
    inputs = ["Input.image_url", *(f"Input.text{n}" for n in range(1, most + 1))]
    answers = [f"Answer.Q{n}Answer" for n in range(1, most + 1)]
    with open(folder / "composite.csv", "w", newline="") as file:
        writer = csv.writer(file, delimiter=";")
        writer.writerow(["HITId", "WorkerId", *inputs, *answers, "Approve", "Reject"])
        for number, (address, captions, ratings) in enumerate(rows):
            writer.writerow([f"HIT{number}", "W1", address, *captions, *ratings, "", ""])
    return {"annotations": "composite.csv"}


def write_foil(folder: Path, annotations: Sequence[Mapping[str, object]]) -> dict[str, str]:
    """A file as foilv1.0_test_2017.json; the key that names it."""
    (folder / "foil.json").write_text(json.dumps({"info": {}, "images": [], "annotations": annotations}))
    return {"annotations": "foil.json"}


def write_pascal(
    folder: Path,
    pairs: Sequence[Sequence[str]],
    writers: Sequence[Sequence[int]],
    shown: Sequence[tuple[str, str, str, int]],
) -> dict[str, str]:
    """pair_pascal.mat and consensus_pascal.mat: structures of texts, and of cells of a text each and a number."""
    texts = _structures([tuple(pair) for pair in pairs])
    savemat(folder / "pair_pascal.mat", {"new_input": texts, "new_data": np.array(writers, np.uint8)})
    triplets = _structures([(*map(_cell, row[:3]), np.array([[row[3]]])) for row in shown])
    savemat(folder / "consensus_pascal.mat", {"triplets": triplets})
    return {"annotations": "consensus_pascal.mat", "pairs": "pair_pascal.mat"}


def _structures(rows: Sequence[tuple]) -> np.ndarray:
    found = np.empty((1, len(rows)), dtype=[(f"field{number}", object) for number in range(len(rows[0]))])
    for number, row in enumerate(rows):
        found[0, number] = row
    return found


def _cell(text: str) -> np.ndarray:
    found = np.empty((1, 1), object)
    found[0, 0] = text
    return found


def write_polaris(
    folder: Path, rows: Sequence[RatedRow], columns: Sequence[str] = ("imgid", "mt", "refs", "score")
) -> dict[str, str]:
    """A file as polaris_test.csv; the key that names it. References are written as Python writes a list."""
    with open(folder / "polaris_test.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(rows)
    return {"annotations": "polaris_test.csv"}


def write_hub(
    path: Path, rows: Sequence[RatedRow], caption: str = "mt", score: str = "human_score", image: bytes = b""
) -> None:
    """A Parquet file as of Nebula, or, with other names of columns, of LongCap-Arena."""
    names, captions, references, scores = zip(*rows, strict=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    images = [{"bytes": image or name.encode(), "path": name} for name in names]
    columns = {"file_name": names, "image": images, "refs": references, caption: captions, score: scores}
    pq.write_table(pa.table({name: list(values) for name, values in columns.items()}), path)


def foil_annotations() -> list[dict]:
    """For two captions of each image of COCO the caption itself and two foils, not in the order of images."""
    found = []
    for n in (1, 3):
        for image, texts in COCO.items():
            own = {"id": int(image) + n, "image_id": int(image)}
            true = {**own, "caption": texts[n], "foil": False, "foil_id": len(found)}
            found.append({**true, "target_word": "ORIG", "foil_word": "ORIG"})
            for wrong in ("dog", "train"):
                words = texts[n].split()
                foil = {**own, "caption": texts[n].replace(words[1], wrong), "foil": True, "foil_id": len(found)}
                found.append({**foil, "target_word": words[1], "foil_word": wrong})
    return found


def shown_pascal() -> list[tuple[str, str, str, int]]:
    """48 choices of each pair, each beside another sentence of its image that is none of the two."""
    random, rows = Random(5), []
    for name, *captions in PAIRS:
        beside = [text for text in SENTENCES[name.removesuffix(".jpg")] if text not in captions][:48]
        for text in beside:
            turned = random.random() < 0.5
            rows.append((text, *(captions[::-1] if turned else captions), random.choice((1, 1, -1))))
    return rows
