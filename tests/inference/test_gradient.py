import torch

from hecka.inference.gradient import gradient


def test_a_parameter_that_took_no_part_gets_zero():
    params = {"used": torch.tensor([1.0, 2.0], requires_grad=True), "idle": torch.ones(2, 3, requires_grad=True)}
    direction = gradient((params["used"] ** 3).sum(), params)
    assert direction["used"].tolist() == [3, 12]
    assert torch.equal(direction["idle"], torch.zeros(2, 3))
    assert params["used"].grad is None
