"""Functions fit a screen, and functions of rules have names of their own."""

import ast
import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
LONGEST = 60


def functions(tree: ast.AST, name: str):
    """Every function, with the names of what it stands in."""
    for node in ast.iter_child_nodes(tree):
        inner = f"{name}.{node.name}" if isinstance(node, (ast.FunctionDef, ast.ClassDef)) else name
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield inner, node
        yield from functions(node, inner)


def test_no_function_is_longer_than_a_screen():
    files = [path for part in ("src", "workflow") for path in (ROOT / part).rglob("*.py")]
    found = [pair for path in files for pair in functions(ast.parse(path.read_text(encoding="utf-8")), path.stem)]
    assert len(found) > 1000
    longer = {name for name, node in found if node.end_lineno - node.lineno + 1 > LONGEST}
    assert not longer


def test_no_two_files_of_rules_define_the_same_name():
    """Snakemake includes all of them into one namespace, so the last definition would serve both."""
    files = [*(ROOT / "workflow" / "rules").glob("*.smk"), *(ROOT / "src").rglob("rules.smk")]
    texts = [file.read_text(encoding="utf-8") for file in files]
    defined = [name for text in texts for name in {*re.findall(r"^ *def (\w+)\(", text, re.MULTILINE)}]
    assert len(defined) > 100
    assert [name for name, count in Counter(defined).items() if count > 1] == []
