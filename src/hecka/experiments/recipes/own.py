"""A network of the user's own: ``hecka train my_package.net:make_net --data.name folder:pictures/``."""

from __future__ import annotations

from hecka.experiments.methods import RepulsiveSettings
from hecka.experiments.recipe import DataSettings, NetworkSettings, OptimizerSettings, Recipe


def own(factory: str) -> Recipe:
    """Five members of the network that "package.module:function" makes, as far apart as the data allow.

    >>> own("net:make_net").method.gamma
    'auto'
    """
    return Recipe(
        name=factory,
        data=DataSettings("", held_out=0.1),
        network=NetworkSettings(factory, channels_last=False),
        method=RepulsiveSettings(),
        optimizer=OptimizerSettings("adamw", lr=1e-3, weight_decay=0.01, warmup=0.05),
        outliers=32,
        epochs=30,
        batch_size=128,
        clip=5.0,  # far above a usual norm: only a step that would ruin the weights is shortened
        capture=False,  # what its forward pass does in Python, a recorded step would not do again
    )
