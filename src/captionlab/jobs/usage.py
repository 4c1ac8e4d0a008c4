"""Requests that a job sent to servers, with their tokens and their price, for the cost of the job."""

from dataclasses import dataclass, fields


@dataclass
class Usage:
    """Sums over the responses to the requests of a job."""

    requests: int = 0
    cached_requests: int = 0
    """requests whose response an earlier job got"""
    input_tokens: int = 0
    output_tokens: int = 0
    price: float = 0.0

    def add(self, other: "Usage") -> None:
        """Add the sums of other requests."""
        for field in fields(self):
            setattr(self, field.name, getattr(self, field.name) + getattr(other, field.name))


# Of the running job.
usage = Usage()
