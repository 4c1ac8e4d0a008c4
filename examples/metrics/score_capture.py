"""CAPTURE (Dong et al. 2024) of long captions: agreement of objects, attributes and relations with each reference."""

import json
import sys

from capture_metric.capture import CAPTURE


def main() -> None:
    """Score the captions of the first file and write the scores to the second."""
    captions, scores = sys.argv[1:]
    with open(captions, encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    # The package parses sentences and has none to parse in an empty caption.
    spoken = {row["id"]: row for row in rows if row["caption"].strip() and row["references"]}
    references = {name: row["references"] for name, row in spoken.items()}
    _, values = CAPTURE().compute_score(references, {name: [row["caption"]] for name, row in spoken.items()})
    value_of = dict(zip(references, values, strict=True))
    with open(scores, "w", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps({"id": row["id"], "score": float(value_of.get(row["id"], 0))}) + "\n")


# The package starts a process for each GPU, and each imports this file again.
if __name__ == "__main__":
    main()
