"""The lists of docs/outputs.md, made from the rules, the schemas of tables and the definitions of metrics.

`python docs/outputs.py` writes them again, between the lines `<!-- files -->`, `<!-- metrics -->` or `<!-- columns -->`
and `<!-- end -->`.

The docstring of a rule has a line for each output, `name: meaning`. The name is the name of the output, or what stands
in place of {name} or {table} in its path, or `output` if the output has no name. The meaning of a Parquet file starts
with its schema, such as captionlab.storage.schemas.IMAGES, which says what a row and each column is. If several rules
make a file, such as the weights of imported and of trained captioners, the first rule says what it is. The meaning
of a figure is its caption in the folder `report/` of its paper.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from inspect import cleandoc
from pathlib import Path
from pkgutil import resolve_name

from captionlab import plugins
from captionlab.config.families import score_tables
from captionlab.evaluation.definitions import INTERVALS
from captionlab.reporting.tables.render import FORMATS
from captionlab.storage.tables import TableSchema

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "outputs.md"
_LIST = re.compile(r"(<!-- (files|metrics|columns) -->\n).*?(<!-- end -->)", re.DOTALL)
_RULE = re.compile(r"^( *)(?:rule|checkpoint|use rule \w+ as) (\w+)(?: with)?:\n((?:\1 .*\n|\n)+)", re.MULTILINE)
_DOCSTRING = re.compile(r'\s*"""(.*?)"""', re.DOTALL)
_OUTPUTS = re.compile(r"^( *)output:\n((?:\1 .*\n)+)", re.MULTILINE)
_LINE = re.compile(r"^([\w{},]+): (.+(?:\n +.+)*)", re.MULTILINE)
_SCHEMA = re.compile(r"captionlab(?:\.[\w{}]+)+")
_NAME = re.compile(r"\{(?:name|table)\}")


@dataclass
class File:
    """A file, or the files of a pattern: its meaning, the schema of a Parquet file, and the rules that make it."""

    path: str
    meaning: str
    schema: TableSchema | None
    rules: list[str]

    def matches(self, path: str) -> bool:
        """Return whether a path is this file, or one of the files of the pattern."""
        pattern = re.sub(r"\\\{\w+\\\}|\\\*", "[^/]+", re.escape(self.path.removesuffix("/")))
        alternatives = pattern.replace(r"\{", "(").replace(",", "|").replace(r"\}", ")")
        return bool(re.fullmatch(alternatives, path))


def rules_files() -> list[Path]:
    """Return the files with rules, in the order of the Snakefile."""
    snakefile = (ROOT / "Snakefile").read_text(encoding="utf-8")
    # Of papers, whose folders are only known when they are asked for, the papers that come with captionlab count.
    names = re.findall(r'include: (?:"(.+)"|.*"papers")', snakefile)
    return [path for name in names for path in sorted(ROOT.glob(name or "src/captionlab/papers/*/rules.smk"))]


def files_of(rules_file: Path) -> Iterator[File]:
    """Yield the files that each rule of a file with rules makes."""
    for _, rule, body in _RULE.findall(rules_file.read_text(encoding="utf-8")):
        docstring = _DOCSTRING.match(body)
        lines = _LINE.findall(cleandoc(docstring[1]) if docstring else "")
        meanings = {name: " ".join(meaning.split()) for name, meaning in lines}
        outputs = dict(outputs_of(body))
        for path, output in outputs.items():
            if path.startswith("results/figures/"):
                yield from figures(path, rule, rules_file.parent)
            elif output in meanings or not _NAME.search(path):
                yield from _files(path, meanings.get(output, ""), rule)
            else:
                for name in [name for name in meanings if name not in outputs.values()]:
                    yield from _files(_NAME.sub(name, path), meanings[name], rule)


def figures(path: str, rule: str, paper: Path) -> Iterator[File]:
    """Yield the figures of a paper by their captions, which are named after the first word of a figure's name."""
    for caption in sorted(paper.glob("report/*.rst"), key=_number):
        shown = " ".join(caption.read_text(encoding="utf-8").split())
        yield File(path.replace("{name}{ending}", f"{caption.stem}*"), shown, None, [rule])


def outputs_of(body: str) -> Iterator[tuple[str, str | None]]:
    """Yield the path of each output of a rule, with Snakemake's wildcards, and the name of the output."""
    for _, block in _OUTPUTS.findall(body):
        call = ast.parse(f"output({block})", mode="eval").body
        assert isinstance(call, ast.Call)
        named = [(keyword.arg, keyword.value) for keyword in call.keywords]
        for name, value in [*(("output", value) for value in call.args), *named]:
            texts = (_text(node) for node in ast.walk(value))
            path = next(text for text in texts if text.startswith("results/"))
            functions = [ast.unparse(node.func) for node in ast.walk(value) if isinstance(node, ast.Call)]
            if "multiext" in functions:
                path += f".{{{','.join(_text(ending)[1:] for ending in value.args[1:])}}}"
            yield f"{path}/" if "directory" in functions else path, name


