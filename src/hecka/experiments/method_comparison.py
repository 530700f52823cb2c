"""All methods on one problem: what each gives, what each costs, and how each is known to fail.

Twenty small networks learn the four classes of the demo, by every method, with the same data, networks, optimizer and
steps.  Fresh points of the classes, the gaps between them and the far field are then told apart by entropy (by density
for DDU).  Two failings are measured apart, where their cause can be seen alone (``method_failings``).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from statistics import mean
from typing import Any

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

from hecka.data.toy import four_classes, in_far_field, in_gaps, plane
from hecka.diversity.terms import HECKA, PairwiseCKA
from hecka.errors import InputError
from hecka.experiments import method_failings
from hecka.inference.independent import Independent
from hecka.inference.input_gradients import InputGradients
from hecka.inference.posterior import Gaussian
from hecka.inference.repulsive import Repulsive
from hecka.inference.svgd import SVGD
from hecka.inference.wgd import WGD
from hecka.members.ddu import DDU
from hecka.members.ensemble import Ensemble
from hecka.members.hypernetwork import Hypernetwork
from hecka.networks.lenet import LeNet5
from hecka.networks.mlp import MLP
from hecka.networks.spectral import spectral_bound
from hecka.outliers.border import Border
from hecka.report.method_picture import MethodDots, methods_picture
from hecka.report.tables import markdown, with_spread
from hecka.scores.disagreement import cka_per_layer
from hecka.scores.evaluate import evaluate
from hecka.training.fit import fit
from hecka.training.optimizers import decay_groups
from hecka.training.schedules import WarmupCosine
from hecka.types import Batch, Method

MEMBERS, STEPS = 20, 400
BORDER = Border(low=(-8.0, -8.0), high=(8.0, 8.0), count=30, noise=0.5)
HIDDEN = "layers.2"  # the last layer but one, whose features DDU reads
LAST = ("layers.3",)
TERM = HECKA()

make_net = partial(MLP, 2, 30, 40, 30, 4)


def bounded_net() -> MLP:
    """The same network, whose layers before the last cannot pull inputs apart at will, as DDU wants it."""
    net = make_net()
    spectral_bound(net.layers[:-1])
    return net


@dataclass(frozen=True)
class Row:
    """One method: its name, its settings, how its networks differ from a plain ensemble's, and its learning rate."""

    name: str
    method: Method
    outliers: Border | None = None
    kind: str = "ensemble"  # or "single", "hypernetwork", "DDU"
    rate: float = 0.02
    taps: tuple[str, ...] = MLP.taps


@dataclass(frozen=True)
class Scores:
    """Entropies in nats; AUROC of fresh points of the classes against the far field; mean CKA (unbiased, linear)."""

    accuracy: float
    entropy_data: float
    entropy_gaps: float
    entropy_far: float
    auroc_far: float
    cka: float | None


def rows() -> list[Row]:
    """Every method; those that sample a posterior get a true one, of all 100 points and the networks' own prior."""
    svgd = partial(SVGD, data_size=100, prior=Gaussian(1.0))
    wgd = partial(WGD, data_size=100, prior=Gaussian(1.0))
    generated = partial(Row, kind="hypernetwork", rate=0.0035)
    return [
        Row("single network", Independent(), kind="single"),
        Row("DDU", Independent(), kind="DDU"),
        Row("ensemble", Independent()),
        Row("SVGD, RBF on weights", svgd()),
        Row("SVGD, RBF on weights, no prior", SVGD()),
        Row("kde-WGD, RBF on weights", wgd()),
        Row("sge-WGD, RBF on weights", wgd(estimator="sge")),
        Row("ssge-WGD, RBF on weights", wgd(estimator="ssge")),
        Row("fSVGD", svgd(space="logits")),
        Row("kde-fWGD", wgd(space="logits")),
        Row("sge-fWGD", wgd(estimator="sge", space="logits")),
        Row("ssge-fWGD", wgd(estimator="ssge", space="logits")),
        Row("input gradients (FoRDE)", InputGradients()),
        Row("SVGD, CKA", SVGD(kernel=PairwiseCKA())),
        Row("SVGD, HE-CKA", SVGD(kernel=TERM)),
        Row("CKA", Repulsive(PairwiseCKA(), gamma=1.0)),
        Row("HE-CKA, gamma=1", Repulsive(TERM, gamma=1.0)),
        Row("HE-CKA, last layer alone", Repulsive(TERM), taps=LAST),
        Row('HE-CKA, gamma="auto"', Repulsive(TERM)),
        Row("outlier entropy alone", Repulsive(gamma=0.0), BORDER),
        Row('OOD HE-CKA, gamma="auto"', Repulsive(TERM), BORDER),
        generated("hypernetwork", Independent()),
        generated("hypernetwork, outlier entropy alone", Repulsive(gamma=0.0), BORDER),
        generated("hypernetwork, OOD HE-CKA", Repulsive(TERM, gamma=0.2), BORDER),
    ]


