"""``hecka reproduce table-cost``: what one training step of each method takes, as a multiple of the plain ensemble's.

ResNet18, batches of 128 images of the size of CIFAR-10, SGD with momentum.  Times are medians over rounds in which all
methods take turns; memory is all that a step needs: members, optimizer, gradients, and the most that it holds beside.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import torch

from hecka.bench.measure import interleaved, peak_memory
from hecka.diversity.terms import HECKA
from hecka.errors import InputError
from hecka.experiments.published import COST, Number
from hecka.inference.independent import Independent
from hecka.inference.repulsive import Repulsive
from hecka.inference.svgd import SVGD
from hecka.inference.wgd import WGD
from hecka.members.ensemble import Ensemble
from hecka.networks.resnet import ResNet18
from hecka.report.tables import comma_separated, latex, markdown
from hecka.training.allocator import keep_freed_memory
from hecka.types import Batch, Method

WIDTH, BATCH = 64, 128  # the paper's
BASE = "Deep Ensemble"

# Settings of the CIFAR-10 runs; they change what is learnt, not what a step takes.
TERM = HECKA(
    kernel="linear",
    weights=(5e-5, 0.122, 0.221, 0.321, 0.421, 0.521, 0.620, 2e-4),
    normalize_weights=False,
    centering="one-sided",
    kind="exponential",
    eps_dist=0.001,
    eps_arc=0.001,
)
METHODS: Mapping[str, Method] = {
    BASE: Independent(),
    "SVGD+RBF": SVGD(),
    "KDE-WGD+RBF": WGD(estimator="kde"),
    "SSGE-WGD+RBF": WGD(estimator="ssge"),
    "HE-CKA": Repulsive(TERM, gamma=1.0),
}


@dataclass(frozen=True)
class Cost:
    """One method at one count of members; ``ratio`` to the plain ensemble of as many."""

    method: str
    members: int
    gigabytes: float
    milliseconds: float
    ratio: float

    @property
    def paper(self) -> Mapping[str, Number]:
        """What the paper printed for it; empty for other counts than its 5 and 10."""
        return COST.get(f"{self.method}, {self.members}", {})


class OneStep:
    """A training step that can be called again and again."""

    def __init__(self, method: Method, members: int, width: int, batch: Batch) -> None:
        taps = ResNet18.taps if method is METHODS["HE-CKA"] else ()
        net = partial(ResNet18, width=width)
        self.ensemble = Ensemble(net, members, taps=taps, channels_last=True).to(batch.inputs.device).train()
        self.optimizer = torch.optim.SGD(self.ensemble.parameters(), lr=1e-3, momentum=0.9)
        self.method, self.batch = method, batch
        self.state = method.start(self.ensemble)
        self.generator = torch.Generator(batch.inputs.device)

    def __call__(self) -> None:
        """Forward, loss, backward, optimizer."""
        self.optimizer.zero_grad()
        params = self.ensemble.params()
        step = self.method(self.ensemble, params, self.batch, self.state, self.generator)
        self.ensemble.pull_back(params, step.direction)
        self.optimizer.step()
        self.state = step.state

    def held(self) -> int:
        """Bytes of members, their gradients and the optimizer's state, once a step has been taken."""
        gradients = [each.grad for each in self.ensemble.parameters() if each.grad is not None]
        momenta = [each for state in self.optimizer.state.values() for each in state.values()]
        own = [*self.ensemble.parameters(), *self.ensemble.buffers(), *gradients, *momenta]
        return sum(each.nbytes for each in own if isinstance(each, torch.Tensor))


def table_cost(
    members: tuple[int, ...] = (5, 10),
    width: int = WIDTH,
    batch_size: int = BATCH,
    repeats: int = 50,
    device: str = "auto",
    out: Path = Path("runs") / "table-cost",
) -> str:
    """Time and memory of one training step of each method on ResNet18, beside the paper's.

    Args:
        members: counts of members.
        width: of the network; the paper's is 64.
        batch_size: images a step; the paper has 128.
        repeats: timed rounds; all methods run once in each.
        device: cpu, cuda, ...; auto takes cuda where there is one.
        out: folder for the table.
    """
    for name, counts in (("members", members), ("width", (width,)), ("repeats", (repeats,))):
        if not counts or min(counts) < 1:
            raise InputError(f"table-cost: expected {name} to be at least 1, got {counts}")
    cuda = torch.cuda.is_available()
    place = torch.device(("cuda" if cuda else "cpu") if device == "auto" else device)
    keep_freed_memory()  # as fit does
    costs = [cost for count in members for cost in measure(count, width, batch_size, repeats, place)]
    notes = [
        torch.cuda.get_device_name(place) if place.type == "cuda" else f"cpu, {torch.get_num_threads()} threads",
        f"torch {torch.__version__}",
        f"medians of {repeats} rounds",
        *([f"width {width} instead of {WIDTH}"] if width != WIDTH else []),
        *([f"batches of {batch_size} instead of {BATCH}"] if batch_size != BATCH else []),
    ]
    return write(out, costs, notes)


def measure(members: int, width: int, batch_size: int, repeats: int, device: torch.device) -> list[Cost]:
    """All methods with so many members, in turns."""
    generator = torch.Generator().manual_seed(0)
    inputs = torch.randn(batch_size, 3, 32, 32, generator=generator).to(memory_format=torch.channels_last)
    batch = Batch(inputs, torch.arange(batch_size) % 10).to(device)
    steps = {name: OneStep(method, members, width, batch) for name, method in METHODS.items()}
    times = interleaved(steps, repeats, device)
    return [
        Cost(
            name,
            members,
            gigabytes=(step.held() + peak_memory(step, device)) / 1e9,
            milliseconds=1e3 * times[name],
            ratio=times[name] / times[BASE],
        )
        for name, step in steps.items()
    ]


def write(out: Path, costs: Sequence[Cost], notes: Sequence[str]) -> str:
    """Write table.md, .csv, .tex and .json into ``out`` and return the Markdown."""
    title = "Cost of one training step, ResNet18 on images of 32 x 32"
    header = ["method", "members", "GB", "paper", "ms", "paper", "x ensemble", "paper", "notes"]
    rows = []
    for cost in costs:
        paper = {name: number.text for name, number in cost.paper.items()}
        cells = [f"{cost.gigabytes:.2f}", f"{cost.milliseconds:.0f}", f"{cost.ratio:.2f}"]
        printed = [paper.get(name, "-") for name in ("memory", "milliseconds", "ratio")]
        both = [cell for pair in zip(cells, printed, strict=True) for cell in pair]
        rows.append([cost.method, str(cost.members), *both, "; ".join(notes)])
    paper_note = "The paper measured on a Quadro RTX 8000; between machines only the ratios can be compared."
    text = f"# {title}\n\n{markdown(header, rows)}\n\n{paper_note}"
    content = {"format": 1, "table": "table-cost", "notes": list(notes), "rows": [asdict(cost) for cost in costs]}
    out.mkdir(parents=True, exist_ok=True)
    (out / "table.md").write_text(text + "\n", encoding="utf-8")
    (out / "table.csv").write_text(comma_separated(header, rows), encoding="utf-8")
    (out / "table.tex").write_text(latex(header, rows, f"{title}. {paper_note}") + "\n", encoding="utf-8")
    (out / "table.json").write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    return f"{text}\n\nfiles: {out}/table.md .csv .tex .json"
