"""Solving with several processes gives the same numbers, whatever becomes of the helpers."""

import subprocess
import sys

import numpy as np
import pytest

from yacht_env import parallel
from yacht_env.game import get_game
from yacht_env.parallel import backward_induction
from yacht_env.rules import RULESETS


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
