"""`python -m dynamo_lite`: export, explain, check, report, doctor and exportdb."""