def _text(node: ast.AST) -> str:
    """Return the source text of a string or an f-string, and '' for other code."""
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part) for part in node.values)
    if isinstance(node, ast.FormattedValue):
        return f"{{{ast.unparse(node.value)}}}"
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _number(path: Path) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", path.name)]


def _files(path: str, meaning: str, rule: str) -> Iterator[File]:
    """Yield the file of a path, or the file of each metric if the schema is of any metric."""
    found = _SCHEMA.match(meaning)
    if not found:
        yield File(path, meaning, None, [rule])
        return
    text = meaning[found.end() :].removeprefix(". ")
    metrics = [name for name, facts in plugins.facts("evaluation.metrics").items() if facts.reads]
    for name in metrics if "{table}" in found[0] else [""]:
        schema = resolve_name(found[0].replace("{table}", name.replace("-", "_")))
        schema = schema if isinstance(schema, TableSchema) else schema(1)  # a function of the number of dimensions
        yield File(path.replace("{table}", name) if name else path, text, schema, [rule])


def stages() -> dict[str, list[File]]:
    """Return the files of each stage and paper, by the docstring of its file with rules.

    If several rules make a file, its stage and its meaning are from the first rule.
    """
    known: dict[str, File] = {}
    found: dict[str, list[File]] = {}
    for rules_file in rules_files():
        docstring = _DOCSTRING.match(rules_file.read_text(encoding="utf-8"))
        assert docstring, f"{rules_file} begins with no docstring"
        of_stage = []
        for file in files_of(rules_file):
            if file.path in known:
                known[file.path].rules += file.rules
            else:
                known[file.path] = file
                of_stage.append(file)
        if of_stage:
            found[cleandoc(docstring[1]).split("\n\n")[0]] = of_stage
    return found


def file_lists(stages: Mapping[str, list[File]]) -> Iterator[str]:
    """Yield the lines of the list of files."""
    for docstring, files in stages.items():
        heading, _, text = docstring.removeprefix("Rules of ").partition(": ")
        yield from ("", f"### {_capitalised(heading)}", "", _capitalised(" ".join(text.split())), "")
        yield from (_row("file", "what it is", "rule"), _row(*["---"] * 3))
        for file in files:
            meaning = re.sub(r"\bdocs/(\w+\.md)", r"[\1](\1)", file.meaning)
            if file.schema:
                row = f"[{file.schema.name}](#{_anchor(file.schema.name)}): a row is {file.schema.row}"
                meaning = f"{row}. {meaning}" if meaning else row
            yield _row(f"`{_shown(file.path)}`", meaning, ", ".join(f"`{rule}`" for rule in file.rules))
    yield ""


def column_lists(stages: Mapping[str, list[File]]) -> Iterator[str]:
    """Yield the lines of the columns of each schema."""
    files = [file for of_stage in stages.values() for file in of_stage if file.schema]
    for name, schema in {file.schema.name: file.schema for file in files}.items():
        paths = ", ".join(f"`{_shown(file.path)}`" for file in files if file.schema.name == name)
        key = ", ".join(f"`{column}`" for column in schema.key)
        yield from ("", f"### {_capitalised(name)}", "", f"{paths}. A row is {schema.row}. Key: {key}.", "")
        yield from (_row("column", "type", "meaning"), _row(*["---"] * 3))
        for column, of_column in schema.columns.items():
            kind = re.sub(r"fixed_size_list<\w+: (\w+)>\[\d+\]", r"list of \1, of fixed size", str(of_column.type))
            kind = re.sub(r"list<\w+: (\w+)>", r"list of \1", kind)
            yield _row(f"`{column}`", f"{kind}, optional" if of_column.nullable else kind, of_column.meaning)
    yield ""


def metric_lists() -> Iterator[str]:
    """Yield the lines of the definitions of metrics."""
    yield from ("", _row("metric", "definition", "unit", "95 % interval"), _row(*["---"] * 4))
    for table, facts in score_tables().items():
        for name, definition in facts.metrics.items():
            shown = name.replace("{block}", f"name of the {table}").replace("*", "...")
            yield _row(shown, definition.sentence, definition.unit, INTERVALS[definition.computation])
    yield ""


def _shown(path: str) -> str:
    return path.replace(".{ending}", f".{{{','.join(FORMATS)}}}")


def _anchor(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def _capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]


def _row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def with_lists(text: str) -> str:
    """Return a page with its lists made anew."""
    found = stages()
    lists = {"files": file_lists(found), "metrics": metric_lists(), "columns": column_lists(found)}
    made = {name: "".join(f"{line}\n" for line in lines) for name, lines in lists.items()}
    return _LIST.sub(lambda match: f"{match[1]}{made[match[2]]}{match[3]}", text)


if __name__ == "__main__":
    PAGE.write_text(with_lists(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
