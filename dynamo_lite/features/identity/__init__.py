"""Objects identified by their addresses: `id()`, hashes, `is` of tensors, the order of sets, addresses in texts.

`tensors.py` answers `is`; `unique_values.py` gives values of which the program may know only which are equal;
`hashing.py` and `ties_in_sets.py` are about hashes and the order of sets, `addresses.py` about texts with an address.
"""
