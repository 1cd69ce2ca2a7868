"""Agents that play at the table so that one can follow: each roll and each decision is a step of its own.

Public names: :class:`Opponents`, :class:`OpponentStep`.
"""

from __future__ import annotations

from dataclasses import dataclass

from yacht_env.table.seats import SeatedAgent
from yacht_env.table.session import Played, TableGame

__all__ = ["OpponentStep", "Opponents"]


@dataclass(frozen=True)
class OpponentStep:
    """What an agent just did.

    Attributes:
        text: It in words.
        held: The dice that it will hold, where it has decided so; ``None`` otherwise.
        box: The box that it will fill, where it has decided so.
        has_rolled: Whether dice have just fallen.
        played: What a carried-out decision did.
    """

    text: str
    held: tuple[bool, ...] | None = None
    box: int | None = None
    has_rolled: bool = False
    played: Played | None = None


class Opponents:
    """The agents of a game, by seat; a decision is shown in one step, and carried out in the next.

    Args:
        game: The game.
    """

    def __init__(self, game: TableGame) -> None:
        self._game = game
        self._agents: dict[int, SeatedAgent] = {}
        self._decided: int | None = None

    @property
    def to_load(self) -> list[int]:
        """Seats whose agents are still to be loaded, the next to move first."""
        seats = self._game.seats
        order = sorted(range(len(seats)), key=lambda seat: (seat - self._game.seat) % len(seats))
        return [seat for seat in order if seats[seat].agent is not None and seat not in self._agents]

    def seat(self, seat: int, agent: SeatedAgent) -> None:
        """An agent takes its seat."""
        self._agents[seat] = agent

    @property
    def can_move(self) -> bool:
        """Whether an agent is to move, and is there."""
        return not self._game.is_over and self._game.seat in self._agents

    def step(self) -> OpponentStep:
        """The next step of the agent to move.

        Raises:
            ValueError: where the agent plays an illegal action.
        """
        game, name = self._game, self._game.seats[self._game.seat].name
        if not game.has_rolled:
            game.roll()
            return OpponentStep(f"{name} rolls {_dice_text(game)}", has_rolled=True)
        if self._decided is None:
            self._decided = self._agents[game.seat].action(game)
            return self._decision(self._decided, name)
        played = game.act(self._decided)
        self._decided = None
        if played.turn_is_over:
            points = f"{played.points} point{'' if played.points == 1 else 's'}"
            return OpponentStep(f"{name} scores {points} in {played.text.removeprefix('fill ')}", played=played)
        return OpponentStep(f"{name} rolls {_dice_text(game)}", has_rolled=True, played=played)

    def _decision(self, action: int, name: str) -> OpponentStep:
        game, state = self._game, self._game.state()
        assert state is not None
        if action < game.game.n_holds:
            held = tuple(bool(action >> i & 1) for i in range(game.game.dice.n_dice))
            faces = " ".join(str(face) for face, kept in zip(game.view().dice, held, strict=True) if kept)
            return OpponentStep(f"{name} holds {faces or 'nothing'}", held=held)
        box = action - game.game.n_holds
        return OpponentStep(f"{name} chooses {game.ruleset.box_names[box]}", box=box)


def _dice_text(game: TableGame) -> str:
    return " ".join(map(str, game.view().dice))