def train(row: Row, seed: int, steps: int = STEPS) -> Ensemble | DDU:
    """The trained members of one row; a hypernetwork's are drawn after training."""
    data = four_classes(torch.Generator().manual_seed(seed))
    members: Ensemble | Hypernetwork
    if row.kind == "hypernetwork":
        members = Hypernetwork(make_net, latent=8, members=MEMBERS, taps=row.taps, seed=seed)
        optimizer = torch.optim.AdamW(members.parameters(), lr=row.rate, weight_decay=0.0075)
    else:
        make = bounded_net if row.kind == "DDU" else make_net
        members = Ensemble(make, MEMBERS if row.kind == "ensemble" else 1, taps=row.taps, seed=seed)
        # A posterior has its own prior; to decay weights beside it would count it twice.
        decay = 0.0 if getattr(row.method, "prior", None) else 0.0075
        optimizer = torch.optim.AdamW(decay_groups(members, decay), lr=row.rate)
    fit(
        members,
        data,
        method=row.method,
        outliers=row.outliers,
        steps=steps,
        optimizer=optimizer,
        schedule=WarmupCosine(warmup=steps // 10, total=int(1.2 * steps)),
        clip=None if getattr(row.method, "data_size", None) else 5.0,  # N times the loss would always be clipped
        seed=seed,
        progress=False,
    )
    if isinstance(members, Hypernetwork):
        return members.draw(MEMBERS, seed=seed)
    return DDU.fit(members, *data, tap=HIDDEN) if row.kind == "DDU" else members


def score(members: Ensemble | DDU, seed: int) -> Scores:
    """The scores on points that no method has seen."""
    inputs, labels = four_classes(torch.Generator().manual_seed(1000 + seed))
    points = plane(81)
    regions = {"gaps": points[in_gaps(points)], "far": points[in_far_field(points)]}
    found = evaluate(members, (inputs, labels), {"far": regions["far"]})
    cka = None
    if isinstance(members, Ensemble) and members.members > 1:
        with torch.no_grad():
            cka = mean(cka_per_layer(members(inputs).features, unbiased=True).values())
    far = found.outliers["far"]
    entropy = {name: members.predict(each).entropy.mean().item() for name, each in regions.items()}
    return Scores(
        accuracy=found.accuracy,
        entropy_data=found.mean_entropy,
        entropy_gaps=entropy["gaps"],
        entropy_far=entropy["far"],
        auroc_far=(far.density or far.entropy).auroc,
        cka=cka,
    )


def cost(row: Row) -> float:
    """Operations of matrix products and convolutions in one step of 5 LeNet5, 64 images and 16 outliers.

    Counted, not timed, so it is the same on any machine; what is element by element is left out.
    """
    generator = torch.Generator().manual_seed(0)
    taps = ("fc3",) if row.taps == LAST else LeNet5.taps
    members: nn.Module
    if row.kind == "hypernetwork":
        members = Hypernetwork(LeNet5, members=5, taps=taps)
    else:
        members = Ensemble(LeNet5, 5 if row.kind == "ensemble" else 1, taps=taps)
    outliers = None if row.outliers is None else torch.randn(16, 1, 28, 28, generator=generator)
    batch = Batch(torch.randn(64, 1, 28, 28, generator=generator), torch.arange(64) % 10, outliers)
    with _Operations() as operations:
        params = members.params(generator)
        step = row.method(members, params, batch, row.method.start(members), generator)
        members.pull_back(params, step.direction)
    return float(operations.count)


class _Operations(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts by torch's own rules; its ``FlopCounterMode`` cannot look into a gradient of a gradient."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.count = 0.0

    def __torch_dispatch__(
        self, operator: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        out = operator(*args, **(kwargs or {}))
        if operator.overloadpacket in flop_registry:
            self.count += flop_registry[operator.overloadpacket](*args, **(kwargs or {}), out_val=out)
        return out


def reproduce(out: Path = Path("runs/methods"), seeds: int = 1, steps: int = STEPS) -> str:
    """All methods on four classes, and two of their failings: tables, and a picture.

    Args:
        out: folder for numbers and picture.
        seeds: how many seeds, from 0.
        steps: training steps of each row.
    """
    return compare(out, seeds, steps)


def compare(out: Path, seeds: int, steps: int = STEPS, say: Callable[[str], None] = print) -> str:
    """Train and score every row with every seed; ``methods.json``, ``.md`` and ``.png`` in ``out``; the tables."""
    if seeds < 1 or steps < 1:
        raise InputError(f"reproduce methods: expected at least 1 seed and 1 step, got {seeds} and {steps}")
    results: dict[str, list[Scores]] = {}
    costs: dict[str, float] = {}
    plain = cost(Row("ensemble", Independent()))
    for row in rows():
        say(row.name)
        results[row.name] = [score(train(row, seed, steps), seed) for seed in range(seeds)]
        costs[row.name] = cost(row) / plain
    say("failings: repulsion against size, variance against dimension")
    shares, variances = method_failings.repulsion_shares(), method_failings.variances(steps)
    out.mkdir(parents=True, exist_ok=True)
    text = "\n\n".join(
        [table(results, costs), method_failings.shares_table(shares), method_failings.variances_table(variances)]
    )
    dots = [
        MethodDots(name, *(mean(getattr(run, f"entropy_{where}") for run in runs) for where in ("data", "gaps", "far")))
        for name, runs in results.items()
    ]
    methods_picture(dots, shares, variances, out / "methods.png")
    content = {
        "experiment": "methods",
        "members": MEMBERS,
        "steps": steps,
        "rows": {
            name: [{"seed": seed, **asdict(run)} for seed, run in enumerate(runs)] for name, runs in results.items()
        },
        "cost": costs,
        "repulsion_shares": shares,
        "variances": variances,
    }
    (out / "methods.json").write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    (out / "methods.md").write_text(text + "\n", encoding="utf-8")
    return f"{text}\n\npicture: {out / 'methods.png'}\nnumbers: {out / 'methods.json'}"


def table(results: dict[str, list[Scores]], costs: dict[str, float]) -> str:
    """One row a method; means and standard deviations over seeds."""
    header = ["method", "accuracy", "entropy: data", "gaps", "far", "AUROC: far", "CKA", "cost"]
    lines = []
    for name, runs in results.items():
        columns = [("accuracy", 3), ("entropy_data", 3), ("entropy_gaps", 2), ("entropy_far", 2), ("auroc_far", 3)]
        numbers = [with_spread([getattr(run, column) for run in runs], digits) for column, digits in columns]
        similar = [run.cka for run in runs if run.cka is not None]
        lines.append([name, *numbers, with_spread(similar, 2) if similar else "-", f"{costs[name]:.2f}"])
    return markdown(header, lines)
