"use strict";
// The page's data: gzip in base64. `folds` has the rows of closed folds as HTML, which the page's template has escaped.
let data = {}, folds = {};
const byId = new Map(), foldOf = new Map();
const panel = document.getElementById("panel");
const ready = unpacked(document.getElementById("data").textContent).then(found => {
  ({data, folds} = found);
  for (const kind of Object.keys(data)) if (kind !== "places") for (const row of data[kind]) byId.set(row.id, {kind, row});
  for (const name of Object.keys(folds)) for (const [, id] of folds[name].matchAll(/ id="([^"]+)"/g)) foldOf.set(id, name);
});
async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text), character => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}
function fill(name) {
  if (!(name in folds)) return;
  document.querySelector(`[data-fold="${name}"]`).insertAdjacentHTML("beforeend", folds[name]);
  delete folds[name];
}
function fillAll() { for (const name of Object.keys(folds)) fill(name); }

// The panel at the right: what is known of the thing that was chosen. Texts are set as text, never as HTML.

function make(tag, text, attributes) {
  const made = document.createElement(tag);
  if (text !== undefined && text !== null) made.textContent = String(text);
  for (const [name, value] of Object.entries(attributes || {})) made.setAttribute(name, value);
  return made;
}
function link(id, text) { return make("a", text, {href: "#" + id}); }
function nodeLink(id) { const found = byId.get(id); return link(id, found ? found.row.name : id); }
function placeLink(at) {
  if (!at) return make("span", "");
  const text = at.path.split("/").pop() + ":" + at.line + "  " + at.code;
  const target = at.file + "-L" + at.line;
  return document.getElementById(target) || foldOf.has(target) ? link(target, text) : make("span", text);
}
function originParts(origin) {
  return origin.at ? [placeLink(origin.at), origin.note ? ` (${origin.note})` : ""] : [origin.text];
}
function proofParts(proof) {
  return [make("h3", proof.checked ? "How it follows (each step checked again)" : "How it follows"), ordered(proof.steps.map(step => {
    const row = [make("code", step.shows), `  ${step.rule}`];
    if (step.from.length) row.push(" from ", list(step.from.map(text => make("code", text))));
    if (step.proof.length) {
      const details = make("details", null, {class: "proof"});
      details.append(make("summary", `the proof: ${step.proof.length} steps`), ordered(step.proof.map(inner =>
        [make("code", inner.shows), `  ${inner.rule}`, inner.from.length ? ` from ${inner.from.join(", ")}` : ""])));
      row.push(details);
    }
    return row;
  }))];
}
function list(rows) {
  const made = make("span");
  rows.forEach((row, index) => { if (index) made.append(", "); made.append(row); });
  return made;
}
function fields(rows) {
  const made = make("dl");
  for (const [name, value] of rows) {
    if (value === "" || value === null || value === undefined) continue;
    const cell = make("dd");
    cell.append(value instanceof Node ? value : String(value));
    made.append(make("dt", name), cell);
  }
  return made;
}
function ordered(rows) {
  const made = make("ol");
  for (const row of rows) { const item = make("li"); item.append(...row); made.append(item); }
  return made;
}
function valueText(value) {
  if (value.kind === "tensor") return value.dtype + "[" + value.shape.join(", ") + "] on " + value.device +
    (value.requires_grad ? ", requires_grad" : "");
  if (value.kind === "several") return "(" + value.parts.map(valueText).join(", ") + ")";
  return value.kind === "none" ? "None" : value.type + " " + value.text;
}

