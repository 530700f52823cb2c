"""Ordinary modules for one member; each names the layers worth recording as ``taps``."""

from hecka.networks.lenet import LeNet5
from hecka.networks.mlp import MLP
from hecka.networks.resnet import ResNet18
from hecka.networks.resnet32 import ResNet32
from hecka.networks.wide_resnet import WideResNet

__all__ = ["MLP", "LeNet5", "ResNet18", "ResNet32", "WideResNet"]
