"""How large must a generator of toy networks be?  The library's default against the published sizes, and smaller.

Hypernetworks on four classes, without and with OOD HE-CKA, for three sizes of their generators.  Published: latent 8,
code 12, a generator of codes with hidden sizes 24, 32, 48, and for each layer one with 14, 28, for the last 32, 48.
Sizes alone are compared: blocks, first weights and bounds are this library's in all rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import torch

from hecka.experiments.four_class import STEPS, compare, present
from hecka.experiments.four_class_rows import MEMBERS, hypernetwork, hypernetwork_rows, make_net
from hecka.experiments.rows import Row, check
from hecka.members.ensemble import Ensemble
from hecka.members.generators import LayerGenerator
from hecka.members.hypernetwork import FRESH, Hypernetwork
from hecka.networks.mlp import MLP
from hecka.report.tables import markdown


def published(seed: int) -> Hypernetwork:
    """Generators of the published sizes."""
    members = _sized(seed, widths=(14, 28), code_widths=(24, 32, 48))
    *_, weight, bias = Ensemble(make_net, FRESH, seed=seed).params().values()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        members.generators[-1] = LayerGenerator(12, (32, 48), [weight.detach(), bias.detach()], rows=1)
    return members


def small(seed: int) -> Hypernetwork:
    """The published latent and code, and narrower generators."""
    return _sized(seed, widths=(14, 8), code_widths=(24, 24))


SIZES: dict[str, Callable[[int], Hypernetwork]] = {
    "default": hypernetwork,
    "published sizes": published,
    "small": small,
}


def rows() -> list[Row]:
    """Two rows a size."""
    return [
        replace(row, name=f"{size}: {row.name.removeprefix('hypernetwork + ')}")
        for size, make_members in SIZES.items()
        for row in hypernetwork_rows(make_members, slug=size.replace(" ", "-"))
    ]


def generator_sizes(out: Path = Path("runs/generator-sizes"), seeds: int = 1, steps: int = STEPS) -> str:
    """Hypernetworks with generators of three sizes on four classes: a table, and a map of entropy for each.

    Args:
        out: folder for runs, numbers and picture; the same command goes on there.
        seeds: how many seeds, from 0; the picture shows seed 0.
        steps: training steps of each row.
    """
    check("generator-sizes", seeds, steps)
    scores = present(
        compare(rows(), out, seeds, steps), out / "generator-sizes", "How large must a generator be?", columns=4
    )
    network = sum(parameter.numel() for parameter in make_net().parameters())
    counts = [[size, f"{_count(make(0)):,}"] for size, make in SIZES.items()]
    return f"{scores}\n\n{markdown([f'generators of {network:,} weights', 'parameters'], counts)}"


def _sized(seed: int, widths: Sequence[int], code_widths: Sequence[int]) -> Hypernetwork:
    return Hypernetwork(
        make_net,
        latent=8,
        code=12,
        members=MEMBERS,
        taps=MLP.taps,
        seed=seed,
        widths=widths,
        code_widths=code_widths,
    )


def _count(members: Hypernetwork) -> int:
    return sum(parameter.numel() for parameter in members.parameters() if parameter.requires_grad)
