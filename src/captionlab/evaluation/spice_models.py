"""The jars that SPICE needs beside pycocoevalcap's, from Maven Central, pinned by coordinates and checksums."""

import functools
import hashlib
import json
import logging
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from captionlab.storage.cache import once

logger = logging.getLogger(__name__)

STATUS = "status.json"


class ModelsUnavailable(RuntimeError):
    """The jars cannot be obtained: there is no network, or the repository lacks a file."""


class ModelsCorrupt(RuntimeError):
    """A jar does not match its checksum, or is missing from a folder of jars."""


@dataclass(frozen=True)
class Coordinates:
    """A jar in a Maven repository."""

    group: str
    artifact: str
    version: str
    classifier: str = ""

    @property
    def file(self) -> str:
        """Return the file name of the jar."""
        return "-".join(part for part in (self.artifact, self.version, self.classifier) if part) + ".jar"


def fetch_models(pom: Path, checksums: Path, folder: Path) -> None:
    """Put the jars that a pom.xml names into a folder, with a status.json that lists the jars and their sha256.

    A jar is taken from the cache (captionlab.storage.cache) if an earlier run left it there, or from the local Maven
    repository (M2_REPO, else ~/.m2/repository); else it is downloaded. The folder appears when all jars are there.
    Raises ModelsUnavailable if a jar cannot be downloaded. Raises ModelsCorrupt if a checksum is wrong or missing.
    """
    expected = read_checksums(checksums)
    jars: dict[str, str] = {}
    with _replaced(folder, {"jars": jars}) as partial:
        for jar in read_coordinates(pom):
            if jar.file not in expected:
                raise ModelsCorrupt(f"{checksums} has no checksum of {jar.file}, which {pom} names")
            logger.info("%s", jar.file)
            jars[jar.file] = expected[jar.file]
            downloads, target = partial.with_name("repository"), partial / jar.file
            fetch = functools.partial(_fetch, jar, expected[jar.file], downloads, target)
            once(["jar", expected[jar.file]], [target], fetch, link=True)


def write_unavailable(folder: Path, reason: str) -> None:
    """Write a folder without jars, whose status.json gives the reason."""
    with _replaced(folder, {"unavailable": reason}):
        pass


def available_models(folder: Path) -> tuple[list[Path], str]:
    """Return the jars in a folder of `fetch_models`, and the reason if there are none.

    Raises ModelsCorrupt if a jar is missing or changed, or if status.json cannot be read.
    """
    try:
        status = json.loads((folder / STATUS).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelsCorrupt(f"{folder / STATUS} cannot be read ({error}); delete {folder} and run again") from error
    jars = {folder / name: expected for name, expected in status.get("jars", {}).items()}
    for jar, expected in jars.items():
        if (found := _sha256(jar)) != expected:
            what = f"has sha256 {found}" if found else "is missing"
            raise ModelsCorrupt(f"{jar} {what}, not {expected}; delete {folder} and run again")
    return [*jars], status.get("unavailable", "")


def read_coordinates(pom: Path) -> list[Coordinates]:
    """Return the dependencies of a pom.xml."""
    space, tags = {"m": "http://maven.apache.org/POM/4.0.0"}, ("groupId", "artifactId", "version", "classifier")
    return [
        Coordinates(*(element.findtext(f"m:{tag}", "", space) for tag in tags))
        for element in ElementTree.parse(pom).getroot().iterfind("m:dependencies/m:dependency", space)
    ]


def read_checksums(path: Path) -> dict[str, str]:
    """Return the sha256 of each file name, from a file in the format of sha256sum."""
    return {
        name: digest
        for digest, name in (line.split() for line in path.read_text(encoding="utf-8").splitlines() if line.strip())
    }


def _fetch(jar: Coordinates, expected: str, downloads: Path, target: Path) -> None:
    from jgo.constants import default_maven_repo
    from jgo.maven import MavenContext

    # The local Maven repository is only read. If its file is corrupt, the second turn downloads the jar.
    for local in ([default_maven_repo()], []):
        project = MavenContext(repo_cache=downloads, local_repos=local, timeout=60).project(jar.group, jar.artifact)
        try:
            found = project.at_version(jar.version).artifact(jar.classifier).resolve()
        except (OSError, RuntimeError) as error:  # requests' errors are OSErrors
            raise ModelsUnavailable(
                f"{jar.file} ({jar.group}:{jar.artifact}:{jar.version}) is not in {default_maven_repo()} "
                f"and cannot be downloaded: {error}"
            ) from error
        digest = _sha256(found)
        if digest == expected:
            try:
                os.link(found, target)
            except OSError:
                shutil.copyfile(found, target)
            return
        logger.warning("%s has sha256 %s, not %s", found, digest, expected)
    raise ModelsCorrupt(
        f"{jar.file} was downloaded and has sha256 {digest}, not {expected}; run again, and look into your proxy"
    )


@contextmanager
def _replaced(folder: Path, status: dict[str, object]) -> Iterator[Path]:
    """Yield a new folder, which replaces `folder`, with a status, if the block ends without an error."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}.") as temporary:
        partial = Path(temporary, "jars")
        partial.mkdir()
        yield partial
        (partial / STATUS).write_text(json.dumps(status, indent=1) + "\n", encoding="utf-8")
        if folder.exists():
            shutil.rmtree(folder)
        os.replace(partial, folder)


def _sha256(path: Path) -> str:
    """Return the sha256 of a file, or "" if there is no file."""
    if not path.exists():
        return ""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
