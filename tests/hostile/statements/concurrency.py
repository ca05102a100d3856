"""Locks, events, queues and generators of the program's own."""

HEADER = """\
import queue, threading
"""

INIT = """\
self.lock = threading.RLock()
self.event = threading.Event()"""

STATEMENTS = """\
with self.lock: z = z + 1
z = z * (2 if self.event.is_set() else 3)
tasks = queue.SimpleQueue(); tasks.put(z); z = tasks.get() * 2
z = z * torch.Generator().manual_seed(2).initial_seed()
own = threading.local(); own.n = 2; z = z * own.n"""
