"""``hecka reproduce table-...``: every row of a table of the paper, over seeds; the same command goes on.

OUT/ROW/seed-K are run folders as ``hecka train`` makes them; OUT/table.md, .csv, .tex and .json are written anew after
every run, from all rows of these settings that are finished there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, TypeAlias

import tyro

from hecka.data.load import load
from hecka.errors import HeckaError, InputError, nearest
from hecka.experiments.plain import to_plain
from hecka.experiments.recipe import Recipe
from hecka.experiments.recipes import find
from hecka.experiments.row_runs import LOG, Job, Say, finished, read, run_all
from hecka.experiments.sources import MADE
from hecka.experiments.table_numbers import RowResult
from hecka.experiments.table_rows import (
    CIFAR10_RESNET18,
    CIFAR10_RESNET32,
    CIFAR100,
    DIRTY_MNIST,
    PARTICLES,
    TINY_IMAGENET,
    TableRow,
    TableSpec,
)
from hecka.experiments.table_text import write
from hecka.members.execution import Mode
from hecka.training.plan import Precision

WIDTH, WIDEN = 64, 10  # of the usual ResNet18, and of the WideResNet that stands beside it


@dataclass(frozen=True)
class TableOptions:
    """How much of a table to compute, and where.

    Args:
        out: folder of runs and table; runs/NAME-OF-THE-TABLE when None.
        seeds: how many runs a row.
        rows: those to run, by the names of their folders; all when none is named.
        budget: share of the work: its square root in epochs, and in data.
        epochs: of every row, instead of the recipe's.
        members: of every row with more than one, instead of the recipe's.
        width: of ResNet18, whose own is 64; a WideResNet is narrowed in proportion, other networks refuse it.
        ood: outlier sets to evaluate on; all of the table's when none is named.
        device: cpu, cuda, ...; auto takes cuda where there is one.
        precision: of forward and backward passes; the recipe's when None.
        execution: whether members run at once or in a loop; the recipe's when None.
        compile: whether methods are compiled.
        capture: whether steps are recorded as CUDA graphs on a GPU, where small networks then wait for no launches.
        root: folder that holds all data sets; the environment's when None.
        jobs: runs at once, each a process.
    """

    out: Path | None = None
    seeds: int = 3
    rows: tuple[str, ...] = ()
    budget: float = 1.0
    epochs: int | None = None
    members: int | None = None
    width: int | None = None
    ood: tuple[str, ...] = ()
    device: str = "auto"
    precision: Precision | None = None
    execution: Mode | None = None
    compile: bool = False
    capture: bool = True
    root: Annotated[Path | None, tyro.conf.arg(name="data")] = None
    jobs: int = 1

    def __post_init__(self) -> None:
        for name in ("seeds", "epochs", "members", "width", "jobs"):
            count = getattr(self, name)
            if count is not None and count < 1:
                raise InputError(f"table: expected {name} to be at least 1, got {count}")


Options: TypeAlias = Annotated[TableOptions, tyro.conf.arg(name="")]


def table_dirty_mnist(options: Options) -> str:
    """Dirty-MNIST against Fashion-MNIST: twelve methods on LeNet5."""
    return table(DIRTY_MNIST, options)


def table_cifar10_resnet32(options: Options) -> str:
    """CIFAR-10 against SVHN: fourteen methods on a small ResNet without normalisation."""
    return table(CIFAR10_RESNET32, options)


def table_cifar10_resnet18(options: Options) -> str:
    """CIFAR-10 against SVHN: nine methods on ResNet18."""
    return table(CIFAR10_RESNET18, options)


def table_cifar100(options: Options) -> str:
    """CIFAR-100 against SVHN: five methods on ResNet18."""
    return table(CIFAR100, options)


def table_tinyimagenet(options: Options) -> str:
    """TinyImageNet against four outlier sets: eight methods on ResNet18, fine-tuned from one plain ensemble."""
    return table(TINY_IMAGENET, options)


def table_particles(options: Options) -> str:
    """TinyImageNet with HE-CKA and 2, 3, 4 and 5 members."""
    return table(PARTICLES, options)


def table(spec: TableSpec, options: TableOptions, say: Say = print, progress: bool = True) -> str:
    """Run what is missing of a table, write it, return it; a row that fails is reported once the others are done."""
    out = options.out or Path("runs") / spec.name
    spec, chosen = narrowed(spec, options.ood), spec.choose(options.rows)
    planned = jobs(chosen, options, out)
    check_data(planned)
    errors: dict[Path, str] = {}

    def done(job: Job, error: str | None) -> None:
        if error is not None:
            say(f"{job.label}: {error}")
            errors[job.out] = error
        _write(spec, options, out, chosen, errors)

    run_all(planned, options.jobs, done, say, progress)
    text = f"{_write(spec, options, out, chosen, errors)}\n\nfiles: {out}/table.md .csv .tex .json"
    if errors:
        say(text)
        raise HeckaError(
            f"{spec.name}: {len(errors)} of its runs failed, see the table; the same command tries them again and "
            "keeps what is finished"
        )
    return text


def narrowed(spec: TableSpec, ood: Sequence[str]) -> TableSpec:
    """The table with these outlier sets alone; with all when none is named."""
    for name in ood:
        if name not in spec.outliers:
            raise InputError(f"{spec.name}: no outlier set is called {name!r}; {nearest(name, spec.outliers)}")
    return replace(spec, outliers=tuple(name for name in spec.outliers if not ood or name in ood))


def check_data(planned: Sequence[Job]) -> None:
    """Refuse at once, and not after hours of training, when a set to evaluate on is not there."""
    unfinished = [run.recipe for run in planned if not finished(run)]
    for root, name in dict.fromkeys((recipe.data.root, name) for recipe in unfinished for name in recipe.ood):
        if name not in MADE:
            load(name, "test", root)


def jobs(rows: Sequence[TableRow], options: TableOptions, out: Path) -> list[Job]:
    """All runs of these rows, seed by seed, so that the first full table comes early; what others start from first."""
    runs = [job(row, seed, options, out) for seed in range(options.seeds) for row in rows]
    before = {run.after.out: run.after for run in runs if run.after is not None}
    return [*before.values(), *runs]


def job(row: TableRow, seed: int, options: TableOptions, out: Path) -> Job:
    """One row's run of one seed, behind the run whose networks it starts from, if its recipe names one."""
    recipe = _edited(find(row.recipe), options, row.members, seed)
    label, folder = f"{row.name}, seed {seed}", out / row.slug / f"seed-{seed}"
    if not recipe.continues:
        return Job(label, recipe, folder)
    # One run for all: of an ensemble with more members than the row has, the first ones are taken.
    after = job(TableRow(f"{recipe.continues}, which others start from", recipe.continues), seed, options, out)
    return Job(label, replace(recipe, start_from=after.out), folder, after)


