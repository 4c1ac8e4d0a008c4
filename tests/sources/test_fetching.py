"""Fetching from a server on the loopback that behaves as servers do: each ends with a file or a sentence."""

import errno
import hashlib
import io
import json
import logging
import random
import tarfile
import zipfile
from concurrent.futures import ThreadPoolExecutor

import pytest
from huggingface_hub import constants
from support.file_server import serving

from captionlab.sources.retrieval import Retrieval, put
from captionlab.sources.table import DiskFull, Source, SourceError, hub_source

CONTENT = random.Random(0).randbytes(50_000)
SHA256 = hashlib.sha256(CONTENT).hexdigest()
SOME_DATA = hub_source("some/data", "main", "dataset")


@pytest.fixture
def server(monkeypatch):
    # What came of the last of these chunks is lost when a connection breaks; else they have 10 MB.
    monkeypatch.setattr(constants, "DOWNLOAD_CHUNK_SIZE", 100)
    with serving() as server:
        server.files["/a.bin"] = CONTENT
        yield server


def source(server, *paths, places="a.bin", **more) -> Source:
    words = {"what": "a file", "origin": "a page", "licence": "MIT", "becomes": "nothing"}
    places = {places: None} if isinstance(places, str) else places
    return Source(name="a", places=places, addresses=tuple(server.address + path for path in paths), **words, **more)


def left(data) -> set[str]:
    """All files below the data, but for the two lock files."""
    found = {str(path.relative_to(data)) for path in data.rglob("*") if path.is_file()}
    return found - {"sources.lock.json", ".retrieve.lock"}


def refused(tmp_path, answers, name, server, *sources) -> str:
    """What is said of these, which cannot be fetched, in the table of bad input."""
    with pytest.raises(SourceError) as raised:
        Retrieval([*sources], tmp_path).fetch()
    text = str(raised.value).replace(server.address, "http://host").replace(SHA256, SHA256[:8])
    if name:
        answers.hold(name, text, "")
    return text


def test_a_file_is_fetched_and_noted(server, tmp_path):
    Retrieval([source(server, "/a.bin", places="deep/er/a.bin")], tmp_path).fetch()
    assert (tmp_path / "deep/er/a.bin").read_bytes() == CONTENT
    assert left(tmp_path) == {"deep/er/a.bin"}
    (noted,) = json.loads((tmp_path / "sources.lock.json").read_text()).values()
    assert (noted["sha256"], noted["size"], noted["from"]) == (SHA256, 50_000, f"{server.address}/a.bin")


def test_what_is_there_is_left_alone(server, tmp_path):
    (tmp_path / "a.bin").write_bytes(b"mine")
    Retrieval([source(server, "/a.bin")], tmp_path).fetch()
    assert (tmp_path / "a.bin").read_bytes() == b"mine"
    assert not server.asked


def test_a_connection_that_breaks_is_taken_up_again(server, tmp_path):
    server.cuts["/a.bin"] = [20_500, 100, 7_000]
    Retrieval([source(server, "/a.bin", sha256=SHA256)], tmp_path).fetch()
    assert (tmp_path / "a.bin").read_bytes() == CONTENT
    ranges = [asked for method, _, asked in server.asked if method == "GET"]
    assert ranges == ["", "bytes=20500-", "bytes=20600-", "bytes=27600-"]


def test_a_run_that_was_stopped_goes_on_in_the_next(server, tmp_path, monkeypatch):
    def stopped(*args, **options):
        args[1].write(CONTENT[:30_000])
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("captionlab.sources.transfer.http_get", stopped)
        with pytest.raises(KeyboardInterrupt):
            Retrieval([source(server, "/a.bin")], tmp_path).fetch()
    assert not (tmp_path / "a.bin").exists()
    Retrieval([source(server, "/a.bin")], tmp_path).fetch()
    assert (tmp_path / "a.bin").read_bytes() == CONTENT
    assert [asked for method, _, asked in server.asked if method == "GET"] == ["bytes=30000-"]
    assert left(tmp_path) == {"a.bin"}


