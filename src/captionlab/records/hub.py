"""Sending files to a model hub by huggingface_hub, with one sentence for each way in which that fails."""

from pathlib import Path

import httpx2
from huggingface_hub import CommitOperationAdd, HfApi, get_token
from huggingface_hub.errors import HfHubHTTPError
from huggingface_hub.utils import validate_repo_id

from captionlab.records.shipments import Shipment

# What a status of an answer means to whoever sends files.
REASONS = {
    401: "the token is not valid; set HF_TOKEN, or log in by `hf auth login`",
    403: "the token may not write to it; take a token that may write, and a repository of yours",
    404: "there is no such repository, or it is not yours",
    413: "a file is too large",
    429: "too many requests; try again later",
}


def checked_repository(name: str) -> str:
    """Return the name of a repository. Raises ValueError if it is not USER/NAME as hubs spell it."""
    validate_repo_id(name)
    if name.count("/") != 1:
        raise ValueError(f"{name} is no repository; write USER/NAME")
    return name


def send(shipment: Shipment, repository: str, public: bool) -> str:
    """Send files to a repository, which is made if it is not there, in one commit; return the address of the commit.

    A new repository is private unless `public`. The visibility of a repository that is there does not change. The token
    is the one of the environment variable HF_TOKEN or of huggingface_hub's login. Raises ValueError, with the reason in
    one sentence, if that fails.
    """
    api = HfApi()
    if not get_token():
        raise ValueError("there is no token; set HF_TOKEN, or log in by `hf auth login`")
    operations = [
        CommitOperationAdd(name, str(file) if isinstance(file, Path) else file) for name, file in shipment.files.items()
    ]
    kind = shipment.kind
    try:
        api.create_repo(repository, repo_type=kind, private=not public, exist_ok=True)
        commit = api.create_commit(repository, operations, commit_message=shipment.message, repo_type=kind)
    except HfHubHTTPError as error:
        status = error.response.status_code
        reason = REASONS.get(status) or error.server_message or "no reason was given"
        raise ValueError(f"{repository} was not sent: {api.endpoint} answered {status}: {reason}") from None
    except (httpx2.HTTPError, OSError) as error:
        raise ValueError(f"{repository} was not sent: no answer from {api.endpoint} ({type(error).__name__})") from None
    except RuntimeError as error:  # an upload of a large file, which huggingface_hub names
        raise ValueError(f"{repository} was not sent: {str(error).splitlines()[0]}") from None
    return str(commit.commit_url)
