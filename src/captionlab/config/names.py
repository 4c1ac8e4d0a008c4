"""Names of blocks: whether a name leads to a block, and hints for names that do not."""

import difflib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from captionlab import plugins
from captionlab.config.metric_names import metric_advice
from captionlab.config.model import Ref
from captionlab.config.snapshots import snapshot_hint, with_snapshots

Lookup = Callable[[Ref, str], str]


def hint(name: str, names: Iterable[Any], otherwise: str = "there are") -> str:
    """Return a hint on an unknown name: the most similar name, or all names."""
    there = [str(one) for one in names]
    close = difflib.get_close_matches(name, there, n=1)
    return f"did you mean {close[0]!r}?" if close else f"{otherwise} {', '.join(there) or 'none'}"


def lookup_in(config: Mapping[str, Any]) -> Lookup:
    """Return a function of a reference and a name that says what is wrong with the name, or returns an empty string.

    The config may have mistakes of any kind.
    """
    whole = with_snapshots(dict(config))

    def wrong(ref: Ref, name: str) -> str:
        section = whole.get(ref.section)
        there = section if isinstance(section, Mapping) else {}
        if name not in there and ref.section == "metrics":
            return f"is {name!r}, which is not among the metrics; {metric_advice(name, there)}"
        if name not in there:
            meant = (snapshot_hint(name, there) if ref.section == "captioners" else "") or hint(name, there)
            return f"is {name!r}, which is not among the {ref.section}; {meant}"
        return _refused(ref, name, there[name])

    return wrong


def a_family(names: Iterable[str]) -> str:
    """Return families as words of a sentence, such as "a clip or a siglip"."""
    return " or ".join(f"a {name}" for name in names)


def _refused(ref: Ref, name: str, block: Any) -> str:
    """Return what is wrong with the block that a name leads to, or an empty string if the block fits the reference."""
    if not isinstance(block, Mapping):
        return ""
    if ref.able and {"family", "patches_of"} & block.keys():
        facts = plugins.facts("encoders")
        if not getattr(facts.get(str(block.get("family"))), ref.able, False):
            what = "patch features" if "patches_of" in block else f"a {block.get('family')}"
            able = a_family(family for family, known in facts.items() if getattr(known, ref.able))
            return f"is {name!r}, {what}, {ref.reason}; name {able}"
    wrong = any(block.get(key) in values for key, values in ref.refuses.items())
    wrong = wrong or any(block.get(key) not in values for key, values in ref.accepts.items())
    wrong = wrong or ref.lacks in block or (ref.has != "" and ref.has not in block)
    if not wrong:
        return ""
    return ref.reason.format(name=repr(name))
