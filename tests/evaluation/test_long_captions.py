"""Captions of 600 and of 5,000 words, from a file to scores against references: nothing is cut."""

import csv
import json

import pytest

from captionlab.evaluation.metrics.nlg.metric import meteor_process, score_corpus
from captionlab.evaluation.ptb import tokenize
from captionlab.generation.captions import file_rows

SENTENCE = "a dog and a cat on the grass near the red house with two birds"
NUMBERS = {"1": 600, "2": 5000, "3": 7}


def caption(number: int) -> str:
    words = SENTENCE.split()
    return " ".join(words[(place * 5 + place // 11) % len(words)] for place in range(number))


def write(path, captions):
    """Write a file of captions in the format that its ending names."""
    rows = [{"image_id": image, "caption": text} for image, text in captions.items()]
    if path.suffix == ".csv":
        with path.open("w", newline="") as file:
            csv.writer(file).writerows([("image_id", "caption"), *(row.values() for row in rows)])
    else:
        lines = map(json.dumps, rows)
        path.write_text("\n".join(lines) if path.suffix == ".jsonl" else json.dumps(rows))


@pytest.mark.parametrize("ending", ["json", "jsonl", "csv"])
def test_files_of_captions(tmp_path, ending):
    captions = {image: caption(number) for image, number in NUMBERS.items()}
    write(tmp_path / f"captions.{ending}", captions)
    columns = file_rows(tmp_path / f"captions.{ending}", list(captions), list(captions), "coco")
    assert columns["caption"] == list(captions.values())


def test_tokens_and_scores_against_references():
    tokens = dict(zip(NUMBERS, tokenize([caption(number) for number in NUMBERS.values()]), strict=True))
    assert {image: len(text.split()) for image, text in tokens.items()} == NUMBERS
    references = {"1": [SENTENCE, tokens["1"]], "2": [SENTENCE], "3": [SENTENCE]}
    with meteor_process([SENTENCE, *tokens.values()]) as meteor:
        found = score_corpus("me", "coco", {(image, 0): text for image, text in tokens.items()}, references, meteor)
    assert [counts[0] for counts in found["bleu_counts"]] == [*NUMBERS.values()]
    assert [found[name][0] for name in ("meteor", "rouge_l", "bleu_4")] == pytest.approx([1, 1, 1])
    assert all(0 < value < 1 for value in (found["meteor"][1], found["rouge_l"][1]))
