"""Policies, and what the exact evaluation says of them."""

import dataclasses
import json
from functools import cache

import numpy as np
import pytest

from yacht_env import GreedyPolicy, OptimalPolicy, RandomPolicy, evaluate, get_ruleset, solve
from yacht_env.game import State, get_game
from yacht_env.observation import get_observation

WITHOUT_BONUS = ("yacht", "yacht-sum", "yacht-openspiel")
YACHT = get_ruleset("yacht")
SHORT = dataclasses.replace(YACHT, name="short", boxes=YACHT.boxes[4:])  # eight boxes: Fives, Sixes and the lower half
SHORT_STATES = 255 * 252 * 3

exactly = cache(evaluate)  # of the whole card, once
RANDOM, GREEDY, OPTIMAL = RandomPolicy(), GreedyPolicy(), OptimalPolicy()


def simulate(policy, ruleset, n_games, seed=0, form="flat"):
    """Totals of games that the policy plays; no solution, no shortcut."""
    game, observation, rng = get_game(ruleset), get_observation(ruleset, form), np.random.default_rng(seed)
    state, totals = game.start(rng.random(n_games)), np.zeros(n_games)
    while state.open_boxes.any():
        playing = np.flatnonzero(state.open_boxes)
        part = State(*(field[playing] for field in state))
        answer = policy(observation.encode(part), game.action_mask(part))
        if answer.ndim == 2:
            place = rng.random(len(playing))[:, None] * answer.sum(axis=1, keepdims=True)
            answer = (answer.cumsum(axis=1) > place).argmax(axis=1)
        after, points, legal = game.transition(part, answer, rng.random(len(playing)))
        assert legal.all()
        totals[playing] += points
        for field, new in zip(state, after, strict=True):
            field[playing] = new
    return totals


def check_against_simulation(policy, ruleset, n_games, form="flat"):
    result = exactly(policy, ruleset, observation=form, method="exact")
    totals = simulate(policy, ruleset, n_games, form=form)
    error = result.standard_deviation / n_games**0.5
    assert abs(totals.mean() - result.expected_score) < 4 * error
    assert abs(totals.std() / result.standard_deviation - 1) < 4 / n_games**0.5  # generous: kurtosis is below 8


@pytest.mark.parametrize("policy", [RANDOM, GREEDY], ids=repr)
def test_exact_scores_agree_with_simulated_games(policy):
    check_against_simulation(policy, "yacht", 20_000)


@pytest.mark.slow
@pytest.mark.parametrize("ruleset", WITHOUT_BONUS)
@pytest.mark.parametrize("policy", [lambda ruleset: RandomPolicy(), GreedyPolicy], ids=["random", "greedy"])
def test_exact_scores_agree_with_a_million_simulated_games(policy, ruleset):
    check_against_simulation(policy(ruleset), ruleset, 1_000_000)


@pytest.mark.parametrize("form", ["flat", "dict"])
@pytest.mark.parametrize("ruleset", WITHOUT_BONUS)
def test_the_optimal_policy_scores_the_optimum(ruleset, form):
    result = evaluate(OptimalPolicy(ruleset), ruleset, observation=form)
    assert result.method == "exact"
    assert result.expected_score == pytest.approx(solve(ruleset).expected_score, rel=0, abs=1e-9)
    assert (result.optimality_gap, result.share_of_optimum) == pytest.approx((0, 1), abs=1e-9)
    assert result.agreement == pytest.approx(1, abs=1e-12)


def test_the_optimum_of_yacht_deviates_by_34_98_points_a_game():
    assert exactly(OPTIMAL).standard_deviation == pytest.approx(34.9815, abs=5e-5)


@pytest.mark.parametrize("policy", [RANDOM, GREEDY], ids=repr)
def test_the_parts_of_the_gap_add_up_to_it(policy):
    result = exactly(policy)
    assert result.optimality_gap > 1
    assert result.gap_from_holds + result.gap_from_boxes == pytest.approx(result.optimality_gap, rel=0, abs=1e-9)


def first_roll_only(observations, action_masks):
    """Fills the best-paid box at once, without ever rolling again."""
    observation = get_observation("yacht", "flat")
    points = observations[:, observation.layout["points"]] + action_masks[:, observation.game.n_holds :]
    return observation.game.n_holds + points.argmax(axis=1)


def test_a_policy_that_never_rolls_again_loses_by_boxes_alone_and_is_asked_in_a_third_of_the_states():
    result = evaluate(first_roll_only)
    assert result.gap_from_holds == 0
    assert result.n_states <= 4095 * 252
    assert result.policy == "first_roll_only"


def test_probabilities_are_honoured_and_the_most_likely_action_is_taken_when_asked():
    optimal, random = OptimalPolicy(SHORT), RandomPolicy()

    def mixed(observations, action_masks):
        probabilities = 0.4 * random(observations, action_masks)
        probabilities[np.arange(len(action_masks)), optimal(observations, action_masks)] += 0.6
        return probabilities.astype(np.float32)

    stochastic, best = evaluate(mixed, SHORT), evaluate(mixed, SHORT, deterministic=True)
    assert best.expected_score == pytest.approx(best.optimum, abs=1e-9)
    assert evaluate(random, SHORT).expected_score + 5 < stochastic.expected_score < best.expected_score - 5
    assert stochastic.gap_from_holds + stochastic.gap_from_boxes == pytest.approx(stochastic.optimality_gap, abs=1e-6)


def test_agreement_over_all_states_counts_every_state_once():
    everywhere, visited = (evaluate(GreedyPolicy(SHORT), SHORT, all_states=flag) for flag in (True, False))
    assert everywhere.n_states == SHORT_STATES > visited.n_states
    assert 0 < everywhere.agreement_all_states < 1
    assert evaluate(OptimalPolicy(SHORT), SHORT, all_states=True).agreement_all_states == 1
    assert visited.agreement_all_states is None
    assert everywhere.expected_score == pytest.approx(visited.expected_score, abs=1e-9)


