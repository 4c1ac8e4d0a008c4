"""Measure what must hold in a run for its experiments to mean something."""

from collections.abc import Iterator
from itertools import chain
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from captionlab import paths
from captionlab.evaluation.naming import different, names_of, relative_naming
from captionlab.evaluation.unknown_words import has_unknown, known_words, non_words, share_of
from captionlab.provenance import commit
from captionlab.reporting.render import write_table_files
from captionlab.reporting.validity import (
    Finding,
    matching_findings,
    participants_findings,
    retrieval_findings,
    validity_table,
)
from captionlab.schemas import CAPTIONS, GENERATED, OBJECTS, SUMMARY
from captionlab.scorers.schemas import MATCHING
from captionlab.scripting import script
from captionlab.study.schemas import ACCURACY
from captionlab.tables import read_table

EXAMPLES = 3


def by_owner(tables: list[str]) -> dict[str, str]:
    """Tables by what they are about."""
    return {paths.owner_of(path): path for path in tables}


def learned_findings(snakemake: Any, notes: list[str]) -> Iterator[Finding]:
    """Whether captioners name objects, and vary, on the corpus whose references they learned; adds to the notes."""
    inputs, params = snakemake.input, snakemake.params
    references, objects = by_owner(inputs.references), by_owner(inputs.objects)
    for path in inputs.captions:
        captioner, evaluation = paths.captioner_of(path)
        corpus = params.learned.get(captioner)
        captions = read_table(path, GENERATED)
        captions = captions.filter(pc.equal(captions["corpus"], pa.scalar(corpus, pa.string())))
        if not len(captions):
            continue
        theirs = of_images(read_table(references[corpus], CAPTIONS), captions["image_id"])
        place = {"corpus": corpus, "evaluation": evaluation}
        labels = of_images(read_table(objects[corpus], OBJECTS, ["image_id", "label"]), captions["image_id"])
        names = names_of_images(labels, corpus in params.toyworld)
        if named := relative_naming(pairs(captions), pairs(theirs), names, params.seed):
            yield Finding("naming", captioner, *named, "images", **place)
        else:
            why = "no reference names an object of its image" if names else "its images have no annotated objects"
            notes.append(f"Nothing says how often {captioner} would have to name an object of {corpus}: {why}.")
        ours, people = (different(first_captions(table)) for table in (captions, theirs))
        images = len(pc.unique(captions["image_id"]))
        yield Finding("variety", captioner, ours / people, None, images, "images", **place, detail=f"{ours} : {people}")


def of_images(table: pa.Table, images: pa.ChunkedArray) -> pa.Table:
    """The rows of these images."""
    return table.filter(pc.is_in(table["image_id"], pc.unique(images)))


def pairs(captions: pa.Table) -> list[tuple[str, str]]:
    """Image and text of each caption."""
    return list(zip(captions["image_id"].to_pylist(), captions["caption"].to_pylist(), strict=True))


def first_captions(captions: pa.Table) -> list[str]:
    """The first caption of each image."""
    return list(dict(reversed(pairs(captions.sort_by("caption_index")))).values())


def names_of_images(labels: pa.Table, toyworld: bool) -> dict[str, set[str]]:
    """What the objects of each image are called."""
    names: dict[str, set[str]] = {}
    for row in labels.to_pylist():
        names.setdefault(row["image_id"], set()).update(names_of(row["label"], toyworld))
    return names


def word_findings(tables: list[str], references: list[str], seed: int) -> Iterator[Finding]:
    """The captioner with most captions that have UNK, and the one with most that have a word of no corpus."""
    texts = (read_table(path, CAPTIONS, ["caption"])["caption"].to_pylist() for path in references)
    known = known_words(chain.from_iterable(texts))
    captioners: dict[str, list[dict[str, Any]]] = {}
    for path in tables:
        captioners.setdefault(paths.captioner_of(path)[0], []).extend(read_table(path, GENERATED).to_pylist())
    found: dict[str, list[Finding]] = {"unknown": [], "non-words": []}
    for captioner, rows in captioners.items():
        images = [f"{row['corpus']}/{row['image_id']}" for row in rows]
        strange = [list(non_words(row["caption"], known)) for row in rows]
        flags = {"unknown": [has_unknown(row["caption"]) for row in rows], "non-words": [bool(one) for one in strange]}
        examples = {"unknown": [], "non-words": list(dict.fromkeys(chain.from_iterable(strange)))[:EXAMPLES]}
        for condition, flagged in flags.items():
            share, (low, high) = share_of(flagged, images, seed)
            ends, detail = (100 * low, 100 * high), ", ".join(examples[condition])
            finding = Finding(condition, captioner, 100 * share, ends, len(rows), "captions", detail=detail)
            found[condition].append(finding)
    yield from (max(of_condition, key=lambda one: one.value) for of_condition in found.values() if of_condition)


@script
def main(snakemake: Any) -> None:
    inputs, params = snakemake.input, snakemake.params
    summary = read_table(inputs.summary, SUMMARY).to_pylist()
    accuracy = {name: read_table(path, ACCURACY).to_pylist() for name, path in by_owner(inputs.accuracy).items()}
    matching = {name: read_table(path, MATCHING).to_pylist() for name, path in by_owner(inputs.matching).items()}
    notes: list[str] = []
    findings = [
        *retrieval_findings(summary, params.corpus, params.humans, params.rewarding),
        *learned_findings(snakemake, notes),
        *participants_findings(accuracy, params.study_human),
        *matching_findings(matching),
        *word_findings(inputs.captions, inputs.references, params.seed),
    ]
    table = validity_table(findings, notes, {"commit": commit(), **params.provenance})
    write_table_files(table, snakemake.output.tables)
