"""DDU on a toy: the far field is found, and the wrapped network answers as before."""

from functools import partial

import pytest
import torch
from torch import nn

from hecka.data.toy import four_classes, in_far_field, plane
from hecka.errors import InputError
from hecka.members.ddu import DDU
from hecka.members.ensemble import Ensemble
from hecka.members.hypernetwork import Hypernetwork
from hecka.scores.density import ClassGaussians
from hecka.scores.evaluate import evaluate


def net():
    return nn.Sequential(nn.Linear(2, 16), nn.GELU(), nn.Dropout(), nn.Linear(16, 4))


@pytest.fixture
def toy():
    return four_classes(torch.Generator().manual_seed(0))


@pytest.fixture(params=["network", "ensemble", "hypernetwork"])
def members(request):
    torch.manual_seed(0)
    if request.param == "network":
        return net()
    kind = Ensemble if request.param == "ensemble" else partial(Hypernetwork, latent=8)
    return kind(net, members=3, taps=["1"])


def test_the_far_field_is_less_dense(members, toy):
    points = plane(12)
    far = points[in_far_field(points)]
    result = evaluate(DDU.fit(members, *toy, tap="1"), toy, {"far": far})
    assert result.outliers["far"].density.auroc > 0.98
    assert result.outliers["far"].density.fpr95 < 0.1
    assert evaluate(Ensemble(net, 2), toy, {"far": far}).outliers["far"].density is None


def test_the_networks_answer_as_before(members, toy):
    inputs, _ = toy
    members.train()
    answer = DDU.fit(members, *toy, tap="1").predict(inputs, batch_size=33)
    assert all(part.training for part in members.modules())
    if isinstance(members, nn.Sequential):
        expected = members.eval()(inputs)[None]
        assert not any(part._forward_hooks for part in members.modules())
    else:
        expected = members.predict(inputs).logits
    torch.testing.assert_close(answer.logits, expected.detach())
    assert not answer.logits.requires_grad


def test_the_score_is_the_mean_of_the_members_log_densities(toy):
    inputs, labels = toy
    ensemble = Ensemble(net, 3, taps=["1"]).eval()
    features = ensemble(inputs).features["1"].detach()
    expected = sum(ClassGaussians.fit(each, labels).log_density(each) for each in features) / 3
    torch.testing.assert_close(DDU.fit(ensemble, inputs, labels, tap="1").predict(inputs).log_density, expected)


def test_a_class_may_have_fewer_examples_than_features(members, toy):
    """Its covariance is singular; the smallest jitter of the ladder that helps is taken, and the far field is found."""
    inputs, labels = toy
    rows = torch.cat([(labels == label).nonzero()[:5, 0] for label in range(4)])
    ddu = DDU.fit(members, inputs[rows], labels[rows], tap="1")  # 16 features
    assert all(0 < density.jitter <= 1e-6 for density in ddu.densities)
    far = plane(12)[in_far_field(plane(12))]
    assert evaluate(ddu, toy, {"far": far}).outliers["far"].density.auroc > 0.95


def test_priors_weight_classes_by_their_size(members, toy):
    """Where one class rules, its share's logarithm is the whole difference."""
    inputs, labels = toy[0][10:], toy[1][10:]  # 15 of the first class and 25 of each other
    plain, weighted = (
        DDU.fit(members, inputs, labels, tap="1", priors=priors).predict(toy[0]).log_density for priors in (False, True)
    )
    expected = torch.tensor([15 / 90, 25 / 90, 25 / 90, 25 / 90], dtype=torch.float64).log()[toy[1]]
    assert (weighted - plain - expected).abs().median() < 1e-6


def test_feature_maps_are_flattened():
    maps = nn.Sequential(nn.Conv2d(1, 2, 3), nn.Flatten(), nn.Linear(8, 2))
    inputs, labels = torch.randn(40, 1, 4, 4), torch.arange(40) % 2
    ddu = DDU.fit(maps, inputs, labels, tap="0")
    assert ddu.densities[0].means.shape == (2, 8)
    assert ddu.predict(inputs[:3]).log_density.shape == (3,)


def test_a_tap_that_is_not_recorded_is_refused(toy):
    with pytest.raises(InputError, match="DDU: '3' is not recorded; known: '1'"):
        DDU.fit(Ensemble(net, 2, taps=["1"]), *toy, tap="3")
    with pytest.raises(InputError, match="'9' matches no module"):
        DDU.fit(net(), *toy, tap="9")
