"""Where the points go: the parts add up, and they are what an independent count finds."""

import numpy as np
import pytest

import yacht_env
from yacht_env import GreedyPolicy, OptimalPolicy, RandomPolicy, evaluate
from yacht_env.distribution import ScoreDistribution
from yacht_env.game import State, get_game
from yacht_env.observation import get_observation
from yacht_env.pretrained import list_pretrained, load_pretrained


class LookupPolicy:
    """Some legal action in every state, drawn once and for all by a hash of the state."""

    def __init__(self, seed, ruleset="yacht"):
        self.game = get_game(ruleset)
        self.seed = seed

    def __call__(self, observations, action_masks):
        state = get_observation(self.game.ruleset, "flat").decode(observations)
        key = (self.game.pack(state).astype(np.uint64) + np.uint64(self.seed)) * np.uint64(0x9E3779B97F4A7C15)
        key = (key ^ (key >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
        place = (key >> np.uint64(40)) / 2.0**24 * action_masks.sum(axis=1)
        return (np.cumsum(action_masks, axis=1) > place[:, None]).argmax(axis=1)


def check_parts(result):
    anatomy, gap = result.anatomy, result.optimality_gap
    for parts in (anatomy.by_turn, anatomy.by_roll, anatomy.by_kind.values(), anatomy.by_box.values()):
        assert min(parts) >= 0
        assert sum(parts) == pytest.approx(gap, abs=1e-6)
    assert result.gap_from_holds + result.gap_from_boxes == pytest.approx(gap, abs=1e-6)
    points = sum(box.expected_points for box in anatomy.boxes) + anatomy.upper_bonus
    assert points == pytest.approx(result.expected_score, abs=1e-6)
    for box in anatomy.boxes:
        assert sum(box.filled_in_turn) == pytest.approx(1.0, abs=1e-9)
    for turn in zip(*(box.filled_in_turn for box in anatomy.boxes), strict=True):
        assert sum(turn) == pytest.approx(1.0, abs=1e-9)
    law = result.distribution
    assert law.probability.sum() == pytest.approx(1.0, abs=1e-9)
    assert law.mean == pytest.approx(result.expected_score, abs=1e-9)
    assert law.standard_deviation == pytest.approx(result.standard_deviation, abs=1e-9)


def test_the_parts_of_greedy_play_add_up():
    check_parts(evaluate(GreedyPolicy(), method="exact"))


@pytest.mark.slow
def test_the_parts_of_random_play_add_up():
    check_parts(evaluate(RandomPolicy(), method="exact"))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_the_parts_of_lookup_policies_add_up(seed):
    check_parts(evaluate(LookupPolicy(seed), method="exact"))


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, entry in list_pretrained().items() if entry["ruleset"] == "yacht"])
def test_the_parts_of_published_agents_add_up(name):
    check_parts(evaluate(load_pretrained(name), method="exact"))


@pytest.mark.slow
@pytest.mark.parametrize("ruleset", ["yacht-bonus"])
def test_the_parts_add_up_with_an_upper_bonus(ruleset):
    check_parts(evaluate(GreedyPolicy(ruleset), ruleset, method="exact"))


@pytest.mark.slow
def test_moments_take_the_place_of_a_distribution_that_is_too_large(monkeypatch):
    whole = evaluate(GreedyPolicy(), method="exact")
    monkeypatch.setattr("yacht_env.forward_pass._MAX_BYTES", 0)
    moments = evaluate(GreedyPolicy(), method="exact")
    assert moments.distribution is None
    assert moments.expected_score == pytest.approx(whole.expected_score, abs=1e-9)
    assert moments.standard_deviation == pytest.approx(whole.standard_deviation, abs=1e-9)
    assert moments.to_dict()["distribution"] is None


def test_the_optimum_loses_nothing_and_brings_what_is_known_of_it():
    result = evaluate(OptimalPolicy(), method="exact")
    check_parts(result)
    assert result.optimality_gap == pytest.approx(0.0, abs=1e-9)
    assert result.agreement == pytest.approx(1.0) and not result.anatomy.costliest
    assert result.standard_deviation == pytest.approx(34.9815, abs=5e-5)


def simulated(policy, n_games, seed=0, ruleset="yacht"):
    """Totals, and points and turn of every box, by playing games one step after another."""
    game, observation = get_game(ruleset), get_observation(ruleset, "flat")
    rng = np.random.default_rng(seed)
    state, totals = game.start(rng.random(n_games)), np.zeros(n_games, dtype=np.int64)
    points, turn = np.zeros((n_games, game.n_boxes)), np.zeros((n_games, game.n_boxes), dtype=np.int64)
    while (going := np.flatnonzero(state.open_boxes)).size:
        part = State(*(field[going] for field in state))
        actions = policy(observation.encode(part), game.action_mask(part))
        after, reward, legal = game.transition(part, actions, rng.random(len(going)))
        assert legal.all()
        totals[going] += reward
        boxes = np.flatnonzero(actions >= game.n_holds)
        where = (going[boxes], actions[boxes] - game.n_holds)
        points[where] = reward[boxes]
        turn[where] = game.n_boxes - game.n_open[part.open_boxes[boxes]]
        for field, new in zip(state, after, strict=True):
            field[going] = new
    return totals, points, turn


