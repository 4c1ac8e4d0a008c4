"""Shards of rows: contiguous parts named "k-of-n" (k from 0), which in order make up all rows."""


def shard_names(count: int) -> list[str]:
    """Return the names of `count` shards."""
    return [f"{number}-of-{count}" for number in range(count)]


def shard_number(shard: str) -> int:
    """Return the k of "k-of-n"."""
    return int(shard.split("-of-")[0])


def shard_rows(shard: str, rows: int) -> slice:
    """Return the slice of the rows in a shard."""
    number, count = (int(part) for part in shard.split("-of-"))
    return slice(rows * number // count, rows * (number + 1) // count)
