"""Disagreement, effective members and CKA per tap against loops and closed forms."""

import math
from itertools import combinations

import pytest
import torch

from hecka.errors import InputError
from hecka.scores.disagreement import cka_per_layer, disagreement, effective_members


def normal(*shape, seed=5):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_disagreement_equals_a_loop_over_pairs():
    logits = normal(5, 40, 3)
    labels = logits.argmax(-1).tolist()
    for example, share in enumerate(disagreement(logits).tolist()):
        pairs = [labels[i][example] != labels[j][example] for i, j in combinations(range(5), 2)]
        assert share == pytest.approx(sum(pairs) / len(pairs))


def test_disagreement_runs_from_none_to_all_pairs():
    logits = torch.eye(4)[:, None].expand(-1, 2, -1)  # member m names class m
    assert disagreement(logits).tolist() == [1, 1]
    assert disagreement(logits[:1].expand(4, -1, -1)).tolist() == [0, 0]
    assert disagreement(logits[:1]).tolist() == [0, 0]


def test_disagreement_needs_classes():
    with pytest.raises(InputError, match="at least 2 columns"):
        disagreement(torch.zeros(3, 4, 1))


@pytest.mark.parametrize("groups", [1, 2, 3, 6])
def test_equal_groups_of_equal_members_count_once_each(groups):
    similarity = torch.block_diag(*[torch.ones(6 // groups, 6 // groups)] * groups)
    assert effective_members(similarity) == pytest.approx(groups)


@pytest.mark.parametrize("cosine", [-1.0, -0.3, 0.0, 0.5, 0.99])
def test_two_members_equal_the_closed_form(cosine):
    shares = [(1 + cosine) / 2, (1 - cosine) / 2]
    expected = math.exp(-sum(share * math.log(share) for share in shares if share > 0))
    assert effective_members(torch.tensor([[1, cosine], [cosine, 1]])) == pytest.approx(expected)


def test_effective_members_do_not_depend_on_order_and_shrink_as_members_align():
    vectors = torch.nn.functional.normalize(normal(6, 4), dim=1)
    similarity = vectors @ vectors.T  # of rank 4: no more than 4 members
    count = effective_members(similarity)
    assert 1 < count <= 4
    shuffled = similarity[[2, 0, 5, 1, 4, 3]][:, [2, 0, 5, 1, 4, 3]]
    assert effective_members(shuffled) == pytest.approx(count)
    assert effective_members(0.5 * similarity + 0.5) < count
    assert effective_members(similarity.float()) == pytest.approx(count, rel=1e-5)


@pytest.mark.parametrize(
    ("similarity", "complaint"),
    [
        (torch.ones(2, 3), r"must be \(M, M\)"),
        (torch.ones(0, 0), r"must be \(M, M\)"),
        (2 * torch.eye(3), "diagonal of ones"),
        (torch.tensor([[1.0, 0.5], [0.0, 1.0]]), "symmetric"),
        (torch.tensor([[1.0, torch.nan], [torch.nan, 1.0]]), "symmetric"),
        (torch.tensor([[1.0, 2.0], [2.0, 1.0]]), "semi-definite"),
    ],
)
def test_what_is_no_similarity_is_refused(similarity, complaint):
    with pytest.raises(InputError, match=complaint):
        effective_members(similarity)


def true_cka(x, y):
    """Linear CKA by its textbook formula, tr(KHLH) normalised."""
    centre = torch.eye(len(x), dtype=x.dtype) - 1 / len(x)
    left, right = (centre @ (z @ z.T) @ centre for z in (x, y))
    return ((left * right).sum() / (left.norm() * right.norm())).item()


@pytest.mark.parametrize("looped", [False, True])
def test_cka_per_layer_averages_pairs_of_members_tap_by_tap(looped):
    features = {"conv1": normal(3, 10, 2, 4, 4), "fc1": normal(3, 10, 6, seed=6)}
    expected = {
        tap: sum(true_cka(x[i].flatten(1), x[j].flatten(1)) for i, j in combinations(range(3), 2)) / 3
        for tap, x in features.items()
    }
    given = {tap: x.unbind(0) for tap, x in features.items()} if looped else features
    result = cka_per_layer(given)
    assert list(result) == ["conv1", "fc1"]
    assert result == pytest.approx(expected)


def test_cka_per_layer_hands_its_options_on():
    features = {"fc1": normal(2, 12, 30)}
    settings = [{}, {"kernel": "cosine"}, {"centering": "one-sided"}, {"unbiased": True}]
    values = [cka_per_layer(features, **each)["fc1"] for each in settings]
    assert len({round(value, 3) for value in values}) == 4
    assert values[3] < values[0]  # independent features: only the biased estimate sees likeness


def test_a_single_member_and_nan_are_refused():
    with pytest.raises(InputError, match=r"at least 2 members, got 1 \(tap 'fc1'\)"):
        cka_per_layer({"fc1": normal(1, 8, 3)})
    diverged = normal(3, 8, 3)
    diverged[1] = torch.nan
    with pytest.raises(InputError, match=r"NaN \(tap 'fc1'\)"):
        cka_per_layer({"fc1": diverged})


def test_members_that_answer_alike_to_all_are_left_out():
    dead = normal(3, 8, 3)
    dead[1] = 0
    assert cka_per_layer({"fc1": dead}) == pytest.approx(cka_per_layer({"fc1": dead[[0, 2]]}))
    assert math.isnan(cka_per_layer({"fc1": dead[:2]})["fc1"])
