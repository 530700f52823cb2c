"""The rules that keep the code readable, read off its syntax: who may import whom, and how large things may grow."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "hecka"

# A part imports only from parts above it; "hecka" is the public face, the package's own __init__.
ORDER = [
    "types",
    "errors",
    "data",
    "outliers",
    "networks",
    "similarity",
    "diversity",
    "scores",
    "members",
    "inference",
    "training",
    "report",
    "hecka",
    "experiments",
    "bench",
    "cli",
    "__main__",
]
FILE_LINES = 400
BODY_LINES = 60  # of a function, its docstring apart
EMPTY_NAMES = {"utils", "util", "helpers", "helper", "common", "misc"}
HEAVY = {"matplotlib", "scipy", "sklearn", "rich", "tyro", "kornia", "pooch"}

FILES = sorted(PACKAGE.rglob("*.py"))


def module_of(path: Path) -> tuple[str, ...]:
    """("hecka", "data", "toy") for hecka/data/toy.py; ("hecka", "data") for hecka/data/__init__.py."""
    parts = ("hecka", *path.relative_to(PACKAGE).with_suffix("").parts)
    return parts[:-1] if parts[-1] == "__init__" else parts


def part_of(module: tuple[str, ...]) -> str:
    """The entry of ORDER that a module of the package belongs to."""
    return module[1] if len(module) > 1 else "hecka"


def imported_parts(tree: ast.AST, package: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    """Line and part of every import of hecka in a module that lies in ``package``, wherever it stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules = [tuple(alias.name.split(".")) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            base = above + tuple(node.module.split(".") if node.module else ())
            # "from hecka import data" names a part, "from hecka import Ensemble" the public face.
            modules = [(*base, alias.name) if (*base, alias.name)[1] in ORDER else base for alias in node.names]
        else:
            continue
        yield from ((node.lineno, part_of(module)) for module in modules if module[0] == "hecka")


def wrong_imports(source: str, path: Path) -> list[str]:
    """Imports from the same level or below, but for a part's own modules."""
    module = module_of(path)
    package = module if path.name == "__init__.py" else module[:-1]
    allowed = ORDER[: ORDER.index(part_of(module)) + 1]
    return [
        f"{path.relative_to(PACKAGE)}:{line} imports {part}"
        for line, part in imported_parts(ast.parse(source), package)
        if part not in allowed
    ]


def body_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    statements = function.body[1:] if ast.get_docstring(function) else function.body
    return (statements[-1].end_lineno or 0) - statements[0].lineno + 1 if statements else 0


def oversights(source: str, path: Path) -> list[str]:
    """What is too long, badly named, undocumented or open to typos in one file."""
    tree = ast.parse(source)
    found = []
    if source.count("\n") > FILE_LINES:
        found.append(f"{path}: over {FILE_LINES} lines")
    if path.stem in EMPTY_NAMES or path.parent.name in EMPTY_NAMES:
        found.append(f"{path}: a name that says nothing")
    if tree.body and not ast.get_docstring(tree):
        found.append(f"{path}: no docstring")
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            if body_lines(node) > BODY_LINES:
                found.append(f"{path}:{node.lineno}: {node.name} is over {BODY_LINES} lines")
            if node.args.kwarg:
                found.append(f"{path}:{node.lineno}: {node.name} takes **{node.args.kwarg.arg}")
    return found


def test_every_part_has_its_place_in_the_order() -> None:
    assert {part_of(module_of(path)) for path in FILES} <= set(ORDER)


def test_imports_point_upwards() -> None:
    assert [line for path in FILES for line in wrong_imports(path.read_text(), path)] == []


def test_files_keep_to_their_budgets() -> None:
    assert [line for path in FILES for line in oversights(path.read_text(), path)] == []


@pytest.mark.parametrize(
    "statement",
    [
        "import hecka",
        "import hecka.cli",
        "from hecka import networks",
        "from hecka import Ensemble",
        "from hecka.networks.mlp import MLP",
        "from ..networks import mlp",
        "from .. import cli",
        "from .. import Ensemble",
        "def late():\n    from hecka.training import fit",
    ],
)
def test_an_import_from_below_is_found(statement: str) -> None:
    assert len(wrong_imports(statement, PACKAGE / "data" / "toy.py")) == 1


@pytest.mark.parametrize(
    "statement",
    [
        "import torch",
        "from hecka import errors",
        "from hecka.types import Batch",
        "from . import batches",
        "from ..errors import InputError",
    ],
)
def test_an_import_from_above_passes(statement: str) -> None:
    assert wrong_imports(statement, PACKAGE / "data" / "toy.py") == []


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("'''Doc.'''\n" + "x = 1\n" * FILE_LINES, "long.py"),
        ("'''Doc.'''\ndef f():\n" + "    x = 1\n" * (BODY_LINES + 1), "body.py"),
        ("'''Doc.'''\n", "utils.py"),
        ("x = 1\n", "undocumented.py"),
        ("'''Doc.'''\ndef f(**options): ...\n", "open.py"),
    ],
    ids=lambda value: value if value.endswith(".py") else "",
)
def test_an_oversight_is_found(source: str, name: str) -> None:
    assert len(oversights(source, Path(name))) == 1


def test_importing_hecka_loads_nothing_heavy() -> None:
    program = "import sys, hecka; print(*{name.partition('.')[0] for name in sys.modules})"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "hecka" in loaded
    assert loaded & HEAVY == set()
