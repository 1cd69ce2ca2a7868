"""A game at the table: turns go round, fair dice fall, and whatever happens the game is kept."""

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import yacht_env.files
from tests.table_games import play_on, random_game
from yacht_env.rendering import draw_ansi, draw_rgb
from yacht_env.rules import RULESETS
from yacht_env.table.fair_dice import FairDice
from yacht_env.table.folders import games_folder, new_game_path, saved_games
from yacht_env.table.record import Seat
from yacht_env.table.replay import replay_steps
from yacht_env.table.seats import agents_for, load_agent
from yacht_env.table.session import Place, TableGame
from yacht_env.table.verify import verify

ROOT = Path(__file__).resolve().parents[1]
SEED = bytes(range(32))


def new_game(*names, ruleset="yacht", **kwargs):
    return TableGame.new(ruleset, [Seat(name) for name in names or ("Ada",)], dice=FairDice(SEED, "mañana"), **kwargs)


def test_a_turn_from_the_first_roll_to_the_box():
    game = new_game("Ada", "Bob")
    assert not game.has_rolled and game.state() is None and game.view().dice == () and game.view().rolls_left == 3
    with pytest.raises(ValueError, match="no dice are on the table; roll first"):
        game.act(32)
    game.roll()
    assert game.view().dice == (3, 4, 4, 4, 5) and game.view(1).dice == () and game.state(1) is None
    with pytest.raises(ValueError, match="the first roll of this turn has fallen"):
        game.roll()
    played = game.act(0b01110)
    assert (played.text, played.points, played.turn_is_over) == ("hold 4 4 4", 0, False)
    assert game.view().dice == (2, 4, 4, 4, 5) and game.view().held == (False, True, True, True, False)
    with pytest.raises(ValueError, match="all dice are held"):
        game.act(31)
    with pytest.raises(ValueError, match="action must be 0 to 43, got 44"):
        game.act(44)
    played = game.act(32 + 3)
    assert (played.text, played.points, played.turn_is_over, played.is_over) == ("fill Fours", 12, True, False)
    assert game.seat == 1 and not game.has_rolled and game.total(0) == 12 and game.scores(0)[3] == 12
    game.roll()
    assert game.view().dice == (1, 4, 6, 6, 6)  # roll number 2 of the test vector: rerolls count as rolls
    game.act(0b11100)
    game.act(0b11100)
    with pytest.raises(ValueError, match="no roll is left; fill a box"):
        game.act(0)
    assert game.ranking() == (Place(1, 0, 12), Place(2, 1, 0))


def test_a_filled_box_stays_filled():
    game = new_game()
    game.roll()
    game.act(32)
    game.roll()
    with pytest.raises(ValueError, match="Ones is filled already"):
        game.act(32)


def test_totals_and_scores_hold_the_bonus():
    for seed in range(20):
        game = random_game("yacht-bonus", seed=seed)
        card = game.table.cards[0]
        upper = sum(card.scores[:6])
        assert game.total(0) == sum(card.scores) + (35 if upper >= 63 else 0)
        assert game.is_over and game.view().is_over and game.view().total == game.total(0)
    with pytest.raises(ValueError, match="the game is over"):
        game.roll()
    with pytest.raises(ValueError, match="the game is over"):
        game.act(32)


def test_equal_totals_share_a_rank():
    game = new_game("Ada", "Bob", "Cleo")
    assert game.ranking() == (Place(1, 0, 0), Place(1, 1, 0), Place(1, 2, 0))


@pytest.mark.parametrize(
    ("seats", "words"),
    [
        ([], "there are 0 seats"),
        ([Seat("Ada"), Seat("Ada", "greedy")], "two seats are named 'Ada'"),
        ([Seat(f"Player {i}") for i in range(13)], "there are 13 seats; expected 1 to 12"),
    ],
)
def test_impossible_tables_are_refused(seats, words):
    with pytest.raises(ValueError, match=words):
        TableGame.new("yacht", seats)


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "x" * 41, "\x1b[31m", "\ud800"])
def test_impossible_names_are_refused(name):
    with pytest.raises(ValueError, match="is no name for a seat"):
        Seat(name)


def test_leaving_and_continuing_does_not_change_the_dice(tmp_path):
    path, rng = tmp_path / "game.json", np.random.default_rng(8)
    straight = play_on(new_game("Ada", "Bob"), np.random.default_rng(8))
    game = new_game("Ada", "Bob", path=path)
    while not game.is_over:
        play_on(game, rng, n_steps=1)
        game = TableGame.load(path)
    assert game.record.turns == straight.record.turns


def test_a_changed_game_or_a_typed_one_is_not_continued(tmp_path):
    path = tmp_path / "game.json"
    play_on(new_game(path=path), np.random.default_rng(0), n_steps=10)
    path.write_text(path.read_text(encoding="utf-8").replace('"Ada"', '"Eve"'), encoding="utf-8")
    with pytest.raises(ValueError, match=r"game\.json: a value was changed"):
        TableGame.load(path)
    path.write_text('{"ruleset": "yacht", "turns": []}', encoding="utf-8")
    with pytest.raises(ValueError, match="without a seed it can't be continued"):
        TableGame.load(path)


