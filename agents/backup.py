"""Expected updates: the mean over the dice in the place of one sample of them.

A sampled target of Q-learning, ``r + max Q(next state)``, is mostly noise, since the next state is one fall of the dice out
of up to 7,776. An expected one (Sutton and Barto, *Reinforcement Learning*, 2nd ed., section 8.5) takes the mean over all
of them. Here it costs little more: an :class:`~agents.networks.AfterstateNetwork` gives the values of all actions for all
rolls of a card in one pass, and both the best keep of every roll and the mean over the rolls are small steps along the
lattice of keeps (:mod:`yacht_env.dice`). It needs the odds of fair dice, and nothing else that a player can't see.
"""

from __future__ import annotations

import torch
from torch import nn

from yacht_env.dice import roll_probabilities
from yacht_env.game import Game, State

__all__ = ["DiceBackup"]

_ILLEGAL = -1e9


class DiceBackup(nn.Module):
    """From the values of afterstates to the expected value of the best play after every keep.

    Args:
        game: The game.
        points_unit: Points that one unit of the values stands for.
    """

    chances: torch.Tensor
    remove: torch.Tensor
    box_output: torch.Tensor
    points: torch.Tensor
    legal_boxes: torch.Tensor
    roll_kind: torch.Tensor

    def __init__(self, game: Game, points_unit: float) -> None:
        super().__init__()
        self.game = game
        dice = game.dice
        self.n_keeps = dice.first_roll_keep
        points = game.reward[:, :, game.n_holds :].transpose(2, 1, 0) / points_unit  # (B, R, L)
        self.by_lane = (points != points[:, :, :1]).any(axis=(1, 2)).tolist()
        box_output = game.afterstate[:, game.n_holds :].T.copy()  # (B, R)
        self.one_output = [int(row[0]) if (row == row[0]).all() else None for row in box_output]  # whatever the roll
        tables = {
            "chances": torch.tensor(roll_probabilities(dice)[: self.n_keeps], dtype=torch.float32),
            "remove": torch.tensor(dice.remove),
            "box_output": torch.tensor(box_output),
            "points": torch.tensor(points.copy(), dtype=torch.float32),
            "legal_boxes": torch.tensor(game.legal_boxes_table),
            "roll_kind": torch.tensor(game.roll_kind),
        }
        for name, table in tables.items():
            self.register_buffer(name, table, persistent=False)

    @torch.no_grad()
    def forward(self, outputs: torch.Tensor, state: State) -> torch.Tensor:
        """Expected value of the best play once the dice outside each keep are rolled.

        Args:
            outputs: Values of the afterstates by a network, shape ``(N, n_afterstates)``.
            state: The states after the dice are rolled, of which the rolls do not matter; tensors of shape ``(N,)``.

        Returns:
            Values, shape ``(N, K - R)``, one for each keep that leaves a die to roll; 0 where the game is over.
        """
        values = outputs.T.contiguous()
        best = self._best_box(values, state)
        holds = self._best_hold(values)
        best = torch.where(state.rolls_left > 0, torch.maximum(best, holds), best)
        best[:, state.open_boxes == 0] = 0.0
        return (self.chances @ best).T

    def _best_box(self, values: torch.Tensor, state: State) -> torch.Tensor:
        game = self.game
        best = values.new_full((game.dice.n_rolls, values.shape[1]), _ILLEGAL)
        legal = self.legal_boxes[state.open_boxes]  # (N, kinds of rolls)
        legal = legal if legal.shape[1] == 1 else legal[:, self.roll_kind]
        for box in range(game.n_boxes):
            points = self.points[box][:, state.lane] if self.by_lane[box] else self.points[box][:, :1]
            illegal = (1 - (legal.T >> box & 1)) * _ILLEGAL
            output = self.one_output[box]
            after = values[self.box_output[box]] if output is None else values[output : output + 1]
            torch.maximum(best, after + illegal + points, out=best)
        return best

    def _best_hold(self, values: torch.Tensor) -> torch.Tensor:
        dice = self.game.dice
        best = torch.cat([values[: self.n_keeps], values.new_full((dice.n_rolls, values.shape[1]), _ILLEGAL)])
        for size in range(1, dice.n_dice + 1):
            start, stop = dice.size_start[size], dice.size_start[size + 1]
            level = best[start:stop]
            for column in range(size):
                torch.maximum(level, best[self.remove[start:stop, column]], out=level)
        return best[self.n_keeps :]
