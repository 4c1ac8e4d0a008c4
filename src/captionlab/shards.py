"""Shards of rows: contiguous parts named "k-of-n" (k from 0), which in order are all rows."""


def shard_names(count: int) -> list[str]:
    """The names of so many shards."""
    return [f"{number}-of-{count}" for number in range(count)]


def shard_number(shard: str) -> int:
    """The k of "k-of-n"."""
    return int(shard.split("-of-")[0])


def shard_rows(shard: str, rows: int) -> slice:
    """Which of so many rows are in a shard."""
    number, count = (int(part) for part in shard.split("-of-"))
    return slice(rows * number // count, rows * (number + 1) // count)
