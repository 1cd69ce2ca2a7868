"""The solver: published optima, brute force on small cards, action values, the cache, and simulated optimal games."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.brute_force import BONUS, FACE, Card, best_mean
from yacht_env import solver
from yacht_env.game import State, get_game
from yacht_env.parallel import backward_induction
from yacht_env.rules import RULESETS, Joker, Ruleset, UpperBonus
from yacht_env.solver import Solution, solve

EVERY_RULESET = pytest.mark.parametrize("ruleset", RULESETS)

VisitedStates = Callable[[str], State]

solved = cache(solve)
"""Solutions that the tests of this file share, since each of them prepares its action values once."""

# ------------------------------------------------------------------------------------------------------------ optima


@pytest.mark.parametrize(
    ("ruleset", "optimum"),
    [
        ("yacht", 166.95506770457),
        ("yacht-openspiel", 169.79870549894),
        ("yacht-bonus", 191.774369188342),
        ("yatzy", 248.4399893779),
        ("classic13", 254.5877287),
    ],
)
def test_the_optimum_is_the_published_one(ruleset: str, optimum: float) -> None:
    digits = len(str(optimum).split(".")[1])
    assert solved(ruleset).expected_score == pytest.approx(optimum, rel=0, abs=max(1e-9, 0.5 * 10**-digits))


def test_five_of_a_kind_as_no_full_house_costs_yacht_bonus_13_thousandths() -> None:
    house = RULESETS["yacht-bonus"].with_house_rules(five_of_a_kind_is_full_house=False)
    assert solved(house).expected_score == pytest.approx(191.760879752165, rel=0, abs=1e-9)


def test_each_more_generous_rule_is_worth_something() -> None:
    optima = [solved(ruleset).expected_score for ruleset in ("yacht", "yacht-sum", "yacht-openspiel")]
    assert optima == sorted(set(optima))


@pytest.mark.parametrize(
    "house_rules",
    [
        {"straights": (15, 30)},
        {"straights": (20, 20)},
        {"straights": "sum"},
        {"straights": "sum", "four_of_a_kind_dice": 5, "five_of_a_kind_is_full_house": True},
    ],
)
def test_house_rules_are_solved_like_any_other_game(house_rules: dict[str, Any]) -> None:
    solution = solved(RULESETS["yacht"].with_house_rules(**house_rules))
    little, big = (solution.state_value([box]) for box in ("Little Straight", "Big Straight"))
    worth = {(15, 30): (15, 30), (20, 20): (20, 20), "sum": (15, 20)}[house_rules["straights"]]
    landed = solved("yacht").state_value(["Little Straight"]) / 30
    assert (little, big) == pytest.approx((worth[0] * landed, worth[1] * landed), abs=1e-12)
    assert 145 < solution.expected_score < solved("yacht-openspiel").expected_score


# ------------------------------------------------------------------------------------------------ single boxes, claims


@pytest.mark.parametrize(
    ("box", "value"),
    [
        *((box, 2.106481 * face) for face, box in enumerate(RULESETS["yacht"].box_names[:6], 1)),
        ("Full House", 6.965727),
        ("Four of a Kind", 4.572357),
        ("Little Straight", 5.904872),
        ("Big Straight", 5.904872),
        ("Choice", 23.333333),
        ("Yacht", 2.301432),
    ],
)
def test_the_last_box_is_worth_what_is_known(box: str, value: float) -> None:
    assert solved("yacht").state_value([box]) == pytest.approx(value, rel=0, abs=3e-6 if box in FACE else 1e-6)


def test_sixes_alone_are_worth_six_times_ones_alone() -> None:
    assert solved("yacht").state_value(["Sixes"]) == pytest.approx(12.638889, rel=0, abs=1e-6)
    assert solved("yacht").state_value(["Ones"]) == pytest.approx(2.106481, rel=0, abs=1e-6)


def test_one_missing_face_of_a_straight_comes_with_11_in_36_over_two_rolls() -> None:
    values = solved("yacht").action_values([1, 2, 3, 4, 4], 2, ["Little Straight"])
    assert values[0b01111] / 30 == pytest.approx(11 / 36, abs=1e-12)
    assert solved("yacht").best_action([1, 2, 3, 4, 4], 2, ["Little Straight"]) == 0b01111


def test_a_straight_chased_for_a_full_turn_lands_19_7_percent() -> None:
    landed = solved("yacht").state_value(["Little Straight"]) / 30
    assert landed == pytest.approx(5.904872 / 30, abs=1e-7)
    assert landed == pytest.approx(0.197, abs=5e-4)


def test_with_6_6_6_6_2_and_one_roll_left_rolling_the_2_is_optimal() -> None:
    best = solved("yacht").best_action([6, 6, 6, 6, 2], 1, ["Four of a Kind", "Sixes", "Yacht"])
    assert best == 0b11110  # the dice in ascending order: the 2 is die 0


# ------------------------------------------------------------------------------------------------------- brute force


def sub_cards(ruleset: str, n_open: int) -> list[Card]:
    """Every card with so many open boxes: several upper totals with a bonus, both ends of the Yacht box with a joker."""
    names = RULESETS[ruleset].box_names
    cards = []
    for boxes in combinations(names, n_open):
        pace = 63 - 3 * sum(FACE.get(box, 0) for box in boxes)  # three of each open face just reach the bonus
        uppers = {0, pace, pace - 2} if ruleset in BONUS and pace < 63 else {30} if ruleset in BONUS else {0}
        yachts = [None] if "Yacht" in boxes else [0, 50]
        cards += [Card(frozenset(boxes), u, y) for u in uppers for y in (yachts if ruleset == "classic13" else [None])]
    return cards


@pytest.mark.parametrize("n_open", [1, 2])
@EVERY_RULESET
def test_every_card_of_one_and_two_boxes_agrees_with_brute_force(ruleset: str, n_open: int) -> None:
    solution, cards = solved(ruleset), sub_cards(ruleset, n_open)
    values = [solution.state_value(sorted(card.open), card.upper, card.yacht == 50) for card in cards]
    expected = [best_mean(ruleset, card) for card in cards]
    wrong = [(card, v, e) for card, v, e in zip(cards, values, expected, strict=True) if not abs(v - e) < 1e-9]
    assert wrong == []


# ------------------------------------------------------------------------------------------------------ action values


@EVERY_RULESET
def test_exactly_the_illegal_actions_are_minus_infinity(ruleset: str, visited_states: VisitedStates) -> None:
    solution, state = solved(ruleset), State(*(field[::23] for field in visited_states(ruleset)))
    values = solution.state_action_values(state)
    legal = solution.game.is_legal(State(*(field[:, None] for field in state)), np.arange(solution.game.n_actions))
    np.testing.assert_array_equal(np.isfinite(values), legal)
    assert (values[~legal] == -np.inf).all()


@EVERY_RULESET
def test_a_card_is_worth_the_mean_over_first_rolls_of_the_best_action(ruleset: str) -> None:
    solution, game = solved(ruleset), get_game(ruleset)
    for open_boxes, upper in ((None, 0), ([0, 2, 7, 8, 10], 40)):
        best = solution.action_values(game.dice.faces.astype(int), 2, open_boxes, upper).max(axis=1)
        value = solution.state_value(open_boxes, upper)
        assert game.dice.probability @ best == pytest.approx(value, rel=0, abs=1e-9)


@EVERY_RULESET
def test_an_action_is_worth_its_points_and_the_mean_of_what_follows(ruleset: str) -> None:
    solution, game = solved(ruleset), get_game(ruleset)
    state = game.encode_state([[5, 5, 5, 5, 5]], [1], [4, 5, 8, 9], upper_total=30, yacht_box=True)
    values = solution.state_action_values(state)[0]
    n = 6**5
    uniform = (np.arange(n) + 0.5) / n
    many = State(*(np.repeat(field, n) for field in state))
    for action in np.flatnonzero(np.isfinite(values)):
        after, reward, _ = game.transition(many, np.full(n, action), uniform)
        unique, count = np.unique(game.pack(after), return_counts=True)
        follows = solution.state_action_values(game.unpack(unique)).max(axis=1)
        assert reward[0] + follows @ count / n == pytest.approx(values[action], rel=0, abs=1e-9)


def test_batches_agree_with_single_states(visited_states: VisitedStates) -> None:
    solution = solved("classic13")
    game, state = solution.game, State(*(field[::397] for field in visited_states("classic13")))
    dice = game.dice.faces[state.roll].astype(int)
    open_boxes = (state.open_boxes[:, None] >> np.arange(13) & 1).astype(bool)
    upper, yacht = game.upper_total(state.lane), game.yacht_box(state.lane)
    values = solution.action_values(dice, state.rolls_left, open_boxes, upper, yacht)
    best = solution.best_action(dice, state.rolls_left, open_boxes, upper, yacht)
    np.testing.assert_array_equal(values, solution.state_action_values(state))
    for i in range(len(dice)):
        names = [name for name, is_open in zip(game.ruleset.box_names, open_boxes[i], strict=True) if is_open]
        one = (dice[i][::-1], int(state.rolls_left[i]), names, int(upper[i]), bool(yacht[i]))
        np.testing.assert_allclose(solution.action_values(*one), values[i], rtol=0, atol=1e-9)
        assert solution.best_action(*one) == best[i]  # type: ignore[index]


def test_action_values_have_the_shape_of_the_batch() -> None:
    solution = solved("yacht")
    assert solution.action_values([1, 2, 3, 4, 5], 1).shape == (44,)
    assert solution.action_values(np.full((2, 3, 5), 4), 1).shape == (2, 3, 44)
    assert solution.action_values([1, 2, 3, 4, 5], [0, 1, 2]).shape == (3, 44)
    assert isinstance(solution.best_action([1, 2, 3, 4, 5], 1), int)
    assert np.shape(solution.best_action(np.full((2, 3, 5), 4), 1)) == (2, 3)


def test_of_equally_good_actions_the_lowest_is_best() -> None:
    question = [2, 2, 2, 2, 5], 1, ["Full House"]
    values = solved("yacht").action_values(*question)
    equal = [0b10111, 0b11011, 0b11101, 0b11110]  # any three of the four 2s, and the 5
    assert np.flatnonzero(values == values.max()).tolist() == equal
    assert solved("yacht").best_action(*question) == equal[0]


@pytest.mark.parametrize("upper_total", [1, 29, 31, 63])
def test_an_upper_total_that_no_game_has_is_refused(upper_total: int) -> None:
    solution = solved("yacht-bonus")
    open_boxes = RULESETS["yacht-bonus"].box_names[:5]  # Sixes alone are filled: 0, 6, 12, 18, 24 or 30
    assert solution.state_value(open_boxes, 30) > 0
    with pytest.raises(ValueError, match=f"no game has an upper total of {upper_total} "):
        solution.state_value(open_boxes, upper_total)
    with pytest.raises(ValueError, match=f"no game has an upper total of {upper_total} "):
        solution.action_values([1, 2, 3, 4, 5], 1, open_boxes, upper_total)


def test_a_negative_upper_total_is_refused() -> None:
    with pytest.raises(ValueError, match="-1"):
        solved("yacht-bonus").state_value(["Choice"], upper_total=-1)


def test_the_upper_total_does_not_matter_without_a_bonus() -> None:
    solution = solved("yacht")
    assert solution.state_value(["Sixes"], upper_total=62) == solution.state_value(["Sixes"])


@pytest.mark.parametrize(
    ("question", "message"),
    [
        (([1, 2, 3, 4], 1), "5 whole numbers"),
        (([1, 2, 3, 4, 5], 3), "rolls_left must be 0 to 2"),
        (([1, 2, 3, 4, 5], 1, ["Chance"]), "has no box 'Chance'"),
        (([1, 2, 3, 4, 5], 1, []), "open_boxes is empty"),
    ],
)
def test_a_question_about_no_state_is_refused(question: tuple[Any, ...], message: str) -> None:
    for ask in (solved("yacht").action_values, solved("yacht").best_action):
        with pytest.raises(ValueError, match=message):
            ask(*question)


def test_an_unknown_game_is_not_solved() -> None:
    with pytest.raises(ValueError, match="unknown ruleset 'poker'"):
        solve("poker")


# -------------------------------------------------------------------------------------------------- solving, the cache

SMALL = Ruleset(
    "small",
    tuple(RULESETS["classic13"].boxes[b] for b in (0, 1, 2, 3, 4, 5, 11)),
    UpperBonus(63, 35),
    Joker("Yacht"),
)


@pytest.fixture
def fresh_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder, and a process that has solved nothing yet."""
    monkeypatch.setenv("YACHT_ENV_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(solver, "_solved", {})
    return tmp_path / "cache"


def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solver, "_solved", {})


