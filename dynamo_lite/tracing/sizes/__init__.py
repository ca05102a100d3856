"""Rules for sizes in Python code: what stays symbolic, what takes the number, what only run time knows."""
