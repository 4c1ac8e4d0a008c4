"""Declarations: what each module states about itself in one literal, for the graph to read without an import.

    DECLARATION = CaptionerFamily(reads="vector", libraries=("transformers",), ...)

The modules import torch, which takes longer than planning a run. So the assignment is parsed from the source, its
keywords are evaluated as literals, and the same dataclass is built from the keywords. There is no list of such modules:
every module of a package that defines a certain name declares something, under its own name. A declaration decides
which files jobs read and which parameters they have. Jobs run the code beside the declaration and ask it only which
files must exist.
"""

import ast
import importlib
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

NAME, ROOT = "DECLARATION", Path(__file__).parent
T = TypeVar("T")


class DeclarationError(ValueError):
    """A module has no declaration, or an invalid one. The message names file and field."""


@dataclass(frozen=True, kw_only=True)
class CaptionerFamily:
    """A family of captioners."""

    reads: Literal["vector", "patches", "patches-or-pixels", "regions", "tagged-regions"]
    """what it reads of an image: one vector of an encoder, one for each place, or without an encoder the image itself,
    regions, or regions and tags"""
    libraries: tuple[str, ...]
    """libraries whose versions matter to it, beside torch and tokenizers"""
    objectives: tuple[str, ...]
    """kinds of objectives that it can be trained by"""
    options: tuple[Literal["teacher", "scheduled_sampling"], ...]
    """which it can follow of those options of an objective that not every family can"""
    attention: bool
    """whether its attention to tags can be extracted (captionlab.attention)"""
    imported: Mapping[str, Any]
    """keys of its block, each with its JSON schema, that say what published weights do not tell"""
    architecture: Mapping[str, Any]
    """keys of `architecture`, each with its JSON schema, to train it from scratch; one with a default is optional"""
    longest: Mapping[str, int]
    """most tokens that it can generate: the sum of sizes of `architecture`, each times the number here, and of the
    number under ""; empty where nothing limits it"""
    finetuned_as: Mapping[str, Any]
    """what the objective reinforce takes for keys that are not given, as the class has it"""
    size: str = ""
    """which number in the `architecture` of its config.json is that of the numbers in a vector that it reads"""
    folder: bool = False
    """whether its published weights are a folder, which has its tokens too, and not a file beside another of tokens"""


@dataclass(frozen=True, kw_only=True)
class EncoderFamily:
    """A family of encoders."""

    libraries: tuple[str, ...]
    """libraries whose versions matter to it, beside torch and pillow"""
    texts: bool
    """whether it embeds texts too, so that it can search images"""
    patches: bool
    """whether it gives a vector for each place of an image, too"""
    files: tuple[str, ...]
    """keys of its block that name the files it is imported from"""
    imported: Mapping[str, Any]
    """further keys of its block when it is imported, each with its JSON schema"""
    architecture: Mapping[str, Any]
    """keys of `architecture`, each with its JSON schema; none where it cannot be trained here"""
    folder: bool = False
    """whether its published weights are a folder, and not a file"""
    size: tuple[str, ...] = ()
    """keys that lead to the number of numbers in an embedding, in its config.json and in its block of a config"""


@dataclass(frozen=True, kw_only=True)
class ScorerFamily:
    """A family of scorers."""

    reads: Literal["regions", "pixels", "embeddings"]
    """what it reads of an image: regions, the image itself, or the embedding of the encoder that it is"""
    libraries: tuple[str, ...]
    """libraries whose versions matter to it, beside torch and tokenizers"""
    imported: Mapping[str, Any]
    """keys of its block, each with its JSON schema, that only this family has when it is imported or adopted"""
    architecture: Mapping[str, Any]
    """keys of `architecture`, each with its JSON schema, beside or in place of those that the config's schema has for
    every scorer; none where it cannot be trained here"""
    matching: Mapping[str, Any]
    """what it takes for keys of `matching` that are not given and have no default in the schema, as the class has it"""


