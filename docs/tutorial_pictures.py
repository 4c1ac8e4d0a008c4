"""The pictures of docs/tutorial.md, made anew from a checkout in which all of it was done.

python docs/tutorial_pictures.py .

It needs Chromium, for the picture of a table.
"""

import argparse
import io
import subprocess
import textwrap
from collections.abc import Sequence
from pathlib import Path

import matplotlib.pyplot as plt
import pyarrow.compute as pc
import pyarrow.parquet as pq
from PIL import Image

DOCS = Path(__file__).parent
TABLE = "results/tables/discritune_table1_retrieval.html"
# Pictures lie in the repository, so they are small.
DPI = 80


def rows_of(path: Path, image_ids: Sequence[str]) -> list[dict]:
    """Return the rows of a table about some images, in the order of the images."""
    rows = pq.read_table(path).filter(pc.field("image_id").isin(image_ids)).to_pylist()
    return sorted(rows, key=lambda row: image_ids.index(row["image_id"]))


def draw(output: Path, images: Sequence[bytes], texts: Sequence[str]) -> None:
    """Save encoded images side by side, each with a text below it."""
    figure, places = plt.subplots(1, len(images), figsize=(2.6 * len(images), 3.2), squeeze=False)
    for place, image, text in zip(places[0], images, texts, strict=True):
        place.imshow(Image.open(io.BytesIO(image)))
        place.set_xlabel("\n".join(textwrap.fill(line, 34) for line in text.splitlines()), fontsize=9)
        place.set(xticks=[], yticks=[])
    figure.savefig(output, dpi=DPI, bbox_inches="tight")


def main() -> None:
    """Draw the pictures from what the tutorial made."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path, help="folder in which every command of the tutorial was given")
    checkout = parser.parse_args().checkout.resolve()

    corpus, (image,) = checkout / "results/corpora/toy-coco", ["test-000000"]
    said = "\n".join(f"\N{BULLET} {row['caption']}" for row in rows_of(corpus / "captions.parquet", [image]))
    draw(DOCS / "tutorial_image.png", [rows_of(corpus / "images.parquet", [image])[0]["data"]], [said])

    photographs = sorted((checkout / "data/mine/photographs").iterdir())[:4]
    captions = checkout / "runs/photographs/results/captions/toy-clipcap-coco/photographs.parquet"
    said = [row["caption"] for row in rows_of(captions, [path.stem for path in photographs])]
    draw(DOCS / "tutorial_photographs.png", [path.read_bytes() for path in photographs], said)

    browser = ["chromium", "--headless", "--no-sandbox", "--hide-scrollbars", "--window-size=900,545"]
    picture = f"--screenshot={DOCS / 'tutorial_table.png'}"
    subprocess.run([*browser, picture, (checkout / TABLE).as_uri()], check=True, capture_output=True)


if __name__ == "__main__":
    main()