// "Why is this size 8?": back through the nodes, as long as the number is the same, to where it comes from.
const SHOWN = 5;
function sizeStory(node, dim) {
  const rows = [];
  let at = node, place = dim;
  while (at && rows.length <= 2 * data.nodes.length) {
    const size = at.sizes[place];
    if (!size) break;
    const row = [nodeLink(at.id), ` has ${size.size} in dimension ${size.dim}`];
    if (at.input_kind) row.push(`: ${at.input_kind}`);
    else if (at.op === "placeholder") row.push(": what the region is given");
    if (size.written) row.push("; the call was given this number");
    if (at.at) row.push("  (", placeLink(at.at), ")");
    for (const id of size.values || []) row.push("; this line read ", link(id, byId.get(id).row.text));
    rows.push(row);
    if (at.input_kind && data.inputs) {
      const input = data.inputs.find(other => other.dim === place && other.node === at.name);
      if (input) rows.push([link(input.id, input.label), ": " + (input.why || "")]);
    }
    const next = size.from;
    if (!next && !size.written && at.op === "call_function") row.push(": this operator computes it");
    if (!next) break;
    const found = byId.get(next.node);
    place = next.dim;
    at = found ? found.row : null;
  }
  return folded(rows);
}
// The first and the last steps; those between pass the number on.
function folded(rows) {
  const between = rows.length - 2 * SHOWN;
  if (between < 2) return ordered(rows);
  const details = make("details"), inner = ordered(rows.slice(SHOWN, -SHOWN)), last = ordered(rows.slice(-SHOWN));
  inner.start = SHOWN + 1;
  last.start = rows.length - SHOWN + 1;
  details.append(make("summary", `${between} operators pass it on`), inner);
  const made = make("div");
  made.append(ordered(rows.slice(0, SHOWN)), details, last);
  return made;
}

const views = {
  nodes(node) {
    const parts = [make("h2", node.name), fields([
      ["operator", node.operator], ["is", node.input_kind], ["value", valueText(node.value)],
      ["strides", node.value.strides ? "(" + node.value.strides.join(", ") + ")" : ""],
      ["line", placeLink(node.at)], ["module", node.module ? `${node.module} (${node.module_type})` : node.module_type],
      ["called", node.called], ["graph", node.graph], ["part", node.part],
      ["inputs", list(node.inputs.map(nodeLink))], ["users", list(node.users.map(nodeLink))],
    ]), make("pre", node.text)];
    if (node.sizes.length) {
      parts.push(make("h3", "Why is this size …?"));
      for (const size of node.sizes) {
        const details = make("details", null, {class: "size"});
        details.append(make("summary", `${size.size} in dimension ${size.dim}`), sizeStory(node, size.dim));
        parts.push(details);
      }
    }
    if (node.stack.length) parts.push(make("h3", "The program was here"), ordered(node.stack.map(f => [placeLink(data.places[f])])));
    return parts;
  },
  guards(guard) {
    const parts = [make("h2", "Guard"), make("pre", guard.text), fields([
      ["expects", guard.expects === guard.text ? "" : guard.expects], ["kind", guard.kind], ["made by", placeLink(guard.at)],
    ])];
    if (guard.proof) {
      parts.push(make("h3", "What made it"));
      parts.push(ordered(guard.proof.facts.map(fact => [make("code", fact.text), `: ${fact.why}. `,
        ...originParts(fact.origin)])));
      if (guard.proof.declared) parts.push(make("p", "The range was declared: " + guard.proof.declared));
      parts.push(...proofParts(guard.proof));
      if (guard.proof.spares.length) parts.push(make("h3", "It spares the check of"), ordered(
        guard.proof.spares.map(fact => [make("code", fact.text), "  ", ...originParts(fact.origin)])));
    }
    else if (guard.why) parts.push(make("p", guard.why));
    return parts;
  },
  inputs(row) {
    const parts = [make("h2", row.label), fields([["size", row.size], ["example", row.example], ["specification", row.spec],
      ["range", row.range && !row.constant ? `${row.range[0]} to ${row.range[1] || "∞"}` : ""], ["why", row.why]])];
    if (row.facts && row.facts.length) parts.push(make("h3", "Because of"), ordered(row.facts.map(fact =>
      [make("code", fact.text), "  " + fact.why + ", ", ...originParts(fact.origin)])));
    return parts;
  },
  branches(row) {
    const parts = [make("h2", "Branch"), make("pre", row.text), fields([["line", placeLink(row.origin.at)],
      ["node", row.node ? nodeLink(row.node) : ""]])];
    if (row.proof) parts.push(...proofParts(row.proof));
    for (const id of row.notes || []) parts.push(make("p", byId.get(id).row.text));
    for (const part of row.parts || []) {
      parts.push(make("h3", `${part.name} (${part.nodes.length} operator${part.nodes.length === 1 ? "" : "s"})`));
      parts.push(ordered(part.nodes.map(id => { const node = byId.get(id).row;
        return [nodeLink(id), `  ${node.operator} → ${valueText(node.value)}  `, placeLink(node.at)]; })));
    }
    return parts;
  },
  effects(row) { return [make("h2", "Effect"), make("pre", `${row.target}: ${row.text}`), fields([["kind", row.kind],
    ["what becomes of it", row.verdict], ["line", placeLink(row.at)]])]; },
  fixed(row) { return [make("h2", "Fixed size"), make("pre", row.text), fields([["why", row.why],
    ["line", placeLink(row.origin.at)]])]; },
  notes(row) { return [make("h2", "Note"), make("p", row.text), fields([["line", placeLink(row.at)]])]; },
  problems(row) { return [make("h2", row.error), make("p", row.what), fields([["write instead", row.instead],
    ["line", placeLink(row.at)], ["the search", row.then], ["exportdb", row.case ? link("case-" + row.case, row.case) : ""]]),
    ordered(row.stack.map(f => [placeLink(data.places[f])]))]; },
};

