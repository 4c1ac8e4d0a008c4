"""Bags of look-alikes: disjoint sets of images whose embeddings are nearest to each other.

Gaur et al. 2024 (arXiv 2409.03025). Their benchmark TrueMatch has bags of 3, 5 and 7 images, and the mini-batches of
their training are made of bags whose size grows from epoch to epoch.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from captionlab.encoders.neighbours import nearest

Rows = np.ndarray[Any, np.dtype[np.int64]]


def look_alike_bags(embeddings: Tensor, size: int) -> Rows:
    """Return disjoint bags (bags, size) of rows of `embeddings` (n, d), the most similar bag first.

    A bag is an image, which stands first, and its size - 1 nearest neighbours by the cosine. Bags are taken in the
    order of the sum of these cosines, and a bag that has an image of an earlier bag is left out. Raises ValueError if
    there are fewer images than `size`.
    """
    if len(embeddings) < size:
        raise ValueError(f"a bag of {size} images cannot be made of {len(embeddings)} images; lower the size of bags")
    neighbours, similarities = nearest(embeddings, size - 1)
    order = similarities.double().sum(1).sort(descending=True, stable=True).indices
    every = torch.cat([order[:, None], neighbours[order]], dim=1).cpu().numpy()
    used, bags = np.zeros(len(embeddings), bool), []
    for bag in every:
        if not used[bag].any():
            used[bag] = True
            bags.append(bag)
    return np.stack(bags)


def all_in_bags(embeddings: Tensor, size: int) -> Rows:
    """Return disjoint bags (n // size, size) of rows of `embeddings` (n, d), which leave fewer than `size` images over.

    Bags of `look_alike_bags` are made again and again of the images that are in no bag yet.
    """
    left, bags = torch.arange(len(embeddings), device=embeddings.device), []
    while len(left) >= size:
        found = left.cpu().numpy()[look_alike_bags(embeddings[left], size)]
        bags.append(found)
        left = left[~torch.isin(left, torch.from_numpy(found.ravel()).to(left.device))]
    return np.concatenate(bags) if bags else np.empty((0, size), np.int64)