def check_against_games(policy, n_games):
    result = evaluate(policy, method="exact")
    totals, points, turn = simulated(policy, n_games)
    for b, box in enumerate(result.anatomy.boxes):
        error = points[:, b].std() / n_games**0.5
        assert abs(points[:, b].mean() - box.expected_points) < 5 * error
        shares = (np.mean(points[:, b] == 0), box.scratch_rate), (np.mean(turn[:, b] == 3), box.filled_in_turn[3])
        for share, expected in shares:
            assert abs(share - expected) < 5 * (expected * (1 - expected) / n_games) ** 0.5 + 1e-9
    return result, totals


def chi_square(law, totals):
    """Chi-square of counted totals against their chances, in bins of at least 20 expected, and its degrees of freedom."""
    counts = np.bincount(totals, minlength=len(law.probability)).astype(float)
    assert len(counts) == len(law.probability) and not counts[law.probability == 0].any()
    expected, statistic, n_bins, held = law.probability * len(totals), 0.0, 0, [0.0, 0.0]
    for seen, due in zip(counts, expected, strict=True):
        held[0] += seen
        held[1] += due
        if held[1] >= 20:
            statistic, n_bins, held = statistic + (held[0] - held[1]) ** 2 / held[1], n_bins + 1, [0.0, 0.0]
    return statistic, n_bins - 1


def test_boxes_and_totals_agree_with_simulated_games():
    result, totals = check_against_games(GreedyPolicy(), 20_000)
    statistic, degrees = chi_square(result.distribution, totals)
    assert abs(statistic - degrees) < 5 * (2 * degrees) ** 0.5


@pytest.mark.slow
def test_the_distribution_agrees_with_ten_million_games():
    """Chi-square of the greedy policy's totals; greedy play is asked once for each state."""
    policy = GreedyPolicy()
    law = evaluate(policy, method="exact").distribution
    totals = np.concatenate([totals_by_lookup(policy, 1_000_000, seed) for seed in range(10)])
    assert len(totals) == 10_000_000
    statistic, degrees = chi_square(law, totals)
    assert abs(statistic - degrees) < 4 * (2 * degrees) ** 0.5


_greedy_actions = {}


def totals_by_lookup(policy, n_games, seed):
    """As :func:`simulated`, with the policy's answers kept in a table over all states."""
    game, observation = get_game("yacht"), get_observation("yacht", "flat")
    if not _greedy_actions:
        table = np.full(1 << 22, -1, dtype=np.int16)
        for open_boxes in range(1, 2**game.n_boxes):
            roll, rolls_left = (grid.ravel() for grid in np.indices((game.dice.n_rolls, game.rolls_per_turn)))
            state = State(roll, rolls_left, np.zeros_like(roll), np.full_like(roll, open_boxes))
            table[game.pack(state)] = policy(observation.encode(state), game.action_mask(state))
        _greedy_actions["table"] = table
    rng, table = np.random.default_rng(seed), _greedy_actions["table"]
    state, totals = game.start(rng.random(n_games)), np.zeros(n_games, dtype=np.int64)
    while (going := np.flatnonzero(state.open_boxes)).size:
        part = State(*(field[going] for field in state))
        after, reward, legal = game.transition(part, table[game.pack(part)].astype(np.int64), rng.random(len(going)))
        assert legal.all()
        totals[going] += reward
        for field, new in zip(state, after, strict=True):
            field[going] = new
    return totals


def test_the_costliest_decisions_lose_what_the_solution_says():
    result = evaluate(GreedyPolicy(), method="exact")
    solution = yacht_env.solve("yacht")
    costliest = result.anatomy.costliest
    assert len(costliest) == 100
    assert [one.cost for one in costliest] == sorted((one.cost for one in costliest), reverse=True)
    assert sum(one.cost for one in costliest) < result.optimality_gap
    for one in costliest[::9]:
        values = solution.action_values(one.dice, one.rolls_left, list(one.open_boxes))
        assert values.max() - values[one.action] == pytest.approx(one.loss, abs=1e-9)
        assert values[one.best_action] == pytest.approx(values.max(), abs=1e-9)
        assert one.cost == pytest.approx(one.visit_probability * one.loss, rel=1e-9)


def always_fills(observations, action_masks):
    """Fills the first open box with the first roll."""
    return 32 + action_masks[:, 32:].argmax(axis=1)


def test_how_often_costly_decisions_are_met():
    game = get_game("yacht")
    for one in evaluate(always_fills, method="exact").anatomy.costliest:
        assert one.rolls_left == 2 and one.action == 32 + 12 - len(one.open_boxes)
        roll = int(game.dice.roll_index(np.array(one.dice)))
        assert one.visit_probability == pytest.approx(game.dice.probability[roll], abs=1e-12)


