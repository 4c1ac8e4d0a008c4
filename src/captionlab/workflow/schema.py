"""The language of the schema of a config: JSON Schema, with more keywords, and what modules declare of themselves.

Objects have the keys of their `properties` and no other, unless `additionalProperties` says more. The further keywords:

    extends: part, [part...]   its properties, required keys and rules are also those of others
    union: key                 the part that a block must fit is that of `cases` which the value of this key names,
    union: [key, ...]          or the first of these keys that it has; `otherwise` is for a block without any;
                               {case} in a sentence of a case is that value
    names: section             a string, or each of a list, names something in that section of the config, which
      able: texts              (encoders) is of a family that is declared to have this,
      accepts, refuses: {...}  has or has not these values, or this key; `reason` is what is then said, with its {name}
      trainings: all           a name stands for all trainings of what it names, where it else stands for one
    rules: [...]               `when` values are these (a key: it is there) or `unless` they are, keys that a block must
                               have, `needs`, or not, `forbids`; the `sentence` says which are wrong, by {keys}
    within: {key: section}     what stands under the key is also in that list of the block's `evaluation`
    sections: {section: what}  the whole config has these sections, for what they are
    divides: key               of a key: the number under another one of the block is a multiple of it
    default: value             of a key; default_of: the key at the top of the config whose value it is
"""

import copy
import difflib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend

from captionlab.corpora.toyworld.domains import DOMAINS
from captionlab.files import read_yaml
from captionlab.reporting.paper import listed
from captionlab.workflow.blocks import Block
from captionlab.workflow.families import a_family, declared_cases, encoders, score_tables
from captionlab.workflow.papers import paper_parts
from captionlab.workflow.snapshots import snapshot_hint, with_snapshots

# What may be named as if it were a section of every config.
VOCABULARIES = {"domains": DOMAINS}
# 4.0 is no whole number, as it would be another parameter of a job than 4; what is not finite is no number.
_TYPES = Draft202012Validator.TYPE_CHECKER.redefine_many(
    {
        "integer": lambda _, value: isinstance(value, int) and not isinstance(value, bool),
        "number": lambda _, value: (
            isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        ),
    }
)
# What is said of a value that does not fit a keyword of JSON Schema.
PLAIN = {
    "type": "is {value!r}; it must be of the type {bound}",
    "pattern": "is {value!r}; it must match {bound}",
    "minimum": "is {value}; it must be at least {bound}",
    "exclusiveMinimum": "is {value}; it must be above {bound}",
    "maximum": "is {value}; it must be at most {bound}",
    "exclusiveMaximum": "is {value}; it must be below {bound}",
    "minLength": "is empty",
    "minItems": "is {value}; it must have at least {bound} of them",
    "maxItems": "is {value}; it must have at most {bound} of them",
    "uniqueItems": "is {value}; something in it is there twice",
    "minProperties": "is {value}; it must have at least {bound} keys",
    "anyOf": "is {value!r}, which is none of the values that may stand there (config/README.md)",
}


