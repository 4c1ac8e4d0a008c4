"""The devices that numbers were computed on, captions included, for the footers of tables."""

from collections.abc import Iterable

from captionlab.tables import read_metadata


def devices_of(paths: Iterable[str]) -> str:
    """The devices that tables say they were computed on; those of text metrics, which need no GPU, say nothing."""
    return ", ".join(sorted({notes["device"] for notes in map(read_metadata, paths) if "device" in notes}))


def device_note(paths: Iterable[str]) -> dict[str, str]:
    """The same as metadata of the table that is made of these; nothing where none says a device."""
    return {"device": devices} if (devices := devices_of(paths)) else {}
