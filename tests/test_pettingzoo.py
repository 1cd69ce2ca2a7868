"""Several players: PettingZoo's own tests, a referee that counts by itself, and a game of one against Yacht-v0."""

import gymnasium
import numpy as np
import pytest

pytest.importorskip("pettingzoo")

from pettingzoo.test import api_test, render_test, seed_test

import yacht_env
from yacht_env.integrations.pettingzoo import env, raw_env
from yacht_env.observation import get_observation
from yacht_env.rules import RULESETS


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("ruleset", RULESETS)
@pytest.mark.parametrize("num_players", [1, 2, 4])
def test_pettingzoo_finds_the_interface_in_order(num_players, ruleset):
    api_test(env(num_players, ruleset), num_cycles=200)
    api_test(raw_env(num_players, ruleset, "outcome"), num_cycles=200)


@pytest.mark.filterwarnings("ignore")
def test_seeds_decide_everything():
    seed_test(lambda: env(3), num_cycles=200)


@pytest.mark.filterwarnings("ignore")
def test_every_render_mode_gives_what_it_promises(monkeypatch):
    pytest.importorskip("pygame")
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    render_test(lambda render_mode=None: env(2, render_mode=render_mode))


@pytest.mark.parametrize("ruleset", RULESETS)
def test_a_game_of_one_is_yacht_v0(ruleset):
    table, single, rng = raw_env(1, ruleset), yacht_env.YachtEnv(ruleset), np.random.default_rng(0)
    for seed in (0, 7, None):
        table.reset(seed=seed)
        observation, info = single.reset(seed=seed)
        done = False
        while not done:
            seen = table.observe("player_0")
            np.testing.assert_array_equal(seen["observation"][:-1], observation)
            np.testing.assert_array_equal(seen["action_mask"], info["action_mask"])
            action = int(rng.choice(np.flatnonzero(info["action_mask"])))
            table.step(action)
            observation, reward, done, _, info = single.step(action)
            assert table.rewards["player_0"] == reward
            assert table.terminations["player_0"] == done


class Referee:
    """Keeps the score of one player from dice and boxes alone."""

    def __init__(self, ruleset):
        self.ruleset = yacht_env.get_ruleset(ruleset)
        self.filled, self.total, self.upper = {}, 0, 0

    def record(self, dice, box):
        counts = [dice.count(face) for face in range(1, 7)]
        rule, joker = self.ruleset.boxes[box], self.ruleset.joker
        points = rule.score(counts)
        if joker and max(counts) == 5 and joker.box in self.filled:
            points = rule.score_as_joker(counts) + (joker.extra_points if self.filled[joker.box] else 0)
        if rule.is_number:
            before, self.upper = self.upper, self.upper + rule.score(counts)
            bonus = self.ruleset.upper_bonus
            if bonus and before < bonus.threshold <= self.upper:
                points += bonus.points
        self.filled[rule.name] = rule.score(counts)
        self.total += points
        return points


def play_and_check(ruleset, num_players, n_decisions, seed):
    table, rng, decisions = raw_env(num_players, ruleset), np.random.default_rng(seed), 0
    game, layout = table.game, get_observation(ruleset).layout
    while decisions < n_decisions:
        table.reset(seed=int(rng.integers(2**31)))
        referees = {agent: Referee(ruleset) for agent in table.agents}
        turns = []
        while not table.terminations[table.agent_selection]:
            agent = table.agent_selection
            seen = table.observe(agent)
            action = int(rng.choice(np.flatnonzero(seen["action_mask"])))
            dice = (seen["observation"][layout["dice"]].reshape(5, 6).argmax(axis=1) + 1).tolist()
            table.step(action)
            decisions += 1
            if action >= game.n_holds:
                turns.append(agent)
                assert table.rewards[agent] == referees[agent].record(dice, action - game.n_holds)
        assert {agent: referee.total for agent, referee in referees.items()} == table.totals
        assert turns == table.possible_agents * game.n_boxes
    return decisions


@pytest.mark.parametrize("ruleset", ["yacht", "classic13"])
@pytest.mark.parametrize("num_players", [2, 3])
def test_totals_are_those_of_an_independent_referee(ruleset, num_players):
    assert play_and_check(ruleset, num_players, 3_000, seed=num_players) >= 3_000


@pytest.mark.slow
def test_totals_of_a_million_decisions_are_those_of_a_referee():
    decisions = 0
    for i, ruleset in enumerate(RULESETS):
        for num_players in (2, 3, 4):
            decisions += play_and_check(ruleset, num_players, 56_000, seed=10 * i + num_players)
    assert decisions >= 1_000_000


def finish(table, rng):
    while table.agents and not all(table.terminations.values()):
        mask = table.observe(table.agent_selection)["action_mask"]
        table.step(int(rng.choice(np.flatnonzero(mask))))


def test_the_outcome_rewards_the_winner_alone():
    table, rng, seen = raw_env(2, reward="outcome"), np.random.default_rng(0), set()
    for seed in range(60):
        table.reset(seed=seed)
        finish(table, rng)
        one, two = table.totals.values()
        assert tuple(table.rewards.values()) == ((1, -1) if one > two else (-1, 1) if two > one else (0, 0))
        seen.add(np.sign(one - two))
    assert {-1, 1} <= seen


def test_everyone_sees_all_cards_and_the_lead():
    table = raw_env(3)
    table.reset(seed=1)
    for _ in range(2):  # two players fill Choice at once
        table.step(32 + 10)
    totals = table.totals
    assert totals["player_0"] > 0 and totals["player_1"] > 0 and totals["player_2"] == 0
    size = get_observation("yacht").size
    rest = table.observe("player_2")["observation"][size:]
    highest = table._highest
    assert rest[0] == 0 and rest[1] == pytest.approx(totals["player_0"] / highest)
    assert rest[2:14].tolist() == [1] * 10 + [0, 1]
    assert rest[14] == pytest.approx(totals["player_1"] / highest)
    lead = (0 - max(totals.values())) / (2 * highest) + 0.5
    assert rest[-1] == pytest.approx(lead) and len(rest) == 1 + 2 * 13 + 1
    waiting = table.observe("player_0")
    assert not waiting["action_mask"].any()
    np.testing.assert_array_equal(waiting["observation"][:36], table.observe("player_2")["observation"][:36])


def test_settings_that_make_no_sense_are_refused():
    for settings in ({"num_players": 0}, {"reward": "fame"}, {"render_mode": "smell"}, {"ruleset": "chess"}):
        with pytest.raises(ValueError, match=str(next(iter(settings.values())))):
            raw_env(**settings)


def test_a_step_before_the_first_reset_says_so():
    with pytest.raises(gymnasium.error.ResetNeeded):
        raw_env().step(0)