class Schema:
    """The schema in a file, with what families, readers, rewards, metrics and papers declare."""

    def __init__(self, path: Path):
        """Read the file; DeclarationError for a module or paper that does not say what it must."""
        document = read_yaml(path)
        for union, cases in declared_cases(document["$defs"]["scorer_architecture"]["properties"]).items():
            document["$defs"][union]["cases"] = dict(sorted({**document["$defs"][union]["cases"], **cases}.items()))
        for table in score_tables().values():
            for part in ("evaluation", "any_judgements"):
                document["$defs"][part]["properties"].update(table.keys)
        document["properties"]["papers"]["properties"] = paper_parts()
        self.definitions: Block = document["$defs"]
        # By the name of a part those that extend it, by the name of their case.
        self.extending: dict[str, Block] = {}
        self.definitions = {name: self._expanded(part, name) for name, part in document["$defs"].items()}
        self.root: Block = self._expanded({k: v for k, v in document.items() if k != "$defs"}, "")

    def mistakes(self, config: Block) -> tuple[list[str], bool]:
        """One sentence for each thing in a config that does not fit, and whether every name leads somewhere."""
        errors = sorted(self._validator(config).iter_errors(config), key=lambda e: [str(p) for p in e.absolute_path])
        sentences = [sentence for error in errors for sentence in self._sentences(error)]
        return sentences, all(error.validator in ("within", "sections", "divides") for error in errors)

    def takes_null(self, config: Block, place: Iterable[Any]) -> bool:
        """Whether null is a value of what stands at a place of a config."""
        part, value = self.root, config
        for key in place:
            keys = self.case(value, part)
            part, value = keys.get("properties", {}).get(key, keys.get("additionalProperties")), value[key]
            if not isinstance(part, dict):
                return False
        return not any(self._validator(config).descend(None, part))

    def filled(self, config: Block) -> Block:
        """A config that fits, with the defaults of all keys that it does not give."""
        return dict(self._filled(config, self.root, config))

    def renamed(self, value: Any, part: Block, rename: Callable[[str, Any, bool], Any]) -> Any:
        """A value that fits a part, with all that names something in the config renamed.

        `rename` is given the section, the name or names that stand there, and whether these are `trainings: all`.
        """
        part = part if isinstance(part.get("names"), str) else self.case(value, part)
        if isinstance(section := part.get("names"), str):
            return rename(section, value, "trainings" in part)
        if isinstance(value, list):
            return [self.renamed(item, part.get("items", {}), rename) for item in value]
        if not isinstance(value, dict):
            return value
        return {name: self.renamed(item, _of_key(part, name), rename) for name, item in value.items()}

    def paths(self, value: Any, part: Block) -> Iterator[str]:
        """The files and folders that a value which fits a part names."""
        while "$ref" in part or "union" in part:
            if part.get("$ref") == "#/$defs/path" and isinstance(value, str):
                yield value
                return
            part = self.definitions[part["$ref"].rpartition("/")[2]] if "$ref" in part else _chosen(value, part) or {}
        for one in part.get("anyOf", []):
            yield from self.paths(value, one)
        if isinstance(value, list):
            for item in value:
                yield from self.paths(item, part.get("items", {}))
        elif isinstance(value, dict):
            for name, item in value.items():
                yield from self.paths(item, _of_key(part, name))

    def case(self, block: Any, part: Block) -> Block:
        """The part that a block must fit, references and unions followed; {} where none is for it."""
        while "$ref" in part or "union" in part:
            part = self.definitions[part["$ref"].rpartition("/")[2]] if "$ref" in part else _chosen(block, part) or {}
        return part

    def _validator(self, config: Block) -> Any:
        handlers = {name[1:]: getattr(_Keywords(config), name) for name in _Keywords.NAMES}
        return extend(Draft202012Validator, handlers, type_checker=_TYPES)({**self.root, "$defs": self.definitions})

    def _expanded(self, part: Any, name: str) -> Any:
        """A part in plain JSON Schema but for the further keywords, `extends` aside; `name` is that of its case."""
        if isinstance(part, list):
            return [self._expanded(item, name) for item in part]
        if not isinstance(part, dict):
            return part
        found = {key: self._expanded(item, str(key)) for key, item in part.items()}
        if isinstance(key := found.get("union"), str):
            found["cases"] = {case: _keyed(part, key, case) for case, part in found["cases"].items()}
        if isinstance(found.get("names"), str) and not {"type", "anyOf", "$ref"} & found.keys():
            found["type"] = "string"
        if isinstance(bases := found.get("extends"), str | list):
            for base in reversed(listed(bases)):
                whole = self._expanded(self.definitions[base], base)
                found["properties"] = {**whole["properties"], **found.get("properties", {})}
                for key in ("required", "rules"):
                    found[key] = [*whole.get(key, []), *found.get(key, [])]
            self.extending.setdefault(listed(bases)[0], {})[name] = found
        if isinstance(keys := found.get("properties"), dict):
            together = {key: key_part["x-needs"] for key, key_part in keys.items() if "x-needs" in key_part}
            found = {"type": "object", "additionalProperties": False, "dependentRequired": together, **found}
            if whole := {key: of for key, one in keys.items() if isinstance(of := one.get("divides"), str)}:
                found["divides"] = whole
        return found

    def _filled(self, value: Any, part: Block, config: Block) -> Any:
        part = self.case(value, part)
        if isinstance(value, list):
            return [self._filled(item, part.get("items", {}), config) for item in value]
        if not isinstance(value, dict):
            return value
        keys = part.get("properties", {})
        given = {name: copy.deepcopy(key["default"]) for name, key in keys.items() if "default" in key}
        given |= {name: config[key["default_of"]] for name, key in keys.items() if "default_of" in key}
        whole = {**value, **{name: default for name, default in given.items() if name not in value}}
        return {name: self._filled(item, _of_key(part, name), config) for name, item in whole.items()}

    def _sentences(self, error: ValidationError) -> Iterator[str]:
        place = ".".join(map(str, error.absolute_path)) or "the top level"
        if f"_{error.validator}" in _Keywords.NAMES:
            yield error.message.replace("{place}", place)
        elif error.instance is None:
            yield f"{place} has no value, and no --configfile before it has one to take away; write one or drop the key"
        elif error.validator == "additionalProperties" and isinstance(error.instance, dict):
            known = sorted(error.schema["properties"])
            for key in sorted(str(key) for key in error.instance if key not in known):
                meant = hint(key, known, "known keys:")
                yield f"{place} has no key {key!r}{self._able(key, error.schema)}; {meant}"
        elif error.validator == "type" and error.validator_value == "number" and isinstance(error.instance, str):
            yield f"{place} must be a number; YAML reads {error.instance!r} as text, write it with a point, as 1.0e-4"
        elif error.validator == "enum":
            values = [str(value) for value in error.validator_value]
            close = difflib.get_close_matches(str(error.instance), values, n=1)
            meant = f" Did you mean {close[0]!r}?" if close else ""
            yield f"{place} is {error.instance!r}; it must be one of {', '.join(values)}.{meant}"
        elif error.validator == "required":
            yield f"{place} lacks the key {error.message.split(' is a required')[0]}"
        elif error.validator == "oneOf":
            keys = " and ".join(key for case in error.validator_value for key in case.get("required", []))
            yield f"{place} must have exactly one of the keys {keys}"
        elif error.validator == "pattern" and "propertyNames" in error.absolute_schema_path:
            yield f"{place} has the name {error.instance!r}; names are {error.schema['description']}"
        elif error.validator == "dependentRequired":
            missing, given = error.message.split("'")[1:4:2]
            yield f"{place}.{given} needs {missing} beside it"
        else:
            said = PLAIN.get(str(error.validator))
            given = {"bound": error.validator_value, "value": error.instance}
            yield f"{place} {said.format(**given)}" if said else f"{place}: {error.message}"

    def _able(self, key: str, part: Mapping[str, Any]) -> str:
        """Which other cases that extend the same part as this one have a key."""
        siblings = self.extending.get(listed(part.get("extends", ""))[0], {})
        able = sorted(name for name, other in siblings.items() if key in other["properties"])
        return f", which {' and '.join(able)} can have" if able else ""


