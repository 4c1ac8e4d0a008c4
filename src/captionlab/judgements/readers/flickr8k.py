"""What both files of judgements of Flickr8k (Hodosh et al. 2013) share: their lines, and captions by their ids."""

from collections.abc import Iterator
from pathlib import Path

from captionlab.corpora.inputs import CorpusError
from captionlab.given import text_lines


def captions_of_flickr8k(file: Path) -> dict[str, str]:
    """The captions of `Flickr8k.token.txt` by their ids: in each line `file#n`, a tab and the caption."""
    found = {}
    for where, line in text_lines(file):
        caption_id, tab, caption = line.partition("\t")
        if not tab or "#" not in caption_id:
            raise CorpusError(f"{where}: expected `file#n`, a tab and a caption, found {line[:60]!r}")
        found[caption_id] = caption
    return found


def judged_lines(file: Path, captions: Path) -> Iterator[tuple[str, str, str, list[float]]]:
    """Place, image id, caption and three numbers of each line: image file, id of a caption, numbers, between tabs."""
    texts = captions_of_flickr8k(captions)
    for where, line in text_lines(file):
        fields = line.split("\t")
        try:
            image, caption_id, *given = fields
            first, second, third = map(float, given)
        except ValueError:
            raise CorpusError(
                f"{where}: expected an image file, the id of a caption and three numbers with tabs between them, "
                f"found {line[:80]!r}"
            ) from None
        if caption_id not in texts:
            raise CorpusError(f"{where}: there is no caption {caption_id!r} in {captions}; take both from one release")
        yield where, Path(image).stem, texts[caption_id], [first, second, third]
