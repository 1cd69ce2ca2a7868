"""Solving with several processes gives the same numbers, whatever becomes of the helpers."""

import dataclasses
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from yacht_env import induction, parallel
from yacht_env.game import get_game
from yacht_env.parallel import backward_induction
from yacht_env.rules import RULESETS, UpperBonus
from yacht_env.solver import solve


@pytest.fixture(scope="module")
def alone():
    return backward_induction(get_game("yacht-bonus"), processes=1)


@pytest.fixture
def helpers(monkeypatch):
    """The helpers that are made, each waited for until it is ready, so that it has a share in all layers."""
    made = []

    class Eager(parallel._Helper):
        def __init__(self, ruleset, path, number, processes):
            super().__init__(ruleset, path, number, processes)
            self.layers = []
            ready = parallel._share(get_game(ruleset), path, processes).ready
            while self._process and self._process.poll() is None and not ready[number]:
                pass
            made.append(self)

        def begin(self, layer):
            self.layers.append(layer)
            super().begin(layer)

    monkeypatch.setattr(parallel, "_Helper", Eager)
    return made


@pytest.mark.parametrize("processes", [2, 4])
def test_any_number_of_processes_gives_the_same_bits(alone, helpers, processes):
    values = backward_induction(get_game("yacht-bonus"), processes=processes)
    np.testing.assert_array_equal(values, alone)
    assert [helper.layers for helper in helpers] == [list(range(12))] * (processes - 1)


def test_a_helper_solves_a_part_of_the_work(helpers, monkeypatch):
    solved = []
    real = parallel.Induction.solve
    monkeypatch.setattr(parallel.Induction, "solve", lambda self, part: (solved.append(part), real(self, part)))
    game = get_game("yacht-bonus")
    backward_induction(game, processes=2)
    assert 0 < len(solved) < sum(map(len, parallel.Induction(game).layers))


def test_a_helper_may_die_in_the_middle_of_a_layer(alone, helpers):
    killed = []

    def progress(solved, total):
        if solved > total / 2 and not killed:
            killed.append(helpers[0])
            helpers[0]._process.kill()

    np.testing.assert_array_equal(backward_induction(get_game("yacht-bonus"), progress, processes=3), alone)
    assert killed


def test_what_a_dead_helper_had_claimed_is_done_over(alone, helpers, monkeypatch):
    real = parallel._Helper.begin

    def claim_and_die(self, layer):
        self._process.kill()
        self._process.wait()
        self.marks[layer][::2] = parallel._CLAIMED
        real(self, layer)

    real_by_layer = parallel._by_layer

    def by_layer(induction, marks):
        views = real_by_layer(induction, marks)
        helpers[0].marks = views
        return views

    monkeypatch.setattr(parallel, "_by_layer", by_layer)
    monkeypatch.setattr(parallel._Helper, "begin", claim_and_die)
    np.testing.assert_array_equal(backward_induction(get_game("yacht-bonus"), processes=2), alone)


@pytest.mark.parametrize("ruleset", RULESETS)
def test_there_is_a_mark_for_every_part(ruleset):
    game = get_game(ruleset)
    assert sum(map(len, parallel.Induction(game).layers)) <= parallel.Induction.most_parts(game)


def test_no_part_is_wider_than_its_room():
    numbers = RULESETS["yacht-bonus"].with_boxes(range(6))
    for threshold in range(20, 106):
        ruleset = dataclasses.replace(numbers, name="short", upper_bonus=UpperBonus(threshold, 35))
        layers = induction.Induction(get_game(ruleset)).layers
        widest = max(sum(piece.n_columns for piece in part) for layer in layers for part in layer)
        assert widest <= induction._WIDTH, threshold


@pytest.mark.parametrize("threshold", [50, 56])
def test_whatever_the_threshold_the_values_are_those_of_their_own_turns(threshold):
    numbers = RULESETS["yacht-bonus"].with_boxes(range(6))
    solution = solve(dataclasses.replace(numbers, name="short", upper_bonus=UpperBonus(threshold, 35)), cache=False)
    open_boxes, lane = np.nonzero(~np.isnan(solution.values))
    cards = open_boxes > 0
    turns = solution.model.turn_values(open_boxes[cards], lane[cards])
    np.testing.assert_allclose(solution.values[open_boxes[cards], lane[cards]], turns, rtol=0, atol=1e-9)


def test_where_there_is_no_room_for_the_shared_file_it_goes_on_alone(alone, helpers, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    np.testing.assert_array_equal(backward_induction(get_game("yacht-bonus"), processes=2), alone)
    assert not helpers


def test_where_no_process_can_be_started_it_goes_on_alone(alone, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError("no processes here")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    np.testing.assert_array_equal(backward_induction(get_game("yacht-bonus"), processes=3), alone)


def test_a_program_that_is_no_interpreter_is_not_started(alone, monkeypatch):
    monkeypatch.setattr(sys, "executable", "")
    monkeypatch.setattr(subprocess, "Popen", None)
    np.testing.assert_array_equal(backward_induction(get_game("yacht-bonus"), processes=2), alone)


def test_helpers_are_gone_when_a_solve_is_broken_off(helpers):
    def stop(solved, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        backward_induction(get_game("yacht-bonus"), stop, processes=2)
    assert helpers[0]._process.poll() is not None


def test_small_games_start_no_process(monkeypatch):
    monkeypatch.setattr(subprocess, "Popen", None)
    assert np.isfinite(backward_induction(get_game("yacht"))[-1, 0])


def test_progress_ends_at_all_lanes():
    told = []
    game = get_game("yacht-bonus")
    backward_induction(game, lambda solved, total: told.append((solved, total)), processes=2)
    assert told == sorted(told)
    assert told[-1] == (game.reachable_lanes[1:].sum(),) * 2
