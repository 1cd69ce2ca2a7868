"""The review and the coach: luck and losses add up, and the ratings are those of perfect play."""

import io
import json
from importlib import resources

import numpy as np
import pytest

from tests.table_games import play_on, random_game
from yacht_env import OptimalPolicy, evaluate, solve
from yacht_env.remaining import RemainingPoints
from yacht_env.rules import RULESETS
from yacht_env.table import outlook
from yacht_env.table.coach import Coach
from yacht_env.table.fair_dice import FairDice
from yacht_env.table.rating import TOTALS_FILE, optimal_totals, rate, read_totals
from yacht_env.table.record import GameRecord, Seat
from yacht_env.table.review import review
from yacht_env.table.seats import load_agent
from yacht_env.table.session import TableGame

HOUSE = RULESETS["yacht"].with_house_rules(straights=(15, 30))
SMALL = RULESETS["classic13"].with_boxes(["Aces", "Sixes", "Full House", "Yacht", "Chance"])
DICE = FairDice(bytes(range(32)))


def played_by(*agents, ruleset="yacht", seed=0):
    dice = FairDice(np.random.default_rng(seed).bytes(32))
    game = TableGame.new(ruleset, [Seat(name, name) for name in agents], dice=dice)
    minds = [load_agent(name, ruleset, random=np.random.default_rng(seed)) for name in agents]
    while not game.is_over:
        if game.has_rolled:
            game.act(minds[game.seat].action(game))
        else:
            game.roll()
    return game


def assert_adds_up(game):
    judged = review(game.record)
    for i, seat in enumerate(judged.seats):
        assert seat.total == game.total(i)
        assert seat.luck - seat.lost == pytest.approx(seat.expected_total - judged.optimum, abs=1e-9)
        assert not game.is_over or seat.expected_total == pytest.approx(seat.total, abs=1e-9)
        assert all(decision.loss >= 0 for decision in seat.decisions)


@pytest.mark.parametrize("ruleset", ["yacht", HOUSE, SMALL], ids=lambda rules: getattr(rules, "name", rules))
def test_luck_and_losses_add_up_over_a_hundred_games(ruleset):
    for seed in range(33):
        assert_adds_up(random_game(ruleset, ("Ada", "Bob", "Cleo"), seed))


@pytest.mark.slow
@pytest.mark.parametrize("ruleset", [*RULESETS.values(), HOUSE], ids=lambda rules: rules.name)
def test_luck_and_losses_add_up_over_a_thousand_games(ruleset):
    names = tuple(f"Player {i}" for i in range(10))
    for seed in range(100):
        assert_adds_up(random_game(ruleset, names, seed))


def test_luck_and_losses_add_up_in_a_game_that_is_going_on():
    rng = np.random.default_rng(0)
    game = TableGame.new("yacht", [Seat("Ada"), Seat("Bob")], dice=DICE)
    for _ in range(40):
        assert_adds_up(play_on(game, rng, n_steps=1))
    assert review(game.record).seats[0].rating is None


def test_perfect_play_loses_nothing_and_greedy_play_does():
    perfect, greedy = review(played_by("optimal", "greedy").record).seats
    assert perfect.lost == pytest.approx(0, abs=1e-9) and not perfect.costliest
    assert perfect.n_best == len(perfect.decisions)
    assert greedy.lost > 1 and greedy.costliest[0].loss == max(decision.loss for decision in greedy.decisions)
    assert all(one.text != one.best_text for one in greedy.costliest)


def test_losses_are_those_of_the_evaluation():
    """The mean loss of greedy's games is its exact gap, within four standard errors."""
    lost = [seat.lost for seed in range(12) for seat in review(greedy_game(seed).record).seats]
    gap = evaluate(load_greedy(), "yacht").optimality_gap
    assert abs(np.mean(lost) - gap) < 4 * np.std(lost, ddof=1) / len(lost) ** 0.5


def load_greedy():
    from yacht_env import GreedyPolicy

    return GreedyPolicy()


def greedy_game(seed):
    greedy = load_agent("greedy")
    game = TableGame.new(
        "yacht", [Seat(f"g{i}") for i in range(10)], dice=FairDice(np.random.default_rng(seed).bytes(32))
    )
    while not game.is_over:
        if game.has_rolled:
            game.act(greedy.action(game))
        else:
            game.roll()
    return game


def test_a_known_mistake_is_found():
    turns = [{"rolls": [[6, 6, 6, 6, 2]], "box": "Ones"}]
    (seat,) = review(GameRecord.from_json({"ruleset": "yacht", "turns": turns})).seats
    (worst,) = seat.costliest
    values = solve("yacht").action_values([2, 6, 6, 6, 6], 2)
    assert worst.loss == pytest.approx(values.max() - values[32]) and worst.best_text == "hold 6 6 6 6"
    assert worst.luck == pytest.approx(values.max() - solve("yacht").expected_score)
    assert seat.total == 0 and seat.expected_total == pytest.approx(values[32])


def test_the_review_reads_well_and_is_json():
    judged = review(played_by("greedy").record)
    text = str(judged)
    assert "perfect play averages 166.96 points" in text and "% of perfect games (exact)" in text
    assert "instead of" in text
    content = json.loads(json.dumps(judged.to_dict()))
    assert content["seats"][0]["costliest"][0]["loss"] > 0


# -------------------------------------------------------------------------------------------------------------- ratings


