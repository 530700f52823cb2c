"""What does diversity cost?  ``gamma="auto"`` on tasks where it keeps to its price, and on some where it does not.

Run it: ``python examples/price.py noisy`` (or ``schedule``, ``memorised``, ``regression``, ``tanh``), half a minute
each.  It prints, for every fifth of the run, gamma and the price paid in units of what the tolerance allows: 1 is as it
should be.  What to expect stands in docs/gamma.md.
"""

import sys
from functools import partial

import torch
from torch import Tensor, nn

import hecka
from hecka.data.toy import four_classes


def classes(per_class: int, wrong: float = 0.0) -> tuple[Tensor, Tensor]:
    """Four classes in the plane, of which a share ``wrong`` has a label drawn by lot."""
    generator = torch.Generator().manual_seed(0)
    inputs, labels = four_classes(generator, per_class)
    by_lot = torch.rand(len(labels), generator=generator) < wrong
    return inputs, torch.where(by_lot, torch.randint(4, labels.shape, generator=generator), labels)


def wave() -> tuple[Tensor, Tensor]:
    """100 noisy values of a sine."""
    inputs = torch.linspace(-3, 3, 100)[:, None]
    return inputs, torch.sin(2 * inputs) + 0.1 * torch.randn(100, 1, generator=torch.Generator().manual_seed(0))


def steps_of_rate(step: int) -> float:
    """A warm-up, the full rate, a tenth of it, and the full rate again."""
    return (step + 1) / 100 if step < 100 else 0.1 if 300 <= step < 500 else 1.0


# Data, outputs, batch size, steps, learning rate, schedule.
TASKS = {
    "schedule": (classes(25), 4, 100, 700, 0.05, steps_of_rate),
    "noisy": (classes(250, wrong=0.3), 4, 100, 600, 0.01, hecka.WarmupCosine(50, 600)),
    "memorised": (classes(25, wrong=0.3), 4, 100, 700, 0.02, steps_of_rate),
    "regression": (wave(), 1, 100, 1000, 0.01, hecka.WarmupCosine(50, 1000)),
    "tanh": (wave(), 1, 100, 1000, 0.01, hecka.WarmupCosine(50, 1000)),  # the same with PyTorch's own layers
}


def tanh_net() -> nn.Module:
    """As anybody would write it."""
    layers = nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1)
    return nn.Sequential(*layers)


def main(task: str = "noisy", seed: int = 0) -> None:
    """Train a plain and a diverse ensemble on one task."""
    (inputs, targets), outputs, batch_size, steps, rate, schedule = TASKS[task]
    allowed = 0.01 * (torch.log(torch.tensor(4.0)) if outputs == 4 else targets.var(correction=0)).item()
    for name, method in {"ensemble": hecka.Independent(), 'gamma="auto"': hecka.Repulsive()}.items():
        make_net = tanh_net if task == "tanh" else partial(hecka.networks.MLP, inputs.shape[1], 30, 40, 30, outputs)
        ensemble = hecka.Ensemble(make_net, members=5, seed=seed)
        run = hecka.fit(
            ensemble,
            (inputs, targets),
            method=method,
            outliers=hecka.outliers.Border.around(inputs) if name != "ensemble" else None,
            steps=steps,
            batch_size=batch_size,
            optimizer=partial(torch.optim.AdamW, lr=rate, weight_decay=0.0075, fused=True),
            schedule=schedule,
            clip=5.0,
            seed=seed,
        )
        with torch.no_grad():
            similarity = hecka.scores.cka_per_layer(ensemble(inputs[:500]).features, unbiased=True)
        cka = " ".join(f"{value:.2f}" for value in similarity.values())
        print(f"{name}: loss at the end {run.records[-1]['loss']:.4f}, CKA by layer {cka}")
        if "price" in run.records[-1]:
            for part in range(5):
                some = run.records[part * len(run.records) // 5 : (part + 1) * len(run.records) // 5]
                gamma, price = (sum(each[key] for each in some) / len(some) for key in ("gamma", "price"))
                print(
                    f"    step {some[-1]['step']:4.0f}: gamma {gamma:8.4f}, price {price / allowed:6.2f} of the allowed"
                )


if __name__ == "__main__":
    main(*(convert(argument) for convert, argument in zip((str, int), sys.argv[1:], strict=False)))
