"""The devices on which captions and scores were computed, for the footers of tables."""

from collections.abc import Iterable

from captionlab.storage.tables import read_metadata


def devices_of(paths: Iterable[str]) -> str:
    """Return the devices that these tables name in their metadata, separated by commas.

    Tables of text metrics, which need no GPU, name no device.
    """
    return ", ".join(sorted({notes["device"] for notes in map(read_metadata, paths) if "device" in notes}))


def device_note(paths: Iterable[str]) -> dict[str, str]:
    """Return the devices of input tables as metadata for the table made from them; empty if no table names a device."""
    return {"device": devices} if (devices := devices_of(paths)) else {}
