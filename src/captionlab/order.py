"""The order of the training data: the rows of batch number `step` are a pure function of the seed and the step.

So a resumed training sees exactly the batches that it would have seen. Each epoch is a new permutation of the images; a
last batch that is not full is left out. Of a table that is larger than memory, a few groups of rows at a time are drawn
and the images in them mixed, so that every group is read once in an epoch.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Places:
    """Where images lie in a table larger than memory: the group of rows of each (images,), from 0; groups in use."""

    groups: np.ndarray
    mixed: int


class Order:
    """Which rows make up batch `step`: a seeded permutation of all rows in each epoch, the tail dropped."""

    def __init__(self, rows: int, size: int, seed: int, places: Places | None = None):
        """Order so many rows in batches of `size`; ValueError when there are not enough rows for one batch.

        `places` says where the rows lie; without it they are all in memory.
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
        """The rows of batch `step`, counted from 0 over all epochs, as int64 of shape (size,)."""
        epoch, batch = divmod(step, self.per_epoch)
        if epoch != self._epoch:
            self._epoch, self._permutation = epoch, self._permuted(self.generator(epoch))
        return self._permutation[batch * self.size : (batch + 1) * self.size]

    def _permuted(self, generator: np.random.Generator) -> np.ndarray:
        if self.places is None or (groups := int(self.places.groups.max()) + 1) <= self.places.mixed:
            return generator.permutation(self.rows)
        # Groups that are in use at the same time have the same turn.
        turns = np.empty(groups, np.int64)
        turns[generator.permutation(groups)] = np.arange(groups) // self.places.mixed
        return np.lexsort((generator.random(self.rows), turns[self.places.groups]))

    def generator(self, epoch: int, purpose: int = 0) -> np.random.Generator:
        """The random numbers of an epoch; another `purpose` gives an independent stream."""
        return np.random.default_rng([self.seed, epoch, purpose])
