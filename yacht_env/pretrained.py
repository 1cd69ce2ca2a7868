"""Published agents: found in the package, in a folder or behind a URL, checked, and loaded with NumPy alone.

An agent is a folder of two files. ``model.safetensors`` holds its weights, ``config.json`` everything else: format version,
architecture, version of the observation layout, the ruleset with its hash, how it was trained, and its exact result. Beside
the folders an ``index.json`` names the agents and the sha256 of their files. Nothing is ever unpickled, so a file can't
execute code; whatever does not fit is refused with a :class:`PretrainedError` that says what.

Public names: :func:`load_pretrained`, :func:`load_agent`, :func:`save_agent`, :func:`list_pretrained`,
:func:`download_pretrained`, :class:`PretrainedError`.
"""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import json
import os
import re
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import platformdirs
import safetensors
import safetensors.numpy

from yacht_env.files import write_atomically
from yacht_env.network import Architecture, NetworkPolicy
from yacht_env.observation import LAYOUT_VERSION
from yacht_env.rules import RULESETS, Ruleset, get_ruleset

__all__ = [
    "FORMAT_VERSION",
    "PretrainedError",
    "check_name",
    "download_pretrained",
    "list_pretrained",
    "load_agent",
    "load_pretrained",
    "make_config",
    "save_agent",
    "write_index",
]

FORMAT_VERSION = 1
_WEIGHTS, _CONFIG, _INDEX = "model.safetensors", "config.json", "index.json"
_MOST_BYTES = 64 * 2**20  # no published file is near this; a larger one is not read
_TIMEOUT = 30.0  # seconds without an answer from a server


class PretrainedError(Exception):
    """An agent can't be found, fetched or trusted; the message says why."""


def load_pretrained(
    name: str | Path, *, source: str | Path | None = None, ruleset: str | Ruleset | None = None
) -> NetworkPolicy:
    """Load a published agent.

    Args:
        name: Name of an agent; or, without ``source``, the path of an agent's own folder (a :class:`~pathlib.Path`, or
            text with a separator in it).
        source: Where to look: a folder of agents, or the URL of one (``http`` or ``https``), whose files are kept in the
            user's cache; ``None`` is the package itself.
        ruleset: The rules that the agent plays, where they are not one of the named rulesets.

    Returns:
        A policy: ``policy(observations, action_masks)`` with flat observations.

    Raises:
        PretrainedError: where there is no such agent, it can't be fetched, or a file is not what the index promises.
    """
    if source is None and (isinstance(name, Path) or os.sep in name or "/" in name):
        return load_agent(name, ruleset=ruleset)
    name = str(name)
    if source is not None and _is_url(source):
        folder, index = download_pretrained(name, str(source)), _index_of(str(source))
        return load_agent(folder, hashes=index[name]["files"], ruleset=ruleset)
    home = Path(source) if source is not None else _package_folder()
    index = list_pretrained(home)
    _check_listed(name, index, str(home))
    return load_agent(home / name, hashes=index[name]["files"], ruleset=ruleset)


def list_pretrained(source: str | Path | None = None) -> dict[str, dict[str, Any]]:
    """The agents of a source, by name, with the entries of its index; see :func:`load_pretrained` for ``source``.

    Raises:
        PretrainedError: where the index can't be read.
    """
    if source is not None and _is_url(source):
        return _check_index(_fetch(f"{str(source).rstrip('/')}/{_INDEX}"))
    return _check_index(_read(Path(source) if source is not None else _package_folder(), _INDEX))


def download_pretrained(name: str, source: str, folder: str | Path | None = None) -> Path:
    """Fetch an agent from a URL into a folder, unless it lies there already, and check it.

    All files are fetched and checked before the first is written. An agent that lies in the cache needs no network.

    Args:
        name: Name of the agent.
        source: URL of a folder of agents.
        folder: Where to keep agents; ``None`` is the user's cache, with a folder for each source.

    Returns:
        The agent's own folder.

    Raises:
        PretrainedError: where the server can't be reached, lacks the agent, or sends something else than its index says.
    """
    index = _index_of(source)
    _check_listed(name, index, source)
    target = (Path(folder) if folder is not None else _cache_folder(source)) / name
    fetched = {}
    for file, sha256 in index[name]["files"].items():
        try:
            if _hash(_read(target, file)) == sha256:
                continue
        except PretrainedError:
            pass  # not there yet
        fetched[file] = _fetch(f"{source.rstrip('/')}/{name}/{file}")
        _check_hash(fetched[file], sha256, f"{source}/{name}/{file}")
    try:
        for file, content in fetched.items():
            write_atomically(target / file, content)
    except OSError as error:
        raise PretrainedError(f"can't keep {name} in {target}: {error}") from error
    return target


