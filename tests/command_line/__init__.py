"""`python -m dynamo_lite`."""
