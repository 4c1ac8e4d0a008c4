"""Notes below every table that say where its numbers come from."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from captionlab.jobs.provenance import read_so_far

# Number of inputs that are named below a table. docs/tracing.md explains how to find the others.
SHOWN = 3
OVER_IMAGES = "Intervals: 95 %, over images: of a share Clopper and Pearson's, of other values by bootstrap."
TOY = "These are numbers of a toy world: rendered images and small models trained from scratch on them."


def titled(title: str, caveats: Sequence[str]) -> str:
    """Return a title with the caveats on all numbers of the run (captionlab.config.caveats)."""
    return f"{title} [{'; '.join(caveats)}]" if caveats else title


def figure_title(name: str, label: str, caveats: Sequence[str]) -> str:
    """Return the title of a figure from its name and its label, with its number in the paper if it has one."""
    number = re.search(r"figure(\d+)", name)
    if label[0].isdigit():  # some labels begin with the number
        label = f"Figure {label}"
    elif number:
        label = f"Figure {number[1]}: {label}"
    else:
        label = f"{name.partition('_')[0]}: {label}"
    return titled(label, caveats)


def footnotes_of_run(provenance: Mapping[str, Any]) -> list[str]:
    """Return the notes that stand below every table of a run: on the toy world, and its caveats."""
    toy = [TOY] if provenance.get("toy") else []
    return [*toy, *(f"Caveat: {caveat}." for caveat in provenance.get("caveats", []))]


def run_notes(provenance: Mapping[str, Any]) -> list[str]:
    """Return sentences about the run: config, seed, commit, other facts, and versions of libraries.

    `provenance` has `config` and `seed`, and may have `commit`, `device`, `toy` (True if a corpus is from the toy
    world), `caveats`, `tokenizers` (of corpora that are not in English) and `versions` (library -> version). Other
    notes and titles tell of `toy`, `caveats` and `tokenizers`. Other keys are printed unchanged. Inside a job, a
    sentence on the input files follows.
    """
    first = [key for key in ("seed", "commit", "device") if key in provenance]
    keys = [*first, *sorted(provenance.keys() - {"config", "toy", "caveats", "tokenizers", "versions", *first})]
    facts = "".join(f", {key} {provenance[key]}" for key in keys)
    notes = [f"Made from the config {provenance['config']!r}{facts}."]
    if versions := provenance.get("versions"):
        notes.append(f"Versions: {', '.join(f'{name} {versions[name]}' for name in sorted(versions))}.")
    if inputs := read_so_far():
        shown = [f"{path} ({digest[:8]})" for path, digest in list(inputs.items())[:SHOWN]]
        more = [f"{len(inputs) - SHOWN} more"] if len(inputs) > SHOWN else []
        notes.append(f"Made from {', '.join(shown + more)}.")
    return notes


def protocol_note(decodings: Iterable[str], candidates: Iterable[str | None] = ()) -> str:
    """Return a sentence on how captions were decoded, how candidates were drawn, and how intervals were computed."""
    used = {"Decoding": sorted(set(decodings)), "Candidates": sorted({c for c in candidates if c is not None})}
    return " ".join([*(f"{what}: {', '.join(names)}." for what, names in used.items() if names), OVER_IMAGES])
