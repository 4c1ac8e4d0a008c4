"""Choose the sets of images of the study and arrange them, with captions of every type, in blocks of screens."""

from collections.abc import Sequence

import numpy as np

from captionlab.encoders.embeddings import load_embeddings
from captionlab.encoders.store import load_encoder
from captionlab.evaluation.metrics.retrieval.metric import ranks, unit_length
from captionlab.generation.captions import evaluated_images
from captionlab.jobs.scripting import device, folder_of, script
from captionlab.storage.schemas import GENERATED
from captionlab.storage.tables import read_table, write_table
from captionlab.study import stimuli
from captionlab.study.schemas import STIMULI


def first_captions(path: str, corpus: str) -> dict[str, str]:
    """Return the first non-empty caption of each image of a corpus. Raises StudyError if the corpus has no captions."""
    rows = [row for row in read_table(path, GENERATED).to_pylist() if row["corpus"] == corpus]
    if not rows:
        raise stimuli.StudyError(f"{path} has no captions of {corpus!r}; name an evaluation of it in study.evaluation")
    # The first caption of an image comes last, so the dict keeps it.
    rows.sort(key=lambda row: row["caption_index"], reverse=True)
    return {row["image_id"]: row["caption"] for row in rows if row["caption"].strip()}


@script
def main(snakemake):
    inputs, params, config = snakemake.input, snakemake.params, snakemake.params.config
    corpus, people, types = params.corpus, params.people, list(params.captioners)
    ids = evaluated_images(inputs.images, corpus, params.split)
    captions = {name: first_captions(path, corpus) for name, path in zip(types, inputs.captions, strict=True)}
    images = unit_length(load_embeddings(inputs.features).rows(ids).numpy(), ids, f"images of {corpus}")
    excluded = stimuli.read_exclusions(inputs.exclude[0], ids) if inputs.exclude else set()
    generator = np.random.default_rng([params.seed, len(ids)])
    free = np.array([image_id not in excluded for image_id in ids])
    order = [int(row) for row in generator.permutation(len(ids))]
    complete = [row for row in order if all(ids[row] in captions[name] for name in types)]
    sets = stimuli.choose_sets(images, complete, free, config["sets"], config["max_similarity"])
    clip = load_encoder(folder_of(inputs.weights), device())

    def found(controls: Sequence[Sequence[int]]) -> Sequence[bool]:
        names = [ids[members[0]] for members in controls]
        embedded = clip.embed_texts([captions[people][name] for name in names]).cpu().numpy()
        texts, shown = unit_length(embedded, names, "controls"), images[np.array(controls).reshape(-1)]
        sets_of = np.repeat(np.arange(len(controls)), stimuli.IMAGES_OF_SCREEN).astype(str).tolist()
        targets = np.arange(len(controls)) * stimuli.IMAGES_OF_SCREEN
        return [bool(rank == 1) for rank in ranks(texts, targets, shown, "set", corpus=corpus, sets=sets_of)[0]]

    blocks = len(types) * (config["sets"] // config["block"])
    targets = [row for row in order if ids[row] in captions[people]]
    controls = stimuli.choose_controls(targets, free, blocks * config["controls"] + 1, found, generator)
    screens = stimuli.arrange(sets, controls, config["block"], types, people, generator)
    for screen in screens:
        members = screen.pop("members")
        target = members[screen["position"] - 1]
        screen["images"] = [ids[row] for row in members]
        screen["target"] = ids[target]
        screen["caption"] = captions[screen["caption_type"]][ids[target]]
        screen["similarities"] = (images[members] @ images[target]).tolist()
    write_table(snakemake.output[0], STIMULI, screens, {"study": stimuli.study_name(screens), "corpus": corpus})
