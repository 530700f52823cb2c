"""Particles learn the paper's toy task: every training point is classified, as by a plain ensemble."""

from functools import partial

import pytest
import torch

from hecka.data.toy import four_classes
from hecka.diversity.terms import HECKA
from hecka.inference.posterior import Gaussian
from hecka.inference.svgd import SVGD
from hecka.inference.wgd import WGD
from hecka.members.ensemble import Ensemble
from hecka.networks.mlp import MLP
from hecka.similarity.kernels import RBF
from hecka.training.fit import fit

PUBLISHED = HECKA(kernel=RBF(4.5), weights=(0.021, 0.192, 0.362, 0.426), eps_dist=0.0035, eps_arc=0.004)


@pytest.mark.parametrize(
    ("method", "rate"),
    [
        (SVGD(kernel=PUBLISHED), 0.05),
        (WGD(kernel=RBF(3.0)), 0.02),
        (SVGD(space="logits", data_size=100, prior=Gaussian(1.0)), 0.02),
    ],
    ids=["svgd-he", "kde-wgd", "fsvgd"],
)
def test_all_points_are_classified_and_members_stay_apart(method, rate):
    inputs, targets = four_classes(torch.Generator().manual_seed(0))
    members = Ensemble(lambda: MLP(2, 30, 40, 30, 4), members=5, taps=MLP.taps)
    optimizer = partial(torch.optim.AdamW, lr=rate, weight_decay=0.0075)
    run = fit(members, (inputs, targets), method=method, steps=80, optimizer=optimizer, progress=False)
    answer = members.predict(inputs)
    assert (answer.probs.argmax(-1) == targets).all()
    assert run.records[-1]["loss"] < 0.1
    far = members.predict(torch.tensor([[0.0, 8.0], [8.0, 0.0], [0.0, -8.0], [-8.0, 0.0], [0.0, 0.0]]))
    assert far.mutual_information.mean() > 0.1 > answer.mutual_information.mean()
