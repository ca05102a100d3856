"""The page: ids and links, nothing from outside, everything escaped; real models; clicks in a browser."""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
from collections import Counter
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import torch

import dynamo_lite
from dynamo_lite.report import document, layers
from dynamo_lite.report.page import page, unpacked
from tests.report import programs

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
ROOT = Path(__file__).parents[2]
AXE_CORE = Path(os.environ.get("AXE_CORE", ROOT / "build" / "axe" / "node_modules" / "axe-core" / "axe.min.js"))
"""`npm install --prefix build/axe axe-core`"""
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
    """Each link's target is there, ids are unique, nothing comes from outside, tags are closed; the same in folds."""
    found = Page(text)
    assert found.open == []
    for name, rows in unpacked(text)["folds"].items():
        assert text.count(f'<details data-fold="{name}">') == 1
        inner = Page(rows)
        assert inner.open == [] and inner.resources == [] and inner.handlers == []
        found.ids += inner.ids
        found.links += inner.links
    assert [name for name, count in Counter(found.ids).items() if count > 1] == []
    assert sorted({link[1:] for link in found.links} - set(found.ids)) == []
    assert found.resources == [] and found.handlers == []
    assert "http://" not in text
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
    content = unpacked(text)
    assert content["data"]["notes"][-1]["text"] == "</script><b>a note</b>"
    assert "<b>" not in "".join(content["folds"].values()) and "<img" not in "".join(content["folds"].values())


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


def with_script(text: str, script: str) -> str:
    """The page, with a script that runs when its data have been read."""
    return text.replace("</body>", f"<script>ready.then(() => {{ {script} }});</script></body>")


def browsed(text: str, folder: Path, *options: str) -> str:
    """The page as a browser holds it after some seconds."""
    path = folder / "page.html"
    path.write_text(text, encoding="utf-8")
    command = [str(CHROMIUM), "--headless=new", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=3000", *options,
               f"--user-data-dir={folder / 'profile'}", "--dump-dom", path.as_uri()]  # fmt: skip
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout


def after(text: str, script: str, folder: Path) -> tuple[str, str]:
    """(the panel, the whole page) as a browser shows them after `script`, a list of clicks, ran in the page."""
    whole = browsed(with_script(text, script), folder)
    panel = re.search(r'<aside id="panel"[^>]*>(.*?)</aside>', whole, re.DOTALL)
    assert panel is not None, whole
    return html.unescape(re.sub(r"<[^>]+>", " ", panel[1])), whole


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
  fillAll();
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


def many_layers(layers: int = 30) -> dict[str, Any]:
    """The document of a program of some hundred nodes."""
    block = lambda: torch.nn.TransformerEncoderLayer(8, 2, 8, batch_first=True)  # noqa: E731
    model = torch.nn.Sequential(*(block() for _ in range(layers))).train()
    return document.of_trace(dynamo_lite.trace(model, (torch.randn(2, 3, 8),)), "Layers")


def test_a_large_program() -> None:
    """Layers that compute the same are in one fold; rows of closed folds are not in the page."""
    found = many_layers()
    computed = [node for node in found["nodes"] if node["input_kind"] in ("", "user input")]
    made = layers.layers(computed)
    assert sorted(len(layer.alike) for layer in made)[-1] == 29
    again = [node for layer in made for part in (layer, *layer.alike) for node in part.nodes]
    assert again == computed
    text = page(found)
    check(text)
    assert len(text) < len(json.dumps(found)) / 5
    assert "29 layers like" in text and not re.search(r'<tr id="n\d', text)


def test_layers_that_differ_are_apart() -> None:
    node = lambda operator, module, shape=("2",): {  # noqa: E731
        "operator": operator, "module": module, "value": {"kind": "tensor", "shape": [*shape]}}  # fmt: skip
    few = [node("relu", "layers.0")]
    assert [layer.title for layer in layers.layers(few)] == [""]
    rows = [node("embedding", "embed")] * 50
    for number in range(6):
        shape = ("3",) if number == 4 else ("2",)
        rows += [node("linear", f"layers.{number}.a", shape), node("relu", f"layers.{number}.b")] * 15
    made = layers.layers([*rows, node("linear", "head")])
    titles = [(layer.title, [other.title for other in layer.alike]) for layer in made]
    assert titles == [
        ("", []),
        ("layers.0", ["layers.1", "layers.2", "layers.3"]),
        ("layers.4", []),
        ("layers.5", []),
        ("", []),
    ]


@needs_browser
def test_folds_fill_when_they_are_opened_or_asked_for(tmp_path: Path) -> None:
    found = many_layers()
    text = page(found)
    last = [node for node in found["nodes"] if node["operator"] == "aten.linear.default"][-1]
    panel, whole = after(text, f"location.hash = '#{last['id']}';", tmp_path)
    assert last["name"] in panel and f'<tr id="{last["id"]}" class="pick chosen"' in whole
    opened = "document.querySelector('[data-fold=\"layer-2-5\"]').open = true;"
    _, whole = after(text, opened, tmp_path)
    assert whole.count('<tr id="n') == sum(
        len(layer.alike[4].nodes)
        for layer in layers.layers([n for n in found["nodes"] if n["input_kind"] in ("", "user input")])
        if layer.alike
    )


