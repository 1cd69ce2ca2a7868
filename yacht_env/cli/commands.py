"""What a command is.

Public names: :data:`Commands`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

__all__ = ["Commands"]

Commands: TypeAlias = Mapping[str, tuple[type, Callable[[Any], object]]]
"""By the name of the command: the dataclass of its arguments, whose docstrings are the help, and what runs it."""