def test_the_kinds_of_a_loss_are_told_apart():
    stops = evaluate(always_fills, method="exact").anatomy.by_kind
    assert stops["which dice to hold"] == 0
    assert stops["whether to roll on"] > 30 and stops["which box to fill"] > 5

    def never_stops(observations, action_masks):
        hold = action_masks[:, :32].argmax(axis=1)  # rolls everything that may be rolled
        return np.where(action_masks[:, :32].any(axis=1), hold, 32 + action_masks[:, 32:].argmax(axis=1))

    assert evaluate(never_stops, method="exact").anatomy.by_kind["which dice to hold"] > 30


def test_an_estimate_takes_the_gap_apart_too():
    exact = evaluate(GreedyPolicy(), method="exact")
    estimate = evaluate(GreedyPolicy(), method="estimate", n_games=20_000)
    check = estimate.anatomy
    for parts in (check.by_turn, check.by_roll, check.by_kind.values(), check.by_box.values()):
        assert sum(parts) == pytest.approx(estimate.optimality_gap, abs=1e-6)
    np.testing.assert_allclose(check.by_turn, exact.anatomy.by_turn, atol=0.15)
    np.testing.assert_allclose(list(check.by_box.values()), list(exact.anatomy.by_box.values()), atol=0.3)
    assert check.costliest[0].cost == pytest.approx(exact.anatomy.costliest[0].cost, rel=0.5)
    assert len({(one.dice, one.rolls_left, one.open_boxes, one.action) for one in check.costliest}) == 100
    assert estimate.distribution.n_games == 20_000


def test_an_estimate_plays_as_many_games_as_its_error_asks_for():
    result = evaluate(GreedyPolicy(), method="estimate", n_games=1_000, standard_error=0.1, seed=4)
    assert 0.08 < result.standard_error < 0.11
    assert result.n_games > 3_000
    assert result.n_plain_games > 4 * result.n_games
    quick = evaluate(OptimalPolicy(), method="estimate", n_games=100, standard_error=0.1)
    assert (quick.n_games, quick.standard_error) == (100, pytest.approx(0.0, abs=1e-9))
    with pytest.raises(ValueError, match="standard_error must be more than 0 points, got 0"):
        evaluate(GreedyPolicy(), method="estimate", standard_error=0)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["greedy", "random", "lookup", "dqn-yacht", "ppo-yacht"])
def test_the_estimate_agrees_with_the_exact_value(name):
    made = {"greedy": GreedyPolicy, "random": RandomPolicy, "lookup": lambda: LookupPolicy(3)}
    policy = made[name]() if name in made else load_pretrained(name)
    exact = evaluate(policy, method="exact").expected_score
    estimate = evaluate(policy, method="estimate", n_games=20_000, seed=9)
    assert abs(estimate.expected_score - exact) < 4 * estimate.standard_error
    if name not in ("random", "lookup"):  # the better the policy, the less is left of the luck
        assert estimate.n_plain_games > 4 * estimate.n_games


@pytest.mark.slow
def test_the_estimate_is_unbiased_over_two_hundred_repetitions():
    exact = evaluate(GreedyPolicy(), method="exact").expected_score
    estimates = [evaluate(GreedyPolicy(), method="estimate", n_games=250, seed=seed) for seed in range(200)]
    scores = np.array([result.expected_score for result in estimates])
    assert abs(scores.mean() - exact) < 4 * scores.std(ddof=1) / 200**0.5
    # Each estimate also knows its own error.
    assert scores.std(ddof=1) == pytest.approx(np.mean([result.standard_error for result in estimates]), rel=0.25)


def test_quantiles_tails_and_matches_of_a_small_distribution():
    law = ScoreDistribution(np.array([0.5, 0.0, 0.25, 0.25]))
    assert (law.mean, law.at_least(2), law.at_least(0.5), law.at_least(-3), law.at_least(9)) == (1.25, 0.5, 0.5, 1.0, 0.0)
    assert [law.quantile(share) for share in (0.0, 0.5, 0.51, 0.75, 0.76, 1.0)] == [0, 0, 2, 2, 3, 3]
    surely_two = ScoreDistribution(np.array([0.0, 0.0, 1.0]))
    assert law.against(surely_two) == pytest.approx((0.25, 0.25, 0.5))
    assert surely_two.against(law) == pytest.approx((0.5, 0.25, 0.25))
    with pytest.raises(ValueError, match="share must be 0 to 1, got 1.5"):
        law.quantile(1.5)


def test_matches_agree_with_simulated_ones():
    greedy = evaluate(GreedyPolicy(), method="exact").distribution
    mine, theirs = simulated(GreedyPolicy(), 20_000, seed=1)[0], simulated(GreedyPolicy(), 20_000, seed=2)[0]
    outcome = greedy.against(greedy)
    assert outcome.win == pytest.approx(outcome.loss)
    for share, expected in ((np.mean(mine > theirs), outcome.win), (np.mean(mine == theirs), outcome.draw)):
        assert abs(share - expected) < 4 * (expected * (1 - expected) / 20_000) ** 0.5
