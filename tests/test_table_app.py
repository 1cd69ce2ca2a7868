"""The table's screen, played through Textual's pilot: keys and clicks in, a saved game and pictures out."""

from __future__ import annotations

import asyncio
import errno
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("textual")

from textual.widgets import Static

from tests.table_games import play_on
from tests.table_keys import BOXES, next_keys, same_game, saved_game
from tests.table_pilot import at_table, play_to_the_end, shown, text, until
from yacht_env.rules import RULESETS
from yacht_env.table.app.advice import Advice
from yacht_env.table.app.card import BoxRow
from yacht_env.table.app.choices_screen import ChoicesScreen
from yacht_env.table.app.dice import DiceRow, DieWidget
from yacht_env.table.app.opponents import Opponents
from yacht_env.table.app.review_screen import ReviewScreen
from yacht_env.table.app.rules_screen import RulesScreen
from yacht_env.table.app.showing import result_text
from yacht_env.table.app.start_screen import StartScreen
from yacht_env.table.fair_dice import FairDice
from yacht_env.table.record import GameRecord, Seat
from yacht_env.table.scores import BestScores
from yacht_env.table.seats import load_agent
from yacht_env.table.session import TableGame
from yacht_env.table.settings import Settings
from yacht_env.table.verify import verify

pytestmark = pytest.mark.usefixtures("data_folder")


def test_a_whole_game_against_an_agent_is_saved_verified_judged_and_entered(data_folder):
    async def play():
        async with at_table(Settings(seed="1", opponents=("greedy",), name="Ada")) as pilot:
            await play_to_the_end(pilot)
            return text(pilot.app.screen.query_one("#review Static")), pilot.app.left

    review, game = asyncio.run(play())
    found = verify(game.path, game.commitment)
    assert found.is_verified and found.is_over
    for words in ("by luck", "by decisions", "costliest", "of perfect games", game.dice.seed.hex(), "yacht-env verify"):
        assert words in review
    winner = game.seats[game.ranking()[0].seat].name
    assert f"{winner} wins with {game.ranking()[0].total} points" in review
    [best] = BestScores().best(game.ruleset)
    assert (best.name, best.total, best.game) == ("Ada", game.total(0), str(game.path))


def test_the_same_seed_and_decisions_give_the_same_game_also_where_it_is_left_and_continued(tmp_path):
    settings = Settings(seed="7", word="abracadabra", opponents=("greedy", "person:Bob"))
    card = RULESETS["yacht"].with_boxes(["Sixes", "Choice"])

    async def play(path, breaks):
        TableGame.new(card, settings.seats(), dice=settings.dice(), path=path)
        for _ in range(breaks):
            async with at_table(path=path) as pilot:
                for _ in range(2):
                    await until(pilot, lambda: pilot.app.screen.is_persons_turn)
                    await pilot.press(*next_keys(pilot.app.screen.game.table))
                await pilot.press("q")
                await until(pilot, lambda: isinstance(pilot.app.screen, StartScreen))
        async with at_table(path=path) as pilot:
            await play_to_the_end(pilot)
        return same_game(GameRecord.load(path))

    without, with_breaks = (asyncio.run(play(tmp_path / f"{breaks}.json", breaks)) for breaks in (0, 1))
    assert without == with_breaks


def test_a_turn_with_the_mouse():
    async def play():
        async with at_table() as pilot:
            table = pilot.app.screen
            await pilot.click("#roll")
            dice = table.game.view().dice
            first, second, *_ = table.query(DieWidget)
            await pilot.click(first)
            await pilot.click(second)
            await pilot.click(second)
            assert table.held == [True, False, False, False, False]
            await pilot.click("#roll")
            assert dice[0] in table.game.view().dice and table.game.view().rolls_left == 1
            box = max(range(table.game.game.n_boxes), key=lambda box: table.game.view().options[box])
            await pilot.click(table.query(BoxRow)[box])
            assert table.game.scores(0)[box] and table.game.turn == 2

    asyncio.run(play())


