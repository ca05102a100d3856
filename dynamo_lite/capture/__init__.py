"""FX recording at the pre-dispatch level: from a run of the program to a graph of ATen operators."""

from dynamo_lite.capture.context import NoContext, NodeContext
from dynamo_lite.capture.errors import CaptureError, UnknownTensor
from dynamo_lite.capture.graph.lifting import Lifted, LiftedKind
from dynamo_lite.capture.recorder import Recorder

__all__ = ["CaptureError", "Lifted", "LiftedKind", "NoContext", "NodeContext", "Recorder", "UnknownTensor"]
