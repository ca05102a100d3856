"""dynamo_lite.explain(): a run that goes on after each problem, to report all of them at once."""