def test_the_totals_of_the_package_are_those_of_perfect_play():
    with (resources.files("yacht_env.table") / TOTALS_FILE).open("rb") as file:
        laws = read_totals(io.BytesIO(file.read()))
    assert set(laws) == {ruleset.fingerprint for ruleset in RULESETS.values()}
    for ruleset in ("yacht", "yacht-bonus"):
        law = laws[RULESETS[ruleset].fingerprint]
        assert law.probability.sum() == pytest.approx(1, abs=1e-12) and law.n_games == 0
        assert law.mean == pytest.approx(solve(ruleset).expected_score, abs=1e-9)
    assert laws[RULESETS["yacht"].fingerprint].standard_deviation == pytest.approx(34.9815, abs=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("ruleset", ["yacht", "yacht-sum", "yacht-openspiel", "yacht-bonus"])
def test_the_totals_of_the_package_are_found_again(ruleset):
    solution = solve(ruleset)
    law = RemainingPoints.of(solution).at_start(solution.game.all_open, 0)
    assert np.abs(law.probability - optimal_totals(solution).probability).max() < 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("ruleset", ["yatzy", "classic13"])
def test_the_totals_of_the_large_rulesets_agree_with_simulated_games(ruleset):
    solution = solve(ruleset)
    law = optimal_totals(solution)
    assert law.mean == pytest.approx(solution.expected_score, abs=1e-9)
    simulated = outlook._simulated(solution, solution.game.all_open, 0, None)
    for total in range(150, 400, 25):
        chance = law.at_least(total)
        error = (chance * (1 - chance) / simulated.n_games) ** 0.5
        assert abs(simulated.at_least(total) - chance) < 4.5 * error + 1e-9


def test_a_rating_is_a_share_of_perfect_games():
    solution = solve("yacht")
    law = evaluate(OptimalPolicy(solution), "yacht").distribution
    for total in (0, 100, 167, 297, 300):
        rating = rate(total, solution)
        assert rating.better_than == pytest.approx(1 - law.at_least(total), abs=1e-9) and rating.standard_error == 0
    assert "exact" in str(rate(200, solution))
    assert rate(200, solve(HOUSE)).n_games == 0


def test_a_rating_that_is_simulated_says_so(monkeypatch):
    monkeypatch.setattr(outlook, "_EXACT_CARDS", 1)
    small = solve(SMALL.with_boxes(["Sixes", "Full House", "Yacht", "Chance"]))
    rating = rate(60, small)
    exact = RemainingPoints.of(small).at_start(small.game.all_open, 0)
    assert rating.n_games == 2000 and "2,000 games simulated" in str(rating)
    assert abs(rating.better_than - (1 - exact.at_least(60))) < 4.5 * rating.standard_error


# ------------------------------------------------------------------------------------------------------------- the coach


def test_the_coach_knows_every_choice_of_the_position():
    game = TableGame.new("classic13", [Seat("Ada")], dice=DICE)
    coach = Coach("classic13")
    assert not coach.is_ready and coach.choices(game) is None and coach.last_decision(game) is None
    rng = np.random.default_rng(4)
    for _ in range(60):
        play_on(game, rng, n_steps=1)
        if (state := game.state()) is None:
            assert coach.choices(game) is None
            continue
        position = coach.choices(game)
        values = solve("classic13").state_action_values(state.batch)[0]
        assert [choice.value for choice in position.choices] == [values[choice.action] for choice in position.choices]
        assert {choice.action for choice in position.choices} == set(np.flatnonzero(game.game.action_mask(state)))
        assert game.total(0) + position.value == pytest.approx(coach.expected_total(game, 0))
    assert coach.is_ready


def test_the_coach_names_the_loss_of_the_last_decision():
    game = TableGame.new("yacht", [Seat("Ada"), Seat("Bob")], dice=FairDice(bytes(32)))
    coach = Coach("yacht")
    for _ in range(6):
        game.roll()
        position = coach.choices(game)
        worst = position.choices[-1]
        seat = game.seat
        game.act(worst.action)
        made = coach.last_decision(game)
        assert made.loss == pytest.approx(worst.loss) and made.best_text == position.choices[0].text
        assert coach.last_decision(game, seat) == made
        while game.has_rolled:
            game.act(coach.choices(game).choices[0].action)
            assert coach.last_decision(game).is_best


def test_chances_of_winning_add_up_and_end_with_the_winner():
    game, coach = TableGame.new("yacht", [Seat("A"), Seat("B"), Seat("C")], dice=DICE), Coach("yacht")
    rng = np.random.default_rng(0)
    while not game.is_over:
        chances = coach.chances_of_winning(game)
        assert chances.is_exact
        wins, draws = (sum(part) for part in list(zip(*chances.outcomes, strict=True))[:2])
        assert wins + draws / 3 < 1 + 1e-9 and wins + draws / 2 > 1 - 1e-9  # two or three share a first place
        play_on(game, rng, n_steps=4)
    best = max(game.total(seat) for seat in range(3))
    for seat, (win, draw, _) in enumerate(coach.chances_of_winning(game).outcomes):
        assert win + draw == pytest.approx(float(game.total(seat) == best))
    assert coach.chances_of_winning(TableGame.new("yacht", [Seat("A")])) is None


def test_chances_that_are_simulated_agree_with_the_exact_ones(monkeypatch):
    game = play_on(TableGame.new("yacht", [Seat("A"), Seat("B")], dice=DICE), np.random.default_rng(1), n_steps=20)
    coach = Coach("yacht")
    exact = coach.chances_of_winning(game)
    monkeypatch.setattr(outlook, "_EXACT_CARDS", 1)
    simulated = coach.chances_of_winning(game)
    assert simulated.n_games == 2000 and not simulated.is_exact
    for mine, other in zip(exact.outcomes, simulated.outcomes, strict=True):
        assert abs(mine.win - other.win) < 0.07