def test_a_full_disk_gives_a_sentence_and_the_game_goes_on(tmp_path, monkeypatch):
    path, rng = tmp_path / "game.json", np.random.default_rng(0)
    game = play_on(new_game(path=path), rng, n_steps=5)
    assert game.save_error is None
    before = path.read_bytes()

    def full(handle):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(yacht_env.files.os, "fsync", full)
        play_on(game, rng, n_steps=5)
        assert "can't be saved" in game.save_error and "No space left on device" in game.save_error
        assert "\n" not in game.save_error
        assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]
    play_on(game, rng, n_steps=1)
    assert game.save_error is None and TableGame.load(path).record == game.record


def test_a_folder_that_can_not_be_written_gives_a_sentence_and_the_game_goes_on(tmp_path):
    (tmp_path / "file").write_text("no folder")
    game = random_game(path=tmp_path / "file" / "game.json")
    assert game.is_over and "it goes on unsaved" in game.save_error


def kill_while_playing(path, delay):
    """Start a player, kill it after so many seconds of play, and return the last count that it printed."""
    command = [sys.executable, "-m", "tests.table_player", str(path)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        first = process.stdout.readline()
        time.sleep(delay)
        process.send_signal(signal.SIGKILL)
        rest = process.stdout.read()
    lines = (first + rest).rsplit("\n", 1)[0].split()  # a last line without its end was not seen by anybody
    return int(lines[-1])


def kill_again_and_again(path, n_times):
    rng = np.random.default_rng()
    kept = 0
    for _ in range(n_times):
        seen = kill_while_playing(path, delay=rng.uniform(0, 0.05))
        game = TableGame.load(path)
        kept = game.table.n_rolls + len(game.table.decisions)
        # A hold counts twice, for its decision and for its roll; so at most one step was saved and not yet seen.
        assert seen <= kept <= seen + 2
        assert list(path.parent.iterdir()) == [path]
        assert verify(path).is_verified
        if game.is_over:
            path.unlink()


def test_kill_loses_nothing_that_was_seen(tmp_path):
    kill_again_and_again(tmp_path / "game.json", 6)


@pytest.mark.slow
def test_a_hundred_kills_lose_nothing_that_was_seen(tmp_path):
    kill_again_and_again(tmp_path / "game.json", 100)


def test_games_lie_in_the_data_folder_the_newest_first(tmp_path, monkeypatch):
    monkeypatch.setenv("YACHT_ENV_DATA", str(tmp_path))
    assert saved_games() == []
    paths = []
    for _ in range(3):
        paths.append(new_game_path("yacht/../x"))
        new_game(path=paths[-1])
    assert len(set(paths)) == 3 and set(saved_games()) == set(paths)
    assert all(path.parent == games_folder() == tmp_path / "games" for path in paths)


def test_a_game_is_replayed_step_by_step():
    game = random_game("classic13", ("Ada", "Bob"))
    steps = list(replay_steps(game.record))
    assert len(steps) == game.table.n_rolls + sum(one.action >= 32 for one in game.table.decisions)
    assert steps[0].text.startswith("Ada rolls ") and " fills " in steps[-1].text
    assert [steps[-1].view, steps[-1].seat] == [game.view(1), 1]
    assert sum(text.startswith("Bob fills") for *_, text, _ in steps) == 13


@pytest.mark.parametrize("ruleset", ["yacht", "yacht-bonus", "yatzy"])
def test_every_agent_of_a_ruleset_plays_at_the_table(ruleset):
    names = [name for name in agents_for(ruleset) if name != "optimal" or ruleset == "yacht"]
    assert ("dqn-yacht" in names) == (ruleset == "yacht") and ("dqn-yacht-bonus" in names) == (ruleset == "yacht-bonus")
    game = TableGame.new(ruleset, [Seat(name, name) for name in names], dice=FairDice(SEED))
    agents = [load_agent(name, ruleset, random=np.random.default_rng(0)) for name in names]
    while not game.is_over:
        if game.has_rolled:
            game.act(agents[game.seat].action(game))
        else:
            with pytest.raises(ValueError, match="after the first roll"):
                agents[game.seat].action(game)
            game.roll()
    totals = dict(zip(names, (game.total(seat) for seat in range(len(names))), strict=True))
    assert min(totals, key=totals.get) == "random"


def test_agents_of_other_rules_do_not_sit_down():
    house = RULESETS["yacht"].with_house_rules(straights=(15, 30))
    assert agents_for(house) == ("optimal", "greedy", "random")
    with pytest.raises(ValueError, match="the policy plays 'yacht'"):
        load_agent("dqn-yacht", house)


def test_a_card_is_drawn_before_the_first_roll():
    view = new_game().view()
    assert "Roll the dice" in draw_ansi(view) and "3 rolls left" in draw_ansi(view) and "key" not in draw_ansi(view)
    pytest.importorskip("pygame")
    assert draw_rgb(view).shape[2] == 3