@dataclass(frozen=True, kw_only=True)
class ScoreTable:
    """A table of scores of captions. Each row has a caption and what the caption was scored with."""

    place: int
    """where its metrics stand among those of other tables"""
    taken: tuple[str, ...] = ()
    """names of its metrics that a command of the config could have, too: in lower-case letters, digits and hyphens"""
    asks: tuple[str, ...]
    """keys of an evaluation that ask for it; one that has none of them has no such table, and () is for all"""
    references: bool
    """whether captions are held against references alone, which human captions are themselves"""
    switch: Literal["", "spice"]
    """key of the config that can turn it off"""
    keys: Mapping[str, Any] = field(default_factory=dict)
    """those of these keys that no other part of a config has, each with its JSON schema"""
    reads: tuple[
        Literal[
            "tokens",
            "references",
            "texts",
            "objects",
            "training",
            "tags",
            "reference_tags",
            "categories",
            "encoders",
        ],
        ...,
    ] = ()
    """what its function `score` is given beside the captions (captionlab.evaluation.given); () where a rule of its own
    makes the table"""
    libraries: tuple[str, ...] = ()
    """libraries whose versions matter to it"""
    mem_mb: int = 4000
    """memory of a job, beside what it holds of tables of embeddings"""
    runtime: int = 60
    """minutes of a job"""
    gpu: int = 0
    """GPUs of a job"""


@dataclass(frozen=True, kw_only=True)
class CorpusReader:
    """A reader of published corpora."""

    keys: Mapping[str, Any]
    """keys of its block, each with its JSON schema, beside those that every corpus of files has"""
    required: tuple[str, ...]
    """which of them must be there"""
    files: tuple[str, ...]
    """keys that name the files it reads, one or one for each split; images are none of them"""
    patterns: tuple[str, ...] = ()
    """keys that name tars, for each split a tar, a folder of them, or a path with * and ? for any characters"""
    contents: str = ""
    """pattern of what it reads in its folder (captionlab.corpora.inputs.folder_of) where none of `files` is given"""
    scenes: bool
    """whether images have scene captions"""
    undescribed: bool
    """whether there are images that nobody described: candidates and no more"""
    libraries: tuple[str, ...]
    """libraries whose versions matter to what it reads, beside pillow"""


@dataclass(frozen=True, kw_only=True)
class JudgementReader:
    """A reader of captions that people judged."""

    keys: Mapping[str, Any]
    """keys of its block, each with its JSON schema, beside those that every set of judgements has"""
    required: tuple[str, ...]
    """which of them must be there"""
    files: tuple[str, ...]
    """keys that name the files it reads"""
    simulated: bool
    """whether nobody judged: judges are simulated, which only the toy world allows"""
    ratings: bool
    """whether single captions are rated; else one of two is preferred"""
    leaves_out: Literal["candidates", "references"]
    """what does not count where a judged caption is among the references of its image"""
    libraries: tuple[str, ...]
    """libraries whose versions matter to what it reads"""


@dataclass(frozen=True, kw_only=True)
class RewardKind:
    """A kind of reward."""

    keys: Mapping[str, Any]
    """keys of its block beside `kind`, each with its JSON schema"""
    required: tuple[str, ...]
    """which of them must be there"""
    asks: Literal["nothing", "retriever", "scorer"]
    """which model it asks; its block names that under the key of this name, beside `keys`"""
    references: bool
    """whether it reads the references of the training images"""
    of: bool
    """whether it is made of the rewards in its list `of`; one that has a weight there is the `reward` of its item"""
    libraries: tuple[str, ...]
    """libraries whose versions matter to it, beside torch and those of the model that it asks"""


class Member:
    """An object of a family. The family has the name of the module that defines the class."""

    @property
    def family(self) -> str:
        """Return the name of the family."""
        return type(self).__module__.rpartition(".")[2]


@cache
def declared(package: str, kind: type[T], marker: str = "FAMILY", *others: str) -> Mapping[str, T]:
    """Return the declarations of the modules of a package that define `marker`, by module name with - for _.

    `kind` is the dataclass of the declarations. Raises DeclarationError if a module has no declaration, if its
    declaration does not fit `kind`, or if the module lacks one of the names `others`.
    """
    found = {}
    for path in sorted(ROOT.joinpath(*package.split(".")).glob("*.py")):
        source = path.read_text(encoding="utf-8")
        if marker not in source and NAME not in source:
            continue
        bound = _bindings(ast.parse(source, filename=str(path)))
        if marker in bound or NAME in bound:
            found[path.stem.replace("_", "-")] = _read(path, bound, kind, (marker, *others))
    return found