def test_a_zero_is_entered_only_when_it_is_confirmed():
    async def play():
        async with at_table() as pilot:
            table = pilot.app.screen
            await pilot.press("space")
            box = table.game.view().options.index(0)
            await pilot.press(BOXES[box])
            assert table.game.scores(0)[box] is None and "zero" in text(table.query_one("#task"))
            await pilot.press("escape", BOXES[box], "1", "1", BOXES[box])
            assert table.game.scores(0)[box] is None
            await pilot.press(BOXES[box])
            assert table.game.scores(0)[box] == 0

    asyncio.run(play())


def test_dice_tumble_to_the_faces_that_have_fallen_and_held_ones_lie_still():
    async def play():
        async with at_table() as pilot:
            pilot.app.animation_level = "full"
            table = pilot.app.screen
            await pilot.press("space", "1")
            first = table.game.view().dice[0]
            await pilot.press("space")
            table.show()  # as when the coach is ready meanwhile
            assert table.query_one(DiceRow)._tumbling is not None
            position = table.held.index(True)
            while table.query_one(DiceRow)._tumbling is not None:
                assert table.query(DieWidget)[position].face == first
                await pilot.pause(0.02)
            assert tuple(die.face for die in table.query(DieWidget)) == table.game.view().dice

    asyncio.run(play())


def test_a_finished_game_that_is_opened_again_is_entered_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    card = RULESETS["yacht"].with_boxes(["Sixes"])
    play_on(TableGame.new(card, [Seat("Ada")], path=tmp_path / "game.json"), np.random.default_rng(1))

    async def play(path):
        async with at_table(path=path) as pilot:
            await until(pilot, lambda: isinstance(pilot.app.screen, ReviewScreen))

    for path in (tmp_path / "game.json", Path("game.json")):
        asyncio.run(play(path))
    assert len(BestScores().best(card)) == 1


def test_the_cursor_reaches_every_open_box_and_enter_fills_it():
    async def play():
        async with at_table() as pilot:
            table = pilot.app.screen
            await pilot.press("space")
            seen = set()
            for _ in range(table.game.game.n_boxes):
                await pilot.press("down")
                seen.add(table.cursor)
            assert seen == set(range(table.game.game.n_boxes))
            await pilot.press("down", "right")
            assert table.cursor == table.game.view().n_faces
            await pilot.press("left", "up", "enter")
            if table.asked is not None:
                await pilot.press("y")
            assert table.game.turn == 2

    asyncio.run(play())


@pytest.mark.parametrize("ruleset", RULESETS)
def test_nothing_is_cut_off_in_a_small_terminal_with_four_players(ruleset, tmp_path):
    names = RULESETS[ruleset].box_names
    path = tmp_path / "game.json"
    settings = Settings(ruleset, seed="1", opponents=("person:Bob", "person:Cleo", "person:Dan"))
    play_on(TableGame.new(ruleset, settings.seats(), path=path), np.random.default_rng(1), n_steps=12 * len(names))

    async def play():
        async with at_table(path=path) as pilot:
            table = pilot.app.screen
            await pilot.press("space")
            for widget in table.query("*"):
                if widget.display and widget.visible:
                    assert table.region.contains_region(widget.region), widget
            assert table.query_one("#advice").size.height >= 4
            return shown(table)

    picture = "\n".join(asyncio.run(play()))
    for words in (*names, "Player 1", "Bob", "Cleo", "Dan", "total", "Theme"):
        assert words in picture
    assert all(f"{key} {name}" in picture for key, name in zip(BOXES, names, strict=False))


def test_points_that_score_now_are_shown_beside_their_boxes():
    async def play():
        async with at_table() as pilot:
            await pilot.press("space")
            table = pilot.app.screen
            view = table.game.view()
            for row, points in zip(table.query(".box").results(BoxRow), view.options, strict=True):
                assert text(row).split()[-2] == str(points) and row.has_class("-scores") == bool(points)

    asyncio.run(play())


