"""Images of a program, which are files or in memory, as the tables that the models of captionlab read."""

import io
import os
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from PIL import Image
from torch import Tensor

from captionlab.encoders.embeddings import load_embeddings
from captionlab.encoders.encoder import Encoder
from captionlab.encoders.images import embed_images
from captionlab.encoders.store import import_encoder, load_encoder
from captionlab.images.locations import ImageLocation
from captionlab.images.pixels import image_size
from captionlab.jobs.progress import shown_after
from captionlab.storage.schemas import IMAGES
from captionlab.storage.tables import write_table
from captionlab.userfiles.model_config import NAME, read_config

# Seconds of work after which a call shows its progress.
PATIENCE = 5.0

AnyImage = str | os.PathLike[str] | Image.Image
# Modes of Pillow that PNG can hold.
_OF_PNG = {"1", "L", "LA", "P", "I;16", "RGB", "RGBA"}


def write_images(images: Sequence[AnyImage], path: Path) -> list[str]:
    """Write a table of images, all in the split train, and return their ids: 0, 1, ...

    Raises ValueError, which names the image, if an image cannot be opened.
    """
    if isinstance(images, str | os.PathLike | Image.Image):
        raise ValueError("images is a single image; give a list of images")
    rows = []
    for number, image in enumerate(images):
        place = _location(image)
        try:
            width, height = image_size(place)
        except Exception as error:  # decoders raise any type of error for damaged bytes
            raise ValueError(f"image {number} ({image}) cannot be opened: {error}") from error
        row = {"image_id": str(number), "position": number, "split": "train", "width": width, "height": height}
        rows.append({**row, **place._asdict(), "image_set": None})
    if not rows:
        raise ValueError("there are no images; give a list of files or of images of Pillow")
    write_table(path, IMAGES, rows)
    return [row["image_id"] for row in rows]


def embed(encoder: Encoder, images: Sequence[AnyImage]) -> Tensor:
    """Return the embeddings (n, d), float32, not normalised, of images."""
    with TemporaryDirectory() as folder:
        table, output = Path(folder) / "images.parquet", Path(folder) / "features.parquet"
        ids = write_images(images, table)
        with shown_after(PATIENCE):
            embed_images(encoder, table, output, threads=torch.get_num_threads(), batch=encoder.batch)
        return load_embeddings(output, ids).values


def open_encoder(folder: str | os.PathLike[str], device: str) -> Encoder:
    """Return the encoder in a folder of a run, or in a folder of transformers, such as a published CLIP.

    Raises ValueError if there is no such folder.
    """
    config = Path(folder) / NAME
    if not config.is_file():
        raise ValueError(f"{folder} has no {NAME}; name the folder of an encoder, such as run.model('encoders', NAME)")
    if "family" in read_config(config):
        return load_encoder(folder, device)
    encoder = import_encoder({"family": "transformers"}, folder)
    return type(encoder)(encoder.model, encoder.config, device)


def _location(image: AnyImage) -> ImageLocation:
    """Return the place of an image: its file, or its pixels as PNG, with the orientation of a photograph."""
    if not isinstance(image, Image.Image):
        return ImageLocation(path=os.fspath(image))
    file, exif = io.BytesIO(), image.getexif()
    (image if image.mode in _OF_PNG else image.convert("RGB")).save(file, "PNG", exif=exif)
    return ImageLocation(data=file.getvalue())
