"""The command about published agents: ``yacht-env models list|download``.

Public names: :data:`COMMANDS`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import tyro

from yacht_env.cli.commands import Commands
from yacht_env.pretrained import download_pretrained, list_pretrained

__all__ = ["COMMANDS"]


@dataclass(frozen=True)
class ModelsListArgs:
    """List published agents."""

    source: str | None = None
    """Folder or URL of agents; by default those of the package."""
    json: bool = False
    """Print JSON."""


@dataclass(frozen=True)
class ModelsDownloadArgs:
    """Fetch a published agent from a URL, check it, and keep it."""

    name: tyro.conf.Positional[str]
    """Name of the agent."""
    source: str
    """URL of a folder of agents."""
    folder: Path | None = None
    """Where to keep it; by default the user's cache folder."""
    json: bool = False
    """Print JSON."""


@dataclass(frozen=True)
class ModelsArgs:
    """List or fetch published agents."""

    command: (
        Annotated[ModelsListArgs, tyro.conf.subcommand("list")]
        | Annotated[ModelsDownloadArgs, tyro.conf.subcommand("download")]
    ) = field(default_factory=ModelsListArgs)


def _run_models_list(args: ModelsListArgs) -> None:
    index = list_pretrained(args.source)
    if args.json:
        print(json.dumps(index, indent=2))
        return
    for name, entry in index.items():
        print(f"{name:<20} {entry.get('ruleset', '')}")
    if not index:
        print("no agents")


def _run_models_download(args: ModelsDownloadArgs) -> None:
    folder = download_pretrained(args.name, args.source, args.folder)
    print(json.dumps({"name": args.name, "folder": str(folder)}) if args.json else f"{args.name} is in {folder}")


def _run_models(args: ModelsArgs) -> None:
    run: dict[type, Callable[[Any], None]] = {
        ModelsListArgs: _run_models_list,
        ModelsDownloadArgs: _run_models_download,
    }
    run[type(args.command)](args.command)


COMMANDS: Commands = {"models": (ModelsArgs, _run_models)}
"""What the command is called, what it is told, and what it does."""
