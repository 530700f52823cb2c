"""One family of exceptions, one form of message.

Every message says where, what was expected, what came and what to do next::

    cka: features need a batch of at least 4, got 2 (tap 'fc1'); use a larger batch
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class HeckaError(Exception):
    """Anything that hecka refuses; the message says what to do next."""


class InputError(HeckaError, ValueError):
    """An argument, a tensor or a data set that cannot be used as it is."""


class NonFiniteError(HeckaError, ArithmeticError):
    """A NaN or an infinity where training cannot go on."""


class CheckpointError(HeckaError):
    """A checkpoint that is damaged, foreign or too new."""


def nearest(name: str, known: Iterable[str]) -> str:
    """A hint for a mistyped name: the closest known one, and all that exist.

    >>> nearest("covn1", ["conv1", "conv2", "fc"])
    "did you mean 'conv1'? known: 'conv1', 'conv2', 'fc'"
    """
    names = list(known)
    close = get_close_matches(name, names, n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    return f"{hint}known: {', '.join(map(repr, names)) or 'none'}"