def _edited(recipe: Recipe, options: TableOptions, members: int | None, seed: int) -> Recipe:
    recipe = recipe.scaled(options.budget)
    if recipe.members.count > 1 and (count := members or options.members):
        recipe = replace(recipe, members=replace(recipe.members, count=count))
    if options.width:
        width = (
            max(1, round(options.width * WIDEN / WIDTH)) if recipe.network.factory == "wide-resnet" else options.width
        )
        recipe = replace(recipe, network=replace(recipe.network, width=width))
    if options.execution:
        recipe = replace(recipe, network=replace(recipe.network, execution=options.execution))
    return replace(
        recipe,
        epochs=options.epochs or recipe.epochs,
        ood=options.ood or recipe.ood,
        data=replace(recipe.data, root=options.root or recipe.data.root),
        device=options.device,
        precision=options.precision or recipe.precision,
        compile=options.compile,
        capture=options.capture,
        seed=seed,
    )


def _write(
    spec: TableSpec, options: TableOptions, out: Path, chosen: Sequence[TableRow], errors: dict[Path, str]
) -> str:
    """The table of the rows asked for and of all others that are finished."""
    results = [result(row, options, out, errors) for row in spec.rows]
    shown = [each for each in results if each.row in chosen or each.evaluations]
    return write(out, spec, shown, {"options": to_plain(options)})


def result(row: TableRow, options: TableOptions, out: Path, errors: dict[Path, str]) -> RowResult:
    """What a row's finished runs gave."""
    runs = [job(row, seed, options, out) for seed in range(options.seeds)]
    ended = [run for run in runs if finished(run)]
    failures = [f"{errors[run.out]} (seed {run.recipe.seed})" for run in runs if run.out in errors]
    evaluations = [content for run in ended if (content := read(run.out / "evaluation.json")) is not None]
    return RowResult(row, evaluations, _notes(options, ended), failures)


def _notes(options: TableOptions, ended: Sequence[Job]) -> list[str]:
    """What to know about a row's numbers: seeds, budget, other sizes than the recipe's, data, machine."""
    if not ended:
        return []
    own = ended[0].recipe
    count = f"{len(ended)} of {options.seeds}" if len(ended) < options.seeds else f"{options.seeds}"
    notes = [f"{count} seed{'s' if options.seeds > 1 else ''}"]
    notes += [f"budget {options.budget:g}"] if options.budget != 1 else []
    notes += [f"{own.epochs} epoch{'s' if own.epochs > 1 else ''}"] if options.epochs else []
    notes += [f"{own.members.count} members"] if options.members and own.members.count > 1 else []
    notes += [f"width {own.network.width}"] if options.width else []
    notes += [own.precision] if options.precision else []
    for run in ended:
        config, evaluation = read(run.out / "config.json"), read(run.out / "evaluation.json")
        assert config is not None  # both were there when the run was found finished
        assert evaluation is not None
        sets = (evaluation["inliers"], *evaluation["outliers"].values())
        notes += [*config["notes"], *(note for each in sets for note in each["notes"]), config["device"]]
        notes += ["timed beside other runs"] if (run.out / LOG).exists() else []
    return list(dict.fromkeys(notes))
