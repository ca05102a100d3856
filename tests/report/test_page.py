"""The page: ids and links, nothing from outside, everything escaped; real models; clicks in a browser."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import torch

import dynamo_lite
from dynamo_lite.report import document
from dynamo_lite.report.page import page
from tests.report import programs

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
VOID = {"meta", "br", "input", "link", "img"}


class Page(HTMLParser):
    """Ids, links, resources, and whether tags are nested properly."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.resources: list[str] = []
        self.open: list[str] = []
        self.handlers: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if name == "id":
                self.ids.append(value or "")
            if name == "href":
                self.links.append(value or "")
            if name in ("src", "data", "action") or (name == "href" and not (value or "").startswith("#")):
                self.resources.append(value or "")
            if name.startswith("on"):
                self.handlers.append(name)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open.pop() == tag, tag


def check(text: str) -> Page:
    """Each link's target is there, ids are unique, nothing comes from outside, tags are closed."""
    found = Page(text)
    assert found.open == []
    assert [name for name, count in Counter(found.ids).items() if count > 1] == []
    assert sorted({link[1:] for link in found.links} - set(found.ids)) == []
    assert found.resources == [] and found.handlers == []
    assert "http://" not in re.sub(r'<script type="application/json".*?</script>', "", text, flags=re.DOTALL)
    return found


def test_a_page_with_sizes_effects_and_branches() -> None:
    found = document.of_trace(programs.attention(), "Attention")
    ids = set(check(page(found)).ids)
    assert {row["id"] for key in ("nodes", "guards", "inputs", "effects", "branches") for row in found[key]} <= ids
    assert {"sizes", "source", "left", "guards", "nodes"} <= ids


def test_a_refused_program() -> None:
    found = dynamo_lite.explain(programs.Refused(), (torch.ones(3),), control_flow="refuse")
    text = page(document.of_explanation(found))
    check(text)
    assert "Write instead:" in text and "document.title = 'owned'</script>" not in text


def test_everything_is_escaped() -> None:
    trace = dynamo_lite.trace(programs.Hostile(), (torch.ones(2),))
    trace.notes["</script><b>a note</b>"] = ()  # type: ignore[index]
    text = page(document.of_trace(trace, "<img src=x onerror=alert(2)>"))
    check(text)
    assert "<b>a note" not in text and "<img" not in text
    data = re.search(r'id="data">(.*?)</script>', text, re.DOTALL)
    assert data is not None and json.loads(data[1])["notes"][-1]["text"] == "</script><b>a note</b>"


def _models() -> dict[str, Any]:
    transformers = pytest.importorskip("transformers")
    assert transformers
    from tests.models.registry import CORE, load

    return {
        m.name: m
        for m in load(CORE).values()
        if m.name in ("bert", "llama", "llama_cache_in", "resnet", "t5", "vit", "whisper")
    }


@pytest.mark.parametrize("name", ["bert", "llama", "llama_cache_in", "resnet", "whisper"])
def test_real_models(name: str) -> None:
    """The page is whole; each size of each node leads back to an input or to a number given to a call; the model's own
    lines come before torch's."""
    case = _models()[name].case()
    args, kwargs = case.inputs(0)
    found = document.of_trace(dynamo_lite.trace(case.module, args, kwargs), name)
    check(page(found))
    rows = {row["id"]: row for row in found["nodes"]}
    unexplained = [row["name"] for row in found["nodes"] for size in row["sizes"] if not _is_explained(rows, row, size)]
    sizes = sum(len(row["sizes"]) for row in found["nodes"])
    assert len(unexplained) <= sizes // 5, unexplained  # a convolution computes its length
    ranks = [file["rank"] for file in found["files"]]
    assert "library" in ranks and ranks[0] == "library"
    assert 3 * sum(guard["group"] in ("values", "library_values") for guard in found["guards"]) < len(found["guards"])


def _is_explained(rows: dict[str, Any], row: dict[str, Any], size: dict[str, Any]) -> bool:
    for _ in range(200):
        if row["op"] in ("placeholder", "get_attr") or size.get("written") or size["size"] == "1":
            return True
        if not size.get("from"):
            return False
        row = rows[size["from"]["node"]]
        size = row["sizes"][size["from"]["dim"]]
    return False


# -- in a browser

needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")


def after(text: str, script: str, folder: Path) -> tuple[str, str]:
    """(the panel, the whole page) as a browser shows them after `script`, a list of clicks, ran in the page."""
    path = folder / "page.html"
    path.write_text(text.replace("</body>", f"<script>{script}</script></body>"), encoding="utf-8")
    command = [str(CHROMIUM), "--headless=new", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=3000",
               f"--user-data-dir={folder / 'profile'}", "--dump-dom", path.as_uri()]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    panel = re.search(r'<aside id="panel">(.*?)</aside>', done.stdout, re.DOTALL)
    assert panel is not None, done.stderr
    return html.unescape(re.sub(r"<[^>]+>", " ", panel[1])), done.stdout


def click(selector: str, after_ms: int = 0) -> str:
    return f"setTimeout(() => document.querySelector({json.dumps(selector)}).click(), {after_ms});"


