"""dynamo_lite.lab: the corpus, verdicts, runs in processes, reports."""
