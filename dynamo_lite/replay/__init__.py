"""The parts of dynamo_lite.check: arguments to run on, running both sides, what is seen of a call, comparing."""
