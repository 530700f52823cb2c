"""Four classes in the plane: the paper's first experiment, and what ``hecka demo`` shows.

Thirty small networks learn 100 points.  A plain ensemble is sure of itself where no training point is near.  Entropy on
made-up outliers mends that where outliers were put; only diversity mends it where none were: in the gaps between the
classes.  ``demo`` compares five methods, ``figure`` all that the paper does and three more (``four_class_rows``).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch import Tensor

from hecka.data.toy import four_classes, in_far_field, in_gaps, plane
from hecka.experiments.four_class_rows import MEMBERS, demo_rows, figure_rows
from hecka.experiments.rows import Row, ToyMembers, check, train
from hecka.report.entropy_maps import EntropyMap, entropy_maps
from hecka.report.tables import markdown, with_spread
from hecka.scores.accuracy import accuracy
from hecka.scores.disagreement import cka_per_layer

STEPS, EXTENT, RESOLUTION = 1000, 10.0, 161
TITLE = "Where does the ensemble know that it does not know?"
LEGEND = (
    "under each map, its mean on the training points,\nin the gaps between the classes,\n"
    "and far from all (|x| or |y| above 6)"
)


@dataclass(frozen=True)
class Scores:
    """What one trained ensemble knows: entropies and mutual information in nats, CKA (unbiased, linear) by layer."""

    accuracy: float
    entropy_data: float
    entropy_gaps: float
    entropy_far: float
    mutual_information_far: float
    cka: tuple[float, ...]


def demo(
    out: Path, seeds: int = 1, steps: int = STEPS, progress: bool = True, say: Callable[[str], None] = print
) -> str:
    """Train and score five rows, write ``four-class.png`` and ``four-class.json`` into ``out``, return the table."""
    check("demo", seeds, steps)
    found = compare(demo_rows(), out, seeds, steps, progress, say)
    return present(found, out / "four-class", TITLE, columns=3)


def figure(out: Path = Path("runs/four-class"), seeds: int = 1, steps: int = STEPS) -> str:
    """Thirteen ways to train 30 networks on four classes: a table, and a map of entropy for each.

    Args:
        out: folder for runs, numbers and picture; the same command goes on there.
        seeds: how many seeds, from 0; the picture shows seed 0.
        steps: training steps of each row.
    """
    check("four-class", seeds, steps)
    return present(compare(figure_rows(), out, seeds, steps), out / "four-class", TITLE, columns=5)


@dataclass(frozen=True)
class Comparison:
    """Row's name -> its scores, one for each seed; a map of the first seed of each row; and how long they trained."""

    results: dict[str, list[Scores]]
    panels: list[EntropyMap]
    steps: int


def compare(
    rows: Sequence[Row],
    out: Path,
    seeds: int,
    steps: int,
    progress: bool = True,
    say: Callable[[str], None] = print,
) -> Comparison:
    """Train and score every row with every seed, each in a folder of its own in ``out``."""
    results: dict[str, list[Scores]] = {}
    panels: list[EntropyMap] = []
    for row in rows:
        results[row.name] = []
        for seed in range(seeds):
            say(f"{row.name}, seed {seed}")
            members = train(row, data(seed), seed, out, steps, progress)
            scores, entropy = score(members, *data(seed))
            results[row.name].append(scores)
            if seed == 0:
                panels.append(_panel(row, scores, entropy))
    return Comparison(results, panels, steps)


def present(found: Comparison, stem: Path, title: str, columns: int) -> str:
    """Write ``stem``.png and ``stem``.json; the table."""
    entropy_maps(
        found.panels,
        *data(0),
        stem.with_suffix(".png"),
        title=title,
        extent=EXTENT,
        legend=LEGEND,
        columns=columns,
    )
    rows = {
        name: [{"seed": seed, **asdict(run)} for seed, run in enumerate(runs)] for name, runs in found.results.items()
    }
    content = {"experiment": stem.name, "members": MEMBERS, "steps": found.steps, "rows": rows}
    stem.with_suffix(".json").write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    return table(found.results)


def data(seed: int) -> tuple[Tensor, Tensor]:
    """The 100 points of a seed and their labels."""
    return four_classes(torch.Generator().manual_seed(seed))


def score(members: ToyMembers, inputs: Tensor, labels: Tensor) -> tuple[Scores, Tensor]:
    """The scores of trained members, and their entropy over the plane."""
    points = plane(RESOLUTION, EXTENT)
    on_data, on_plane = members.predict(inputs), members.predict(points)
    gaps, far = in_gaps(points), in_far_field(points)
    with torch.no_grad():
        cka = cka_per_layer(members(inputs).features, unbiased=True)
    scores = Scores(
        accuracy=accuracy(on_data.logits, labels),
        entropy_data=on_data.entropy.mean().item(),
        entropy_gaps=on_plane.entropy[gaps].mean().item(),
        entropy_far=on_plane.entropy[far].mean().item(),
        mutual_information_far=on_plane.mutual_information[far].mean().item(),
        cka=tuple(cka.values()),
    )
    return scores, on_plane.entropy


def table(results: dict[str, list[Scores]]) -> str:
    """One row a method; means and standard deviations over seeds."""
    header = ["method", "accuracy", "entropy: data", "gaps", "far field", "MI: far field", "CKA by layer"]
    lines = []
    for name, runs in results.items():
        numbers = [
            with_spread([run.accuracy for run in runs]),
            with_spread([run.entropy_data for run in runs]),
            with_spread([run.entropy_gaps for run in runs], 2),
            with_spread([run.entropy_far for run in runs], 2),
            with_spread([run.mutual_information_far for run in runs], 2),
            " ".join(f"{sum(layer) / len(layer):.2f}" for layer in zip(*(run.cka for run in runs), strict=True)),
        ]
        lines.append([name, *numbers])
    return markdown(header, lines)


def _panel(row: Row, scores: Scores, entropy: Tensor) -> EntropyMap:
    caption = f"data {scores.entropy_data:.2f} · gaps {scores.entropy_gaps:.2f} · far {scores.entropy_far:.2f}"
    some = None if row.outliers is None else row.outliers(torch.zeros(1, 2), torch.Generator().manual_seed(0))
    return EntropyMap(row.name, entropy, caption, some)