def _index_of(source: str) -> dict[str, dict[str, Any]]:
    """The index of a URL, which is kept in the cache and taken from there where the server can't be reached."""
    kept = _cache_folder(source)
    try:
        content = _fetch(f"{source.rstrip('/')}/{_INDEX}")
    except PretrainedError:
        if not (kept / _INDEX).is_file():
            raise
        return _check_index(_read(kept, _INDEX))
    index = _check_index(content)
    with contextlib.suppress(OSError):  # a cache that can't be written costs a later visit offline, nothing now
        write_atomically(kept / _INDEX, content)
    return index


def load_agent(
    folder: str | Path, *, hashes: Mapping[str, str] | None = None, ruleset: str | Ruleset | None = None
) -> NetworkPolicy:
    """Load the agent in a folder of its own.

    Args:
        folder: Holds ``model.safetensors`` and ``config.json``.
        hashes: The sha256 that the files must have; ``None`` skips that check.
        ruleset: The rules that the agent plays, where they are not one of the named rulesets.

    Raises:
        PretrainedError: where a file is missing or is not what it should be.
    """
    folder = Path(folder)
    contents = {file: _read(folder, file) for file in (_CONFIG, _WEIGHTS)}
    for file, sha256 in (hashes or {}).items():
        _check_hash(contents[file], sha256, str(folder / file))
    config = _parse(contents[_CONFIG], str(folder / _CONFIG))
    try:
        rules, architecture = _check_config(config, ruleset)
        weights = safetensors.numpy.load(contents[_WEIGHTS])
        return NetworkPolicy(rules, architecture, weights, str(config.get("name", folder.name)), config)
    except safetensors.SafetensorError as error:
        raise PretrainedError(f"{folder / _WEIGHTS} is no safetensors file: {error}") from error
    except (KeyError, TypeError, ValueError, OverflowError, MemoryError) as error:
        raise PretrainedError(f"the agent in {folder} can't be used: {error}") from error


def save_agent(
    folder: str | Path, weights: Mapping[str, npt.NDArray[np.float32]], config: Mapping[str, Any]
) -> dict[str, str]:
    """Write an agent's two files, each whole or not at all.

    Args:
        folder: The agent's own folder; made where it is missing.
        weights: The weights, float32.
        config: The config, as :func:`make_config` builds it.

    Returns:
        The sha256 of each file.
    """
    data = safetensors.numpy.save({key: np.ascontiguousarray(weight) for key, weight in weights.items()})
    contents = {_WEIGHTS: data, _CONFIG: (json.dumps(config, indent=2) + "\n").encode()}
    for file, content in contents.items():
        write_atomically(Path(folder) / file, content)
    return {file: _hash(content) for file, content in contents.items()}


def make_config(
    name: str, ruleset: str | Ruleset, architecture: Architecture, *, training: Mapping[str, Any], result: Mapping[str, Any]
) -> dict[str, Any]:
    """A config for :func:`save_agent`; ``training`` and ``result`` are kept as they are."""
    rules = get_ruleset(ruleset)
    return {
        "format_version": FORMAT_VERSION,
        "name": name,
        "ruleset": {"name": rules.name, "fingerprint": rules.fingerprint},
        "observation": {"form": "flat", "layout_version": LAYOUT_VERSION},
        "architecture": {
            "kind": architecture.kind,
            "hidden": list(architecture.hidden),
            "card_hidden": list(architecture.card_hidden),
            "layer_norm": architecture.layer_norm,
            "points_unit": architecture.points_unit,
        },
        "training": dict(training),
        "result": dict(result),
    }


def write_index(folder: str | Path) -> dict[str, Any]:
    """Make the index of a folder of agents anew, from the agents that lie in it."""
    folder = Path(folder)
    index: dict[str, Any] = {}
    for path in sorted(folder.glob(f"*/{_CONFIG}")):
        config = _parse(path.read_bytes(), str(path))
        check_name(path.parent.name)
        index[path.parent.name] = {
            "ruleset": config["ruleset"]["name"],
            "files": {file: _hash(_read(path.parent, file)) for file in (_CONFIG, _WEIGHTS)},
        }
    write_atomically(folder / _INDEX, json.dumps(index, indent=2) + "\n")
    return index