def contrast(one: str, other: str) -> float:
    """WCAG 2.2, 1.4.3: (lighter + 0.05) / (darker + 0.05), of relative luminances."""

    def luminance(colour: str) -> float:
        parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
        red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_each_palette_can_be_read() -> None:
    style = files("dynamo_lite.report").joinpath("templates", "report.css").read_text("utf-8")
    palettes = [
        dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", rules)) for rules in re.findall(r":root \{(.*?)\}", style, re.S)
    ]
    assert len(palettes) == 2 and palettes[0].keys() == palettes[1].keys()
    texts = ("ink", "soft", "link", "bad", "guards", "nodes", "effects", "branches")
    for palette in palettes:
        pairs = [(text, back) for text in texts for back in ("paper", "tint")]
        pairs += [("ink", "mark"), ("link", "mark"), ("on-bad", "bad")]
        low = [(*pair, found) for pair in pairs if (found := contrast(palette[pair[0]], palette[pair[1]])) < 4.5]
        assert low == []


def test_by_keyboard() -> None:
    """What a click shows has a link or a button with a name."""
    text = page(document.of_trace(programs.attention()))
    assert not re.search(r"<span[^>]* class=\"badge [^\"]*\" title", text)
    assert all("aria-label" in button for button in re.findall(r"<button[^>]*>", text))
    for row in re.findall(r'<tr id="(\w+)" class="pick".*?</tr>', text, re.DOTALL):
        assert f'href="#{row}"' in text, row


@needs_browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_narrow_screen(scheme: str, tmp_path: Path) -> None:
    """At 420 pixels nothing lies beyond the right edge, in both palettes and with every fold open."""
    script = """
      fillAll();
      document.querySelectorAll("details").forEach(fold => { fold.open = true; });
      const wide = [...document.querySelectorAll("body *")].filter(one => !one.closest(".wide") &&
        one.getBoundingClientRect().right > innerWidth + 1).map(one => one.outerHTML.slice(0, 120));
      parent.told(JSON.stringify({wide, width: innerWidth, all: document.documentElement.scrollWidth,
        paper: getComputedStyle(document.body).backgroundColor}));
    """
    text = with_script(page(document.of_trace(programs.attention(), "Attention")), script)
    # in a frame: a window of Chromium is at least 500 pixels wide
    outer = (
        "<script>function told(text) { const made = document.createElement('pre'); made.textContent = text; "
        "document.body.append(made); }</script>"
        f'<iframe style="width: 420px; height: 700px; border: 0" srcdoc="{html.escape(text)}"></iframe>'
    )
    options = ["--blink-settings=preferredColorScheme=0"] if scheme == "dark" else []
    result = re.search(r"<pre>(.*?)</pre></body>", browsed(outer, tmp_path, *options), re.DOTALL)
    assert result is not None
    found = json.loads(html.unescape(result[1]))
    assert found["wide"] == [] and found["all"] <= found["width"] == 420, found
    assert (found["paper"] == "rgb(13, 17, 23)") == (scheme == "dark")


@needs_browser
@pytest.mark.skipif(not AXE_CORE.exists(), reason="needs axe-core (npm install --prefix build/axe axe-core)")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_core_finds_nothing(scheme: str, tmp_path: Path) -> None:
    """Names of buttons, contrast, landmarks, headings, links in text: the rules of axe-core, with every fold open and
    a guard in the panel; a program that is refused as well."""
    run = """
      fillAll();
      document.querySelectorAll("details").forEach(fold => { fold.open = true; });
      if (data.guards.length) show(data.guards[0].id);
      axe.run(document).then(found => {
        const made = document.createElement("pre");
        made.id = "axe";
        made.textContent = JSON.stringify({passes: found.passes.length, violations: found.violations.map(
          one => [one.id, one.nodes.map(node => node.html.slice(0, 120))])});
        document.body.append(made);
      });
    """
    script = "<head><script>" + AXE_CORE.read_text("utf-8").replace("</script>", r"<\/script>") + "</script>"
    refused = dynamo_lite.explain(programs.Refused(), (torch.ones(3),), control_flow="refuse")
    options = ["--blink-settings=preferredColorScheme=0"] if scheme == "dark" else []
    for found in (document.of_trace(programs.attention(), "Attention"), document.of_explanation(refused)):
        whole = browsed(with_script(page(found), run).replace("<head>", script, 1), tmp_path, *options)
        result = re.search(r'<pre id="axe">(.*?)</pre>', whole, re.DOTALL)
        assert result is not None
        told = json.loads(html.unescape(result[1]))
        assert told["violations"] == [] and told["passes"] > 35


@needs_browser
def test_search_hides_the_rest(tmp_path: Path) -> None:
    text = page(document.of_trace(programs.attention()))
    script = "const s = document.getElementById('search'); s.value = 'transpose'; s.dispatchEvent(new Event('input'));"
    _, whole = after(text, script, tmp_path)
    shown = re.findall(r'<tr id="(n\d+)" class="([^"]*)" data-search="([^"]*)"', whole)
    assert shown and all(("hidden" in classes) != ("transpose" in words) for _, classes, words in shown)
    assert re.search(r'id="found"[^>]*>[1-9]\d* found', whole)


@needs_browser
def test_nothing_of_the_program_runs(tmp_path: Path) -> None:
    found = dynamo_lite.explain(programs.Refused(), (torch.ones(3),), control_flow="refuse")
    text = page(document.of_explanation(found))
    panel, whole = after(text, click("#p0"), tmp_path)
    assert "torch.where" in panel and "<title>owned" not in whole
