"""The folder of the browser: the page, its data and thumbnails.

The data are scripts, because a page that is opened from the disk cannot load other files.
"""

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from captionlab.browser.analyses import read_analyses
from captionlab.browser.captions import AllCaptions, evaluation_columns, read_captions
from captionlab.browser.images import OF_FOLDER, images_of, training_words, write_thumbnails
from captionlab.browser.numbers import Numbers, read_files_behind
from captionlab.config.families import score_tables
from captionlab.config.languages import ENGLISH, has_spaces, usual_tokenizer
from captionlab.evaluation.metrics.retrieval.metric import drawn
from captionlab.evaluation.schemas import SLICED_IMAGES
from captionlab.storage.files import replacing_folder
from captionlab.storage.schemas import COMPARISONS, SUMMARY
from captionlab.storage.tables import read_table
from captionlab.texts.lengths import length_ranges

RANDOM = "random"
# By column of the user: the value of each image.
ColumnValues = Mapping[str, Mapping[str, str]]
THUMBNAILS = "thumbnails"  # folder of the thumbnails, which has a folder for each corpus


def build(
    directory: Path, page: Sequence[str], inputs: Mapping[str, Any], params: Mapping[str, Any], threads: int
) -> None:
    """Write the browser of a run to `directory`, which appears at once when it is complete.

    `page` lists the files of the page itself. `inputs` has the tables: `captions`, `summary`, `comparisons`, tables of
    scores by the names in `params["tables"]`, tables of corpora in the order of `params["corpora"]`, tables of training
    corpora in the order of `params["training"]`, and `slices` in the order of `params["sliced"]`, which has the columns
    of the user that each evaluation is sliced by. `paper_values` and `paper_differences` have the numbers of each paper
    of `params["papers"]`.
    """
    summary, comparisons = read_table(inputs["summary"], SUMMARY), read_table(inputs["comparisons"], COMPARISONS)
    tables = {name: inputs[name] for name in params["tables"]}
    facts = {name: of_table for name, of_table in score_tables().items() if name in tables}
    files_behind = read_files_behind(inputs["captions"], tables)
    analyses = read_analyses(params["papers"], inputs["paper_values"], inputs["paper_differences"])
    numbers = Numbers(summary.to_pylist(), comparisons.to_pylist(), analyses, files_behind, tables, facts)
    said = read_captions(inputs["captions"], tables, params["factors"])
    values = {
        evaluation: column_values(path, columns)
        for (evaluation, columns), path in zip(params["sliced"].items(), inputs["slices"], strict=True)
    }
    trained_on = zip(params["training"], inputs["training_images"], inputs["training_captions"], strict=True)
    words = {corpus: training_words(images, captions) for corpus, images, captions in trained_on}
    known = {name: known_to(block["trained"], words) for name, block in params["captioners"].items()}
    with replacing_folder(directory) as partial:
        for file in page:
            shutil.copyfile(file, partial / Path(file).name)
        shown = []
        for number, corpus in enumerate(params["corpora"]):
            files = {name: inputs[name][number] for name in ("images", "captions_of_corpora", "objects", "scenes")}
            files |= {"captions": files.pop("captions_of_corpora"), "scene_captions": files.pop("scenes")}
            images = images_of(files, params["splits"][corpus])
            images |= write_thumbnails(files["images"], images["id"], partial / THUMBNAILS / corpus, threads)
            columns = {name: of_corpora.get(corpus, {}) for name, of_corpora in values.items()}
            shown.append(write_corpus(partial, corpus, images, said, known, numbers, columns, params))
        write_run(partial, shown, params)


def write_corpus(
    folder: Path,
    corpus: str,
    images: Mapping[str, Any],
    said: AllCaptions,
    known: Mapping[str, frozenset[str] | None],
    numbers: Numbers,
    values: Mapping[str, ColumnValues],
    params: Mapping[str, Any],
) -> dict[str, Any]:
    """Write the data of a corpus, and return its entry for the list of corpora.

    `images` has the columns of `images_of` and of `write_thumbnails`. `values` has, by evaluation, the values of images
    in columns of the user.
    """
    split, language = params["splits"][corpus], params["languages"].get(corpus, ENGLISH)
    if not has_spaces(usual_tokenizer(language)):
        known = dict.fromkeys(known)  # what spaces separate there are no words
    places = {image: place for place, image in enumerate(images["id"])}
    evaluations = []
    for name, block in params["evaluations"].items():
        if corpus not in block["corpora"]:
            continue
        spoken = {who: said[name, corpus, who] for who in block["captioners"] if (name, corpus, who) in said}
        columns = evaluation_columns(spoken, places, known)
        slices = {
            column: [by_image.get(image) for image in images["id"]] for column, by_image in values.get(name, {}).items()
        }
        evaluations.append({**block, "name": name, "numbers": numbers.of(name, corpus), "slices": slices, **columns})
        if any((measure["among"] or "").endswith(RANDOM) for measure in columns["measures"]):
            write_candidates(folder, corpus, name, len(places), columns["copy"], block)
    data = {"language": language, "images": images, "evaluations": evaluations}
    write_script(folder / "data" / f"{corpus}.js", corpus, data)
    captions = sum(text is not None for e in evaluations for one in e["captioners"] for text in one["text"])
    of_evaluations = [{"name": e["name"], "captioners": [one["name"] for one in e["captioners"]]} for e in evaluations]
    counts = {"images": len(places), "captions": captions}
    return {"name": corpus, "split": split, **counts, "evaluations": of_evaluations}


def column_values(path: str, columns: Sequence[str]) -> Mapping[str, ColumnValues]:
    """Return, by corpus, the values of images in columns of the user, from a table of SLICED_IMAGES."""
    values: dict[str, dict[str, dict[str, str]]] = {}
    for row in read_table(path, SLICED_IMAGES).to_pylist():
        if row["by"] in columns:
            values.setdefault(row["corpus"], {}).setdefault(row["by"], {})[row["image_id"]] = row["slice"]
    return values


def write_run(folder: Path, corpora: Sequence[Mapping[str, Any]], params: Mapping[str, Any]) -> None:
    """Write what the page says of the run, with the entries of its corpora."""
    lengths = [{"name": one.name, "from": one.shortest, "to": one.longest} for one in length_ranges()]
    about = {"captioners": params["captioners"], "folder": OF_FOLDER, "lengths": lengths, **params["about"]}
    # No corpus can have this name.
    write_script(folder / "data" / "_run.js", "_run", {**about, "corpora": corpora})


def write_candidates(
    folder: Path, corpus: str, evaluation: str, images: int, copies: Sequence[int], block: Mapping[str, Any]
) -> None:
    """Write the images that were drawn as search candidates for each image, by caption index."""
    found = {copy: drawn(images, block["candidates"], copy, block["seed"]).tolist() for copy in sorted({*copies})}
    write_script(folder / "data" / f"{corpus}.{evaluation}.js", f"{corpus}.{evaluation}", found)


def write_script(path: Path, name: str, data: Any) -> None:
    """Write data as a script that passes them to the page by name.

    The script is ASCII, so that neither encodings nor line separators matter.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    path.write_text(f"captionlab({json.dumps(name)},{text});\n", encoding="ascii")


def known_to(trained: Sequence[str], words: Mapping[str, set[str]]) -> frozenset[str] | None:
    """Return the words of the corpora that a captioner was trained on, or None if these corpora are unknown."""
    return frozenset().union(*(words[corpus] for corpus in trained)) if trained else None
