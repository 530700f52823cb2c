"""``hecka reproduce NAME``: one of the paper's figures or tables, by the function that makes it."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

import tyro

from hecka.errors import InputError, nearest

# Name -> module and function; its arguments are the flags, its docstring the help.
EXPERIMENTS: dict[str, str] = {
    "table-dirty-mnist": "hecka.experiments.tables:table_dirty_mnist",
    "table-cifar10-resnet32": "hecka.experiments.tables:table_cifar10_resnet32",
    "table-cifar10-resnet18": "hecka.experiments.tables:table_cifar10_resnet18",
    "table-cifar100": "hecka.experiments.tables:table_cifar100",
    "table-tinyimagenet": "hecka.experiments.tables:table_tinyimagenet",
    "table-particles": "hecka.experiments.tables:table_particles",
    "table-cka": "hecka.experiments.table_cka:table_cka",
    "table-cost": "hecka.bench.table_cost:table_cost",
    "figure-entropy": "hecka.experiments.entropy_figure:entropy_figure",
    "figure-cka": "hecka.experiments.cka_figure:cka_figure",
    "methods": "hecka.experiments.method_comparison:reproduce",
    "four-class": "hecka.experiments.four_class:figure",
    "generator-sizes": "hecka.experiments.generator_sizes:generator_sizes",
    "regression": "hecka.experiments.regression:regression",
    "smoothing": "hecka.experiments.smoothing:smoothing",
    "sphere": "hecka.experiments.sphere:sphere",
}


def main(arguments: Sequence[str]) -> None:
    """Run the experiment that the first argument names with the flags that follow it."""
    name, *rest = arguments or ["--help"]
    if name in ("-h", "--help"):
        print("\n".join(["usage: hecka reproduce NAME [--help] [FLAGS]", "", *(f"  {each}" for each in EXPERIMENTS)]))
        return
    if name not in EXPERIMENTS:
        raise InputError(f"reproduce: nothing is called {name!r}; {nearest(name, EXPERIMENTS)}")
    module, _, function = EXPERIMENTS[name].partition(":")
    print(tyro.cli(getattr(import_module(module), function), args=rest, prog=f"hecka reproduce {name}"))
