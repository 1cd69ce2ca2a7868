"""Before the game: the rules, who plays, the coach, the player's word; or a saved game to go on with.

Public names: :class:`StartScreen`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, cast

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.message import Message
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Button, Footer, Input, OptionList, Select, Static
from textual.widgets.option_list import Option

from yacht_env.rules import RULESETS, Ruleset
from yacht_env.table.app.saved import SavedGame, unfinished_games
from yacht_env.table.app.showing import sentence
from yacht_env.table.fair_dice import MOST_WORD
from yacht_env.table.record import MOST_NAME
from yacht_env.table.settings import COACHING, MOST_OPPONENTS, PERSON, Settings, parse_straights

if TYPE_CHECKING:
    from yacht_env.table.app.app import YachtApp

__all__ = ["StartScreen"]

_COACH = (
    ("off", "off"),
    ("hints: what each choice is worth, at the key v", "hints"),
    ("always: values and what the last decision cost", "always"),
)
_FOURS = (("as the rules say", ""), ("the sum of the four", "4"), ("the sum of all five", "5"))
_HOUSES = (("as the rules say", ""), ("five of a kind counts, too", "yes"), ("five of a kind is none", "no"))
_AGENTS = {"optimal": "optimal: plays perfectly", "greedy": "greedy: each turn for itself", "random": "random: at random"}


class StartScreen(Screen[None]):
    """The fields of :class:`Settings`, filled in with what was given.

    Args:
        settings: What the fields hold at first.
    """

    class Found(Message):
        """The saved games have been looked through."""

        def __init__(self, games: list[SavedGame]) -> None:
            self.games = games
            super().__init__()

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f2", "start", "Start", key_display="F2"),
        Binding("tab", "app.focus_next", "Next field", key_display="Tab"),
        Binding("down", "app.focus_next", show=False),
        Binding("up", "app.focus_previous", show=False),
        Binding("question_mark,f1", "rules", "Rules", key_display="F1"),
        Binding("escape", "app.quit", "Quit", key_display="Esc"),
    ]

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self._settings = settings
        self._dice = settings.dice()
        self._saved: list[SavedGame] = []

    def compose(self) -> ComposeResult:
        """One field a line."""
        settings = self._settings
        with VerticalScroll(id="start", can_focus=False):
            yield Static("Yacht", id="start-title")
            rulesets = [(f"{name}: {_about(ruleset)}", name) for name, ruleset in RULESETS.items()]
            yield _field("Game", Select(rulesets, value=settings.ruleset, allow_blank=False, compact=True, id="ruleset"))
            yield _field("Straights", self._straights_input())
            fours = str(settings.four_of_a_kind_dice or "")
            yield _field("Four of a kind", Select(_FOURS, value=fours, allow_blank=False, compact=True, id="fours"))
            house = {None: "", True: "yes", False: "no"}[settings.five_of_a_kind_is_full_house]
            yield _field("Full house", Select(_HOUSES, value=house, allow_blank=False, compact=True, id="houses"))
            yield _field("Your name", Input(settings.name, max_length=MOST_NAME, compact=True, id="name"))
            for i in range(MOST_OPPONENTS):
                yield _field(f"Opponent {i + 1}", *self._opponent(i))
            yield _field("Coach", Select(_COACH, value=settings.coach, allow_blank=False, compact=True, id="coach"))
            hint = "anything; it changes the dice"
            yield _field("Your word", Input(settings.word, hint, max_length=MOST_WORD, compact=True, id="word"))
            yield Static(self._fairness(), id="fairness")
            yield Static(id="start-trouble", markup=False)
            with Horizontal(id="start-buttons"):
                yield Button("Start the game", variant="success", compact=True, id="begin")
                yield Button("Rules and odds", compact=True, id="rules")
            yield Static("Or go on with a saved game:", id="saved-title")
            yield OptionList(id="saved", compact=True)
        yield Footer(compact=True, show_command_palette=False)

    def _straights_input(self) -> Input:
        given = self._settings.straights
        text = given if isinstance(given, str) else " ".join(map(str, given or ()))
        hint = "as the rules say (or points such as 15 30, or sum)"
        return Input(text, placeholder=hint, compact=True, id="straights")

    def _opponent(self, i: int) -> tuple[Widget, Widget]:
        chosen = self._settings.opponents[i] if i < len(self._settings.opponents) else ""
        kind, _, name = chosen.partition(":")
        kind = PERSON if kind == PERSON else chosen
        options = _opponents([kind] if kind else [])
        return (
            Select(options, value=kind, allow_blank=False, compact=True, id=f"opponent-{i}", classes="opponent"),
            Input(
                name if kind == PERSON else "",
                f"Player {i + 2}",
                max_length=MOST_NAME,
                compact=True,
                id=f"person-{i}",
                classes="person",
            ),
        )

    def _fairness(self) -> str:
        if self._settings.seed is not None:
            return f"The dice follow from the seed that was given, and from your word.\n{self._dice.commitment}"
        return f"The dice follow from your word and a secret seed, whose SHA-256 is\n{self._dice.commitment}"

    def on_mount(self) -> None:
        """The start button has the focus, so that Enter starts a game."""
        self.query_one("#begin").focus()
        self._show_persons()
        self._list_agents()
        self._show_saved()
        self.run_worker(lambda: self.post_message(self.Found(unfinished_games())), thread=True)

    # ------------------------------------------------------------------------------------------------------- changes

    @on(Select.Changed, "#ruleset")
    def _list_agents(self) -> None:
        """Published agents play one ruleset each."""
        from yacht_env.table.seats import agents_for  # the networks' code is not needed for the first picture

        names = agents_for(str(self.query_one("#ruleset", Select).value))
        for i in range(MOST_OPPONENTS):
            select = self.query_one(f"#opponent-{i}", Select)
            chosen = str(select.value)
            known = (*names, *([chosen] if "/" in chosen else ()))
            select.set_options(_opponents(known))
            select.value = chosen if chosen in (*known, PERSON) else ""

    @on(Select.Changed, ".opponent")
    def _show_persons(self) -> None:
        for i in range(MOST_OPPONENTS):
            is_person = self.query_one(f"#opponent-{i}", Select).value == PERSON
            self.query_one(f"#person-{i}").display = is_person

    @on(Found)
    def _show_found(self, event: Found) -> None:
        self._saved = event.games
        self._show_saved()

    def _show_saved(self) -> None:
        listed = self.query_one("#saved", OptionList)
        listed.clear_options()
        listed.add_options([Option(game.text) for game in self._saved])
        listed.display = self.query_one("#saved-title").display = bool(self._saved)

    # ------------------------------------------------------------------------------------------------------- leaving

    def _chosen(self) -> Settings:
        """The fields.

        Raises:
            ValueError: for a text that can't be read.
        """
        value = {select.id: str(select.value) for select in self.query(Select)}
        typed = {field.id: field.value for field in self.query(Input)}
        opponents = []
        for i in range(MOST_OPPONENTS):
            kind = value[f"opponent-{i}"]
            if kind:
                opponents.append(f"{PERSON}:{typed[f'person-{i}'].strip()}" if kind == PERSON else kind)
        fours, houses = value["fours"], value["houses"]
        return replace(
            self._settings,
            ruleset=value["ruleset"],
            straights=parse_straights(typed["straights"]),
            four_of_a_kind_dice=None if not fours else 4 if fours == "4" else 5,
            five_of_a_kind_is_full_house=None if not houses else houses == "yes",
            name=typed["name"],
            opponents=tuple(opponents),
            coach=COACHING[[mode for _, mode in _COACH].index(value["coach"])],
            word=typed["word"],
        )

    @on(Button.Pressed, "#begin")
    @on(Input.Submitted)
    def action_start(self) -> None:
        """Start a game with what is chosen."""
        try:
            settings = self._chosen()
            cast("YachtApp", self.app).begin(settings, self._dice.with_word(settings.word))
        except ValueError as error:
            self.query_one("#start-trouble", Static).update(sentence(error))

    @on(Button.Pressed, "#rules")
    def action_rules(self) -> None:
        """The rules of the chosen game."""
        from yacht_env.table.app.rules_screen import RulesScreen

        try:
            self.app.push_screen(RulesScreen(self._chosen().rules()))
        except ValueError as error:
            self.query_one("#start-trouble", Static).update(sentence(error))

    @on(OptionList.OptionSelected, "#saved")
    def _continue(self, event: OptionList.OptionSelected) -> None:
        try:
            cast("YachtApp", self.app).go_on_with(self._saved[event.option_index].path, self._chosen().coach)
        except (ValueError, OSError) as error:
            self.query_one("#start-trouble", Static).update(sentence(error))


def _field(label: str, *widgets: Widget) -> Horizontal:
    return Horizontal(Static(label, classes="label"), *widgets, classes="field")


def _opponents(names: Iterable[str]) -> list[tuple[str, str]]:
    agents = [(_AGENTS.get(name, name), name) for name in names if name != PERSON]
    return [("nobody", ""), ("another person", PERSON), *agents]


def _about(ruleset: Ruleset) -> str:
    parts = [f"{ruleset.n_boxes} boxes"]
    if ruleset.upper_bonus:
        parts.append(f"upper bonus of {ruleset.upper_bonus.points}")
    if ruleset.joker:
        parts.append("joker")
    return ", ".join(parts)
