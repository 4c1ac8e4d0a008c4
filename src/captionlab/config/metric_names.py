"""Advice on names of metrics that lead nowhere in a config: how each kind of metric is asked for."""

import difflib
import re
from collections.abc import Iterable

from captionlab import plugins

COMPUTED = "BLEU, METEOR, ROUGE-L and CIDEr are computed for every evaluation of images that have captions"
SPICE = "SPICE is asked for by the key `spice` at the top level (auto, required or off), for all evaluations"
JUDGES = "CLAIR and FLEUR are declared in the section `judges` and asked for by the key `judges` (docs/metrics.md)"
COMMANDS = "a metric that is a program is declared in the section `metrics` by its `command` (docs/metrics.md)"
# Advice by the name of a metric, in lower-case letters alone: bleu is also BLEU@4.
KNOWN = {
    **dict.fromkeys(("bleu", "meteor", "rouge", "rougel", "cider", "ciderd"), COMPUTED),
    "spice": SPICE,
    "clair": JUDGES,
    "fleur": JUDGES,
}


def known_metric(name: str) -> str:
    """Return the advice on the name of a metric that no evaluation asks for by name; else an empty string."""
    letters = re.sub("[^a-z]", "", name.lower())
    close = difflib.get_close_matches(letters, KNOWN, n=1, cutoff=0.75)
    return KNOWN[close[0]] if close else ""


def metric_advice(name: str, commands: Iterable[str]) -> str:
    """Return the advice on a name in the list `metrics` of an evaluation that is none of the declared commands."""
    if close := difflib.get_close_matches(name, [*commands], n=1):
        return f"did you mean {close[0]!r}?"
    if known := known_metric(name):
        return f"{known}, so leave it out here"
    keys = [key for facts in plugins.facts("evaluation.metrics").values() for key in facts.asks]
    if close := difflib.get_close_matches(name.lower(), keys, n=1, cutoff=0.8):
        return f"{close[0]!r} is a key of the evaluation itself"
    return COMMANDS