def forbid_solving(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("solved again")

    monkeypatch.setattr(solver, "backward_induction", refuse)


def only_file(folder: Path) -> Path:
    files = list(folder.iterdir())
    assert len(files) == 1  # nothing temporary is left beside it
    return files[0]


def test_a_ruleset_is_solved_once_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    first = solve("yacht")
    forbid_solving(monkeypatch)
    renamed = dataclasses.replace(RULESETS["yacht"], name="mine")
    assert solve("yacht").values is first.values
    assert solve(renamed).values is first.values
    assert solve(renamed).ruleset.name == "mine"
    with pytest.raises(AssertionError, match="solved again"):
        solve("yacht", cache=False)


def test_a_large_solution_is_written_once_and_read_back_equal(
    fresh_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = solve(SMALL)
    written = only_file(fresh_cache)
    before = written.stat().st_mtime_ns
    forget(monkeypatch)
    forbid_solving(monkeypatch)
    np.testing.assert_array_equal(solve(SMALL).values, first.values)
    assert only_file(fresh_cache) == written
    assert written.stat().st_mtime_ns == before


def test_other_rules_are_kept_in_another_file(fresh_cache: Path) -> None:
    one, other = SMALL, dataclasses.replace(SMALL, joker=Joker("Yacht", 0))
    assert solve(one).expected_score > solve(other).expected_score
    assert len(list(fresh_cache.iterdir())) == 2


def test_a_small_solution_is_kept_in_memory_alone(fresh_cache: Path) -> None:
    solve("yacht")
    assert not fresh_cache.exists()


def test_without_the_cache_nothing_is_read_or_written(fresh_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    solve(SMALL, cache=False)
    assert not fresh_cache.exists()
    forbid_solving(monkeypatch)
    with pytest.raises(AssertionError, match="solved again"):
        solve(SMALL)


@pytest.mark.parametrize("damage", ["cut short", "empty", "a flipped bit", "another file"])
def test_a_damaged_file_is_noticed_and_rebuilt(damage: str, fresh_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = solve(SMALL)
    file = only_file(fresh_cache)
    whole = file.read_bytes()
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 1
    file.write_bytes(
        {"cut short": whole[:-1], "empty": b"", "a flipped bit": bytes(flipped), "another file": b"x" * 99}[damage]
    )
    forget(monkeypatch)
    with pytest.warns(UserWarning, match=f"{file.name} is damaged; solving again"):
        again = solve(SMALL)
    np.testing.assert_array_equal(again.values, first.values)
    assert only_file(fresh_cache).read_bytes() == whole


def test_a_folder_that_cannot_be_written_gives_a_warning_and_a_solution(
    fresh_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh_cache.write_text("a file where the folder should be")
    with pytest.warns(UserWarning, match="can't keep the solution"):
        solution = solve(SMALL)
    assert solution.expected_score == solve(SMALL, cache=False).expected_score
    assert fresh_cache.read_text() == "a file where the folder should be"


def test_a_write_that_fails_halfway_leaves_nothing_behind(fresh_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("os.replace", fail)
    with pytest.warns(UserWarning, match="disk full"):
        solve(SMALL)
    assert list(fresh_cache.iterdir()) == []


def test_progress_grows_up_to_the_number_of_cards() -> None:
    game, told = get_game("yacht"), []
    backward_induction(game, lambda solved, total: told.append((solved, total)))
    assert [total for _, total in told] == [2**12 - 1] * len(told)
    solved = [solved for solved, _ in told]
    assert solved == sorted(set(solved))
    assert solved[-1] == 2**12 - 1


def test_values_cannot_be_changed_and_are_missing_where_no_game_can_come() -> None:
    solution = solve("yacht-bonus")
    with pytest.raises(ValueError, match="read-only"):
        solution.values[0, 0] = 1
    np.testing.assert_array_equal(np.isnan(solution.values), ~solution.game.reachable_lanes)
    assert (solution.values[0][np.isfinite(solution.values[0])] == 0).all()


# --------------------------------------------------------------------------------------------------- simulated games


def play_optimally(solution: Solution, n_games: int) -> npt.NDArray[np.int64]:
    """Totals of optimal games, which move turn by turn together; each card's tables are made once a turn."""
    game, rng = solution.game, np.random.default_rng(1938)
    state, totals = game.start(rng.random(n_games)), np.zeros(n_games, dtype=np.int64)
    for _ in range(game.n_boxes):
        cards, which = np.unique(state.open_boxes * game.n_lanes + state.lane, return_inverse=True)
        order = np.argsort(which, kind="stable")
        for block in range(0, len(cards), 128):
            tables = solution.model.tables(*divmod(cards[block : block + 128], game.n_lanes))
            start, stop = np.searchsorted(which, [block, block + 128], sorter=order)
            playing = order[start:stop]
            while len(playing):
                now = State(*(field[playing] for field in state))
                action = solution.model.action_values_from(tables, now, which[playing] - block).argmax(axis=1)
                after, reward, legal = game.transition(now, action, rng.random(len(playing)))
                assert legal.all()
                for field, changed in zip(state, after, strict=True):
                    field[playing] = changed
                totals[playing] += reward
                playing = playing[action < game.n_holds]
    assert not state.open_boxes.any()
    return totals


@pytest.mark.slow
@EVERY_RULESET
def test_a_million_optimal_games_average_the_optimum(ruleset: str) -> None:
    n_games = 1_000_000
    totals = play_optimally(solved(ruleset), n_games)
    deviation = totals.std()
    assert abs(totals.mean() - solved(ruleset).expected_score) < 4 * deviation / np.sqrt(n_games)
    if ruleset == "yacht":
        assert deviation == pytest.approx(34.9815, abs=0.15)


def test_ten_thousand_optimal_games_average_the_optimum() -> None:
    totals = play_optimally(solved("yacht"), 10_000)
    assert abs(totals.mean() - solved("yacht").expected_score) < 4 * 34.9815 / 100


def test_of_equal_actions_the_lowest_is_best() -> None:
    solution, straights = solved("yacht"), ["Big Straight", "Little Straight"]
    assert solution.best_action([1, 1, 1, 1, 2], 0, straights) == solution.game.n_holds + 8


def test_state_values_come_in_batches_too() -> None:
    solution = solved("yacht")
    cards = np.array([[b in open_boxes for b in range(12)] for open_boxes in ((0,), (5, 11), range(12))])
    expected = [solution.state_value(np.flatnonzero(card).tolist()) for card in cards]
    np.testing.assert_array_equal(solution.state_value(cards), expected)


@EVERY_RULESET
def test_every_value_is_that_of_a_turn_on_the_values_after_it(ruleset):
    """Bellman's equation, by the code that values single turns, on cards drawn at random from all layers."""
    solution = solved(ruleset)
    open_boxes, lane = np.nonzero(np.isfinite(solution.values))
    rows = np.random.default_rng(0).permutation(np.flatnonzero(open_boxes))[:2_000]
    turns = solution.model.turn_values(open_boxes[rows], lane[rows])
    np.testing.assert_allclose(turns, solution.values[open_boxes[rows], lane[rows]], rtol=0, atol=1e-10)
