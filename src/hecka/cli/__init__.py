"""The command ``hecka``: each sub-command is a module of this folder, which is imported only when it is called.

Such a module has ``main(arguments)``; its functions' arguments are the flags.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module

from hecka.errors import HeckaError, nearest

COMMANDS = {
    "demo": "five ways to train 30 networks on four classes: a table and a picture",
    "train": "train by a recipe of the paper's tables, or a network of your own",
    "evaluate": "score a trained run: accuracy, calibration, outliers, similarity of members",
    "report": "one page on evaluated runs, side by side: charts, images, settings",
    "reproduce": "the figures and tables of the paper",
    "data": "the data sets: list, fetch, check, make, look at",
    "bench": "what training steps cost against the obvious alternatives",
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point of the command; ``arguments`` are those of the process when None."""
    name, *rest = list(sys.argv[1:] if arguments is None else arguments) or ["--help"]
    if name in ("-h", "--help"):
        print(usage())
        return
    if name == "--version":
        from hecka import __version__

        print(f"hecka {__version__}")
        return
    if name not in COMMANDS:
        sys.exit(f"hecka: no command is called {name!r}; {nearest(name, COMMANDS)}")
    try:
        import_module(f"hecka.cli.{name}").main(rest)
        sys.stdout.flush()
    except HeckaError as error:
        sys.exit(f"hecka: {error}")
    except KeyboardInterrupt as stop:
        print(f"\n{stop}" if str(stop) else "", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:  # the reader, such as `head`, has what it wants; the interpreter would complain at its end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)  # as a shell reports one that SIGPIPE ended


def usage() -> str:
    """What ``hecka --help`` prints.

    >>> print(usage().splitlines()[0])
    usage: hecka COMMAND [--help] [FLAGS]
    """
    width = max(map(len, COMMANDS))
    lines = [f"  {name.ljust(width)}  {about}" for name, about in COMMANDS.items()]
    return "\n".join(["usage: hecka COMMAND [--help] [FLAGS]", "", *lines])
