"""Real images, nothing to tune: plain ensembles beside one that keeps its distance with ``gamma="auto"``.

Run it: ``python examples/images.py digits`` (scikit-learn's, in seconds) or ``python examples/images.py mnist 5`` (five
epochs; the folder that holds MNIST and Fashion-MNIST is named by HECKA_DATA).  What the last one costs in loss on the
training data is the ``price`` in its record: about 1 % of ln 10, which is .023.
"""

import sys
from functools import partial

import torch
from torch import Tensor, nn

import hecka
from hecka.data.load import load

METHODS = {
    "ensemble": hecka.Independent(),
    "outlier entropy alone": hecka.Repulsive(gamma=0.0),  # what made-up outliers do without any repulsion
    'OOD HE-CKA, gamma="auto"': hecka.Repulsive(),
}


def small_net() -> nn.Module:
    """For images of 8 x 8."""
    return nn.Sequential(nn.Flatten(), hecka.networks.MLP(64, 64, 64, 10))


def outlier_sets(name: str, test: Tensor) -> dict[str, Tensor]:
    """Images that no ensemble of this file was trained to doubt."""
    if name == "mnist":
        return {"Fashion-MNIST": load("fashion-mnist", "test").whitened(load("mnist", "test").whitening)}
    shuffled = test.flatten(1)[:, torch.randperm(64, generator=torch.Generator().manual_seed(0))]
    return {"inverted": -test, "shuffled": shuffled.reshape(test.shape)}


def main(name: str = "digits", epochs: int = 60) -> dict[str, hecka.Evaluation]:
    """Train, evaluate and print one line a method and outlier set."""
    train, test = load(name), load(name, "test")
    inputs, held_out = train.whitened(), test.whitened()
    batch_size = 100 if name == "digits" else 300
    evaluations = {}
    for method_name, method in METHODS.items():
        make_net, taps = (hecka.networks.LeNet5, ("conv*", "fc*")) if name == "mnist" else (small_net, ("1.layers.*",))
        ensemble = hecka.Ensemble(make_net, members=5, taps=taps, seed=0)
        run = hecka.fit(
            ensemble,
            (inputs, train.labels),
            method=method,
            outliers=hecka.outliers.Images.like(inputs, count=50) if isinstance(method, hecka.Repulsive) else None,
            epochs=epochs,
            batch_size=batch_size,
            optimizer=partial(torch.optim.AdamW, lr=0.0065, weight_decay=0.001, fused=True),
            schedule=hecka.WarmupCosine(warmup=50, total=epochs * len(inputs) // batch_size),
            clip=5.0,
        )
        sets = outlier_sets(name, held_out)
        evaluations[method_name] = answer = hecka.evaluate(ensemble, (held_out, test.labels), sets)
        last = {key: round(value, 4) for key, value in run.records[-1].items() if key in ("loss", "gamma", "price")}
        numbers = f"accuracy {answer.accuracy:.4f}, NLL {answer.nll:.4f}, ECE {answer.ece:.4f}"
        print(f"{method_name}: {numbers}; at the end {last}")
        with torch.no_grad():
            similarity = hecka.scores.cka_per_layer(ensemble(held_out[:1000]).features, unbiased=True)
        print(f"    CKA between members, by layer: {' '.join(f'{value:.2f}' for value in similarity.values())}")
        for outliers, scores in answer.outliers.items():
            by = f"entropy {scores.entropy.auroc:.4f}, mutual information {scores.mutual_information.auroc:.4f}"
            print(f"    AUROC against {outliers}, by {by}")
    return evaluations


if __name__ == "__main__":
    main(*(convert(argument) for convert, argument in zip((str, int), sys.argv[1:], strict=False)))
