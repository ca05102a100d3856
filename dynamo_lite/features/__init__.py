"""The features of dynamo-lite: a folder for each, whose `feature.py` has the record `FEATURE`, or one file that has it.

The list has the order in which the features' steps and passes run; a feature comes after those that it needs. Called by
`tracing/assemble.py`, which joins the records (tracing/feature.py) for the engine. Features import `tracing`, the view
of a run that passes have (`run/finished_run.py`), and the features that they name in `needs`.
"""

from dynamo_lite.features import (
    autocast,
    autograd,
    compiled,
    distributed,
    files,
    forward_ad,
    higher_order,
    numpy,
    pickles,
    size_branches,
    sizes,
    tensors,
    torchscript,
)
from dynamo_lite.features.caches.feature import FEATURE as CACHES
from dynamo_lite.features.constants.feature import FEATURE as CONSTANTS
from dynamo_lite.features.gradients.feature import FEATURE as GRADIENTS
from dynamo_lite.features.identity.feature import FEATURE as IDENTITY
from dynamo_lite.features.lifetimes.feature import FEATURE as LIFETIMES
from dynamo_lite.features.modules.feature import FEATURE as MODULES
from dynamo_lite.features.output.feature import FEATURE as OUTPUT
from dynamo_lite.features.randomness.feature import FEATURE as RANDOMNESS
from dynamo_lite.features.texts.feature import FEATURE as TEXTS
from dynamo_lite.features.tracebacks.feature import FEATURE as TRACEBACKS
from dynamo_lite.features.training.feature import FEATURE as TRAINING
from dynamo_lite.tracing import assemble

FEATURES = (
    TRACEBACKS,
    MODULES,
    TEXTS,
    IDENTITY,
    RANDOMNESS,
    OUTPUT,
    CACHES,
    files.FEATURE,
    forward_ad.FEATURE,
    autocast.FEATURE,
    distributed.FEATURE,
    pickles.FEATURE,
    torchscript.FEATURE,
    LIFETIMES,
    TRAINING,
    CONSTANTS,
    compiled.FEATURE,
    autograd.FEATURE,
    tensors.FEATURE,
    sizes.FEATURE,
    size_branches.FEATURE,
    higher_order.FEATURE,
    numpy.FEATURE,
    GRADIENTS,
)

assemble.use(FEATURES)
