"""Calls that the tracer answers itself: the registry of rules by callable, and rules that are about no kind of
value.
"""
