import pytest
import torch
import torch.nn.functional as F

from hecka.networks.pooling import HalvingMaxPool


def gradient(pooled, x, weights, create_graph=False):
    return torch.autograd.grad(pooled, x, weights, create_graph=create_graph)[0]


@pytest.mark.parametrize("ties", [False, True], ids=["all different", "many equal"])
@pytest.mark.parametrize("memory", [torch.contiguous_format, torch.channels_last], ids=["usual", "channels-last"])
@pytest.mark.parametrize("shape", [(2, 3, 4, 6), (2, 3, 5, 7), (2, 3, 4, 3)], ids=["even", "odd", "one odd"])
def test_values_and_gradients_are_those_of_torch_to_the_last_bit(shape, memory, ties):
    torch.manual_seed(0)
    x = torch.randint(3, shape).float() if ties else torch.randn(shape)
    x = x.contiguous(memory_format=memory).requires_grad_()
    ours, theirs = HalvingMaxPool()(x), F.max_pool2d(x, 2)
    assert torch.equal(ours, theirs)
    assert ours.stride() == theirs.stride()
    weights = torch.randn_like(theirs)
    expected = gradient(theirs, x, weights)
    assert torch.equal(gradient(ours, x, weights), expected)
    assert torch.equal(gradient(HalvingMaxPool()(x), x, weights, create_graph=True), expected)


@pytest.mark.parametrize("shape", [(2, 2, 4, 4), (1, 2, 5, 3)])
def test_gradients_of_gradients(shape):
    torch.manual_seed(0)
    x = torch.randn(shape, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradgradcheck(lambda x: HalvingMaxPool()(x).square(), x)


def test_members_can_be_vmapped():
    torch.manual_seed(0)
    x = torch.randn(3, 2, 4, 6, 6, requires_grad=True)
    ours, theirs = torch.vmap(HalvingMaxPool())(x), F.max_pool2d(x.flatten(0, 1), 2).view(3, 2, 4, 3, 3)
    assert torch.equal(ours, theirs)
    weights = torch.randn_like(theirs)
    assert torch.equal(gradient(ours, x, weights), gradient(theirs, x, weights))


def test_what_is_not_a_number_stays_so():
    assert HalvingMaxPool()(torch.tensor([[1.0, torch.nan], [0.0, 0.0]])[None, None]).isnan().all()
