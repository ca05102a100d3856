"""The sizes that occur in real calls, and the dynamic_shapes that hold for all of them."""

from dynamo_lite.observation.observation import Form, Observation, observe

__all__ = ["Form", "Observation", "observe"]
