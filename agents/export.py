"""From a trained model to the published format: ``python -m agents.export RUN NAME``.

A training run keeps its best network as ``best/`` in the published format already; exporting copies that under a name,
measures it once more, exactly where that is affordable, and writes its model card.
"""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
import tyro
from torch import nn

from agents.layers import CardPerceptron
from agents.networks import AfterstateNetwork
from yacht_env.evaluation import Evaluation, evaluate
from yacht_env.files import write_atomically
from yacht_env.network import Architecture, NetworkPolicy
from yacht_env.pretrained import PretrainedError, check_name, load_agent, save_agent, write_index

__all__ = ["ExportArgs", "export", "main", "model_card", "network_policy", "network_weights"]


def network_weights(network: AfterstateNetwork) -> dict[str, np.ndarray]:
    """Weights of a network by their published names, as float32 arrays of their own."""
    named = _named("keep", network.trunk, *network.head.weight_and_bias())
    named |= _named("card", network.card_trunk, network.card_head.weight, network.card_head.bias)
    return {key: tensor.detach().cpu().numpy().astype(np.float32).copy() for key, tensor in named.items()}


def _named(name: str, trunk: CardPerceptron, weight: torch.Tensor, bias: torch.Tensor) -> dict[str, torch.Tensor]:
    """Weights of one perceptron, the last layer's given apart."""
    named: dict[str, torch.Tensor] = {}
    n_layers = 0
    for layer in (trunk.first, *trunk.rest):
        if isinstance(layer, nn.Linear):
            named |= {f"{name}.{n_layers}.{key}": parameter for key, parameter in layer.named_parameters()}
            n_layers += 1
        elif isinstance(layer, nn.LayerNorm):
            named |= {f"{name}.{n_layers - 1}.norm.{key}": parameter for key, parameter in layer.named_parameters()}
    return named | {f"{name}.{n_layers}.weight": weight, f"{name}.{n_layers}.bias": bias}


def network_policy(network: AfterstateNetwork, name: str = "network") -> NetworkPolicy:
    """The network as a policy without torch: a snapshot that later training leaves alone."""
    architecture = Architecture(network.hidden, network.card_hidden, network.layer_norm, network.points_unit)
    return NetworkPolicy(network.ruleset, architecture, network_weights(network), name)


@dataclasses.dataclass(frozen=True)
class ExportArgs:
    """Publish the best network of a training run."""

    run: tyro.conf.Positional[Path]
    """Folder of the run."""
    name: tyro.conf.Positional[str]
    """Name to publish it under, such as ppo-yacht."""
    models: Path = Path("models")
    """Folder of the published agents."""
    method: Literal["auto", "exact", "estimate"] = "auto"
    """How it is measured for its card; see yacht-env evaluate."""
    games: int = 200_000
    """Games of an estimate; this many bring its standard error below 0.02 points for a good agent."""


def export(args: ExportArgs) -> Evaluation:
    """Copy, measure and describe an agent; returns what its card says.

    Raises:
        PretrainedError: where the run has no network to publish, or the name is none for an agent.
    """
    check_name(args.name)
    policy = load_agent(args.run / "best")
    result = evaluate(
        policy,
        policy.game.ruleset,
        method=args.method,
        all_states=args.method == "auto" and not policy.game.ruleset.upper_bonus,
        n_games=args.games,
        name=args.name,
    )
    config = policy.config | {"name": args.name, "parameters": policy.n_parameters, "result": result.summary()}
    folder = args.models / args.name
    save_agent(folder, policy.weights, config)
    write_atomically(folder / "README.md", model_card(config))
    write_index(args.models)
    return result


def _widths(config: dict[str, Any], name: str) -> str:
    return " x ".join(map(str, config["architecture"][name]))


def model_card(config: dict[str, Any]) -> str:
    """The card of an agent, from its config alone."""
    result, training = config["result"], config["training"]
    exact = result["method"] == "exact"
    score = f"{result['expected_score']:.3f}" + ("" if exact else f" ± {result['standard_error']:.3f}")
    how = "exact" if exact else f"control-variate estimate, {result['n_games']:,} games"
    rows = {
        "Expected score": f"{score} points a game ({how})",
        "Optimum": f"{result['optimum']:.3f}",
        "Share of the optimum": f"{result['share_of_optimum']:.3%}",
        "Gap": f"{result['optimality_gap']:.3f} points; {result['gap_from_holds']:.3f} by holds, "
        f"{result['gap_from_boxes']:.3f} by boxes",
        "Agreement in play": f"{result['agreement']:.2%}",
        "Standard deviation of a game": f"{result['standard_deviation']:.2f}",
        "Parameters": f"{config['parameters']:,}",
        "Hidden layers": f"{_widths(config, 'hidden')} for keeps, {_widths(config, 'card_hidden')} for cards",
        "Environment steps": f"{training['steps']:,}",
        "Training time": f"{training['seconds'] / 60:.0f} minutes, evaluations not counted",
        "Seed": str(training["settings"]["seed"]),
        "Revision": str(training["revision"]),
        "Versions": ", ".join(f"{package} {version}" for package, version in training["versions"].items()),
    }
    lines = [f"| {key} | {value} |" for key, value in rows.items()]
    flags = "\n".join(f"    {key}: {value}" for key, value in training["settings"].items())
    return _CARD.format(
        name=config["name"],
        algorithm=training["algorithm"].upper(),
        ruleset=config["ruleset"]["name"],
        rows="\n".join(lines),
        settings=flags,
        beforehand=_what_it_knew(training["settings"]),
    )


def _what_it_knew(settings: dict[str, Any]) -> str:
    """What an agent knew of the dice before it played."""
    if settings.get("expected_updates"):
        return "It knew that the dice are fair: its targets are means over all their falls."
    if settings.get("remove_luck"):
        return "It knew that the dice are fair: the luck of a roll is taken out of its advantages."
    return "Nothing told it the odds of the dice."


_CARD = """# {name}

A {algorithm} agent for the ruleset `{ruleset}`. It learned from games; the exact solution was never shown to it, and only
measures it.

{beforehand}

| | |
|---|---|
{rows}

```python
policy = yacht_env.load_pretrained("{name}")
yacht_env.evaluate(policy, "{ruleset}")
```

It reads flat observations and action masks, plays the best legal action, and needs NumPy alone. It knows no opponents: it
plays for its own expected score. Another ruleset than its own is refused.

Settings of the run:

{settings}
"""


def main(args: list[str] | None = None) -> None:
    """Publish from the command line."""
    asked = tyro.cli(ExportArgs, args=args, prog="python -m agents.export")
    try:
        result = export(asked)
    except PretrainedError as error:
        sys.exit(f"agents.export: {error}")
    print(f"{asked.name}: {result.expected_score:.3f} of {result.optimum:.3f} ({result.share_of_optimum:.3%})")


if __name__ == "__main__":
    main()
