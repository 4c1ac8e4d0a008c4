"""Images with captions in one JSON file."""

from captionlab.corpora.readers.entries import Entry, image_place, records, take, take_texts
from captionlab.userfiles.reading import read_json


def read(config, root):
    """Yield the images. Raises CorpusError, which names the record, if a field is missing."""
    file, expected = root / config["annotations"], '{"photos": [{"file", "split", "captions": [...]}]}'
    for where, photo in records(read_json(file), "photos", file, expected):
        name = take(photo, "file", str, where, expected)
        yield Entry(
            image_id=name.rpartition(".")[0],
            split=take(photo, "split", str, where, expected),
            place=image_place(config, root, name),
            captions=take_texts(photo, "captions", where, expected),
        )
