"""The lineage of a file: everything that it was made from. `python -m captionlab.jobs.tracing FILE` prints it."""

import argparse
import json
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from captionlab.jobs.provenance import file_of, written
from captionlab.storage import paths
from captionlab.storage.files import digest

# The jobs that made an output, each with the digest of the output and with the provenance of the job, by output.
Makers = dict[str, list[tuple[str, dict[str, Any]]]]


def lineage(path: str) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """Yield a file and everything that it was made from, depth first: depth, file, and provenance (empty if unknown).

    A file that several files were made from comes once, at its first occurrence. An input that changed after the job
    read it has {"changed": True} as its provenance, and also comes once. Paths are as jobs name them
    (`captionlab.jobs.provenance.file_of`): relative to the run's folder, or to the checkout for files that come with
    it. If a job recorded the inputs of each output, only these are followed. A copied file, as in the folder of all
    tables, is followed to its original alone.
    """
    digest_once, makers = cache(digest), _makers(Path())
    path = str(Path(path))  # jobs name files without ./
    met = {(path, False)}

    def maker(path: str) -> dict[str, Any]:
        for output in (path, *map(str, Path(path).parents)):  # some outputs are folders
            for made, job in makers.get(output, ()):
                # An imported captioner may have been replaced by a trained captioner of the same name.
                if made == digest_once(file_of(output)):
                    return job
        return {}

    def follow(path: str, depth: int) -> Iterator[tuple[int, str, dict[str, Any]]]:
        known = maker(path)
        yield depth, path, known
        read = known.get("inputs", {})
        if path in known.get("sources", {}):
            read = {source: read[source] for source in known["sources"][path]}
        originals = {name: made for name, made in read.items() if Path(name).name == Path(path).name}
        copied = originals and digest_once(file_of(path)) in originals.values()
        for source, expected in (originals if copied else read).items():
            file = file_of(source)
            changed = not file.exists() or digest_once(file) != expected
            if (source, changed) in met:
                continue
            met.add((source, changed))
            if changed:
                yield depth + 1, source, {"changed": True}
            else:
                yield from follow(source, depth + 1)

    return follow(path, 0)


def sources(file: Path) -> set[str]:
    """Return the names of all files that a file of a run was made from; none if nothing is known of the file.

    Jobs and digests are taken from the provenance of the run, in whose folder `results` the file lies. Other files are
    not opened, so they may be large, changed or deleted. Raises ValueError if a file of provenance is damaged.
    """
    run = next((folder.parent for folder in file.parents if folder.name == paths.RESULTS), None)
    if run is None or not file.is_file():
        return set()
    makers = _makers(run)
    ahead = [(str(file.relative_to(run)), digest(file))]
    met = {*ahead}
    while ahead:
        name, content = ahead.pop()
        for output in (name, *map(str, Path(name).parents)):  # some outputs are folders
            for made, job in makers.get(output, ()):
                if output != name or made == content:
                    ahead += job["inputs"].items() - met
                    met |= job["inputs"].items()
    return {name for name, _ in met} - {str(file.relative_to(run))}


def _makers(run: Path) -> Makers:
    """Return the makers of all outputs of a run. Raises ValueError if a file of provenance is damaged."""
    makers = defaultdict(list)
    for job in written(run):
        for output, made in job["outputs"].items():
            makers[output].append((made, job))
    return makers


def main(arguments: list[str] | None = None) -> None:
    """Print the provenance of a file, and of everything that it was made from."""
    parser = argparse.ArgumentParser(prog="python -m captionlab.jobs.tracing", description=main.__doc__)
    parser.add_argument("file", help="a file of a run; start this in the folder that holds results/")
    parser.add_argument("--full", action="store_true", help="everything that is known of the file itself, as JSON")
    options = parser.parse_args(arguments)
    if not Path(options.file).exists():
        parser.error(f"there is no {options.file} in {Path.cwd()}; start this in the folder that holds results/")
    found = lineage(options.file)
    if options.full:
        print(json.dumps(next(found)[2], indent=2, sort_keys=True))
        return
    for depth, path, known in found:
        about = "changed or deleted since" if known.get("changed") else ""
        if "rule" in known:
            served = [f"served by {model}" for model in known.get("served", [])]
            about = ", ".join([f"by {known['rule']}", f"commit {known['commit']}", known["device"], *served])
        print("  " * depth + path + (f": {about}" if about else ""))


if __name__ == "__main__":
    main()
