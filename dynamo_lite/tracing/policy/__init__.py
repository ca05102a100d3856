"""What a callable that the interpreter cannot look into may do: tables by callable, and what is trusted to run
natively.
"""