class _Keywords:
    """The further keywords as functions of jsonschema: validator, value of the keyword, instance, schema -> errors."""

    NAMES = ("_union", "_names", "_rules", "_within", "_sections", "_divides")

    def __init__(self, config: Block):
        self.config = with_snapshots(config)

    def _section(self, name: str) -> Mapping[str, Any]:
        section = VOCABULARIES.get(name, self.config.get(name))
        return section if isinstance(section, Mapping) else {}

    def _union(self, validator: Any, key: str | list[str], block: Any, part: Block) -> Iterator[ValidationError]:
        if not isinstance(block, dict):
            yield from validator.descend(block, {"type": "object"})
        elif isinstance(case := _chosen(block, part), dict):
            yield from validator.descend(block, case)
        else:
            yield from validator.descend(block, {"required": [key], "properties": {key: {"enum": list(part["cases"])}}})

    def _names(self, validator: Any, section: str, names: Any, part: Block) -> Iterator[ValidationError]:
        there = self._section(section)
        for name in _strings(names):
            block = there.get(name)
            if name not in there:
                meant = (snapshot_hint(name, there) if section == "captioners" else "") or hint(name, there)
                yield ValidationError(f"{{place}} is {name!r}, which is not among the {section}; {meant}")
            elif isinstance(block, dict) and (wrong := _refused(name, block, part)):
                yield ValidationError(f"{{place}} {wrong}")

    def _rules(self, validator: Any, rules: list[Block], block: Any, part: Block) -> Iterator[ValidationError]:
        for rule in rules if isinstance(block, dict) else []:
            if not _fits(block, rule.get("when", {})) or ("unless" in rule and _fits(block, rule["unless"])):
                continue
            wrong = [key for key in rule.get("needs", []) if key not in block]
            wrong += [key for key in rule.get("forbids", []) if key in block]
            if wrong:
                yield ValidationError(rule["sentence"].replace("{keys}", " and ".join(wrong)))

    def _within(self, validator: Any, lists: dict[str, str], block: Any, part: Block) -> Iterator[ValidationError]:
        block = block if isinstance(block, dict) else {}
        name = block.get("evaluation")
        evaluation = self._section("evaluations").get(name) if isinstance(name, str) else None
        if not isinstance(evaluation, dict):
            return
        for key, section in lists.items():
            for place, one in _places(key, block.get(key)):
                if one in self._section(section) and one not in _strings(evaluation.get(section)):
                    where = f"evaluations.{name}.{section}"
                    yield ValidationError(f"{{place}} is {one!r}, which is not in {where}; add it there", path=place)

    def _sections(
        self, validator: Any, needed: Mapping[str, str], block: Any, part: Block
    ) -> Iterator[ValidationError]:
        for section, what in needed.items():
            if section not in self.config:
                yield ValidationError(f"{{place}} needs {what}; add the section `{section}`")

    def _divides(self, validator: Any, pairs: Block | str, block: Any, part: Block) -> Iterator[ValidationError]:
        for key, of_key in pairs.items() if isinstance(block, dict) and isinstance(pairs, dict) else ():
            number, whole = block.get(key), block.get(of_key)
            if isinstance(number, int) and isinstance(whole, int) and number > 0 and whole % number:
                fitting = next(n for n in range(min(number, whole), 0, -1) if whole % n == 0)
                wrong = f"{{place}}.{key} is {number}, which does not divide {of_key}, {whole}"
                yield ValidationError(f"{wrong}; write {fitting}, or another {of_key}")


