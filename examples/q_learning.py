"""Tabular Q-learning on a card of one box: the value that it learns is the exact one within one per cent.

The agent plays at random, and learns what the best play is worth (Watkins, 1989). Many games are played side by side, and a
value that several of them update moves by the mean of what they saw.
"""

import numpy as np

import yacht_env
from yacht_env.tabular import transition_table

CARD = yacht_env.RULESETS["yacht"].with_boxes(["Sixes"])
N_GAMES = 8192


def learn(n_updates: int, seed: int = 0) -> np.ndarray:
    """Action values by Q-learning, shape ``(n_states, n_actions)``; ``-inf`` where an action is not legal."""
    table = transition_table(CARD)
    legal = table.game.action_mask(table.game.unpack(table.packed)).astype(bool)
    q = np.where(legal, 0.0, -np.inf)
    visits = np.zeros(q.size)
    envs, rng = yacht_env.YachtVectorEnv(N_GAMES, CARD), np.random.default_rng(seed)
    envs.reset(seed=seed)
    state = table.index(envs.state)
    for _ in range(0, n_updates, N_GAMES):
        action = (rng.random((N_GAMES, q.shape[1])) * legal[state]).argmax(axis=1)
        _, reward, over, _, _ = envs.step(action)
        # A game that is over is set up again in the next step; until then its state is none of the table's.
        going = ~over
        after = state.copy()
        after[going] = table.index(type(envs.state)(*(field[going] for field in envs.state)))
        target = reward + np.where(over, 0.0, q[after].max(axis=1))
        key, which, times = np.unique(state * q.shape[1] + action, return_inverse=True, return_counts=True)
        visits[key] += times
        step_size = np.minimum(times / visits[key] ** 0.85, 1.0)
        q.ravel()[key] += step_size * (np.bincount(which, target) / times - q.ravel()[key])
        if over.any():
            envs.reset(options={"reset_mask": over})
        state = table.index(envs.state)
    return q


def main(n_updates: int = 8_000_000) -> tuple[float, float]:
    """Learn, and compare with the truth.

    Returns:
        How far the learned value of the game is from the exact one, and what the greedy policy falls short of the
        optimum, both as shares of it.
    """
    table, solution = transition_table(CARD), yacht_env.solve(CARD)
    q = learn(n_updates)

    def greedy(observations: dict[str, np.ndarray], action_masks: np.ndarray) -> np.ndarray:
        states = yacht_env.observation.get_observation(CARD, "dict").decode(observations)
        return q[table.index(states)].argmax(axis=1)

    learned, exact = float(table.first @ q.max(axis=1)), solution.expected_score
    played = yacht_env.evaluate(greedy, CARD, observation="dict")
    print(f"value of the game: {learned:.3f} learned, {exact:.3f} exact ({abs(learned / exact - 1):.2%} off)")
    print(f"the greedy policy is worth {played.expected_score:.3f} exactly, {played.share_of_optimum:.2%} of the optimum")
    return abs(learned / exact - 1), 1 - played.share_of_optimum


if __name__ == "__main__":
    main()