@needs_browser
def test_clicks(tmp_path: Path) -> None:
    found = document.of_trace(programs.attention())
    text = page(found)
    guard = next(g for g in found["guards"] if g["proof"] and g["proof"]["facts"])
    panel, _ = after(text, click(f"#{guard['id']}"), tmp_path)
    assert guard["text"] in panel and "What made it" in panel and "How it follows" in panel
    assert guard["proof"]["facts"][0]["text"] in panel
    view = next(row for row in found["nodes"] if row["operator"] == "aten.view.default")
    panel, _ = after(text, click(f"#{view['id']} a"), tmp_path)
    assert "Why is this size" in panel and "the call was given this number" in panel and "L['self'].heads == 4" in panel
    file = found["files"][0]["id"]
    line = f"#{file}-L{view['at']['line']}"
    linear = next(row["id"] for row in found["nodes"] if row["operator"] == "aten.linear.default")
    panel, whole = after(text, click(line) + click(f"#panel ol a[href='#{linear}']", 500), tmp_path)
    assert "operator" in panel and "aten.linear.default" in panel and "chosen" in whole
    placeholder = next(row for row in found["nodes"] if row["name"] == "x")
    panel, _ = after(text, click(f"#{placeholder['id']}"), tmp_path)
    assert "x.shape[0] : it varies" in " ".join(panel.split())
    size = next(row for row in found["inputs"] if row["label"] == "x.shape[2]")
    panel, _ = after(text, click(f"#{size['id']}"), tmp_path)
    assert "dynamic_shapes does not let it vary" in panel


REAL = ["bert", "llama_cache_in", "t5", "vit", "whisper"]
ASK_EVERYTHING = """
const panelText = () => panel.textContent;
const visible = element => element.getClientRects().length > 0;
const type = text => {
  const field = document.getElementById("search");
  field.value = text;
  field.dispatchEvent(new Event("input"));
};
const found = {problems: [], sizes: 0, guards: 0, lines: 0, searches: {}};
const expect = (holds, text) => { if (!holds) found.problems.push(text); };
try {
  for (const node of data.nodes) {
    show(node.id);
    expect(panelText().includes(node.name), "node " + node.name);
    document.querySelectorAll("#panel details.size").forEach((details, index) => {
      const last = [...details.querySelectorAll("li")].pop().textContent;
      found.sizes += 1;
      const ends = /vary|varies|computes it|given this number|parameter|buffer|constant|user input|is given|has 1 in/;
      expect(ends.test(last), `${node.name} ${index}: ${last}`);
    });
  }
  for (const guard of data.guards) {
    show(guard.id);
    found.guards += 1;
    expect(panelText().includes(guard.text), "guard " + guard.text);
    if (guard.proof) expect(panelText().includes("What made it"), "proof " + guard.text);
    const made = panel.querySelector("dd a, dd span");
    if (guard.at) expect(made.textContent.includes(guard.at.code), "line " + guard.text);
  }
  for (const line of document.querySelectorAll(".source .row.linked")) {
    line.click();
    show(line.id);
    found.lines += 1;
    expect(panel.querySelector("li a"), "line " + line.id);
  }
  const sections = () => [...document.querySelectorAll("#all section")].filter(visible).length;
  const all = sections();
  for (const text of ["linear", "embed weight", "no such thing"]) {
    type(text);
    const rows = [...document.querySelectorAll("[data-search]")].filter(visible);
    found.searches[text] = rows.length;
    expect(rows.every(row => text.split(" ").every(word => row.dataset.search.includes(word))), "search " + text);
    expect(document.getElementById("found").textContent === rows.length + " found" || !rows.length, "count " + text);
    if (text === "no such thing") expect(sections() === 0, "sections without a row");
  }
  type("");
  expect(sections() === all, "sections after the search");
  document.querySelector("nav a[href='#left']").click();
  expect(document.getElementById("left").parentElement.textContent.length > 30, "what did I lose");
} catch (error) { found.problems.push(String(error.stack)); }
const result = document.createElement("pre"); result.id = "result"; result.textContent = JSON.stringify(found);
document.body.append(result);
"""


@needs_browser
@pytest.mark.parametrize("name", REAL)
def test_real_models_in_a_browser(name: str, tmp_path: Path) -> None:
    """Why is this size 8, what made this guard, what did I lose: asked of every node, size, guard and line."""
    case = _models()[name].case()
    args, kwargs = case.inputs(0)
    document_ = document.of_trace(dynamo_lite.trace(case.module, args, kwargs), name)
    _, whole = after(page(document_), ASK_EVERYTHING, tmp_path)
    result = re.search(r'<pre id="result">(.*?)</pre>', whole, re.DOTALL)
    assert result is not None
    found = json.loads(html.unescape(result[1]))
    assert found["problems"] == []
    assert found["guards"] == len(document_["guards"]) and found["lines"] > 20
    assert found["sizes"] == sum(len(node["sizes"]) for node in document_["nodes"])
    assert found["searches"]["linear"] > 3 and found["searches"]["no such thing"] == 0


@needs_browser
def test_search_hides_the_rest(tmp_path: Path) -> None:
    text = page(document.of_trace(programs.attention()))
    script = "const s = document.getElementById('search'); s.value = 'transpose'; s.dispatchEvent(new Event('input'));"
    _, whole = after(text, script, tmp_path)
    shown = re.findall(r'<tr id="(n\d+)" class="([^"]*)" data-search="([^"]*)"', whole)
    assert shown and all(("hidden" in classes) != ("transpose" in words) for _, classes, words in shown)
    assert re.search(r'id="found" class="soft">[1-9]\d* found', whole)


@needs_browser
def test_nothing_of_the_program_runs(tmp_path: Path) -> None:
    found = dynamo_lite.explain(programs.Refused(), (torch.ones(3),), control_flow="refuse")
    text = page(document.of_explanation(found))
    panel, whole = after(text, click("#p0"), tmp_path)
    assert "torch.where" in panel and "<title>owned" not in whole