def family_class(package: str, family: str) -> Any:
    """Return the class of a family of a package, which imports the module. Raises ValueError for an unknown family."""
    return defined(package, family, "FAMILY")


def defined(package: str, name: str, marker: str) -> Any:
    """Return the object `marker` of the module with this name in a config. Raises ValueError for an unknown name."""
    module = name.replace("-", "_")
    try:
        return getattr(importlib.import_module(f"captionlab.{package}.{module}"), marker)
    except (ModuleNotFoundError, AttributeError) as error:
        files = sorted(ROOT.joinpath(*package.split(".")).glob("*.py"))
        there = [path.stem for path in files if marker in _bindings(ast.parse(path.read_text(encoding="utf-8")))]
        if module in there:
            raise
        raise ValueError(f"{package} have no {name!r}; there are {', '.join(there)}") from error


def _bindings(tree: ast.Module) -> dict[str, ast.expr | None]:
    """Return the names at the top level of a module, each with the assigned value, or None for a definition."""
    found: dict[str, ast.expr | None] = {}
    for statement in tree.body:
        if isinstance(statement, ast.Assign):
            found |= {target.id: statement.value for target in statement.targets if isinstance(target, ast.Name)}
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            found[statement.target.id] = statement.value
        elif isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
            found[statement.name] = None
    return found


def _read(path: Path, bound: Mapping[str, ast.expr | None], kind: type[T], markers: tuple[str, ...]) -> T:
    """Return the declaration of a module, from the names at its top level."""
    for name in (*markers, NAME):
        if name not in bound:
            all_of_it = " and ".join((f"{NAME} = {kind.__name__}(...)", *markers))
            raise DeclarationError(f"{path} has no {name}; write {all_of_it}")
    call = bound[NAME]
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == kind.__name__):
        raise DeclarationError(f"{path}: {NAME} must be {kind.__name__}(...), called where it is assigned")
    given = {}
    for keyword in call.keywords:
        try:
            given[str(keyword.arg)] = ast.literal_eval(keyword.value)
        except ValueError as error:
            raise DeclarationError(f"{path}: {keyword.arg} of {NAME} must be a plain literal") from error
    known = {field.name: field for field in fields(kind)}  # type: ignore[arg-type]
    if call.args or (unknown := sorted(given.keys() - known.keys())):
        wrong = "a field without a name" if call.args else f"the field {unknown[0]!r}"
        raise DeclarationError(f"{path}: {NAME} has {wrong}; a {kind.__name__} has {', '.join(known)}")
    for name, hint in get_type_hints(kind).items():
        if name not in given and known[name].default is MISSING and known[name].default_factory is MISSING:
            raise DeclarationError(f"{path}: {NAME} lacks the field {name!r}; a {kind.__name__} says all of itself")
        if name in given and not _fits(given[name], hint):
            raise DeclarationError(f"{path}: {name} of {NAME} is {given[name]!r}; it must be {_shown(hint)}")
    return kind(**given)


def _fits(value: Any, hint: Any) -> bool:
    """Return whether a literal has the type of a field."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Literal:
        return value in arguments
    if origin is tuple:
        return isinstance(value, tuple) and all(_fits(item, arguments[0]) for item in value)
    return hint is Any or isinstance(value, dict if origin is Mapping else hint)


def _shown(hint: Any) -> str:
    """Return a description of a type, for a sentence."""
    if get_origin(hint) is Literal:
        return "one of " + ", ".join(map(repr, get_args(hint)))
    if get_origin(hint) is tuple:
        return f"a tuple, as ('x',), in which each is {_shown(get_args(hint)[0])}"
    return "a dict" if get_origin(hint) is Mapping else f"a {hint.__name__}"
