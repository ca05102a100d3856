"""Stamps: what has to be as it was for a passed check to pass again, read from memory at once.

A stamp is made after the compiled function has passed. It holds machine words with their addresses: the version tags of
the dicts on the guards' paths, the types of objects, the items of lists, the metadata of tensors. While all of them are
what they were, the guards that they answer for hold; the others are checked each time by a smaller compiled function.
"""

from dynamo_lite.guards.stamps.stamp import Stamp, stamped

__all__ = ["Stamp", "stamped"]
