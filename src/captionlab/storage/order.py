"""The order of the training data: the rows of batch number `step` depend only on the seed and the step.

So a resumed training sees exactly the batches that it would have seen. Each epoch is a new permutation of the images. A
last batch that is not full is left out. From a table larger than memory, a few groups of rows are drawn at a time and
their images mixed, so every group is read once in an epoch.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Places:
    """Locations of images in a table larger than memory: the row group (images,) of each image, from 0.

    `mixed` is the number of groups whose images are mixed with each other.
    """

    groups: np.ndarray
    mixed: int


class Order:
    """The rows of batch `step`: a seeded permutation of all rows in each epoch, without an incomplete last batch."""

    def __init__(self, rows: int, size: int, seed: int, places: Places | None = None):
        """Order `rows` rows in batches of `size`. Raises ValueError if there are not enough rows for a batch.

        `places` has the locations of the rows in a table; if it is None, all rows are in memory.
        """
        if rows < size:
            raise ValueError(
                f"a batch of {size} images cannot be made of {rows} training images; "
                f"set optimizer.batch to {rows} or less"
            )
        self.rows, self.size, self.seed, self.places = rows, size, seed, places
        self.per_epoch = rows // size
        self._epoch, self._permutation = -1, np.empty(0, np.int64)

    def __getitem__(self, step: int) -> np.ndarray:
        """Return the rows of batch `step`, counted from 0 over all epochs, as int64 of shape (size,)."""
        epoch, batch = divmod(step, self.per_epoch)
        if epoch != self._epoch:
            self._epoch, self._permutation = epoch, self._permuted(epoch)
        return self._permutation[batch * self.size : (batch + 1) * self.size]

    def _permuted(self, epoch: int) -> np.ndarray:
        generator = self.generator(epoch)
        if self.places is None or (groups := int(self.places.groups.max()) + 1) <= self.places.mixed:
            return generator.permutation(self.rows)
        # Groups that are mixed with each other have the same turn.
        turns = np.empty(groups, np.int64)
        turns[generator.permutation(groups)] = np.arange(groups) // self.places.mixed
        return np.lexsort((generator.random(self.rows), turns[self.places.groups]))

    def generator(self, epoch: int, purpose: int = 0) -> np.random.Generator:
        """Return the random number generator of an epoch. Each `purpose` has an independent stream."""
        return np.random.default_rng([self.seed, epoch, purpose])


class BagOrder(Order):
    """An order in which the images of a bag of look-alikes follow each other. Bags of other sizes may come later.

    In each epoch the bags are permuted, and so are the images of a bag. Batches are cut from the images in this order:
    if the size of the bags does not divide the size of a batch, bags at the ends of batches are cut, too. Images that
    are in no bag are last, and permuted, too.
    """

    def __init__(self, rows: int, size: int, seed: int, bags: Sequence[tuple[int, np.ndarray]]):
        """Order `rows` rows in batches of `size`. Raises ValueError if there are not enough rows for a batch.

        `bags` has numbers of epochs, counted from 0 and ascending from 0, with the disjoint bags (bags, images) that
        are used from this epoch on.
        """
        super().__init__(rows, size, seed)
        self.bags = bags

    def _permuted(self, epoch: int) -> np.ndarray:
        generator = self.generator(epoch)
        bags = [bags for first, bags in self.bags if first <= epoch][-1]
        mixed = generator.permuted(generator.permutation(bags), axis=1).ravel()
        return np.concatenate([mixed, generator.permutation(np.setdiff1d(np.arange(self.rows), mixed))])
