"""Files and folders in a bucket, fetched from moto's server: whole, after an interruption, and where it cannot be."""

import json
import re

import pytest
from support.bucket import SECRET, SETTINGS, serving_bucket

from captionlab.sources import buckets
from captionlab.sources.retrieval import Retrieval
from captionlab.sources.table import BUCKETS, SourceError, bucket_sources, in_data

FILES = {"coco/captions.json": b"{}", "coco/images/a.jpg": b"a" * 3, "coco/images/b/c d.jpg": b"", "coco2.json": b"2"}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with serving_bucket(tmp_path_factory.mktemp("server") / "log") as bucket:
        yield bucket


@pytest.fixture
def bucket(server, monkeypatch):
    """The bucket with FILES alone, and the settings that lead to it."""
    for name, value in server.environment.items():
        if name.startswith(SETTINGS):
            monkeypatch.setenv(name, value)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for key in server.sizes():
        server.client.delete_object(Bucket=server.name, Key=key)
    for key, content in FILES.items():
        server.client.put_object(Bucket=server.name, Key=key, Body=content)
    return server


def retrieval(data, *addresses):
    return Retrieval(bucket_sources(in_data(address) for address in addresses), data)


def test_a_place_says_what_address_it_comes_from():
    for key in ("a", "a/b.json", "a--b", "a%2Fb", "ä b/c*", ""):
        place = in_data(f"{BUCKETS}bucket/{key}")
        (source,) = bucket_sources([f"{place}/below"])
        assert source.name == f"{BUCKETS}bucket/{key or '/'}"
        assert place.count("/") == 2


def test_files_and_folders_come_as_they_are(bucket, tmp_path):
    addresses = ("s3://bucket/coco/captions.json", "s3://bucket/coco", "s3://bucket/coco2.json")
    found = retrieval(tmp_path, *addresses).looked_up()
    assert [source.size for source in found.sources] == [2, 5, 1]
    found.fetch()
    assert (tmp_path / in_data(addresses[0])).read_bytes() == b"{}"
    folder = tmp_path / in_data(addresses[1])
    names = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert names == {"captions.json": b"{}", "images/a.jpg": b"aaa", "images/b/c d.jpg": b""}
    assert not (tmp_path / ".retrieve").exists()
    record = (tmp_path / "sources.lock.json").read_text()
    assert json.loads(record).keys() == {*addresses}
    assert SECRET not in record
    assert retrieval(tmp_path, *addresses).missing == []


def test_an_interrupted_transfer_goes_on_where_it_stopped(bucket, tmp_path, monkeypatch):
    content = bytes(range(256)) * 4096
    bucket.client.put_object(Bucket="bucket", Key="tars/0.tar", Body=content)
    bucket.client.put_object(Bucket="bucket", Key="tars/1.tar", Body=b"one")
    asked = []

    class Client:
        """Asks the server, which ends the first answer with an error after a part."""

        def __init__(self):
            self.client = connected()

        def __getattr__(self, name):
            return getattr(self.client, name)

        def get_object(self, **given):
            asked.append(given["Range"])
            answer = self.client.get_object(**given)
            if len(asked) == 1:
                pieces = answer["Body"].iter_chunks(1000)
                answer["Body"] = type(
                    "Body", (), {"iter_chunks": lambda *_: (_kill(i) or p for i, p in enumerate(pieces))}
                )()
            return answer

    def _kill(number):
        if number == 7:
            raise KeyboardInterrupt

    connected = buckets.connected
    monkeypatch.setattr(buckets, "connected", Client)
    monkeypatch.setattr(buckets, "AT_ONCE", 1)
    with pytest.raises(KeyboardInterrupt):
        retrieval(tmp_path, "s3://bucket/tars").fetch()
    place = tmp_path / in_data("s3://bucket/tars")
    assert not place.exists()
    retrieval(tmp_path, "s3://bucket/tars").fetch()
    assert sorted(asked) == ["bytes=0-", "bytes=0-", "bytes=7000-"]
    assert (place / "0.tar").read_bytes() == content


def test_an_object_that_was_replaced_meanwhile_is_fetched_anew(bucket, tmp_path):
    address, staging = "s3://bucket/coco", tmp_path / "staging"
    items = buckets.listed(address, buckets.connected())
    old = buckets._folder(address, items, staging)
    (old / "whole/images").mkdir(parents=True)
    (old / "whole/images/a.jpg").write_bytes(b"xxx")
    bucket.client.put_object(Bucket="bucket", Key="coco/images/a.jpg", Body=b"new")
    folder, what = buckets.fetch(address, staging)
    assert (folder / "images/a.jpg").read_bytes() == b"new"
    assert what == {"from": address, "files": 3, "size": 5}
    assert not old.exists()


def test_another_file_of_the_same_name_is_an_error(bucket, tmp_path):
    address = "s3://bucket/coco2.json"
    retrieval(tmp_path, address).fetch()
    (tmp_path / in_data(address)).unlink()
    bucket.client.put_object(Bucket="bucket", Key="coco2.json", Body=b"3")
    with pytest.raises(SourceError, match=r"sha256 .*sources.lock.json"):
        retrieval(tmp_path, address).fetch()


def test_what_cannot_be_had_is_a_sentence(bucket, tmp_path, monkeypatch, answers):
    def message(name, address):
        with pytest.raises(SourceError) as error:
            retrieval(tmp_path, address).fetch()
        text = str(error.value)
        assert re.sub(r".*:\n  - ", "", text, flags=re.DOTALL).startswith(address)
        assert SECRET not in text
        answers.hold(name, text, address)
        return text

    assert "no file and no folder" in message("a file that the bucket lacks", "s3://bucket/coco/none.json")
    assert "no file and no folder" in message("a name with which others begin", "s3://bucket/co")
    assert "ENDPOINT_URL" in message("a bucket that the server lacks", "s3://other/coco")
    monkeypatch.setenv(f"{SETTINGS}ENDPOINT_URL", "http://127.0.0.1:9")
    assert "127.0.0.1:9" in message("a server that does not answer", "s3://bucket/coco")


@pytest.mark.parametrize("code", ["403", "AccessDenied", "InvalidAccessKeyId", "SignatureDoesNotMatch"])
def test_wrong_credentials_are_named(code):
    from botocore.exceptions import ClientError

    text = buckets.reason(ClientError({"Error": {"Code": code}}, "HeadObject"))
    assert f"{SETTINGS}ACCESS_KEY" in text


def test_a_public_bucket_needs_no_credentials(bucket, tmp_path, monkeypatch):
    for name in ("ACCESS_KEY", "SECRET_KEY"):
        monkeypatch.delenv(f"{SETTINGS}{name}")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    bucket.client.put_object(Bucket="bucket", Key="open.json", Body=b"2", ACL="public-read")
    retrieval(tmp_path, "s3://bucket/open.json").fetch()
    assert (tmp_path / in_data("s3://bucket/open.json")).read_bytes() == b"2"
