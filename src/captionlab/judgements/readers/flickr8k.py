"""The line format of both Flickr8k files of judgements (Hodosh et al. 2013), and captions by their ids."""

from collections.abc import Iterator
from pathlib import Path

from captionlab.corpora.inputs import CorpusError
from captionlab.userfiles.reading import text_lines


def captions_of_flickr8k(file: Path) -> dict[str, str]:
    """Return the captions of `Flickr8k.token.txt` by their ids. A line has `file#n`, a tab and the caption.

    Raises CorpusError, which names the line, if a line has another format.
    """
    found = {}
    for where, line in text_lines(file):
        caption_id, tab, caption = line.partition("\t")
        if not tab or "#" not in caption_id:
            raise CorpusError(f"{where}: expected `file#n`, a tab and a caption, found {line[:60]!r}")
        found[caption_id] = caption
    return found


def judged_lines(file: Path, captions: Path) -> Iterator[tuple[str, str, str, str, list[float]]]:
    """Yield the position, image file, caption, source of the caption and three numbers of each line.

    All captions are by people, who described the image or another one.

    A line has an image file, the id of a caption and three numbers, separated by tabs. Raises CorpusError if a line has
    another format or an unknown caption id.
    """
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
        about = "a person, of the image" if caption_id.rpartition("#")[0] == image else "a person, of another image"
        yield where, image, texts[caption_id], about, [first, second, third]