def test_the_coach_says_what_every_choice_is_worth_and_what_the_last_one_lost():
    async def play():
        async with at_table(Settings(seed="1", coach="always"), size=(80, 44)) as pilot:
            table = pilot.app.screen
            await until(pilot, lambda: table.coach.is_ready)
            await pilot.press("space")
            advice, explained = text(table.query_one("#advice")), table.coach.choices(table.game)
            for choice in explained.choices[:10]:
                assert f"{choice.value:.2f}" in advice
            await pilot.press("v")
            assert isinstance(pilot.app.screen, ChoicesScreen)
            listed = text(pilot.app.screen.query_one(".window-text Static"))
            assert len(listed.splitlines()) == 1 + len(explained.choices)
            await pilot.press("escape", "1", "space")
            lost = table.coach.last_decision(table.game)
            assert f"lost {lost.loss:.2f}" in text(table.query_one("#advice")) or lost.is_best

    asyncio.run(play())


def test_hints_are_given_only_on_request_and_only_for_this_decision():
    async def play():
        async with at_table(Settings(seed="1", coach="hints")) as pilot:
            table = pilot.app.screen
            await until(pilot, lambda: table.coach.is_ready)
            await pilot.press("space")
            assert "best" not in text(table.query_one("#advice"))
            await pilot.press("v")
            assert "best" in text(table.query_one("#advice"))
            await pilot.press("1", "space")
            assert "Coach" not in text(table.query_one("#advice"))

    asyncio.run(play())


def test_a_match_with_the_coach_shows_the_chances_of_winning():
    async def play():
        async with at_table(Settings(seed="1", opponents=("greedy",), coach="always")) as pilot:
            await until(pilot, lambda: "%" in text(pilot.app.screen.query_one("#seats")))

    asyncio.run(play())


@pytest.mark.parametrize("number", [errno.EACCES, errno.ENOSPC])
def test_a_save_that_fails_is_a_sentence_and_the_game_goes_on(number, monkeypatch):
    async def play():
        async with at_table() as pilot:
            table = pilot.app.screen

            def fail(self, path):
                raise OSError(number, "no such luck")

            with monkeypatch.context() as patch:
                patch.setattr(GameRecord, "save", fail)
                await pilot.press("space")
                assert "can't be saved" in text(table.query_one("#trouble")) and table.query_one("#trouble").display
                assert table.region.contains_region(table.query_one("#advice").region)
            await pilot.press("1", "space")
            assert not table.query_one("#trouble").display and table.game.view().rolls_left == 1

    asyncio.run(play())


@pytest.mark.parametrize("n_seats", [1, 2, 3])
def test_the_end_says_who_has_won_or_that_it_is_a_draw(n_seats):
    card = RULESETS["yacht"].with_boxes(["Yacht"])
    names = ["Ada", "Bob", "Cleo"][:n_seats]
    game = TableGame.new(card, [Seat(name) for name in names], dice=FairDice(bytes(32)))
    for _ in names:  # nobody rolls a Yacht at once with these dice
        game.roll()
        game.act(game.game.n_holds)
    words = {1: "0 points", 2: "a draw, Ada and Bob have 0 points", 3: "a draw, Ada and Bob and Cleo have 0 points"}
    assert result_text(game) == f"Game over: {words[n_seats]}."


