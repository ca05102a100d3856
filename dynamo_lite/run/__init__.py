"""One run of a program under a tracer, and a second one from the state after it.

`dynamo_lite.pipeline` and `dynamo_lite.explanation` make a `RunRequest`; `dynamo_lite.attempts` hands it to `traced`.
The run records the call (run.py), judges the state after it (end_passes.py), and requests a second one if a later call
may see an effect (second_trace.py). It may import everything below the front: tracing, capture, program, logging.
"""

from __future__ import annotations

from dynamo_lite.run.request import RunRequest
from dynamo_lite.run.run import Run, traced

__all__ = ["Run", "RunRequest", "traced"]
