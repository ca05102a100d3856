"""The page of a document: one HTML file that needs nothing else. Everything that comes from a program is escaped.

What is folded, and what the panel shows, is in the page in compressed form: the script adds a fold's rows when it is
opened, or when something in it is looked for.
"""

from __future__ import annotations

import base64
import gzip
import json
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from dynamo_lite.report.layers import layers


def page(document: dict[str, Any]) -> str:
    """The HTML of a document (document.py)."""
    nodes = document["nodes"]
    held = [node for node in nodes if node["input_kind"] not in ("", "user input")]
    computed = [node for node in nodes if node["input_kind"] in ("", "user input")]
    parts = [(part, [n for n in computed if n["part"] == part["key"]]) for part in document["parts"]]
    folds: dict[str, str] = {}

    def keep(name: str, html: str) -> str:
        """The rows of a closed fold: not in the page, but in its data."""
        folds[name] = html
        return ""

    return (
        _environment()
        .get_template("report.html")
        .render(
            d=document,
            picture=picture(document),
            held=held,
            layers=layers([node for node in computed if not node["part"]]),
            parts=[(part, layers(rows)) for part, rows in parts],
            keep=keep,
            packed=lambda: _packed({"data": {key: document[key] for key in _LISTS}, "folds": folds}),
            style=_part("report.css"),
            script=_part("report.js"),
        )
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


def _packed(content: dict[str, Any]) -> str:
    """JSON in gzip in base64. `unpacked` reads it, as report.js does in a browser."""
    return base64.b64encode(gzip.compress(json.dumps(content).encode(), mtime=0)).decode()


def unpacked(page: str) -> dict[str, Any]:
    """{"data": the lists of the document, "folds": name → HTML} of a page."""
    text = page.partition('<script type="text/plain" id="data">')[2].partition("</script>")[0]
    content: dict[str, Any] = json.loads(gzip.decompress(base64.b64decode(text)))
    return content


# Where the boxes and lines of the picture of sizes are: each input a row, each dimension a box, each tie an arc.

WIDTH, HEIGHT, LEFT, TOP = 150, 56, 150, 26


def picture(document: dict[str, Any]) -> dict[str, Any]:
    """{"width", "height", "boxes", "arcs", "rows"} in pixels. Dimensions that vary together have one colour."""
    boxes: list[dict[str, Any]] = []
    at: dict[str, dict[str, Any]] = {}
    colours: dict[str, int] = {}
    inputs = list(dict.fromkeys(row["input"] for row in document["inputs"]))
    names = []
    for number, name in enumerate(inputs):
        dims = [row for row in document["inputs"] if row["input"] == name]
        names.append({"text": dims[0]["label"].partition(".shape")[0], "y": TOP + number * HEIGHT + 18})
        for place, row in enumerate(dims):
            symbols = "" if row["constant"] else " ".join(row.get("symbols", [row["size"]]))
            box = {
                "x": LEFT + place * WIDTH,
                "y": TOP + number * HEIGHT,
                "id": row["id"],
                "label": row["label"],
                "size": row["size"],
                "colour": colours.setdefault(symbols, len(colours) % 8) if symbols else -1,
            }
            boxes.append(box)
            at[row["label"]] = box
    arcs = [_arc(at, tie) for tie in document["ties"]]
    width = max((box["x"] for box in boxes), default=0) + WIDTH
    return {
        "width": width,
        "height": TOP + len(inputs) * HEIGHT + 20,
        "boxes": boxes,
        "names": names,
        "arcs": [arc for arc in arcs if arc is not None],
    }


def _arc(at: dict[str, dict[str, Any]], tie: dict[str, Any]) -> dict[str, Any] | None:
    ends = [at[label] for label in dict.fromkeys(tie["between"]) if label in at]
    if len(ends) < 2:
        return None
    (a, b) = ends[0], ends[1]
    x1, y1, x2, y2 = a["x"] + 60, a["y"] + 32, b["x"] + 60, b["y"]
    if a["y"] == b["y"]:
        y1, y2 = a["y"], b["y"]
    bend = (y1 + y2) / 2 if y1 != y2 else y1 - 20
    return {"d": f"M{x1} {y1} C{x1} {bend} {x2} {bend} {x2} {y2}", "text": tie["text"]}