def test_a_file_that_changed_since_the_cut_is_fetched_anew(server, tmp_path, monkeypatch):
    (tmp_path / ".retrieve").mkdir()
    server.cuts["/a.bin"] = [10_000]
    other = bytes(reversed(CONTENT))
    from captionlab.sources import transfer

    plain = transfer.http_get

    def changing(*args, **options):
        """Change the file once the server described it, and while it is under way."""
        args[1].write(CONTENT[:10_000])
        server.files["/a.bin"] = other
        return plain(*args, **{**options, "resume_size": 10_000})

    monkeypatch.setattr(transfer, "http_get", changing)
    Retrieval([source(server, "/a.bin")], tmp_path).fetch()
    assert (tmp_path / "a.bin").read_bytes() == other


def half(server, tmp_path, monkeypatch, came=CONTENT[:30_000]):
    """Begin a transfer that is stopped; its partial file."""

    def stopped(address, file, **options):
        file.write(came)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("captionlab.sources.transfer.http_get", stopped)
        with pytest.raises(KeyboardInterrupt):
            Retrieval([source(server, "/a.bin")], tmp_path).fetch()
    (partial,) = tmp_path.glob(".retrieve/*.partial")
    return partial


def test_what_came_stays_until_the_file_is_whole(server, tmp_path, monkeypatch):
    partial = half(server, tmp_path, monkeypatch)
    other = partial.with_name("a.b.0123456789abcdef.partial")
    other.write_bytes(b"of another source")
    server.files["/page"] = b"<html>"
    del server.files["/a.bin"]
    with pytest.raises(SourceError):
        Retrieval([source(server, "/a.bin", "/gone", "/page")], tmp_path).fetch()
    assert partial.read_bytes() == CONTENT[:30_000]
    server.files["/a.bin"] = CONTENT
    server.files["/b.bin"] = CONTENT
    Retrieval([source(server, "/b.bin", places="a.bin")], tmp_path).fetch()
    assert left(tmp_path) == {"a.bin", ".retrieve/a.b.0123456789abcdef.partial"}


def test_more_than_the_file_has_begins_anew(server, tmp_path, monkeypatch):
    half(server, tmp_path, monkeypatch, came=CONTENT + b"more")
    Retrieval([source(server, "/a.bin")], tmp_path).fetch()
    assert (tmp_path / "a.bin").read_bytes() == CONTENT


def test_a_link_to_nothing_is_left_as_it_is(server, tmp_path):
    (tmp_path / "a.bin").symlink_to(tmp_path / "away")
    with pytest.raises(SourceError, match=r"a.bin is a link to .*away, where nothing is; delete or mend the link"):
        Retrieval([source(server, "/a.bin")], tmp_path).fetch()
    assert (tmp_path / "a.bin").is_symlink()
    assert server.gets() == {}


def test_a_link_to_an_empty_folder_is_told_before_anything_is_fetched(server, tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "images").symlink_to(tmp_path / "disk")
    with pytest.raises(SourceError, match="images is a link to an empty folder"):
        Retrieval([source(server, "/a.bin", places={"images/": "images/"})], tmp_path).fetch()
    assert server.gets() == {}


def test_what_is_placed_at_the_last_moment_stays(server, tmp_path, monkeypatch):
    (tmp_path / "a.bin").write_bytes(b"mine")
    (tmp_path / "new").write_bytes(b"new")
    monkeypatch.setattr("captionlab.sources.retrieval.is_there", lambda path: False)
    put(tmp_path / "new", tmp_path / "a.bin")
    assert left(tmp_path) == {"a.bin"}
    assert (tmp_path / "a.bin").read_bytes() == b"mine"


