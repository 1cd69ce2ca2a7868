"""Short cards as tables: value iteration on them finds the solution's values."""

import numpy as np
import pytest

from yacht_env import RULESETS, solve
from yacht_env.tabular import transition_table

CARDS = [RULESETS["yacht"].with_boxes(["Sixes", "Yacht"]), RULESETS["classic13"].with_boxes(["Sixes", "Yacht", "Chance"])]


@pytest.fixture(scope="module", params=CARDS, ids=lambda card: card.name)
def table(request):
    return transition_table(request.param)


def test_probabilities_add_up(table):
    assert table.first.sum() == pytest.approx(1.0)
    key = table.state * table.game.n_actions + table.action
    assert (np.diff(key) >= 0).all()
    _, which = np.unique(key, return_inverse=True)
    np.testing.assert_allclose(np.bincount(which, table.probability), 1.0, atol=1e-12)


def test_value_iteration_finds_the_exact_values(table):
    solution, values = solve(table.game.ruleset), np.zeros(table.n_states)
    key, which = np.unique(table.state * table.game.n_actions + table.action, return_inverse=True)
    for _ in range(3 * table.game.n_boxes):
        ahead = table.reward + np.where(table.terminated, 0.0, values[table.next_state])
        actions = np.bincount(which, table.probability * ahead)
        values = np.full(table.n_states, -np.inf)
        np.maximum.at(values, key // table.game.n_actions, actions)
    assert table.first @ values == pytest.approx(solution.expected_score, abs=1e-9)
    states = table.game.unpack(table.packed)
    exact = solution.state_action_values(states).max(axis=1)
    np.testing.assert_allclose(values, exact, atol=1e-9)


def test_p_is_that_of_toy_text(table):
    state = table.n_states // 2
    ways = table.P(state)
    mask = table.game.action_mask(table.game.unpack(table.packed[[state]]))[0]
    assert sorted(ways) == np.flatnonzero(mask).tolist()
    for outcomes in ways.values():
        assert sum(probability for probability, *_ in outcomes) == pytest.approx(1.0)
        for _, next_state, _, terminated in outcomes:
            assert 0 <= next_state < table.n_states and isinstance(terminated, bool)


def test_states_are_found_by_what_they_are(table):
    rows = np.arange(0, table.n_states, 97)
    np.testing.assert_array_equal(table.index(table.game.unpack(table.packed[rows])), rows)
    full = table.game.unpack(table.packed[:1])._replace(open_boxes=np.zeros(1, dtype=np.int64))
    with pytest.raises(KeyError):
        table.index(full)


def test_a_long_card_is_refused():
    with pytest.raises(ValueError, match="has 12 boxes; expected 3 at most"):
        transition_table("yacht")
