"""Settings become the library's methods, and every method can be asked for by a recipe's name."""

import itertools

import pytest

import hecka
from hecka.experiments.methods import (
    InputGradientsSettings,
    ParticleSettings,
    PenalisedSettings,
    RepulsiveSettings,
    TermSettings,
)
from hecka.experiments.recipes import find, names

PLAIN_TERM = hecka.HECKA(kernel="linear")


@pytest.mark.parametrize(
    ("settings", "method"),
    [
        (InputGradientsSettings(), hecka.InputGradients()),
        (RepulsiveSettings(TermSettings(kernel="linear"), gamma=2.0), hecka.Repulsive(PLAIN_TERM, gamma=2.0)),
        (
            PenalisedSettings(RepulsiveSettings(TermSettings(kernel="linear"), gamma=2.0), 0.1),
            hecka.WeightPenalty(hecka.Repulsive(PLAIN_TERM, gamma=2.0), 0.1),
        ),
        (ParticleSettings("svgd", term=TermSettings(energy="cka")), hecka.SVGD(kernel=hecka.PairwiseCKA())),
        (
            ParticleSettings("wgd", "ssge", space="logits", data_size="train", prior_std=2.0, multiplier=3.0),
            hecka.WGD(kernel=hecka.RBF(3.0), estimator="ssge", space="logits", data_size=70, prior=hecka.Gaussian(2.0)),
        ),
    ],
)
def test_settings_make_their_method(settings, method):
    assert settings.make(data_size=70) == method


def test_a_smaller_budget_has_a_shorter_warm_up_inside_a_penalty_too():
    settings = PenalisedSettings(RepulsiveSettings(gamma=1.0, warmup=50), 0.1).scaled(0.1)
    assert settings == PenalisedSettings(RepulsiveSettings(gamma=1.0, warmup=5), 0.1)


def kind(recipe):
    """What sets a method apart: its class, where its members come from, and how it compares them."""
    members = recipe.members
    source = "hypernetwork" if members.hypernetwork else "DDU" if members.density else min(members.count, 2)
    method = recipe.method.make(data_size=100)
    inner = getattr(method, "method", method)
    compared = getattr(inner, "term", None) or getattr(inner, "kernel", None)
    outliers = "outliers" if recipe.outliers else "inliers"
    weighed = "" if getattr(inner, "gamma", 1) else "gamma=0"
    how = (getattr(inner, "space", ""), getattr(inner, "estimator", ""), type(compared).__name__, outliers, weighed)
    return (source, type(method).__name__, *how)


def test_every_method_has_a_recipe():
    found = {kind(find(name)) for name in names()}
    rbf = [
        (2, method, space, estimator, "RBF", "inliers", "")
        for (method, estimator), space in itertools.product(
            [("SVGD", ""), ("WGD", "kde"), ("WGD", "sge"), ("WGD", "ssge")], ["weights", "logits"]
        )
    ]
    others = [
        (1, "Independent", "", "", "NoneType", "inliers", ""),
        (2, "Independent", "", "", "NoneType", "inliers", ""),
        ("DDU", "Independent", "", "", "NoneType", "inliers", ""),
        ("hypernetwork", "Independent", "", "", "NoneType", "inliers", ""),
        (2, "InputGradients", "", "", "NoneType", "inliers", ""),
        (2, "SVGD", "weights", "", "PairwiseCKA", "inliers", ""),
        (2, "SVGD", "weights", "", "HECKA", "inliers", ""),
        (2, "Repulsive", "", "", "PairwiseCKA", "inliers", ""),
        (2, "Repulsive", "", "", "HECKA", "inliers", ""),
        (2, "Repulsive", "", "", "HECKA", "outliers", ""),
        (2, "Repulsive", "", "", "HECKA", "outliers", "gamma=0"),
        ("hypernetwork", "Repulsive", "", "", "HECKA", "outliers", ""),
        ("hypernetwork", "WeightPenalty", "", "", "HECKA", "outliers", ""),
    ]
    assert set(rbf + others) <= found


def test_the_last_layer_alone_is_a_tap():
    assert find("digits/ensemble-last-layer").network.taps == ("1.layers.2",)
