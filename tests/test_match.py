"""Matches: counted results agree with the exact chances."""

import numpy as np
import pytest

from yacht_env import GreedyPolicy, OptimalPolicy, RandomPolicy, evaluate, load_pretrained, play_match
from yacht_env.match import MatchResult
from yacht_env.pretrained import list_pretrained


def check(policies, n_games, ruleset="yacht"):
    result = play_match(policies, n_games, ruleset, seed=3)
    one, two = policies
    laws = [evaluate(policy, ruleset, method="exact").distribution for policy in policies.values()]
    exact = laws[0].against(laws[1])
    for count, chance in ((result.wins[one], exact.win), (result.draws[one], exact.draw), (result.wins[two], exact.loss)):
        assert abs(count / n_games - chance) < 4 * (chance * (1 - chance) / n_games) ** 0.5 + 1e-9


def test_a_match_agrees_with_the_exact_chances():
    check({"one": GreedyPolicy(), "other": GreedyPolicy()}, 10_000)


@pytest.mark.slow
def test_matches_of_published_agents_agree_with_the_exact_chances():
    names = [name for name, entry in list_pretrained().items() if entry["ruleset"] == "yacht"]
    check({name: load_pretrained(name) for name in names[:2]}, 50_000)
    check({names[0]: load_pretrained(names[0]), "greedy": GreedyPolicy()}, 50_000)


def test_wins_draws_and_losses_of_three():
    result = MatchResult(("a", "b", "c"), np.array([[3, 2, 1], [3, 3, 1], [1, 1, 1], [0, 5, 5]]))
    assert (result.wins, result.draws) == ({"a": 1, "b": 0, "c": 0}, {"a": 2, "b": 3, "c": 2})
    assert result.losses == {"a": 1, "b": 1, "c": 2}
    assert str(result).splitlines()[1].split() == ["a", "1", "2", "1", "1.75"]


def test_the_seed_decides_and_players_have_dice_of_their_own():
    policies = {"a": RandomPolicy(), "b": RandomPolicy()}
    one, two, other = (play_match(policies, 50, seed=seed).totals for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, two)
    assert (one != other).any() and (one[:, 0] != one[:, 1]).any()


def test_the_better_player_wins_more():
    result = play_match({"optimum": OptimalPolicy(), "random": RandomPolicy()}, 200)
    assert result.wins["optimum"] == 200


@pytest.mark.parametrize(
    ("arguments", "words"), [(({}, 5), "at least one player"), (({"a": RandomPolicy()}, 0), "n_games must be 1")]
)
def test_matches_that_make_no_sense_are_refused(arguments, words):
    with pytest.raises(ValueError, match=words):
        play_match(*arguments)


def test_a_player_of_another_game_is_refused():
    with pytest.raises(ValueError, match="plays 'yacht'; it can't be asked about 'yatzy'"):
        play_match({"a": GreedyPolicy()}, 5, "yatzy")
