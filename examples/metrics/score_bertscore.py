"""BERTScore (Zhang et al. 2020) of captions: F1 against the nearest reference, rescaled by its authors' baseline."""

import json
import sys

from bert_score import score

captions, scores = sys.argv[1:]
with open(captions, encoding="utf-8") as file:
    rows = [json.loads(line) for line in file]
_, _, f1 = score(
    [row["caption"] for row in rows],
    [row["references"] for row in rows],
    lang="en",
    rescale_with_baseline=True,
)
with open(scores, "w", encoding="utf-8") as file:
    for row, value in zip(rows, f1.tolist(), strict=True):
        file.write(json.dumps({"id": row["id"], "score": value}) + "\n")