def _check_config(config: dict[str, Any], ruleset: str | Ruleset | None) -> tuple[Ruleset, Architecture]:
    if config.get("format_version") != FORMAT_VERSION or config["format_version"] is True:
        raise ValueError(f"format version {config.get('format_version')!r}; this package reads {FORMAT_VERSION}")
    observation, rules, shape = config["observation"], config["ruleset"], config["architecture"]
    if missing := [key for key in ("kind", "hidden", "card_hidden", "layer_norm", "points_unit") if key not in shape]:
        raise ValueError(f"its architecture lacks {missing[0]!r}")
    if (observation["form"], observation["layout_version"]) != ("flat", LAYOUT_VERSION):
        raise ValueError(f"observation {observation!r}; this package makes flat ones of layout version {LAYOUT_VERSION}")
    if ruleset is None and rules["name"] not in RULESETS:
        raise ValueError(f"it plays unknown rules {rules['name']!r}; pass them as ruleset=")
    played = get_ruleset(ruleset if ruleset is not None else rules["name"])
    if played.fingerprint != rules["fingerprint"]:
        raise ValueError(f"it plays other rules than {played.name!r} (hash {str(rules['fingerprint'])[:12]}…)")
    unit = shape["points_unit"]
    if shape["kind"] != "afterstate-mlp":
        raise ValueError(f"unknown architecture {shape['kind']!r}")
    for name in ("hidden", "card_hidden"):
        _check_widths(shape[name], name)
    if type(shape["layer_norm"]) is not bool or type(unit) not in (int, float) or not 0 < unit < 1e6:
        raise ValueError("layer_norm must be true or false, and points_unit a positive number")
    return played, Architecture(tuple(shape["hidden"]), tuple(shape["card_hidden"]), shape["layer_norm"], float(unit))


def _check_widths(widths: Any, name: str) -> None:
    is_list = isinstance(widths, list) and 0 < len(widths) <= 32
    if not is_list or not all(type(n) is int and 0 < n <= 2**16 for n in widths):
        raise ValueError(f"{name} {widths!r:.80}; expected a list of widths")


def _check_index(content: bytes) -> dict[str, dict[str, Any]]:
    index = _parse(content, _INDEX)
    for name, entry in index.items():
        files = entry.get("files") if isinstance(entry, dict) else None
        if not isinstance(files, dict) or set(files) != {_WEIGHTS, _CONFIG}:
            raise PretrainedError(f"{_INDEX}: the entry of {name!r} does not name its files and their sha256")
        check_name(name)
    return index


def check_name(name: str) -> None:
    """Refuse what can't be the name of an agent, and of its folder, everywhere."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", name):
        raise PretrainedError(f"{name!r:.80} is no name for an agent; expected letters, digits, '.', '_' and '-'")


def _check_listed(name: str, index: Mapping[str, Any], where: str) -> None:
    if name not in index:
        raise PretrainedError(f"there is no agent {name!r} in {where}; it has: {', '.join(index) or 'none'}")


def _is_url(source: str | Path) -> bool:
    return "://" in str(source)


def _package_folder() -> Path:
    """The published agents: inside an installed package, or at the top of a checkout."""
    here = Path(__file__).resolve().parent
    return here / "models" if (here / "models").is_dir() else here.parent / "models"


def _cache_folder(source: str) -> Path:
    """Where agents of a URL are kept; a folder for each, so that equal names don't meet."""
    cache = os.environ.get("YACHT_ENV_CACHE") or platformdirs.user_cache_dir("yacht-env", appauthor=False)
    return Path(cache) / "models" / _hash(source.rstrip("/").encode())[:16]


def _read(folder: Path, file: str) -> bytes:
    try:
        with open(folder / file, "rb") as opened:
            content = opened.read(_MOST_BYTES + 1)
    except OSError as error:
        raise PretrainedError(f"can't read {folder / file}: {error.strerror or error}") from error
    if len(content) > _MOST_BYTES:
        raise PretrainedError(f"{folder / file} is larger than {_MOST_BYTES} bytes; no agent is")
    return content


def _fetch(url: str) -> bytes:
    if not url.startswith(("http://", "https://")):
        raise PretrainedError(f"{url!r} is no http or https address")
    try:
        with urllib.request.urlopen(url, timeout=_TIMEOUT) as answer:
            content: bytes = answer.read(_MOST_BYTES + 1)
            expected = int(answer.headers.get("Content-Length") or len(content))
    except urllib.error.HTTPError as error:
        raise PretrainedError(f"{url}: the server answered {error.code} {error.reason}") from error
    except (OSError, ValueError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", error)
        raise PretrainedError(f"can't reach {url} ({reason}); is this machine online?") from error
    if len(content) > _MOST_BYTES:
        raise PretrainedError(f"{url} is larger than {_MOST_BYTES} bytes; no agent is")
    if expected != len(content):
        raise PretrainedError(f"{url}: {len(content)} of {expected} bytes came; the connection broke off")
    return content


def _parse(content: bytes, what: str) -> dict[str, Any]:
    try:
        parsed = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise PretrainedError(f"{what} is no JSON: {error}") from error
    if not isinstance(parsed, dict):
        raise PretrainedError(f"{what} must hold a JSON object, not {type(parsed).__name__}")
    return parsed


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _check_hash(content: bytes, sha256: str, what: str) -> None:
    if _hash(content) != sha256:
        raise PretrainedError(f"{what} has sha256 {_hash(content)}; the index says {sha256}")