@pytest.mark.parametrize(("number", "kind"), [(errno.ENOSPC, DiskFull), (errno.EACCES, SourceError)])
def test_another_disk_that_cannot_be_written_keeps_no_half_file(tmp_path, monkeypatch, number, kind):
    def elsewhere(path, target):
        raise OSError(errno.EXDEV, "another disk")

    def failing(path, target):
        target.write_bytes(b"half")
        raise OSError(number, "no")

    (tmp_path / "new").write_bytes(b"new")
    monkeypatch.setattr("os.link", elsewhere)
    monkeypatch.setattr("shutil.move", failing)
    with pytest.raises(SourceError, match=r"a.bin") as raised:
        put(tmp_path / "new", tmp_path / "a.bin")
    assert type(raised.value) is kind
    assert left(tmp_path) == {"new"}


def test_a_wrong_checksum(server, tmp_path, answers):
    text = refused(
        tmp_path, answers, "a download with another checksum", server, source(server, "/a.bin", sha256="0" * 64)
    )
    assert f"what came has sha256 {SHA256[:8]}, and the table of sources has {'0' * 64}" in text
    assert left(tmp_path) == set()


def test_a_wrong_size(server, tmp_path, answers):
    refused(tmp_path, answers, "a download of another size", server, source(server, "/a.bin", size=60_000))
    assert left(tmp_path) == set()


@pytest.mark.parametrize("text", ["{", "[]"])
def test_a_damaged_lock_file(server, tmp_path, text):
    (tmp_path / "sources.lock.json").write_text(text)
    with pytest.raises(SourceError, match=r"sources.lock.json.*; mend or delete it"):
        Retrieval([source(server, "/a.bin")], tmp_path).fetch()
    assert left(tmp_path) == set()


def test_a_file_is_held_to_what_it_was_at_first_sight(server, tmp_path, answers):
    Retrieval([source(server, "/a.bin")], tmp_path).fetch()
    (tmp_path / "a.bin").unlink()
    Retrieval([source(server, "/a.bin")], tmp_path).fetch()
    (tmp_path / "a.bin").unlink()
    server.files["/a.bin"] = b"another one"
    text = refused(tmp_path, answers, "", server, source(server, "/a.bin"))
    assert "sources.lock.json of " in text
    assert "if another file is meant, delete the entry 'a'" in text
    assert left(tmp_path) == set()


def test_the_second_address_is_asked_where_the_first_has_nothing(server, tmp_path):
    Retrieval([source(server, "/gone.bin", "/a.bin")], tmp_path).fetch()
    assert (tmp_path / "a.bin").read_bytes() == CONTENT


def test_no_address_has_it(server, tmp_path, answers):
    refused(tmp_path, answers, "a file that no address has", server, source(server, "/gone.bin", "/away.bin"))


def test_nobody_listens(server, tmp_path, monkeypatch):
    dead = Source(**{**vars(source(server)), "addresses": ("http://127.0.0.1:9/a.bin",)})
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    with pytest.raises(SourceError, match=r"a: http://127.0.0.1:9/a.bin cannot be had \(.*refused"):
        Retrieval([dead], tmp_path).fetch()


def test_a_redirect_is_followed(server, tmp_path):
    server.redirects["/here"] = "/there"
    server.redirects["/there"] = f"{server.address}/a.bin"
    Retrieval([source(server, "/here", sha256=SHA256)], tmp_path).fetch()
    assert (tmp_path / "a.bin").read_bytes() == CONTENT


def test_a_slow_server_is_waited_for_and_a_silent_one_is_given_up(server, tmp_path, monkeypatch, answers):
    server.pauses["/a.bin"] = 0.02
    Retrieval([source(server, "/a.bin")], tmp_path).fetch()
    assert (tmp_path / "a.bin").read_bytes() == CONTENT
    (tmp_path / "a.bin").unlink()
    server.pauses["/a.bin"] = 5
    monkeypatch.setattr(constants, "HF_HUB_DOWNLOAD_TIMEOUT", 0.2)
    refused(tmp_path, answers, "a server that falls silent", server, source(server, "/a.bin"))
    assert not (tmp_path / "a.bin").exists()


