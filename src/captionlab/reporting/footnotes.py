"""What stands below every table: where its numbers come from."""

from collections.abc import Iterable, Mapping
from typing import Any

TOY = "These are numbers of a toy world: rendered images and small models trained from scratch on them."


def run_notes(provenance: Mapping[str, Any]) -> list[str]:
    """Sentences on the run: config, seed, commit, whatever else is given, and versions of libraries.

    `provenance` has `config` and `seed`, perhaps `commit`, `device`, `toy` (true when the toy world is among the
    corpora) and `versions` (library -> version); other keys are printed as they are.
    """
    notes = [TOY] if provenance.get("toy") else []
    facts = {key: value for key, value in provenance.items() if key not in ("config", "toy", "versions")}
    line = [f"Made from the config {provenance['config']!r}"]
    line += [f"{key} {facts.pop(key)}" for key in ("seed", "commit", "device") if key in facts]
    line += [f"{key} {facts[key]}" for key in sorted(facts)]
    notes.append(", ".join(line) + ".")
    if versions := provenance.get("versions"):
        notes.append(f"Versions: {', '.join(f'{name} {versions[name]}' for name in sorted(versions))}.")
    return notes


def protocol_note(decodings: Iterable[str], candidates: Iterable[str | None] = ()) -> str:
    """One sentence on how captions were decoded, how candidates were drawn, and what the intervals are."""
    parts = []
    if names := sorted(set(decodings)):
        parts.append(f"Decoding: {', '.join(names)}.")
    if sets := sorted({c for c in candidates if c is not None}):
        parts.append(f"Candidates: {', '.join(sets)}.")
    return " ".join([*parts, "Intervals: 95 %, bootstrap over images."])
