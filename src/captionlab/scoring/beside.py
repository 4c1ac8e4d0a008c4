"""Metrics that read more than texts: CLIPScore (images), CHAIR (annotated objects) and SPICE (a parser)."""

from collections.abc import Iterator, Sequence
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory

from captionlab.evaluation.summary import Result
from captionlab.scoring.measuring import CORPUS, InMemory, Material, scores_of, table_results
from captionlab.storage.paths import CATEGORIES, RESOURCES
from captionlab.storage.schemas import CAPTION_KEY, IMAGES
from captionlab.storage.tables import write_table
from captionlab.userfiles.ids import known_id

# OpenAI's ViT-B/32, by which CLIPScore is published, as open_clip names it.
CLIP = {"family": "clip", "model": "ViT-B-32-quickgelu", "weights": "openai"}
# Memory in MB and parsers of SPICE.
SPICE_MEMORY, SPICE_THREADS = 4000, 2


def clipscore_results(
    materials: Sequence[Material], images: str | PathLike[str], encoder: str | PathLike[str] | None, seed: int
) -> Iterator[Result]:
    """Yield CLIPScore and RefCLIPScore of each captioner.

    `images` is a folder with the image files, known by their ids; `encoder` is the folder of an encoder of a run, by
    default OpenAI's ViT-B/32. Raises ValueError if an image has no file.
    """
    from captionlab.encoders.images import embed_images
    from captionlab.encoders.store import import_encoder, load_encoder
    from captionlab.jobs.scripting import device

    with TemporaryDirectory(prefix="captionlab-") as folder:
        table, name = Path(folder, "images.parquet"), Path(encoder).name if encoder else "ViT-B-32"
        write_table(table, IMAGES, _image_rows(Path(images), [*materials[0].written]))
        place = Path(encoder) if encoder else Path(folder, name)
        if not encoder:
            import_encoder(CLIP).save(place)
        model = load_encoder(place, device())
        features = Path(folder, "features", name, CORPUS, "0-of-1.parquet")
        features.parent.mkdir(parents=True)
        embed_images(model, table, features, batch=model.batch)
        inputs = {"configs": [str(place / "config.json")], "features": [str(features)]}
        for one in materials:
            yield from table_results(one, "clipscore", seed, InMemory(one, {"clipscore": [name]}, inputs))


def chair_results(materials: Sequence[Material], objects: str | PathLike[str], seed: int) -> Iterator[Result]:
    """Yield CHAIRi, CHAIRs and object recall of each captioner.

    `objects` is an instances file of COCO. Words are tagged by the spaCy model that captionlab brings.
    """
    from captionlab.corpora.readers.coco.reader import coco_objects
    from captionlab.texts.tagging import load_tagger, tag

    tagger = load_tagger("en_ewt_sm")

    def tagged(keys: Sequence[tuple[str, int]], texts: Sequence[str]) -> list[dict[str, object]]:
        return [
            {
                "corpus": CORPUS,
                "image_id": image,
                "caption_index": index,
                "words": words,
                "lemmas": lemmas,
                "tags": tags,
            }
            for (image, index), (words, lemmas, tags) in zip(keys, tag(tagger, texts), strict=True)
        ]

    if not Path(objects).is_file():
        raise ValueError(f"there is no file {objects} of objects")
    annotated = coco_objects(Path(objects))
    rows = [{"image_id": image, "label": one.label} for image, of_image in annotated.items() for one in of_image]
    references = [
        ((image, index), text) for image, texts in materials[0].written.items() for index, text in enumerate(texts)
    ]
    reference_tags = tagged([key for key, _ in references], [text for _, text in references])
    for one in materials:
        inputs = InMemory(one, {"objects": "coco"}, {"categories": str(RESOURCES.parent / CATEGORIES["coco"])})
        inputs.objects = {CORPUS: rows}
        inputs.reference_tags = {CORPUS: reference_tags}
        inputs.tags = {CORPUS: tagged([*one.captions], [*one.captions.values()])}
        yield from table_results(one, "chair", seed, inputs)


def spice_results(materials: Sequence[Material], seed: int) -> Iterator[Result]:
    """Yield SPICE of each captioner. Parsers are downloaded once (captionlab.evaluation.spice_models)."""
    from captionlab.evaluation.metrics.spice import metric as spice
    from captionlab.evaluation.spice_models import available_models, fetch_models

    envs = RESOURCES.parent / "envs" / "spice"
    with TemporaryDirectory(prefix="captionlab-") as folder:
        fetch_models(envs / "pom.xml", envs / "checksums.sha256", Path(folder, "models"))
        jars, _ = available_models(Path(folder, "models"))
        for one in materials:
            spoken = {image: [text for text in texts if text] for image, texts in one.references.items()}
            scored = {key: text for key, text in one.tokens.items() if spoken[key[0]]}
            references = [spoken[image] for image, _ in scored]
            columns = spice.score_captions([*scored.values()], references, jars, SPICE_MEMORY, SPICE_THREADS)
            keys = zip(*((CORPUS, *key) for key in scored), strict=True)
            parts = [{**dict(zip(CAPTION_KEY, map(list, keys), strict=True)), **columns}]
            yield from scores_of(one, spice, spice.SPICE, parts, seed)


def _image_rows(folder: Path, ids: Sequence[str]) -> dict[str, list[object]]:
    """Return the rows of IMAGES for the images of a folder with these ids. Raises ValueError if one is missing."""
    from captionlab.corpora.readers.folder.reader import photographs
    from captionlab.corpora.readers.passed_over import PassedOver

    if not folder.is_dir():
        raise ValueError(f"there is no folder {folder} of images")
    files: dict[str, str] = {}
    wanted = frozenset(ids)
    for name in photographs(folder, "", PassedOver()):
        if image := known_id(name, wanted) or known_id(Path(name).name, wanted):
            files.setdefault(image, str(folder / name))
    if missing := [image for image in ids if image not in files]:
        raise ValueError(
            f"{folder}: {len(missing)} of {len(ids)} images have no file there, the first is {missing[0]!r}; files are "
            "known by their names without ending"
        )
    count, nothing = len(ids), [None] * len(ids)
    places = {"path": [files[image] for image in ids], "offset": nothing, "length": nothing, "data": nothing}
    sizes = {"width": [0] * count, "height": [0] * count, "image_set": nothing}
    return {"image_id": [*ids], "position": [*range(count)], "split": ["given"] * count, **places, **sizes}