def test_a_web_page_in_place_of_the_file(server, tmp_path, answers):
    server.files["/page"] = b"\n<!DOCTYPE html><html><body>Please log in</body></html>"
    refused(tmp_path, answers, "a log-in page in place of a download", server, source(server, "/page"))
    assert left(tmp_path) == set()


def test_a_disk_that_has_too_little_room_is_told_before_anything_is_fetched(server, tmp_path):
    with pytest.raises(
        SourceError, match=r"has too little room: 9000000.00 GB are needed and .* GB are free; make room"
    ):
        Retrieval([source(server, "/a.bin", size="9000000 GB")], tmp_path).fetch()
    assert server.asked == []


def test_room_for_what_is_left_of_files_and_twice_for_the_largest_archive(server, tmp_path, monkeypatch):
    """An archive and what is in it lie beside each other; what came of a file before is there already."""
    half(server, tmp_path, monkeypatch)
    asked = []

    def check(size, folder):
        asked.append(size)
        raise DiskFull("no room")

    monkeypatch.setattr("captionlab.sources.unpacking.check_room", check)
    archives = [
        source(server, "/b.zip", places={"b/": "b/"}, size="3 MB"),
        source(server, "/c.zip", places={"c/": "c/"}, size="2 MB"),
    ]
    named = [Source(**{**vars(one), "name": name}) for one, name in zip(archives, "bc", strict=True)]
    with pytest.raises(DiskFull):
        Retrieval([source(server, "/a.bin", size=50_000), *named], tmp_path).fetch()
    assert asked == [20_000 + 5_000_000 + 3_000_000]


def test_a_disk_that_fills_up_ends_all_and_what_came_stays(server, tmp_path, monkeypatch):
    """The kernel's own error: what is written lands on /dev/full."""
    seen = []

    def full(address, file, **options):
        seen.append(file.write(CONTENT[:20_000]))
        with open("/dev/full", "wb", buffering=0) as device:
            device.write(b"x")

    with monkeypatch.context() as patch:
        patch.setattr("captionlab.sources.transfer.http_get", full)
        other = source(server, "/a.bin", places="b.bin")
        with pytest.raises(SourceError, match=r"is full; make room and run again: what came of a stays"):
            Retrieval([source(server, "/a.bin"), other], tmp_path).fetch()
    assert seen == [20_000]
    assert not (tmp_path / "a.bin").exists()
    Retrieval([source(server, "/a.bin")], tmp_path).fetch()
    assert (tmp_path / "a.bin").read_bytes() == CONTENT


def zipped(**members: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def tarred(*members: tarfile.TarInfo, mode="w:gz") -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode=mode) as archive:
        for member in members:
            member.size = 4 if member.isreg() else 0
            archive.addfile(member, io.BytesIO(b"text"))
    return file.getvalue()


@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_members_of_an_archive_go_where_they_belong(server, tmp_path, kind):
    names = ("top/images/one.jpg", "top/images/two/three.jpg", "top/notes.txt", "top/other.txt")
    made = zipped(**dict.fromkeys(names, b"text")) if kind == "zip" else tarred(*map(tarfile.TarInfo, names))
    if kind == "tar":
        folders = [tarfile.TarInfo(name) for name in ("top", "top/images", "top/images/two")]
        for folder in folders:
            folder.type, folder.mode = tarfile.DIRTYPE, 0o755
        made = tarred(*folders, *map(tarfile.TarInfo, names))
    server.files["/archive"] = made
    places = {"images/": "images/", "text/notes.txt": "notes.txt"}
    Retrieval([source(server, "/archive", places=places)], tmp_path).fetch()
    assert left(tmp_path) == {"images/one.jpg", "images/two/three.jpg", "text/notes.txt"}


def test_of_an_archive_only_what_is_missing_is_unpacked(server, tmp_path):
    server.files["/archive"] = zipped(one=b"1", two=b"2")
    (tmp_path / "one").write_bytes(b"mine")
    Retrieval([source(server, "/archive", places={"one": "one", "two": "two"})], tmp_path).fetch()
    assert (tmp_path / "one").read_bytes() == b"mine"
    assert (tmp_path / "two").read_bytes() == b"2"


