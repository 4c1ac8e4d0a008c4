"""What stands below every table: where its numbers come from."""

from collections.abc import Iterable, Mapping
from typing import Any

from captionlab.provenance import read_so_far

# Inputs that are named below a table; the others are found by way of docs/tracing.md.
SHOWN = 3
OVER_IMAGES = "Intervals: 95 %, over images: of a share Clopper and Pearson's, of other values by bootstrap."
TOY = "These are numbers of a toy world: rendered images and small models trained from scratch on them."


def run_notes(provenance: Mapping[str, Any]) -> list[str]:
    """Sentences on the run: config, seed, commit, whatever else is given, and versions of libraries.

    `provenance` has `config` and `seed`, perhaps `commit`, `device`, `toy` (true when the toy world is among the
    corpora, which a note of its own says) and `versions` (library -> version); other keys are printed as they are. In a
    job, what it read follows.
    """
    first = [key for key in ("seed", "commit", "device") if key in provenance]
    keys = [*first, *sorted(provenance.keys() - {"config", "toy", "versions", *first})]
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
    """One sentence on how captions were decoded, how candidates were drawn, and what the intervals are."""
    used = {"Decoding": sorted(set(decodings)), "Candidates": sorted({c for c in candidates if c is not None})}
    return " ".join([*(f"{what}: {', '.join(names)}." for what, names in used.items() if names), OVER_IMAGES])
