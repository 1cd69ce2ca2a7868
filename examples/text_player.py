"""A player that reads the picture of the table and answers in words, as a language model would.

The model itself is a stub that looks the answer up in the optimum; put a call of yours in its place. Everything else is what
such a player needs: the picture as text, the rules of answering, a parser with clear errors, and a second try.
"""

import re
from collections.abc import Callable

import numpy as np

import yacht_env
from yacht_env.game import State

INSTRUCTIONS = "Answer 'hold' and the faces to keep, as in 'hold 6 6 6'; 'roll all dice'; or 'fill' and the name of a box."


class AnswerError(ValueError):
    """An answer that is no action here."""


def parse(answer: str, env: yacht_env.YachtEnv) -> int:
    """The action that an answer names.

    Raises:
        AnswerError: saying what is wrong with it.
    """
    game, state = env.game, env.state
    legal = {game.action_text(state.roll, a).lower(): int(a) for a in np.flatnonzero(env.action_masks())}
    words = " ".join(answer.lower().replace(",", " ").split())
    match = re.search(r"(hold [1-6 ]+|roll all dice|fill [a-z ]+)", words)
    if match is None:
        raise AnswerError(f"found no action in {answer!r}. {INSTRUCTIONS}")
    said = match[0].strip()
    if said.startswith("hold"):
        said = "hold " + " ".join(sorted(said.split()[1:]))
    if said not in legal:
        raise AnswerError(f"{said!r} is not possible here; possible are: {', '.join(sorted(legal))}")
    return legal[said]


def play(model: Callable[[str], str], env: yacht_env.YachtEnv, seed: int = 0, tries: int = 3) -> float:
    """Play one game; returns its total.

    Raises:
        AnswerError: where the model fails to name an action several times in a row.
    """
    env.reset(seed=seed)
    total, over = 0.0, False
    while not over:
        prompt = f"{env.render()}\n{INSTRUCTIONS}"
        for attempt in range(tries):
            try:
                action = parse(model(prompt), env)
                break
            except AnswerError as error:
                if attempt == tries - 1:
                    raise
                prompt = f"{prompt}\n{error}"
        _, reward, over, _, _ = env.step(action)
        total += reward
    return total


class Stub:
    """Stands in for a language model: it looks at the game itself and at the optimum, and not at the prompt.

    Every fifth answer makes no sense, so that the second try is seen to work.
    """

    def __init__(self, env: yacht_env.YachtEnv) -> None:
        self.env = env
        self.optimum = yacht_env.OptimalPolicy(env.game.ruleset)
        self.n_answers = 0

    def __call__(self, prompt: str) -> str:
        """An answer to a prompt."""
        self.n_answers += 1
        if self.n_answers % 5 == 0:
            return "I would rather play chess."
        state = self.env.state
        (action,) = self.optimum.state_actions(State(*(np.array([field]) for field in state)))
        return f"Let me {self.env.game.action_text(state.roll, int(action))}."


def main(n_games: int = 5) -> float:
    """Play some games, and print their mean total."""
    env = yacht_env.YachtEnv(render_mode="ansi")
    totals = [play(Stub(env), env, seed) for seed in range(n_games)]
    optimum = yacht_env.solve().expected_score
    print(f"{np.mean(totals):.1f} points on average in {n_games} games; the optimum averages {optimum:.1f}")
    return float(np.mean(totals))


if __name__ == "__main__":
    main()
