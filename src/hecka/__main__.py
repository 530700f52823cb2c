"""``python -m hecka`` is the same as the command ``hecka``."""

from hecka.cli import main

main()
