"""Every comparison of ``hecka bench``, as data: to add one is to add an entry."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from hecka.bench import beside
from hecka.bench.comparison import Build, Comparison, Imports, Peaks, Times
from hecka.bench.steps import (
    LENET,
    OOD_LENET,
    TOY,
    Problem,
    hypernetwork_step,
    repulsive,
    resnet,
    separate_step,
    step,
)
from hecka.inference.independent import Independent
from hecka.inference.svgd import SVGD
from hecka.inference.wgd import WGD
from hecka.types import Method

WIDE, NARROW = resnet(width=32, examples=32), resnet(width=16, examples=64)
USUAL = replace(resnet(width=64, examples=128), execution="loop")
STEPS_AT_ONCE = 8  # for how many steps the recipes make outliers at once
OUTLIERS_A_STEP = 12  # for 32 images; the paper's 48 for 128
OWN = "hecka's own plain step"


def _plain(problem: Problem, capture: bool = False) -> Build:
    return partial(step, problem, Independent(), record=False, capture=capture)


def _with(problem: Problem, method: Method, capture: bool = False) -> Build:
    return partial(step, problem, method, capture=capture)


def _diverse(problem: Problem, capture: bool = False) -> Build:
    return _with(problem, repulsive(problem.term), capture)


def _separate(problem: Problem, own: bool = False) -> Build:
    return partial(separate_step, problem, own=own)


COMPARISONS = (
    Comparison(
        "lenet-plain",
        "LeNet, 5 members, 300 images: plain step",
        "five separate modules in a loop",
        0.65,
        Times(_plain(LENET), _separate(LENET)),
    ),
    Comparison(
        "lenet-plain-own",
        "LeNet: plain step",
        "five of hecka's own modules in a loop",
        0.65,
        Times(_plain(LENET), _separate(LENET, own=True)),
    ),
    Comparison(
        "lenet-ood",
        "LeNet: OOD HE-CKA on 5 layers, 300 images and 100 outliers",
        "the same five modules' plain step",
        0.95,
        Times(_diverse(OOD_LENET), _separate(LENET)),
    ),
    Comparison(
        "lenet-he",
        "LeNet: HE-CKA on 5 layers",
        OWN,
        1.12,
        Times(_diverse(LENET), _plain(LENET)),
    ),
    Comparison(
        "resnet-wide",
        "ResNet18 of width 32, 5 members, 32 images: HE-CKA on 8 layers",
        OWN,
        1.03,
        Times(_diverse(WIDE), _plain(WIDE)),
    ),
    Comparison(
        "resnet-narrow",
        "ResNet18 of width 16, 5 members, 64 images: HE-CKA on 8 layers",
        OWN,
        1.08,
        Times(_diverse(NARROW), _plain(NARROW)),
    ),
    Comparison(
        "toy",
        "toy, 30 members, 100 points: RBF HE-CKA on 4 layers",
        "30 separate modules in a loop, no repulsion",
        0.50,
        Times(_diverse(TOY), _separate(TOY)),
    ),
    Comparison(
        "toy-own",
        "toy: RBF HE-CKA on 4 layers",
        "30 of hecka's own modules in a loop, no repulsion",
        0.50,
        Times(_diverse(TOY), _separate(TOY, own=True)),
    ),
    Comparison(
        "term",
        "the energy of LeNet's features, forward and backward",
        "textbook: HKH for every member and layer",
        0.40,
        Times(beside.term_alone, beside.textbook_term),
    ),
    Comparison(
        "svgd-he",
        "LeNet: SVGD with HE-CKA",
        "the repulsive step with the same term",
        1.25,
        Times(_with(LENET, SVGD(kernel=LENET.term)), _diverse(LENET)),
    ),
    Comparison(
        "wgd-he",
        "LeNet: kde-WGD with HE-CKA",
        "the repulsive step with the same term",
        1.05,
        Times(_with(LENET, WGD(kernel=LENET.term)), _diverse(LENET)),
    ),
    Comparison(
        "svgd-rbf",
        "LeNet: SVGD with an RBF on weights",
        OWN,
        1.05,
        Times(partial(step, LENET, SVGD(), record=False), _plain(LENET)),
    ),
    Comparison(
        "hypernetwork",
        "LeNet: 5 members drawn from a compact hypernetwork",
        OWN,
        1.50,
        Times(partial(hypernetwork_step, LENET, Independent()), _plain(LENET)),
    ),
    Comparison(
        "predict",
        "LeNet, 5 members: predict on 10 000 images",
        "five modules in a loop, same batches",
        0.75,
        Times(partial(beside.answers, LENET), partial(beside.separate_answers, LENET)),
    ),
    Comparison(
        "memory-lenet",
        "LeNet: peak memory of the HE-CKA step",
        OWN,
        1.10,
        Peaks(_diverse(LENET), _plain(LENET)),
    ),
    Comparison(
        "memory-resnet",
        "ResNet18 of width 32: peak memory of the HE-CKA step",
        OWN,
        1.10,
        Peaks(_diverse(WIDE), _plain(WIDE)),
    ),
    Comparison(
        "outliers",
        "1000 outliers of 3 x 32 x 32",
        "1/3 s: 3000 images a second",
        1.00,
        Times(partial(beside.outliers, 1000), 1 / 3),
    ),
    Comparison(
        "outliers-share",
        f"{OUTLIERS_A_STEP} outliers of 3 x 32 x 32 (made for {STEPS_AT_ONCE} steps at once)",
        "ResNet18 of width 32, 5 members, 32 images: plain step",
        0.25,
        Times(partial(beside.outliers, STEPS_AT_ONCE * OUTLIERS_A_STEP), _plain(WIDE), STEPS_AT_ONCE),
    ),
    Comparison(
        "scores",
        "AUROC and ECE of 1 million predictions",
        "2 s",
        1.00,
        Times(lambda _: beside.scoring(1_000_000), 2.0),
        only_on="host",
    ),
    Comparison(
        "grid",
        "unbiased CKA of all members and layers of LeNet, 5 x 5, 500 images",
        "a loop over pairs",
        0.05,
        Times(beside.grid, beside.grid_by_pairs),
    ),
    Comparison(
        "captured-plain",
        "LeNet: plain step, recorded (capture=True)",
        "five separate modules in a loop",
        0.20,
        Times(_plain(LENET, capture=True), _separate(LENET)),
        only_on="cuda",
    ),
    Comparison(
        "captured-he",
        "LeNet: HE-CKA on 5 layers, recorded",
        "the same five modules' plain step",
        0.30,
        Times(_diverse(LENET, capture=True), _separate(LENET)),
        only_on="cuda",
    ),
    Comparison(
        "captured-ood",
        "LeNet: OOD HE-CKA, recorded",
        "the same five modules' plain step",
        0.40,
        Times(_diverse(OOD_LENET, capture=True), _separate(LENET)),
        only_on="cuda",
    ),
    Comparison(
        "captured-toy",
        "toy: RBF HE-CKA on 4 layers, recorded",
        "30 separate modules in a loop, no repulsion",
        0.10,
        Times(_diverse(TOY, capture=True), _separate(TOY)),
        only_on="cuda",
    ),
    Comparison(
        "captured-resnet",
        "ResNet18 of width 64, 5 members, 128 images: HE-CKA on 8 layers, recorded, members in a loop",
        "five separate modules in a loop, no repulsion",
        0.80,
        Times(_diverse(USUAL, capture=True), _separate(USUAL)),
        only_on="cuda",
    ),
    Comparison(
        "import",
        "import hecka",
        "import torch",
        1.15,
        Imports("hecka", "torch"),
        only_on="host",
    ),
)
