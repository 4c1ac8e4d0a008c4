"""A captioner as an object that captions images of a program."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from captionlab import plugins
from captionlab.captioners.captioner import Captioner
from captionlab.captioners.store import load_captioner as load_weights
from captionlab.config.evaluations import read_decoding
from captionlab.encoders.encoder import Encoder
from captionlab.encoders.images import embed_images
from captionlab.generation.captioning import caption_images
from captionlab.jobs.progress import shown_after
from captionlab.jobs.scripting import device as best_device
from captionlab.library.blocks import mistakes_named
from captionlab.library.images import PATIENCE, AnyImage, open_encoder, write_images
from captionlab.library.runs import Run, open_run
from captionlab.networks.tokenizer import Tokenizer
from captionlab.storage import paths
from captionlab.userfiles.model_config import NAME, read_config

GREEDY = {"kind": "greedy", "max_tokens": 30}


@dataclass(frozen=True)
class ImageCaptioner:
    """A captioner with its tokenizer and, if it reads features of images, its encoder."""

    model: Captioner[Any]
    tokenizer: Tokenizer
    encoder: Encoder | None = None
    patches: bool = False  # whether the captioner reads a vector for each place of an image

    def caption(
        self, images: Sequence[AnyImage], decoding: Mapping[str, Any] | None = None, *, seed: int = 0
    ) -> list[str]:
        """Return a caption of each image, in their order. Images are files or images of Pillow.

        `decoding` is a block of the section `decodings` of a config, such as `{"kind": "beam", "beams": 5,
        "max_tokens": 30}`; by default it is greedy, of at most 30 tokens. If it draws k samples, an image has k
        consecutive captions, which `seed` decides. Raises ValueError for an image that cannot be opened and for a
        decoding that is not valid.
        """
        with mistakes_named("decoding"):
            checked = read_decoding(decoding or GREEDY)
        with TemporaryDirectory() as folder, shown_after(PATIENCE):
            table, features = Path(folder) / "images.parquet", Path(folder) / "features.parquet"
            ids = write_images(images, table)
            if self.encoder is not None:
                options: dict[str, Any] = {"threads": torch.get_num_threads(), "patches": self.patches}
                embed_images(self.encoder, table, features, batch=self.encoder.batch, **options)
            read = [str(table if self.encoder is None else features)]
            return list(caption_images(self.model, self.tokenizer, ids, read, checked, "images", seed)["caption"])


def load_captioner(
    source: str | os.PathLike[str] | Run,
    name: str | None = None,
    *,
    encoder: str | os.PathLike[str] | None = None,
    device: str | None = None,
) -> ImageCaptioner:
    """Return a captioner of a run by its name, or the captioner in a folder.

    `source` is a run or its folder, with `name`, or the folder of a captioner, such as results/captioners/NAME.
    `encoder` is the folder of the encoder whose features the captioner reads. If the captioner captioned images in its
    run, the encoder is known. `device` is cpu or cuda; by default a GPU is used if there is one. Raises ValueError if
    the captioner is not there, if its encoder is not known, or if it reads regions, which no encoder makes of pixels.
    """
    run, folder = _place(source, name)
    config = read_config(folder / NAME)
    if "family" not in config:
        raise ValueError(f"{folder} has no {NAME} of a captioner; name a folder such as results/captioners/NAME")
    if (family := config["family"]) not in plugins.names("captioners"):
        raise ValueError(
            f"{folder} is of the family {family!r}, which captionlab does not have; if it is a plug-in outside, name "
            "its package first by `use([Path(FOLDER)])` of captionlab.plugins"
        )
    reads = plugins.facts("captioners")[family].reads
    if reads == "tagged-regions":
        raise ValueError(
            f"{folder} is a {family}, which reads regions and tags of a detector; caption its images by an "
            "evaluation of the workflow, and read them by `open_run(...).captions(...)`"
        )
    device = device or best_device()
    if encoder is None and run is not None:
        encoder = run.encoder_of(folder.name)
    if encoder is None and reads in ("vector", "patches"):
        raise ValueError(
            f"{folder} is a {family}, which reads the output of an encoder; name the folder of the encoder, "
            "such as results/encoders/NAME, as `encoder`"
        )
    model, tokenizer = load_weights(folder, device)
    return ImageCaptioner(
        model, tokenizer, None if encoder is None else open_encoder(encoder, device), reads != "vector"
    )


def _place(source: str | os.PathLike[str] | Run, name: str | None) -> tuple[Run | None, Path]:
    """Return the run and the folder of a captioner; the run is None for a folder outside of a run."""
    if isinstance(source, Run) or name is not None:
        run = source if isinstance(source, Run) else open_run(source)
        if name is None:
            raise ValueError(f"name a captioner of the run; it has captions of {', '.join(run.captioners)}")
        return run, run.model("captioners", name)
    folder = Path(source).absolute()
    own = Path(*folder.parts[-3:], NAME) == Path(paths.captioner(NAME, folder.name))
    return (Run(folder.parents[2]) if own else None), folder
