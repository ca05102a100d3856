"""Logs of dynamo-lite at work, in the manner of TORCH_LOGS.

    DYNAMO_LITE_LOGS="+dynamic,guards" python model.py      # DYNAMO_LITE_LOGS=help lists what there is
    dynamo_lite.logging.set_logs("+dynamic,guards")         # the same from Python

Lines go through Python's `logging`, to the loggers `dynamo_lite.<artifact>`. Logs that are off cost nothing: the hooks
are put in when a trace begins (reports.py).

Called by `run` and by the front. Imports the packages that it reports on: tracing, symbolic_shapes, report.
"""

from dynamo_lite.logging.artifacts import ARTIFACTS, Artifact
from dynamo_lite.logging.settings import UnknownArtifact, help_text, is_on, read_environment, set_logs

__all__ = ["ARTIFACTS", "Artifact", "UnknownArtifact", "help_text", "is_on", "set_logs"]

read_environment()
