"""The command `captionlab push`: send a captioner or captions of a run to the hub."""

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("folder", metavar="RUN", type=Path, help="folder of a finished run, which holds results/")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--captioner", metavar="NAME", help="send this captioner with its model card")
    what.add_argument("--captions", metavar="EVALUATION", help="send the captions of this evaluation as a data set")
    parser.add_argument("--to", required=True, metavar="USER/NAME", help="repository, which is made if it is not there")
    parser.add_argument("--public", action="store_true", help="make a new repository public (default: private)")
    parser.add_argument("--dry-run", action="store_true", help="show the files and the card, and send nothing")


def run(arguments: argparse.Namespace) -> None:
    """Send the files, or show them."""
    from captionlab.records.hub import checked_repository, send
    from captionlab.records.shipments import captioner_shipment, captions_shipment

    repository, folder = checked_repository(arguments.to), arguments.folder.resolve()
    if arguments.captioner:
        shipment = captioner_shipment(folder, arguments.captioner, repository)
    else:
        shipment = captions_shipment(folder, arguments.captions)
    for name, size in shipment.sizes().items():
        print(f"{size:>14,} bytes  {name}")
    if arguments.dry_run:
        print(f"\n{shipment.card}")
    else:
        print(send(shipment, repository, arguments.public))
        print("Its card names no licence; add one on the page of the repository before you share it.")
