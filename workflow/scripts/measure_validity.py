"""Measure the conditions that must hold in a run for its experiments to be meaningful."""

from collections import defaultdict
from collections.abc import Iterator
from itertools import chain

import pyarrow as pa
import pyarrow.compute as pc

from captionlab.evaluation.naming import different, names_of, relative_naming
from captionlab.evaluation.unknown_words import has_unknown, known_words, non_words, share_of
from captionlab.jobs.provenance import commit
from captionlab.jobs.scripting import script
from captionlab.reporting.claims import validity
from captionlab.reporting.claims.validity import Finding
from captionlab.reporting.tables.formats.csv import read_records
from captionlab.reporting.tables.formats.files import write_table_files
from captionlab.reporting.tables.rewards import change_of
from captionlab.scorers.schemas import MATCHING
from captionlab.storage import paths
from captionlab.storage.schemas import CAPTIONS, GENERATED, OBJECTS, REWARDS, SUMMARY
from captionlab.storage.tables import read_table
from captionlab.study.schemas import ACCURACY


def by_owner(tables: list[str]) -> dict[str, str]:
    """Return tables by the corpus, scorer or group of participants that they are about."""
    return {paths.owner_of(path): path for path in tables}


def learned_findings(snakemake, notes: list[str]) -> Iterator[Finding]:
    """Yield how often captioners name objects, and how varied they are, on the corpus that they learned from.

    If the naming of objects cannot be measured for a captioner, a note is added to `notes`.
    """
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
        names = defaultdict(set)
        labels = of_images(read_table(objects[corpus], OBJECTS, ["image_id", "label"]), captions["image_id"])
        for row in labels.to_pylist():
            names[row["image_id"]].update(names_of(row["label"], corpus in params.toyworld))
        if named := relative_naming(pairs(captions), pairs(theirs), names, params.seed):
            yield Finding("naming", captioner, *named, "images", **place)
        else:
            why = "no reference names an object of its image" if names else "its images have no annotated objects"
            notes.append(f"Nothing says how often {captioner} would have to name an object of {corpus}: {why}.")
        # The first caption of each image.
        first = (dict(reversed(pairs(table.sort_by("caption_index")))) for table in (captions, theirs))
        ours, people = (different(texts.values()) for texts in first)
        images = len(pc.unique(captions["image_id"]))
        yield Finding("variety", captioner, ours / people, None, images, "images", **place, detail=f"{ours} : {people}")


def of_images(table: pa.Table, images: pa.ChunkedArray) -> pa.Table:
    """Return the rows of a table that belong to these images."""
    return table.filter(pc.is_in(table["image_id"], pc.unique(images)))


def pairs(captions: pa.Table) -> list[tuple[str, str]]:
    """Return image and text of each caption."""
    return list(zip(captions["image_id"].to_pylist(), captions["caption"].to_pylist(), strict=True))


def word_findings(tables: list[str], references: list[str], seed: int) -> Iterator[Finding]:
    """Yield the largest share, over captioners, of captions with UNK, and of captions with a word of no corpus."""
    texts = (read_table(path, CAPTIONS, ["caption"])["caption"].to_pylist() for path in references)
    known = known_words(chain.from_iterable(texts))
    captioners = defaultdict(list)
    for path in tables:
        captioners[paths.captioner_of(path)[0]] += read_table(path, GENERATED).to_pylist()
    found = defaultdict(list)
    for captioner, rows in captioners.items():
        images = [f"{row['corpus']}/{row['image_id']}" for row in rows]
        unknown = [has_unknown(row["caption"]) for row in rows]
        strange = [non_words(row["caption"], known) for row in rows]
        examples = ", ".join(list(dict.fromkeys(chain.from_iterable(strange)))[:3])
        for condition, flags, detail in (("unknown", unknown, ""), ("non-words", list(map(bool, strange)), examples)):
            share, (low, high) = share_of(flags, images, seed)
            ends = 100 * low, 100 * high
            found[condition] += [Finding(condition, captioner, 100 * share, ends, len(rows), "captions", detail=detail)]
    yield from (max(of_condition, key=lambda one: one.value) for of_condition in found.values())


@script
def main(snakemake):
    inputs, params = snakemake.input, snakemake.params
    summary = read_table(inputs.summary, SUMMARY).to_pylist()
    accuracy = {name: read_table(path, ACCURACY).to_pylist() for name, path in by_owner(inputs.accuracy).items()}
    matching = {
        name: read_table(path, MATCHING).to_pylist() for name, path in zip(params.scorers, inputs.matching, strict=True)
    }
    changes = {
        name: change_of(read_table(path, REWARDS).to_pylist(), params.seed)
        for name, path in by_owner(inputs.rewards).items()
    }
    claims = [row for path in inputs.claims for row in read_records(path)]
    notes: list[str] = []
    findings = [
        *validity.retrieval_findings(summary, params.corpus, params.humans, params.rewarding),
        *learned_findings(snakemake, notes),
        *validity.reward_findings(changes, params.rewarded),
        *validity.participants_findings(accuracy, params.study_human),
        *validity.matching_findings(matching),
        *word_findings(inputs.captions, inputs.references, params.seed),
        *validity.power_findings(claims),
    ]
    notes += validity.power_notes(claims)
    table = validity.validity_table(findings, notes, {"commit": commit(), **params.provenance})
    write_table_files(table, snakemake.output.tables)
