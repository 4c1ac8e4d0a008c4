"""Polos (Wada et al. 2024), which learned from what people think of captions: it reads image and references."""

import json
import sys

import torch
from PIL import Image
from polos.models import download_model, load_checkpoint

# Images in memory at a time.
CHUNK = 64

captions, scores = sys.argv[1:]
with open(captions, encoding="utf-8") as file:
    rows = [json.loads(line) for line in file]
model = load_checkpoint(download_model("polos"))
with open(scores, "w", encoding="utf-8") as file:
    for start in range(0, len(rows), CHUNK):
        part = rows[start : start + CHUNK]
        data = [
            {"img": Image.open(row["image"]).convert("RGB"), "mt": row["caption"], "refs": row["references"]}
            for row in part
        ]
        _, values = model.predict(data, batch_size=8, cuda=torch.cuda.is_available())
        for row, value in zip(part, values, strict=True):
            file.write(json.dumps({"id": row["id"], "score": float(value)}) + "\n")
