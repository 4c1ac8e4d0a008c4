"""The command `captionlab export`: captions of a run as COCO results, with references if asked for."""

import argparse
import json
from pathlib import Path

from captionlab.library.coco import coco_references, coco_results, exported, write_json
from captionlab.library.runs import open_run


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("folder", type=Path, metavar="RUN", help="folder in which Snakemake ran, or its results/")
    parser.add_argument("--captioner", required=True, metavar="NAME", help="captioner, as the config names it")
    parser.add_argument("--evaluation", required=True, metavar="NAME", help="evaluation, as the config names it")
    parser.add_argument("--corpus", metavar="NAME", help="corpus; needed if the evaluation has several")
    parser.add_argument("--output", type=Path, metavar="FILE", help="file of captions; default: standard output")
    parser.add_argument(
        "--references", type=Path, metavar="FILE", help="also write the references of the images as COCO annotations"
    )


def run(arguments: argparse.Namespace) -> None:
    """Write the files. Raises ValueError if captions or references are not there."""
    opened, named = open_run(arguments.folder), (arguments.captioner, arguments.evaluation, arguments.corpus)
    results = coco_results(opened, *named)
    if arguments.references:
        write_json(arguments.references, coco_references(opened, exported(opened, *named)))
    if arguments.output:
        write_json(arguments.output, results)
        print(f"{len(results)} captions are in {arguments.output}")
    else:
        print(json.dumps(results, ensure_ascii=False))
