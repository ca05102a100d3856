"""The random modules of dynamo_lite.lab as probes: `probe(seed)`, and `probe_of` for given lines."""

from __future__ import annotations

import linecache
from typing import Any

from dynamo_lite.lab.generated import DATA as DATA
from dynamo_lite.lab.generated import PLAIN, complete
from dynamo_lite.lab.generated import QUIET as QUIET
from dynamo_lite.lab.generated import STATE as STATE
from dynamo_lite.lab.generated import Signature as Signature
from dynamo_lite.lab.generated import Vocabulary as Vocabulary
from dynamo_lite.lab.generated import body as body
from dynamo_lite.lab.generated import source as source

from .probe import Probe


def probe(seed: int, words: Vocabulary = PLAIN) -> Probe:
    """The program of `seed` as a probe: equal, or refused with any id."""
    return _probe(source(seed, words), f"generated {seed}")


def probe_of(lines: list[str], words: Vocabulary, signature: Signature) -> Probe:
    """The program with these lines as the body of `forward`."""
    return _probe(complete(lines, words, signature), "given lines")


def _probe(text: str, name: str) -> Probe:
    filename = f"<{name}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    namespace: dict[str, Any] = {"__name__": f"tests.export.{name.replace(' ', '_')}", "__builtins__": __builtins__}
    exec(compile(text, filename, "exec"), namespace)
    return Probe(name, namespace["build"], frozenset({"equal"}), any_refusal=True)
