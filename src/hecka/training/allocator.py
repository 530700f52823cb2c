"""Keeping freed memory on a CPU, where glibc would give it back to the system after every step.

A training step frees all its activations, 100 MiB for five LeNets, and the next asks for as many.  By default glibc
hands blocks of that size back, and the system zeroes every page anew: 11 000 page faults a step, a third of its time.
A loop over separate networks is spared, because it holds one network's activations at a time.
"""

from __future__ import annotations

import ctypes
import os
import sys

# mallopt's numbers for what to keep at the top of the heap, and for what to map apart from it.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
_KEEP = 2**31 - 1  # as much as an int holds: give nothing back
_APART = 2**30  # only blocks above 1 GiB stay apart from the heap


def keep_freed_memory() -> bool:
    """Ask the C library to reuse freed memory for the rest of this process; whether it will.

    Nothing is changed where the C library is another one, or where the user has set it up through ``MALLOC_...``.
    """
    if not sys.platform.startswith("linux") or any(name.startswith("MALLOC_") for name in os.environ):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    return bool(mallopt(_TRIM_THRESHOLD, _KEEP)) and bool(mallopt(_MMAP_THRESHOLD, _APART))
