"""Requests that a job sent to servers, with their tokens and their price, for the cost of the job."""

from dataclasses import dataclass, fields


@dataclass
class Usage:
    """Sums over the requests that were sent and answered. Responses of earlier jobs do not count."""

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    price: float = 0.0

    def add(self, other: "Usage") -> None:
        """Add the sums of other requests."""
        for field in fields(self):
            setattr(self, field.name, getattr(self, field.name) + getattr(other, field.name))


# Of the running job.
usage = Usage()
