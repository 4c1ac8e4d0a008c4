"""Jinja templates of tables, pages and documents, and the CSS and JavaScript that pages include."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template, select_autoescape


def template(name: str, **filters: Callable[..., Any]) -> Template:
    """Return the template of this name in the folder of this module, with filters for its values.

    Values are escaped in HTML only. A name that has no value is an error. Templates of LaTeX have expressions in << >>
    and statements in <% %>. Write the name as a literal: fingerprints of code then see the template, and every file
    that it names.
    """
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=select_autoescape(["html.jinja"]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    if name.endswith(".tex.jinja"):  # LaTeX is full of braces, and its comments begin with a per cent sign
        environment = environment.overlay(
            variable_start_string="<<",
            variable_end_string=">>",
            block_start_string="<%",
            block_end_string="%>",
            comment_start_string="<#",
            comment_end_string="#>",
        )
    environment.filters |= filters
    return environment.get_template(name)
