"""Fingerprints of the code that a script runs: the script and every definition of the repository that it reaches.

Snakemake judges a script by the time stamp of its file and ignores the modules that it imports. Here a script is
followed through its imports, absolute and relative, at the top of a module or inside a function, down to the
definitions that it uses. Functions that are not reached, comments, docstrings and layout do not count. A module that
cannot be followed exactly (it is used as a value, or star-imported) counts as a whole. The modules of PLUMBING, on
which no result depends, are not followed. A file in a folder TEMPLATES belongs to the definitions that name it in a
literal text, together with the files that it names.
"""

import ast
import hashlib
import json
import logging
import os
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from importlib.util import resolve_name
from pathlib import Path
from tempfile import NamedTemporaryFile

from captionlab.installation import installed_packages
from captionlab.storage.cache import cache_folder

logger = logging.getLogger(__name__)

WHOLE = "*"
TEMPLATES = "templates"
_IMPORTS, _DEFINITIONS = (ast.Import, ast.ImportFrom), (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
DAYS = 30  # for which fingerprints are kept; if they are needed later, they are computed again
# Modules for logs, progress, GPU slots, failures, measurements, trackers and provenance of a job, the base of the
# config's models, which only says what is wrong with a config, and modules that find the project
# and plug-ins.
PLUMBING = frozenset(
    f"captionlab.{name}"
    for name in (
        "config.model",
        "installation",
        "jobs.failures",
        "jobs.progress",
        "jobs.provenance",
        "jobs.scripting",
        "jobs.slots",
        "jobs.usage",
        "places",
        "plugins",
        "tracking.tracker",
        "tracking.updates",
    )
)


class Module:
    """The top level of one source file: which statement binds which name, and which statements bind none."""

    def __init__(self, path: Path, source: bytes, name: str, is_package: bool):
        self.path, self.name, self.is_package = path, name, is_package
        self.tree = _without_documentation(ast.parse(source, filename=str(path)))

    @cached_property
    def bindings(self) -> dict[str, list[ast.stmt]]:
        """Return the statements that bind each name of the module, except imports."""
        found: dict[str, list[ast.stmt]] = {}
        for statement in self.tree.body:
            for name in _bound_names(statement):
                found.setdefault(name, []).append(statement)
        return found

    @cached_property
    def imports(self) -> dict[str, tuple[str, str | None]]:
        """Return the module, and the symbol or None, of each name that an import at the top level binds.

        Imports inside if, try and with count, too.
        """
        guarded = [node for s in self.tree.body if isinstance(s, (ast.If, ast.Try, ast.With)) for node in ast.walk(s)]
        return _imports([*self.tree.body, *guarded], self)

    def absolute(self, node: ast.ImportFrom) -> str:
        """Return the dotted name of the module of a from-import, which may be relative."""
        package = self.name if self.is_package else self.name.rpartition(".")[0]
        return resolve_name("." * node.level + (node.module or ""), package)


class Repository:
    """The source files and templates of repo-local packages below the given roots, as they were when it was made.

    `packages` are the folders of further packages, by the name of the package.
    """

    def __init__(self, *roots: Path, packages: Mapping[str, Path] | None = None):
        self.roots, self.packages = roots, packages or {}
        self.folders = {**{str(number): root for number, root in enumerate(roots)}, **self.packages}
        folders = self.folders.values()
        self.sources = {path: path.read_bytes() for folder in folders for path in sorted(folder.rglob("*.py"))}
        self.templates = defaultdict[str, bytes](bytes)  # the contents of all files of a name
        for path in (path for folder in folders for path in sorted(folder.rglob(f"{TEMPLATES}/*.*"))):
            if path.is_file() and path not in self.sources:
                self.templates[path.name] += path.read_bytes()
        self._modules: dict[str, Module | None] = {}
        self._scripts: dict[Path, Module] = {}
        # Scripts share most of the definitions that they reach.
        self._written: dict[tuple[Module, str], tuple[list[str], list[tuple[Module, str]]]] = {}

    def module(self, name: str) -> Module | None:
        """Return the module of a dotted name, or None if it is not in this repository or is not followed."""
        if name not in self._modules:
            bases = [] if name in PLUMBING else [*self._bases(name)]
            places = (
                place for base in bases for place in ((base / "__init__.py", True), (base.with_suffix(".py"), False))
            )
            found = next(((path, is_package) for path, is_package in places if path in self.sources), None)
            self._modules[name] = Module(found[0], self.sources[found[0]], name, found[1]) if found else None
        return self._modules[name]

    def _bases(self, name: str) -> Iterator[Path]:
        """Yield the paths without ending at which the module of a dotted name may lie."""
        for root in self.roots:
            yield root.joinpath(*name.split("."))
        for package, folder in self.packages.items():
            if f"{name}.".startswith(f"{package}."):
                yield folder.joinpath(*name[len(package) + 1 :].split("."))

    def digest(self) -> str:
        """Return a SHA-256 of all source files and templates, with their names, and of the version of Python.

        Fingerprints that were stored with the same digest are still valid.
        """
        sources = [
            (owner, path.relative_to(folder).parts, hashlib.sha256(source).digest())
            for owner, folder in self.folders.items()
            for path, source in self.sources.items()
            if path.is_relative_to(folder)
        ]
        return hashlib.sha256(repr((sys.version_info, sources, sorted(self.templates.items()))).encode()).hexdigest()

    def fingerprint(self, script: Path, *also: str) -> str:
        """Return the start of a SHA-256 of all definitions that a script reaches.

        `also` are modules that the script loads by name. `module` counts as a whole. Of `module:name`, only this
        definition and the definitions that it reaches count.
        """
        if script not in self._scripts:
            self._scripts[script] = Module(script, self.sources[script], "__script__", is_package=False)
        reached: dict[tuple[str, str], list[str]] = {}
        pending: list[tuple[Module, str]] = [(self._scripts[script], WHOLE)]
        for place in also:
            name, _, symbol = place.partition(":")
            if (module := self.module(name)) is None:
                raise FileNotFoundError(f"no module {name} below {', '.join(map(str, self.roots))}")
            pending.append((module, symbol or WHOLE))
        while pending:
            module, symbol = pending.pop()
            if (module.name, symbol) in reached:
                continue
            if (module, symbol) not in self._written:
                statements, needs = self._expand(module, symbol)
                written = [*map(ast.dump, statements), *self._templates_of(statements)]
                self._written[module, symbol] = written, needs
            reached[module.name, symbol], needs = self._written[module, symbol]
            pending += needs
        digest = hashlib.sha256()
        for key in sorted(reached):
            digest.update(repr((key, reached[key])).encode())
        return digest.hexdigest()[:16]

    def _expand(self, module: Module, symbol: str) -> tuple[list[ast.stmt], list[tuple[Module, str]]]:
        """Return the statements of a symbol, and the symbols of this and other modules that they use."""
        if symbol == WHOLE:
            statements = [s for s in module.tree.body if not isinstance(s, _IMPORTS)]
        elif symbol == "":  # the module is imported: only its effects run
            statements = [s for s in module.tree.body if not _bound_names(s) and not isinstance(s, _IMPORTS)]
        elif symbol in module.bindings:
            statements = module.bindings[symbol]
        elif symbol in module.imports:  # re-exported
            return [], list(self._target(*module.imports[symbol], ()))
        elif submodule := self.module(f"{module.name}.{symbol}"):
            return [], [(submodule, WHOLE)]
        else:  # bound in a way that cannot be followed
            return [], [(module, WHOLE)]
        needs: list[tuple[Module, str]] = list(self._on_import(module)) if symbol else []
        for statement in statements:
            needs += self._uses(statement, module)
        return statements, needs

    def _templates_of(self, statements: Iterable[ast.stmt]) -> list[str]:
        """Return the names and digests of the templates that statements name, and of the files that templates name."""
        pending = [node.value for s in statements for node in ast.walk(s) if isinstance(node, ast.Constant)]
        digests = dict[str, str]()
        while pending:
            name = pending.pop()
            if isinstance(name, str) and name in self.templates and name not in digests:
                digests[name] = f"{name} {hashlib.sha256(self.templates[name]).hexdigest()}"
                pending += [other for other in self.templates if other.encode() in self.templates[name]]
        return sorted(digests.values())

    def _on_import(self, module: Module) -> Iterator[tuple[Module, str]]:
        """Yield the symbols that run when a module is imported: top levels of itself, its packages and its imports."""
        yield module, ""
        parts = module.name.split(".")
        for end in range(1, len(parts)):
            if package := self.module(".".join(parts[:end])):
                yield package, ""
        for name, _ in module.imports.values():
            if imported := self.module(name):
                yield imported, ""

    def _uses(self, statement: ast.stmt, module: Module) -> Iterator[tuple[Module, str]]:
        local = _imports(ast.walk(statement), module)
        for target, symbol in local.values():
            if symbol == WHOLE:
                yield from self._target(target, WHOLE, ())
        for chain in _chains(statement):
            if chain[0] in local:
                yield from self._target(*local[chain[0]], chain[1:])
                continue
            if chain[0] in module.bindings:
                yield module, chain[0]
            if chain[0] in module.imports:  # bound both ways where an import may fail
                yield from self._target(*module.imports[chain[0]], chain[1:])
            elif chain[0] not in module.bindings:
                for target, symbol in module.imports.values():
                    if symbol == WHOLE:  # the name may come from a star import
                        yield from self._target(target, WHOLE, ())

    def _target(self, name: str, symbol: str | None, rest: tuple[str, ...]) -> Iterator[tuple[Module, str]]:
        """Yield the symbols that `name.symbol.rest` reaches, where leading attributes may be modules."""
        if symbol not in (None, WHOLE) and self.module(f"{name}.{symbol}"):
            name, symbol = f"{name}.{symbol}", None
        while symbol is None and rest and self.module(f"{name}.{rest[0]}"):
            name, rest = f"{name}.{rest[0]}", rest[1:]
        if (module := self.module(name)) is None:
            return
        yield from self._on_import(module)
        yield module, symbol or (rest[0] if rest else WHOLE)


class Fingerprints:
    """Fingerprints of the scripts of the repository at `root`, each computed once for the same source files.

    `packages` are the folders of packages of plug-ins by their names, as pairs.
    Following all scripts takes seconds, and digesting all source files a few hundredths of a second. So fingerprints
    are stored by the digest of the sources, for later processes such as the jobs of a cluster. They are stored in the
    user's cache folder (captionlab.storage.cache) or, if this folder cannot be written, in the working directory.
    Processes that write at the same time replace each other's file; lost fingerprints are computed again.
    """

    def __init__(self, root: Path, packages: Iterable[tuple[str, Path]] = ()):
        self.scripts = root / "workflow" / "scripts"
        self.repository = Repository(
            root / "src", self.scripts, packages={**installed_packages(root), **dict(packages)}
        )
        folders = [Path(".snakemake", "captionlab", "code")]
        with suppress(RuntimeError):  # there is a home
            folders.insert(0, cache_folder() / "code")
        name = f"{self.repository.digest()}.json"
        self.places = [folder / name for folder in folders]
        self.known: dict[str, str] = {}
        for place in reversed(self.places):
            with suppress(OSError, ValueError, TypeError):  # not there, damaged, or no mapping
                self.known |= json.loads(place.read_text(encoding="utf-8"))

    def of(self, script: str, *also: str) -> str:
        """Return the fingerprint of a script, and of modules, or definitions in modules, that it loads by name."""
        key = " ".join((script, *also))
        if key not in self.known:
            self.known[key] = self.repository.fingerprint(self.scripts / f"{script}.py", *also)
            self._keep()
        return self.known[key]

    def _keep(self) -> None:
        for place in self.places:
            try:
                place.parent.mkdir(parents=True, exist_ok=True)
                if not place.exists():
                    _remove_old(place.parent)
                # A name that no other process has: several may write at once.
                with NamedTemporaryFile("w", encoding="utf-8", dir=place.parent, delete=False) as partial:
                    json.dump(self.known, partial)
                os.replace(partial.name, place)
                return
            except OSError as error:  # a folder that cannot be written to costs time, and no plan
                logger.debug("fingerprints are not kept in %s: %s", place.parent, error)


def _remove_old(folder: Path) -> None:
    """Delete files older than DAYS: fingerprints of older sources, and partial files of killed processes."""
    for file in folder.iterdir():
        with suppress(FileNotFoundError):  # another process was first
            if file.stat().st_mtime < time.time() - DAYS * 24 * 3600:
                file.unlink()


def _without_documentation(tree: ast.Module) -> ast.Module:
    """Remove docstrings, also those of fields, and descriptions of keys of a config."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, *_DEFINITIONS)):
            node.body = [statement for statement in node.body if not _is_text(statement)] or [ast.Pass()]
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Field":
            node.keywords = [keyword for keyword in node.keywords if keyword.arg != "description"]
    return tree


def _is_text(statement: ast.stmt) -> bool:
    """Return whether a statement is only a text."""
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def _bound_names(statement: ast.stmt) -> set[str]:
    """Return the names that a top-level statement defines or assigns, also inside if, try and with.

    The variables of a comprehension are bound inside it only.
    """
    if isinstance(statement, _DEFINITIONS):
        return {statement.name}
    nodes = [*ast.walk(statement)]
    inner = {name for node in nodes if isinstance(node, ast.comprehension) for name in ast.walk(node.target)}
    names = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store) and n not in inner}
    return names | {n.name for n in nodes if isinstance(n, _DEFINITIONS)}


def _imports(nodes: Iterable[ast.AST], module: Module) -> dict[str, tuple[str, str | None]]:
    found: dict[str, tuple[str, str | None]] = {}
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                first = alias.name.split(".")[0]
                found[alias.asname or first] = (alias.name if alias.asname else first, None)
                if not alias.asname and "." in alias.name:
                    # `import a.b` also runs a.b; the attribute chain a.b.c is followed where it is used
                    found.setdefault(alias.name, (alias.name, None))
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                found[alias.asname or alias.name] = (module.absolute(node), alias.name)
    return found


def _chains(node: ast.AST) -> Iterator[tuple[str, ...]]:
    """Yield each name that is read, with the attributes that are read from it: `a.b.c` gives (a, b, c)."""
    attributes: list[str] = []
    while isinstance(node, ast.Attribute):
        attributes.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        yield (node.id, *reversed(attributes))
    for child in ast.iter_child_nodes(node):
        yield from _chains(child)
