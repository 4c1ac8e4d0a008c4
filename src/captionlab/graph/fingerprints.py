"""A fingerprint of the code that a script runs: itself and every repo-local definition that it reaches.

Snakemake judges a script by the time stamp of its file and does not look at what it imports. Here a script is followed
through its imports, absolute and relative, at the top of a module or inside a function, down to the definitions that it
uses: a function that nobody on the way calls is not part of the fingerprint. Comments, docstrings and layout are not
either. What cannot be followed exactly (a module used as a value, a star import) counts as a whole. The modules of
PLUMBING, on which no result depends, are not followed. A file in a folder TEMPLATES belongs to the definitions that
have its name as a literal text, together with the files whose names it has in quotation marks.
"""

import ast
import hashlib
import json
import logging
import os
import re
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cached_property
from importlib.util import resolve_name
from pathlib import Path
from tempfile import NamedTemporaryFile

from captionlab.storage.cache import cache_folder

logger = logging.getLogger(__name__)

WHOLE = "*"
TEMPLATES = "templates"
_IMPORTS, _DEFINITIONS = (ast.Import, ast.ImportFrom), (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
DAYS = 30  # that fingerprints of sources are kept; those that are still needed then are found again
# How a job logs, shows its progress, waits for a GPU, explains a failure, is measured, is watched and leaves its
# provenance.
PLUMBING = frozenset(
    f"captionlab.{name}"
    for name in (
        "jobs.failures",
        "jobs.progress",
        "jobs.provenance",
        "jobs.scripting",
        "jobs.slots",
        "tracking.tracker",
        "tracking.updates",
    )
)


class Module:
    """The top level of one source file: which statement binds which name, and which statements bind none."""

    def __init__(self, path: Path, source: bytes, name: str, is_package: bool):
        self.path, self.name, self.is_package = path, name, is_package
        self.tree = _without_docstrings(ast.parse(source, filename=str(path)))

    @cached_property
    def bindings(self) -> dict[str, list[ast.stmt]]:
        """Statements that bind a name, by name. Imports are not among them."""
        found: dict[str, list[ast.stmt]] = {}
        for statement in self.tree.body:
            for name in _bound_names(statement):
                found.setdefault(name, []).append(statement)
        return found

    @cached_property
    def imports(self) -> dict[str, tuple[str, str | None]]:
        """What imports bind at the top level, also inside if, try and with: name -> (module, symbol or None)."""
        guarded = [node for s in self.tree.body if isinstance(s, (ast.If, ast.Try, ast.With)) for node in ast.walk(s)]
        return _imports([*self.tree.body, *guarded], self)

    def absolute(self, node: ast.ImportFrom) -> str:
        """The dotted module that a (possibly relative) from-import names."""
        package = self.name if self.is_package else self.name.rpartition(".")[0]
        return resolve_name("." * node.level + (node.module or ""), package)


class Repository:
    """The source files and templates of repo-local packages below the given roots, as they were when it was made."""

    def __init__(self, *roots: Path):
        self.roots = roots
        self.sources = {path: path.read_bytes() for root in roots for path in sorted(root.rglob("*.py"))}
        self.templates = defaultdict[str, bytes](bytes)  # the contents of all files of a name
        for path in (path for root in roots for path in sorted(root.rglob(f"{TEMPLATES}/*.*"))):
            if path not in self.sources:
                self.templates[path.name] += path.read_bytes()
        self._modules: dict[str, Module | None] = {}
        self._scripts: dict[Path, Module] = {}
        # Most of what one script reaches, others reach too.
        self._written: dict[tuple[Module, str], tuple[list[str], list[tuple[Module, str]]]] = {}

    def module(self, name: str) -> Module | None:
        """The module of that dotted name, None when it is not in this repository or is not followed."""
        if name not in self._modules:
            bases = [] if name in PLUMBING else [root.joinpath(*name.split(".")) for root in self.roots]
            places = (
                place for base in bases for place in ((base / "__init__.py", True), (base.with_suffix(".py"), False))
            )
            found = next(((path, is_package) for path, is_package in places if path in self.sources), None)
            self._modules[name] = Module(found[0], self.sources[found[0]], name, found[1]) if found else None
        return self._modules[name]

    def digest(self) -> str:
        """SHA-256 of all that fingerprints depend on: every source file and its place, templates, Python's grammar."""
        sources = [
            (number, path.relative_to(root).parts, hashlib.sha256(source).digest())
            for number, root in enumerate(self.roots)
            for path, source in self.sources.items()
            if path.is_relative_to(root)
        ]
        return hashlib.sha256(repr((sys.version_info, sources, sorted(self.templates.items()))).encode()).hexdigest()

    def fingerprint(self, script: Path, *also: str) -> str:
        """SHA-256 of all that `script` reaches, and of what `also` names that it loads by name.

        That is a module, counted as a whole, or module:name, a definition of it and what this reaches.
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
        """The statements of a symbol, and the symbols of this and other modules that they use."""
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
        """Names and digests of the templates that statements name, and of the templates that these name."""
        pending = [node.value for s in statements for node in ast.walk(s) if isinstance(node, ast.Constant)]
        digests = dict[str, str]()
        while pending:
            name = pending.pop()
            if isinstance(name, str) and name in self.templates and name not in digests:
                digests[name] = f"{name} {hashlib.sha256(self.templates[name]).hexdigest()}"
                pending += re.findall(r'"([^"\n]+)"', self.templates[name].decode())
        return sorted(digests.values())

    def _on_import(self, module: Module) -> Iterator[tuple[Module, str]]:
        """The effects of a module, of the packages that contain it, and of the modules that its top level imports."""
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
        """What `name.symbol.rest` reaches: as many attributes as there are modules are followed as modules."""
        if symbol not in (None, WHOLE) and self.module(f"{name}.{symbol}"):
            name, symbol = f"{name}.{symbol}", None
        while symbol is None and rest and self.module(f"{name}.{rest[0]}"):
            name, rest = f"{name}.{rest[0]}", rest[1:]
        if (module := self.module(name)) is None:
            return
        yield from self._on_import(module)
        yield module, symbol or (rest[0] if rest else WHOLE)


class Fingerprints:
    """Fingerprints of the scripts of the repository at `root`, each found once for the same source files.

    Following all scripts takes seconds, digesting all source files a few hundredths of one: what was found is kept by
    the digest of the sources, for the next process, as every job of a cluster is one: in the user's cache folder
    (captionlab.storage.cache), or where that cannot be written, as in a pod, in the working directory. Processes that
    write at once replace each other's file, and what is lost by that is found again.
    """

    def __init__(self, root: Path):
        self.scripts = root / "workflow" / "scripts"
        self.repository = Repository(root / "src", self.scripts)
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
        """Fingerprint of a script, and of modules, or definitions of them, that it loads by name."""
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
    """Delete what was kept for sources that changed since, and what killed processes left, after DAYS."""
    for file in folder.iterdir():
        with suppress(FileNotFoundError):  # another process was first
            if file.stat().st_mtime < time.time() - DAYS * 24 * 3600:
                file.unlink()


def _without_docstrings(tree: ast.Module) -> ast.Module:
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, *_DEFINITIONS)) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return tree


def _bound_names(statement: ast.stmt) -> set[str]:
    """Names that a top-level statement binds by definition or assignment, also inside if, try and with."""
    if isinstance(statement, _DEFINITIONS):
        return {statement.name}
    names = {n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return names | {n.name for n in ast.walk(statement) if isinstance(n, _DEFINITIONS)}


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
    """Names that are read, each with the attributes read off it: `a.b.c` gives (a, b, c)."""
    attributes: list[str] = []
    while isinstance(node, ast.Attribute):
        attributes.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        yield (node.id, *reversed(attributes))
    for child in ast.iter_child_nodes(node):
        yield from _chains(child)
