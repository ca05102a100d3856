"""Whether the program may have known what a place held before it wrote there, by whatever way it looked.

`Reads.read_first` has the reads that instructions make. C code reads as well: `vars(x).get("n")`, `copy.copy(x)`,
`globals()["N"]`, `"{0.n}".format(x)`, a module's attribute that is a global of it.
"""

from __future__ import annotations

import sys
from typing import Any

from dynamo_lite.tracing.interfaces import Trace


def was_looked_at(tracer: Trace, owner: Any, namespace: Any, key: Any) -> bool:
    """Whether what `key` names was read, or shown as a whole, before the program first wrote it.

    owner: the object, or a module's globals; namespace: the dict with its attributes (the globals themselves), if any.
    """
    reads = tracer.reads
    holders = [owner] if namespace is None or namespace is owner else [owner, namespace]
    if owner is namespace:
        holders += [module for module in (sys.modules.get(str(owner.get("__name__"))),) if module is not None]
    places = [(how, id(holder), key) for holder in holders for how in ("attr", "item", "key")]
    if any(place in reads.places and place not in reads.deleted for place in places):
        return True
    first = min((reads.written[place] for place in places if place in reads.written), default=sys.maxsize)
    return any(reads.shown.get(id(holder), sys.maxsize) <= first for holder in holders if id(holder) in reads.shown)
