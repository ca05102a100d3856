"""The page of a document: one HTML file that needs nothing else. Everything that comes from a program is escaped."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from dynamo_lite.report.picture import picture


def page(document: dict[str, Any]) -> str:
    """The HTML of a document (document.py)."""
    nodes = document["nodes"]
    held = [node for node in nodes if node["input_kind"] not in ("", "user input")]
    template = _environment().get_template("report.html")
    return template.render(
        d=document,
        picture=picture(document),
        held=held,
        computed=[node for node in nodes if node["input_kind"] in ("", "user input")],
        data=_script_data(document),
        style=_part("report.css"),
        script=_part("report.js"),
    )


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("dynamo_lite.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _part(name: str) -> Markup:
    return Markup(files("dynamo_lite.report").joinpath("templates", name).read_text(encoding="utf-8"))


_LISTS = ("nodes", "guards", "inputs", "branches", "effects", "fixed", "notes", "problems", "places")


def _script_data(document: dict[str, Any]) -> Markup:
    """The part that the script reads, as JSON that no `</script>` or `<!--` of a program can end."""
    kept = {key: document[key] for key in _LISTS}
    text = json.dumps(kept).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return Markup(text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029"))