def linked(name, target, kind=tarfile.SYMTYPE):
    link = tarfile.TarInfo(name)
    link.type, link.linkname = kind, target
    return link


def locked(archive: bytes) -> bytes:
    """A zip whose members say that they are encrypted."""
    changed = bytearray(archive)
    changed[archive.index(b"PK\3\4") + 6] |= 1
    changed[archive.index(b"PK\1\2") + 8] |= 1
    return bytes(changed)


def damaged(archive: bytes) -> bytes:
    """An archive with some bytes in its middle overwritten."""
    middle = len(archive) // 2
    return archive[:middle] + b"\xff" * 50 + archive[middle + 50 :]


HOSTILE = {
    "a zip that climbs": zipped(**{"good": b"", "../evil": b"x"}),
    "a zip with an absolute name": zipped(**{"good": b"", "/tmp/evil": b"x"}),
    "a zip that climbs by backslashes": zipped(**{"good": b"", "..\\evil": b"x"}),
    "a tar that climbs": tarred(tarfile.TarInfo("good"), tarfile.TarInfo("../evil")),
    "a tar with a link outwards": tarred(tarfile.TarInfo("good"), linked("way", "../.."), tarfile.TarInfo("way/evil")),
    "a tar with a hard link outwards": tarred(tarfile.TarInfo("good"), linked("way", "../../x", tarfile.LNKTYPE)),
    "a tar with a link inwards": tarred(tarfile.TarInfo("good"), linked("way", "good")),
    "a zip with a password": locked(zipped(good=b"x" * 100)),
    "a damaged tar.xz": damaged(tarred(*(tarfile.TarInfo(f"{n}") for n in range(9000)), mode="w:xz")),
    "an archive cut short": zipped(good=b"x" * 100_000)[:200],
    "a text in place of an archive": b"nothing here",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_bad_archive(server, tmp_path, answers, name):
    server.files["/archive"] = HOSTILE[name]
    data = tmp_path / "data"
    refused(data, answers, name, server, source(server, "/archive", places={"good": "good"}))
    assert left(data) == set()
    assert [path.name for path in tmp_path.iterdir()] == ["data"]
    # What was wrong is not what later transfers are held to.
    server.files["/archive"] = zipped(good=b"1")
    Retrieval([source(server, "/archive", places={"good": "good"})], data).fetch()
    assert (data / "good").read_bytes() == b"1"


def test_an_archive_without_what_is_wanted_stays(server, tmp_path):
    server.files["/archive"] = zipped(other=b"")
    wanted = source(server, "/archive", places={"good": "good"})
    with pytest.raises(
        SourceError,
        match=r"the archive has no good; it has other; it stays as .*partial; unpack it by hand, or delete it",
    ):
        Retrieval([wanted], tmp_path).fetch()
    (kept,) = left(tmp_path)
    assert (tmp_path / kept).read_bytes() == server.files["/archive"]


def test_an_archive_stays_whose_place_cannot_be_written(server, tmp_path):
    """A file stands where a folder must be: that is no fault of the archive, which may have 13 GB."""
    server.files["/archive"] = zipped(good=b"1")
    (tmp_path / "folder").write_text("in the way")
    wanted = source(server, "/archive", places={"folder/good": "good"})
    with pytest.raises(SourceError):
        Retrieval([wanted], tmp_path).fetch()
    assert server.files["/archive"] in [(tmp_path / kept).read_bytes() for kept in left(tmp_path)]


def test_of_members_of_a_name_the_shallowest_is_taken(server, tmp_path):
    server.files["/archive"] = zipped(**{"top/good": b"1", "top/old/good": b"2", "__MACOSX/good": b"3"})
    Retrieval([source(server, "/archive", places={"good": "good"})], tmp_path).fetch()
    assert (tmp_path / "good").read_bytes() == b"1"


def test_two_runs_at_once_fetch_once(server, tmp_path, caplog):
    caplog.set_level(logging.INFO)
    server.pauses["/a.bin"] = 0.01
    with ThreadPoolExecutor(3) as pool:
        runs = [pool.submit(Retrieval([source(server, "/a.bin")], tmp_path).fetch) for _ in range(3)]
    assert [run.result() for run in runs] == [None] * 3
    assert (tmp_path / "a.bin").read_bytes() == CONTENT
    assert server.gets() == {"/a.bin": 1}
    assert "another run fetches into" in caplog.text


def test_what_somebody_puts_there_meanwhile_stays(server, tmp_path, monkeypatch):
    from captionlab.sources import transfer

    plain = transfer.http_get

    def meanwhile(*args, **options):
        (tmp_path / "a.bin").write_bytes(b"mine")
        return plain(*args, **options)

    monkeypatch.setattr(transfer, "http_get", meanwhile)
    Retrieval([source(server, "/a.bin")], tmp_path).fetch()
    assert left(tmp_path) == {"a.bin"}
    assert (tmp_path / "a.bin").read_bytes() == b"mine"


def test_what_fails_does_not_keep_the_rest_away(server, tmp_path):
    bad = Source(**{**vars(source(server, "/gone")), "name": "bad", "places": {"bad": None}})
    with pytest.raises(SourceError, match="bad: http"):
        Retrieval([bad, source(server, "/a.bin")], tmp_path).fetch()
    assert left(tmp_path) == {"a.bin"}


# ------------------------------------------------------------------------------------------------------------ the hub
@pytest.fixture
def hub(server, monkeypatch):
    template = constants.HUGGINGFACE_CO_URL_TEMPLATE.replace(constants.ENDPOINT, server.address)
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    monkeypatch.setattr(constants, "ENDPOINT", server.address)
    server.commits = {"some/model": "1" * 40, "datasets/some/data": "2" * 40}
    server.files["/some/model/vocab.txt"] = CONTENT
    return server


def model(**more) -> Source:
    words = {"what": "a file", "origin": "a page", "licence": "MIT", "becomes": "nothing"}
    return Source(name="a", places={"model/vocab.txt": "vocab.txt"}, repository="some/model", **words, **more)


def test_a_file_of_the_hub_is_fetched_and_its_commit_kept(hub, tmp_path):
    hub.cuts["/some/model/resolve/main/vocab.txt"] = [20_000]
    Retrieval([model()], tmp_path).fetch()
    assert (tmp_path / "model/vocab.txt").read_bytes() == CONTENT
    noted = json.loads((tmp_path / "sources.lock.json").read_text())["some/model/vocab.txt"]
    assert (noted["commit"], noted["sha256"]) == ("1" * 40, SHA256)
    (tmp_path / "model/vocab.txt").unlink()
    hub.asked.clear()
    Retrieval([model()], tmp_path).fetch()
    assert {path for _, path, _ in hub.asked} == {f"/some/model/resolve/{'1' * 40}/vocab.txt"}


def test_the_checksum_that_the_hub_states_is_held(hub, tmp_path, monkeypatch):
    monkeypatch.setattr("captionlab.sources.transfer.http_get", lambda address, file, **_: file.write(b"x" * 50_000))
    with pytest.raises(SourceError, match=f"and the hub has {SHA256}"):
        Retrieval([model()], tmp_path).fetch()
    assert left(tmp_path) == set()


def test_a_repository_is_fetched_whole(hub, tmp_path):
    for name in ("train-0.parquet", "deep/test-0.parquet", ".gitattributes"):
        hub.files[f"/datasets/some/data/{name}"] = name.encode()
    revision = "2" * 40
    Retrieval([hub_source("some/data", revision, "dataset")], tmp_path).fetch()
    folder = f"hub/some/data/{revision}"
    assert left(tmp_path) == {f"{folder}/train-0.parquet", f"{folder}/deep/test-0.parquet"}


def test_a_branch_that_moves_is_one_commit(hub, tmp_path, monkeypatch):
    """Between two files of a repository, and between two runs; what is asked for is what was there at first sight."""
    for name in ("a.parquet", "b.parquet"):
        hub.files[f"/datasets/some/data/{name}"] = name.encode()
    moving = Retrieval._from_hub

    def move(*given):
        moving(*given)
        hub.commits["datasets/some/data"] = "3" * 40

    monkeypatch.setattr(Retrieval, "_from_hub", move)
    for _ in range(2):
        Retrieval([SOME_DATA], tmp_path).fetch()
        asked = {path for _, path, _ in hub.asked if "/resolve/" in path}
        assert asked == {f"/datasets/some/data/resolve/{'2' * 40}/{name}.parquet" for name in "ab"}
        assert len(left(tmp_path)) == 2
        for name in "ab":
            (tmp_path / "hub/some/data/main" / f"{name}.parquet").unlink()
        hub.asked.clear()


def test_a_repository_whose_files_would_leave_their_folder(hub, tmp_path, answers):
    hub.files["/datasets/some/data/deep/../../outside"] = CONTENT
    text = refused(
        tmp_path,
        answers,
        "a data set of the hub with a file deep/../../outside",
        hub,
        SOME_DATA,
    )
    assert "'deep/../../outside', which would leave its folder" in text
    assert left(tmp_path) == set()


def test_a_repository_without_any_file(hub, tmp_path, answers):
    text = refused(tmp_path, answers, "a data set of the hub without a file", hub, SOME_DATA)
    assert f"some/data has no file at {'2' * 40}" in text


def test_of_a_repository_size_and_licence_are_said_before_it_is_fetched(hub, tmp_path):
    hub.files["/datasets/some/data/train-0.parquet"] = CONTENT * 40
    found = Retrieval([SOME_DATA], tmp_path).looked_up()
    assert "2.0 MB; licence: cc0-1.0" in found.described()
    assert f"from some/data, revision {'2' * 40}" in found.described()
    assert left(tmp_path) == set()
    unknown = Retrieval([hub_source("other/data", "main", "dataset")], tmp_path / "elsewhere")
    hub.server_close()
    assert unknown.looked_up().described() == unknown.described()
    assert "size unknown; licence: see its page" in unknown.described()


def test_a_repository_without_the_file(hub, tmp_path, answers):
    del hub.files["/some/model/vocab.txt"]
    text = refused(tmp_path, answers, "a file that the hub does not have", hub, model())
    assert "/some/model/resolve/main/vocab.txt answered 404" in text


def test_nothing_is_asked_for_offline(hub, tmp_path, answers, monkeypatch):
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    text = refused(tmp_path, answers, "a download with HF_HUB_OFFLINE=1", hub, model(), source(hub, "/a.bin"))
    assert text.count("is not asked, as HF_HUB_OFFLINE is set") == 2
    assert hub.asked == []


def test_a_proxy_is_asked_where_the_environment_names_one(server, tmp_path, monkeypatch):
    from huggingface_hub import close_session

    monkeypatch.setenv("HTTP_PROXY", server.address)
    monkeypatch.setenv("NO_PROXY", "")
    close_session()
    server.files["http://far.invalid/a.bin"] = CONTENT
    away = Source(**{**vars(source(server)), "addresses": ("http://far.invalid/a.bin",)})
    try:
        Retrieval([away], tmp_path).fetch()
    finally:
        close_session()
    assert (tmp_path / "a.bin").read_bytes() == CONTENT


def test_what_is_said_before_anything_is_fetched(server, tmp_path):
    form = Source(**{**vars(source(server)), "name": "form", "by_hand": "Fill in the form.", "places": {"b/": None}})
    said = Retrieval([source(server, "/a.bin", size="2 GB"), form], tmp_path).described()
    assert f"To be fetched into {tmp_path}: 2.0 GB;" in said
    assert "a: a file (2.0 GB; licence: MIT)" in said
    assert f"from {server.address}/a.bin (an address that nobody could check)" in said
    assert "by hand:\n  form: a file (size unknown; licence: MIT)\n    -> b/\n    Fill in the form." in said
    assert server.asked == []
