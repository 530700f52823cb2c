"""The installed wheel is complete and works by itself: `check_wheel.py INSTALLED SOURCE`, from any other folder."""

import subprocess
import sys
from pathlib import Path

import hecka

installed, source = (Path(argument) / "hecka" for argument in sys.argv[1:])


def modules(package: Path) -> set[str]:
    """Every file of the package but what Python compiled."""
    return {
        str(path.relative_to(package))
        for path in package.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


if Path(hecka.__file__).parent != installed:
    sys.exit(f"wheel: expected to import {installed}, got {hecka.__file__}")
if difference := modules(installed) ^ modules(source):
    sys.exit(f"wheel: these files are only in the wheel or only in the source: {sorted(difference)}")
if "py.typed" not in modules(installed):
    sys.exit("wheel: py.typed is missing, so nobody's type checker would see hecka's types")
for command in ([sys.executable, "-P", "-m", "hecka"], [str(installed.parent / "bin" / "hecka")]):
    subprocess.run([*command, "--help"], check=True, stdout=subprocess.DEVNULL)
