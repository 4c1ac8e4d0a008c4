"""A checkout whose table of sources leads to a server on the loopback, which has stand-ins of all that there is."""

import io
import shutil
import zipfile
from pathlib import Path
from typing import Any

import yaml
from support.file_server import FileServer

from captionlab.sources.table import Source, read_sources

ROOT = Path(__file__).parents[2]


def checkout_for(server: FileServer, elsewhere: Path, checkout: Path) -> Path:
    """A checkout with a table of all sources whose stand-ins lie `elsewhere` as they would below `data`.

    Files of the hub are served as its own, with their repositories; what is an archive, is one; what must be had by
    hand, may be fetched too. The server is the hub where HF_ENDPOINT says so.
    """
    (checkout / "resources").mkdir(parents=True)
    shutil.copy(ROOT / "Snakefile", checkout)
    for name in ("config", "envs", "profiles", "src", "workflow", "pyproject.toml", "CITATION.cff"):
        (checkout / name).symlink_to(ROOT / name)
    for path in (ROOT / "resources").iterdir():
        if path.name != "sources.yaml":
            (checkout / "resources" / path.name).symlink_to(path)
    table: dict[str, dict[str, Any]] = {}
    for source in read_sources():
        there = {place: member for place, member in source.places.items() if (elsewhere / place).exists()}
        if there:
            table.setdefault(source.section, {})[source.name] = _served(source, there, server, elsewhere)
    (checkout / "resources" / "sources.yaml").write_text(yaml.safe_dump(table))
    return checkout


def _served(source: Source, places: dict[str, str | None], server: FileServer, elsewhere: Path) -> dict[str, Any]:
    words = {key: getattr(source, key) for key in ("what", "origin", "licence", "becomes")}
    if source.repository:
        above = "/datasets" if source.kind == "dataset" else ""
        server.commits[f"{above}/{source.repository}".strip("/")] = f"{len(server.commits):040x}"
        for place, member in places.items():
            server.files[f"{above}/{source.repository}/{member}"] = elsewhere / place
        return {**words, "places": places, "repository": source.repository, "kind": source.kind}
    (place, member), *others = places.items()
    address = f"/{source.name}"
    if member is None and not others and not place.endswith("/"):
        server.files[address] = elsewhere / place
    else:
        places = {place: member or f"inside/{place}" for place, member in places.items()}
        server.files[address] = _zipped(places, elsewhere)
    return {**words, "places": places, "addresses": [server.address + address]}


def _zipped(places: dict[str, str], elsewhere: Path) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for place, member in places.items():
            found = elsewhere / place
            for path in sorted(found.rglob("*")) if found.is_dir() else [found]:
                archive.write(path, f"{member}{path.relative_to(found)}" if found.is_dir() else member)
    return file.getvalue()
