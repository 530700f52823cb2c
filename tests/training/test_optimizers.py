from functools import partial

import pytest
import torch
from torch import nn
from torch.optim.lr_scheduler import ReduceLROnPlateau, StepLR

from hecka.errors import InputError
from hecka.training.optimizers import clip_gradients, decay_groups, make_optimizer, make_scheduler, restore


def names(module, tensors):
    known = {id(parameter): name for name, parameter in module.named_parameters()}
    return {known[id(each)] for each in tensors}


def test_biases_and_norms_do_not_decay_in_stacked_form(make_members):
    members = make_members()
    decayed, free = decay_groups(members, 0.5)
    assert decayed["weight_decay"] == 0.5
    assert free["weight_decay"] == 0
    assert names(members, decayed["params"]) == {"net.0.weight", "net.4.weight"}
    assert names(members, free["params"]) == {"net.0.bias", "net.1.weight", "net.1.bias", "net.4.bias"}


def test_biases_do_not_decay_in_an_ordinary_module():
    module = nn.Linear(2, 3)
    decayed, free = decay_groups(module, 0.5)
    assert names(module, decayed["params"]) == {"weight"}
    assert names(module, free["params"]) == {"bias"}


@pytest.mark.parametrize("clip", [0.01, 1e9, None])
def test_clipping_is_that_of_torch(clip):
    torch.manual_seed(0)
    ours, theirs = ([nn.Parameter(torch.zeros(3)), nn.Parameter(torch.zeros(2, 2))] for _ in range(2))
    for one, other in zip(ours, theirs, strict=True):
        one.grad = torch.randn_like(one)
        other.grad = one.grad.clone()
    groups = [{"params": [each]} for each in ours]
    norm = clip_gradients(torch.optim.SGD(groups, lr=0.1), clip)
    expected = nn.utils.clip_grad_norm_(theirs, float("inf") if clip is None else clip)
    assert torch.equal(norm, expected)
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one.grad, other.grad)


@pytest.mark.parametrize("fused", [False, True])
def test_a_restored_optimizer_steps_as_before_whatever_the_memory_layout(fused):
    torch.manual_seed(0)
    gradients = [torch.randn(4, 3, 5, 5).to(memory_format=torch.channels_last) for _ in range(2)]
    weight = torch.randn(4, 3, 5, 5).to(memory_format=torch.channels_last)

    def step(optimizer, parameter, gradient):
        parameter.grad = gradient.clone()
        optimizer.step()

    parameter = nn.Parameter(weight.clone())
    optimizer = torch.optim.AdamW([parameter], lr=0.1, fused=fused)
    step(optimizer, parameter, gradients[0])
    halfway = nn.Parameter(parameter.detach().clone())
    state = optimizer.state_dict()
    state["state"] = {
        0: {name: value.clone(memory_format=torch.contiguous_format) for name, value in state["state"][0].items()}
    }
    other = torch.optim.AdamW([halfway], lr=0.1, fused=fused)
    restore(other, state)
    step(optimizer, parameter, gradients[1])
    step(other, halfway, gradients[1])
    assert torch.equal(parameter, halfway)


def test_unusable_optimizers_and_schedules_are_refused(make_members):
    members = make_members()
    with pytest.raises(InputError, match="owns none"):
        make_optimizer(torch.optim.SGD(make_members().parameters(), lr=0.1), members)
    with pytest.raises(InputError, match="got float"):
        make_optimizer(lambda parameters: 0.1, members)
    with pytest.raises(InputError, match="got str"):
        make_optimizer("adam", members)
    with pytest.raises(InputError, match="trainable parameters"):
        make_optimizer(None, nn.ReLU())
    one, other = (make_optimizer(partial(torch.optim.SGD, lr=0.1), members) for _ in range(2))
    with pytest.raises(InputError, match="StepLR of another"):
        make_scheduler(StepLR(one, 2), other)
    with pytest.raises(InputError, match="ReduceLROnPlateau"):
        make_scheduler(ReduceLROnPlateau(one), one)