def test_an_agents_decision_is_shown_before_it_is_carried_out(tmp_path):
    game = TableGame.new("yacht", [Seat("greedy", "greedy")], dice=FairDice(bytes(32)))
    opponents = Opponents(game)
    opponents.seat(0, load_agent("greedy"))
    n_dice = game.game.dice.n_dice
    while not game.is_over:
        before = game.state()
        step = opponents.step()
        if step.held is not None:
            assert len(step.held) == n_dice and "holds" in step.text and game.state() == before
            kept = [face for face, held in zip(game.view().dice, step.held, strict=True) if held]
            step = opponents.step()
            assert step.has_rolled and not Counter(kept) - Counter(game.view().dice)
        elif step.box is not None:
            assert game.ruleset.box_names[step.box] in step.text and game.scores(0)[step.box] is None
            step = opponents.step()
            assert step.played.turn_is_over and f"{step.played.points} point" in step.text
        else:
            assert before is None and step.has_rolled


def test_rules_odds_and_keys_are_one_key_away_and_a_key_switches_the_colours():
    async def play():
        async with at_table() as pilot:
            await pilot.press("question_mark")
            assert isinstance(pilot.app.screen, RulesScreen)
            words = text(pilot.app.screen.query_one(".window-text Static"))
            assert "four dice of one face" in words and "in a turn" in words and "dark or light" in words
            await pilot.press("escape")
            theme = pilot.app.theme
            await pilot.press("t")
            assert pilot.app.theme != theme

    asyncio.run(play())


def test_a_wide_terminal_shows_the_events_beside_the_table():
    async def play(size):
        async with at_table(size=size) as pilot:
            await pilot.press("space")
            return pilot.app.screen.query_one("#log", Advice).display

    assert asyncio.run(play((120, 40))) and not asyncio.run(play((80, 24)))


def test_a_slow_solution_leaves_the_table_responsive(monkeypatch):
    import threading

    release = threading.Event()

    def slow(self, progress=None):
        if not self.is_ready:
            progress(1, 4)
            release.wait(20)
        self._solution = solve("yacht")
        return self._solution

    from yacht_env.solver import solve
    from yacht_env.table.coach import Coach

    monkeypatch.setattr(Coach, "prepare", slow)

    async def play():
        async with at_table(Settings(seed="1", coach="always")) as pilot:
            table = pilot.app.screen
            await until(pilot, lambda: "25 %" in text(table.query_one("#advice")))
            await pilot.press("space", "1", "space")
            assert table.game.view().rolls_left == 1
            release.set()
            await until(pilot, lambda: table.coach_speaks)

    asyncio.run(play())


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "size"), [(1, (80, 24)), (2, (120, 40)), (3, (50, 10))])
def test_random_keys_and_clicks_never_stop_the_table(seed, size):
    random = np.random.default_rng(seed)
    keys = [*BOXES, *"12345vxyt+-?", *["space"] * 8, "enter", "escape", "up", "down", "left", "right", "pagedown"]

    async def play():
        async with at_table(Settings(seed="1", opponents=("random", "person:Bob"), coach="always"), size=size) as pilot:
            for _ in range(150):
                await pilot.press(str(random.choice(keys)))
                if random.random() < 0.1:
                    await pilot.click(offset=(int(random.integers(size[0])), int(random.integers(size[1] - 1))))
                assert pilot.app.is_running
            assert verify(pilot.app.left.path).is_verified

    asyncio.run(play())


def test_the_game_is_on_disk_after_every_key(data_folder):
    async def play():
        async with at_table() as pilot:
            table = pilot.app.screen
            for _ in range(6):
                await pilot.press(*next_keys(table.game.table))
                record, state = saved_game(data_folder)
                assert record.turns == table.game.record.turns and state.dice == table.game.state()

    asyncio.run(play())


def test_all_texts_are_plain_where_names_look_like_markup():
    async def play():
        async with at_table(Settings(seed="1", name="[red]Ada[/]", opponents=("person:[b]",))) as pilot:
            await pilot.press(*next_keys(pilot.app.screen.game.table))
            picture = "\n".join(shown(pilot.app.screen))
            assert "[red]Ada[/]" in picture and "[b]" in picture
            assert isinstance(pilot.app.screen.query_one("#status"), Static)

    asyncio.run(play())
