"""Choose the sets of images of the study and arrange them, with captions of every type, in blocks of screens."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from captionlab.encoders.embeddings import load_embeddings
from captionlab.encoders.store import load_encoder
from captionlab.evaluation.retrieval import ranks, unit_length
from captionlab.generation.captions import evaluated_images
from captionlab.schemas import GENERATED
from captionlab.scripting import device, script
from captionlab.study.schemas import STIMULI
from captionlab.study.stimuli import (
    IMAGES_OF_SCREEN,
    StudyError,
    arrange,
    choose_controls,
    choose_sets,
    read_exclusions,
    study_name,
)
from captionlab.tables import read_table, write_table


def first_captions(path: str, corpus: str) -> dict[str, str]:
    """The first caption of each image of a corpus that is not empty."""
    rows = [row for row in read_table(path, GENERATED).to_pylist() if row["corpus"] == corpus]
    if not rows:
        raise StudyError(f"{path} has no captions of {corpus!r}; name an evaluation of it under study.evaluation")
    found: dict[str, str] = {}
    for row in sorted(rows, key=lambda row: row["caption_index"]):
        if row["caption"].strip():
            found.setdefault(row["image_id"], row["caption"])
    return found


@script
def main(snakemake: Any) -> None:
    config, types = snakemake.params.config, list(snakemake.params.captioners)
    corpus = snakemake.params.corpus
    ids = evaluated_images(snakemake.input.images[0], corpus, snakemake.params.split)
    captions = {name: first_captions(path, corpus) for name, path in zip(types, snakemake.input.captions, strict=True)}
    images = unit_length(load_embeddings(snakemake.input.features).rows(ids).numpy(), ids, f"images of {corpus}")
    excluded = read_exclusions(snakemake.input.exclude[0], ids) if snakemake.input.exclude else set()
    generator = np.random.default_rng([snakemake.params.seed, len(ids)])

    def described(name: str) -> np.ndarray:
        return np.array([bool(captions[name].get(image_id)) for image_id in ids])

    free = np.array([image_id not in excluded for image_id in ids])
    order = [int(row) for row in generator.permutation(len(ids))]
    complete = np.all([described(name) for name in types], axis=0)
    sets = choose_sets(images, [row for row in order if complete[row]], free, config["sets"], config["max_similarity"])
    people = snakemake.params.people
    clip = load_encoder(Path(snakemake.input.weights).parent, device())

    def found(controls: Sequence[Sequence[int]]) -> Sequence[bool]:
        names = [ids[members[0]] for members in controls]
        texts = unit_length(
            clip.embed_texts([captions[people][name] for name in names]).cpu().numpy(), names, "controls"
        )
        rows = np.array(controls)
        shown = images[rows.reshape(-1)]
        sets_of = np.repeat(np.arange(len(controls)), IMAGES_OF_SCREEN).astype(str).tolist()
        targets = np.arange(len(controls)) * IMAGES_OF_SCREEN
        return [bool(rank == 1) for rank in ranks(texts, targets, shown, "set", corpus=corpus, sets=sets_of)[0]]

    blocks = len(types) * (config["sets"] // config["block"])
    targets = [row for row in order if described(people)[row]]
    controls = choose_controls(targets, free, blocks * config["controls"] + 1, found, generator)
    screens = arrange(sets, controls, config["block"], types, people, generator)
    for screen in screens:
        members = screen.pop("members")
        target = members[screen["position"] - 1]
        screen["images"] = [ids[row] for row in members]
        screen["target"] = ids[target]
        screen["caption"] = captions[screen["caption_type"]][ids[target]]
        screen["similarities"] = (images[members] @ images[target]).tolist()
    write_table(snakemake.output[0], STIMULI, screens, {"study": study_name(screens), "corpus": corpus})