function lineView(element) {
  const parts = [make("h2", element.dataset.place), make("pre", element.querySelector(".text").textContent.trim())];
  for (const role of ["problems", "nodes", "branches", "guards", "effects", "fixed", "notes"]) {
    const ids = (element.dataset[role] || "").split(" ").filter(Boolean);
    if (!ids.length) continue;
    parts.push(make("h3", `${role} (${ids.length})`));
    parts.push(ordered(ids.map(id => {
      const row = byId.get(id).row;
      const text = role === "nodes" ? `${row.name}: ${row.operator} → ${valueText(row.value)}` : row.text || row.target || row.error;
      return [link(id, text)];
    })));
  }
  return parts;
}

function show(id) {
  fill(foldOf.get(id));
  const element = document.getElementById(id);
  for (const other of document.querySelectorAll(".chosen")) other.classList.remove("chosen");
  const found = byId.get(id);
  if (found) panel.replaceChildren(...views[found.kind](found.row));
  else if (element && element.dataset.place) panel.replaceChildren(...lineView(element));
  else return;
  if (element) {
    element.classList.add("chosen");
    for (let around = element.parentElement; around; around = around.parentElement)
      if (around.tagName === "DETAILS") around.open = true;
    element.scrollIntoView({block: "nearest"});
  }
}

// Rows that do not have all words are hidden, then what has no row left: tables, folds, headings.
let wasOpen = null;
function search(text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const has = text => words.every(word => text.includes(word));
  if (words.length) fillAll();
  const all = document.getElementById("all");
  const folds = [...all.querySelectorAll("details")];
  wasOpen = wasOpen || new Map(folds.map(fold => [fold, fold.open]));
  let count = 0;
  for (const row of all.querySelectorAll("[data-search]")) {
    const isThere = has(row.dataset.search);
    row.classList.toggle("hidden", !isThere);
    count += isThere;
  }
  for (const row of all.querySelectorAll(".source .row"))
    row.classList.toggle("hidden", !has(row.querySelector(".text").textContent.toLowerCase()));
  for (const group of [...all.querySelectorAll("table, .source, details, section")].reverse()) {
    const isEmpty = words.length && !group.querySelector("[data-search]:not(.hidden), .source .row:not(.hidden)") &&
      !(group.matches(".source") && group.querySelector(".row:not(.hidden)"));
    group.classList.toggle("hidden", Boolean(isEmpty));
    if (group.tagName === "DETAILS") group.open = words.length ? !isEmpty : wasOpen.get(group);
  }
  if (!words.length) wasOpen = null;
  document.getElementById("found").textContent = words.length ? `${count} found` : "";
}

function measure() {
  document.documentElement.style.setProperty("--head", document.querySelector("header").offsetHeight + "px");
}
const shown = () => show(decodeURIComponent(location.hash.slice(1)));
window.addEventListener("resize", measure);
measure();
ready.then(() => {
  document.getElementById("search").addEventListener("input", event => search(event.target.value));
  document.addEventListener("toggle", event => fill(event.target.dataset.fold), true);
  document.addEventListener("click", event => {
    const row = event.target.closest("[data-place], .pick");
    if (row && !event.target.closest("a, summary")) { location.hash = row.id || row.dataset.id; }
  });
  window.addEventListener("hashchange", shown);
  for (const fold of document.querySelectorAll("details[open]")) fill(fold.dataset.fold);
  if (location.hash) shown();
}).catch(error => { panel.textContent = "This browser cannot read the data of the page: " + error; });
