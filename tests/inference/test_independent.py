import copy

import pytest
import torch
import torch.nn.functional as F

from hecka.inference.independent import Independent
from hecka.members.ensemble import Ensemble
from hecka.types import Batch


def adamw(parameters):
    return torch.optim.AdamW(parameters, lr=0.05, weight_decay=0.1)


@pytest.mark.parametrize("members", [1, 3])
def test_training_equals_that_of_separate_networks(modules, batch, execution, members):
    alone = modules[:members]
    ensemble = Ensemble.from_modules(alone, execution=execution)
    together, method = adamw(ensemble.parameters()), Independent()
    state = method.start(ensemble)
    optimizers = [adamw(module.parameters()) for module in alone]
    for rows in (range(6), range(3, 10), range(0, 10, 2)):
        part = Batch(batch.inputs[list(rows)], batch.targets[list(rows)], batch.outliers)
        params = ensemble.params()
        together.zero_grad()
        step = method(ensemble, params, part, state, torch.Generator())
        ensemble.pull_back(params, step.direction)
        together.step()

        losses = []
        for module, optimizer in zip(alone, optimizers, strict=True):
            outputs = module(part.inputs)
            loss = F.mse_loss(outputs, part.targets) if outputs.dtype == part.targets.dtype else F.cross_entropy(
                outputs, part.targets
            )  # fmt: skip
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        assert step.info["loss"].item() == pytest.approx(sum(losses) / members)
        assert not step.info["loss"].requires_grad
    for name, tensor in ensemble.params().items():
        expected = torch.stack([module.get_parameter(name) for module in alone])
        torch.testing.assert_close(tensor.detach(), expected.detach())


def test_a_step_leaves_the_members_alone(modules, batch):
    ensemble = Ensemble.from_modules(modules)
    before = copy.deepcopy(ensemble.state_dict())
    Independent()(ensemble, ensemble.params(), batch, {}, torch.Generator())
    torch.testing.assert_close(ensemble.state_dict(), before, rtol=0, atol=0)
    assert all(parameter.grad is None for parameter in ensemble.parameters())