@pytest.mark.parametrize("policy", [RANDOM, GREEDY, OPTIMAL], ids=repr)
def test_the_estimate_agrees_with_the_exact_value(policy):
    exact, estimate = exactly(policy), evaluate(policy, method="estimate", n_games=4_000, seed=3)
    assert estimate.method == "estimate"
    assert abs(estimate.expected_score - exact.expected_score) <= 4 * estimate.standard_error + 1e-9
    assert estimate.standard_deviation == pytest.approx(exact.standard_deviation, rel=0.1)
    assert estimate.agreement == pytest.approx(exact.agreement, abs=0.02)


def test_the_estimate_of_a_good_policy_is_far_more_precise_than_its_scores():
    estimate = evaluate(GreedyPolicy(), method="estimate", n_games=2_000)
    assert estimate.standard_error < 0.3 * estimate.standard_deviation / 2_000**0.5


@pytest.mark.parametrize("ruleset", ["yacht-bonus", "classic13", "yatzy"])
def test_large_rulesets_are_estimated_unless_told_otherwise(ruleset):
    result = evaluate(GreedyPolicy(ruleset), ruleset, n_games=500)
    assert (result.method, result.n_games) == ("estimate", 500)
    assert result.expected_score < result.optimum
    assert result.expected_score + result.optimality_gap == pytest.approx(result.optimum)


@pytest.mark.slow
def test_the_estimate_agrees_with_the_exact_value_under_an_upper_bonus():
    policy = GreedyPolicy("yacht-bonus")
    exact = evaluate(policy, "yacht-bonus", method="exact")
    estimate = evaluate(policy, "yacht-bonus", n_games=50_000)
    assert abs(estimate.expected_score - exact.expected_score) < 4 * estimate.standard_error
    assert exact.gap_from_holds + exact.gap_from_boxes == pytest.approx(exact.optimality_gap, abs=1e-6)


def test_greedy_scratches_the_first_of_several_worthless_boxes():
    policy, game = GreedyPolicy(), get_game("yacht")
    state = game.encode_state([[1, 1, 2, 2, 4]], [0], ["Fives", "Sixes", "Yacht"])
    state = State(*(np.atleast_1d(field) for field in state))
    assert policy.state_actions(state).tolist() == [game.n_holds + 4]


def test_greedy_fills_a_box_rather_than_roll_for_nothing():
    policy, game = GreedyPolicy(), get_game("yacht")
    state = State(*(np.atleast_1d(field) for field in game.encode_state([[6] * 5], [2], ["Sixes", "Yacht"])))
    assert policy.state_actions(state).tolist() == [game.n_holds + 11]


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        (lambda o, m: np.full(len(m), 32), "illegal action 32 in the state dice"),
        (lambda o, m: np.full(len(m), -1), "illegal action -1"),
        (lambda o, m: np.zeros(len(m)), r"float64 of shape \("),
        (lambda o, m: np.full(m.shape, 1 / m.shape[1]), "illegal action"),
        (lambda o, m: m.astype(float), "not a distribution"),
        (lambda o, m: np.full(m.shape, np.nan), "not a distribution"),
    ],
    ids=["illegal", "negative", "floats", "unmasked", "not normalised", "nan"],
)
@pytest.mark.parametrize("method", ["exact", "estimate"])
def test_a_policy_that_breaks_the_rules_is_refused_with_the_state(policy, words, method):
    with pytest.raises(ValueError, match=words):
        evaluate(policy, method=method, n_games=100)


def test_settings_that_make_no_sense_are_refused():
    with pytest.raises(ValueError, match="'auto', 'exact' or 'estimate', got 'guess'"):
        evaluate(RandomPolicy(), method="guess")
    with pytest.raises(ValueError, match="n_games must be 2 or more, got 1"):
        evaluate(RandomPolicy(), method="estimate", n_games=1)
    with pytest.raises(ValueError, match="unknown ruleset"):
        evaluate(RandomPolicy(), "chess")


def test_a_result_is_plain_json():
    figures = json.loads(json.dumps(evaluate(GreedyPolicy(), method="estimate", n_games=50).to_dict()))
    assert figures["optimality_gap"] == pytest.approx(figures["optimum"] - figures["expected_score"])


def test_policies_and_solutions_of_other_rules_are_refused():
    with pytest.raises(ValueError, match="the policy plays 'yacht'; it can't be asked about 'yacht-sum'"):
        evaluate(GREEDY, "yacht-sum")
    with pytest.raises(ValueError, match="the solution is one of 'short'; expected one of 'yacht'"):
        evaluate(RANDOM, solution=solve(SHORT))
    assert evaluate(RANDOM, SHORT, solution=solve(SHORT)).ruleset == "short"


@pytest.mark.parametrize("method", ["exact", "estimate"])
def test_a_policy_is_never_asked_about_nothing(method):
    sizes = []

    def stops_at_once(observations, action_masks):
        sizes.append(len(observations))
        return first_roll_only(observations, action_masks)

    evaluate(stops_at_once, method=method, n_games=50)
    assert min(sizes) > 0


@pytest.mark.parametrize("wrong", [np.nan, -0.5])
def test_probabilities_are_checked_where_only_the_most_likely_counts_too(wrong):
    def broken(observations, action_masks):
        probabilities = action_masks / action_masks.sum(axis=1, keepdims=True)
        probabilities[:, 32:] = wrong
        return probabilities

    with pytest.raises(ValueError, match="are not a distribution"):
        evaluate(broken, method="estimate", n_games=10, deterministic=True)