def hint(name: str, names: Iterable[Any], otherwise: str = "there are") -> str:
    """What may have been meant by a name that is not among the names."""
    there = [str(one) for one in names]
    close = difflib.get_close_matches(name, there, n=1)
    return f"did you mean {close[0]!r}?" if close else f"{otherwise} {', '.join(there) or 'none'}"


def _strings(names: Any) -> list[str]:
    """The names that a value is, one or several; none where it is no such value."""
    return [name for name in (names if isinstance(names, list) else [names]) if isinstance(name, str)]


def _keyed(part: Block, key: str, case: str) -> Block:
    """A case of a union with the key that says so, where it is not a reference to a part that has it."""
    if "$ref" in part:
        return part
    keyed: Block = _said({**part, "properties": {key: {"const": case}, **part.get("properties", {})}}, case)
    return keyed


def _said(value: Any, case: str) -> Any:
    """A part in whose sentences {case} is its own."""
    if isinstance(value, dict):
        return {key: _said(inner, case) for key, inner in value.items()}
    if isinstance(value, list):
        return [_said(inner, case) for inner in value]
    return value.replace("{case}", case) if isinstance(value, str) else value


def _of_key(part: Block, key: str) -> Block:
    """The part that stands under a key of a block; {} where there is none."""
    found = part.get("properties", {}).get(key, part.get("additionalProperties"))
    return found if isinstance(found, dict) else {}


def _chosen(block: Any, part: Block) -> Block | None:
    """The case of a union that a block is of; None where the value of its key is none of them."""
    key = part["union"]
    if isinstance(block, dict) and isinstance(key, list):
        return part["cases"].get(next((one for one in key if one in block), None), part["otherwise"])
    if isinstance(block, dict) and isinstance(block.get(key), str):
        return part["cases"].get(block[key])
    return part.get("otherwise") if key not in block else None


def _fits(block: Block, wanted: Block | str) -> bool:
    """Whether a block has the keys or values that a rule speaks of; of a list, one of the values."""
    if isinstance(wanted, str):
        return wanted in block
    return all(block.get(key) in (value if isinstance(value, list) else [value]) for key, value in wanted.items())


def _refused(name: str, block: Block, part: Block) -> str:
    """What is wrong with that which a name leads to; nothing where it will do."""
    if (
        (able := part.get("able"))
        and {"family", "patches_of"} & block.keys()
        and not getattr(encoders().get(str(block.get("family"))), able, False)
    ):
        what = "patch features" if "patches_of" in block else f"a {block.get('family')}"
        families = a_family(family for family, declared in encoders().items() if getattr(declared, able))
        return f"is {name!r}, {what}, {part['reason']}; name {families}"
    wrong = "refuses" in part and _fits(block, part["refuses"])
    wrong = wrong or ("accepts" in part and not _fits(block, part["accepts"]))
    return part["reason"].format(name=repr(name)) if wrong else ""


def _places(key: str, value: Any) -> Iterator[tuple[tuple[str, ...], str]]:
    """The names under a key, those of a mapping or of the value itself, each with its place."""
    places = (
        {(key, str(inner)): names for inner, names in value.items()} if isinstance(value, dict) else {(key,): value}
    )
    yield from ((place, name) for place, names in places.items() for name in _strings(names))
