"""Checks of RO-Crates without a network: the JSON-LD context comes from the package rocrate."""

import json
from importlib.resources import files
from io import BytesIO
from pathlib import Path

import requests_cache
from requests.adapters import HTTPAdapter
from rocrate_validator.models import Severity, ValidationSettings
from rocrate_validator.services import validate
from urllib3 import HTTPResponse

CONTEXT = "https://w3id.org/ro/crate/1.1/context"


# Terms that 1.1 maps otherwise than later versions.
BIOSCHEMAS = "https://bioschemas.org/"
TERMS = {
    "ComputationalWorkflow": f"{BIOSCHEMAS}ComputationalWorkflow",
    "FormalParameter": f"{BIOSCHEMAS}FormalParameter",
    "input": f"{BIOSCHEMAS}ComputationalWorkflow#input",
    "output": f"{BIOSCHEMAS}ComputationalWorkflow#output",
}


class _Context(HTTPAdapter):
    """Answers every request with the context that rocrate has, a later version, with the terms of 1.1."""

    def send(self, request, *arguments, **options):
        context = json.loads(files("rocrate").joinpath("data/ro-crate.jsonld").read_text(encoding="utf-8"))
        context["@context"] |= TERMS
        body = BytesIO(json.dumps(context).encode())
        kind = {"Content-Type": "application/ld+json"}
        return self.build_response(request, HTTPResponse(body, kind, 200, preload_content=False))


def issues(crate: Path, cache: Path, profile: str, severity: str) -> list[str]:
    """Return what roc-validator says about a crate by a profile and the profiles that it extends."""
    session = requests_cache.CachedSession(str(cache), expire_after=-1)
    session.mount("https://", _Context())
    session.get(CONTEXT)
    session.close()
    settings = ValidationSettings(
        rocrate_uri=str(crate),
        profile_identifier=profile,
        requirement_severity=Severity[severity],
        offline=True,
        cache_path=cache,
    )
    result = validate(settings)
    return [f"{issue.check.identifier} {issue.message} {issue.violatingEntity}" for issue in result.get_issues()]
