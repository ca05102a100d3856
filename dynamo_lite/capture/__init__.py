"""FX recording at the pre-dispatch level: from a run of the program to a graph of ATen operators.

`recorder.py` is the front: a context manager around the run, which swaps tensors for FakeTensors at the border of each
operator and writes a node. `dispatch_modes.py` intercepts the operators; `alias_analysis.py` and `fingerprint.py`
analyse a finished graph.
Created by `run` and `control_flow`, used by the rules of `tracing`. Imports `symbolic_shapes`, `torch_internals` and
`errors`, nothing of the interpreter or of tracing.
"""

from dynamo_lite.capture.context import NoContext, NodeContext
from dynamo_lite.capture.errors import CaptureError, UnknownTensor
from dynamo_lite.capture.graph.lifting import Lifted, LiftedKind
from dynamo_lite.capture.recorder import Recorder

__all__ = ["CaptureError", "Lifted", "LiftedKind", "NoContext", "NodeContext", "Recorder", "UnknownTensor"]
