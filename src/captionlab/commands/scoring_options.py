"""Arguments that `captionlab score` and `captionlab compare` share."""

import argparse
import logging
import sys
from pathlib import Path
from typing import get_args

from captionlab.config.languages import Tokenizer
from captionlab.scoring.measuring import DEFAULT, METRICS
from captionlab.scoring.scores import Options, ScoringError

FORMS = {"json": "JSON", "csv": "CSV", "latex": "LaTeX"}


def add_scoring_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the files, the metrics and the form of the output."""
    parser.add_argument("captions", nargs="+", help="file of captions: .json, .jsonl, .csv or .tsv")
    parser.add_argument("references", help="file of references: the same, COCO's captions, or Karpathy's splits")
    known, default = ", ".join(METRICS), ",".join(DEFAULT)
    parser.add_argument(
        "--metrics", default=default, metavar="A,B", help=f"metrics, separated by commas: {known}; {default} by default"
    )
    parser.add_argument("--spice", action="store_true", help="also SPICE; its parser is downloaded once (369 MB)")
    parser.add_argument("--clipscore", metavar="IMAGES", help="also CLIPScore, by the images in this folder")
    parser.add_argument(
        "--encoder", metavar="FOLDER", help="encoder of CLIPScore from a run; OpenAI's ViT-B/32 by default"
    )
    parser.add_argument("--chair", metavar="INSTANCES", help="also CHAIR, by COCO's file of annotated objects")
    parser.add_argument(
        "--language",
        default="en",
        metavar="CODE",
        help="language of the captions, such as de or zh-Hant; en by default",
    )
    parser.add_argument(
        "--tokenizer", choices=get_args(Tokenizer), help="tokeniser; by default the tokeniser of the language"
    )
    parser.add_argument("--split", default="test", help="split of Karpathy's file; test by default")
    parser.add_argument("--captioned-only", action="store_true", help="leave out images without a caption")
    parser.add_argument("--seed", type=int, default=1, help="seed of the bootstrap; 1 by default")
    forms = parser.add_mutually_exclusive_group()
    for form, written in FORMS.items():
        forms.add_argument(f"--{form}", dest="form", action="store_const", const=form, help=f"print {written}")
    parser.set_defaults(form="plain")


def options_of(arguments: argparse.Namespace) -> Options:
    """Return what the arguments ask to be measured. Messages of the library go to standard error."""
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="captionlab: %(message)s")
    asked = [name.strip() for name in arguments.metrics.split(",")]
    metrics = [*asked, *(["spice"] if arguments.spice else [])]
    return Options(
        metrics=metrics,
        split=arguments.split,
        captioned_only=arguments.captioned_only,
        seed=arguments.seed,
        images=arguments.clipscore,
        encoder=arguments.encoder,
        objects=arguments.chair,
        language=arguments.language,
        tokenizer=arguments.tokenizer,
    )


def named(paths: list[str]) -> dict[str, str]:
    """Return the paths of files by the names of their columns: the name of a file, or its path if two are the same.

    Raises ScoringError if a file is there twice.
    """
    if twice := [path for path in paths if paths.count(path) > 1]:
        raise ScoringError(f"{twice[0]} is there twice; name each file of captions once, and the references last")
    stems = [Path(path).stem for path in paths]
    return {stem if stems.count(stem) == 1 else path: path for stem, path in zip(stems, paths, strict=True)}
