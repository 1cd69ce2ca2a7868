"""From a trained model to the published format: ``python -m agents.export RUN NAME``.

A training run keeps its best network as ``best/`` in the published format already; exporting copies that under a name,
measures it once more, exactly where that is affordable, and writes its model card.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from agents.networks import AfterstateNetwork
from yacht_env.network import Architecture, NetworkPolicy

__all__ = ["network_policy", "network_weights"]


def network_weights(network: AfterstateNetwork) -> dict[str, np.ndarray]:
    """Weights of a network by their published names, as float32 arrays of their own."""
    named: dict[str, torch.Tensor] = {}
    n_layers = 0
    for layer in network.trunk:
        if isinstance(layer, nn.Linear):
            named |= {f"{n_layers}.{key}": parameter for key, parameter in layer.named_parameters()}
            n_layers += 1
        elif isinstance(layer, nn.LayerNorm):
            named |= {f"{n_layers - 1}.norm.{key}": parameter for key, parameter in layer.named_parameters()}
    weight, bias = network.head.weight_and_bias()
    named |= {f"{n_layers}.weight": weight, f"{n_layers}.bias": bias}
    return {key: tensor.detach().cpu().numpy().astype(np.float32).copy() for key, tensor in named.items()}


def network_policy(network: AfterstateNetwork, name: str = "network") -> NetworkPolicy:
    """The network as a policy without torch: a snapshot that later training leaves alone."""
    architecture = Architecture(network.hidden, network.layer_norm, network.points_unit)
    return NetworkPolicy(network.ruleset, architecture, network_weights(network), name)
