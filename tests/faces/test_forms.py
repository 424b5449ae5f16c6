"""The forms of the dashboard as values: fields from declarations, what they show at first, and what is in the open."""

from __future__ import annotations

from typing import Any

import pytest

from untildone import modes, settings
from untildone.core.model import EMPTY
from untildone.faces.web.forms.fields import Field, Kind, content, fields
from untildone.faces.web.forms.page import TEXTS
from untildone.faces.web.forms.sections import by_group, in_the_open, under_more
from untildone.faces.web.forms.widgets import (
    NOT_INSTALLED,
    Option,
    Source,
    Values,
    Widget,
    for_file,
    for_new,
    sourced,
)
from untildone.faces.web.translations.chinese import CHINESE
from untildone.operations.creating.suggestions import USED

AGENTS = ("claude", "codex")
CHOICES = {"mode": ("ralph", "phases"), "agent": AGENTS, "supervisor": AGENTS}


def the_fields() -> tuple[Field, ...]:
    return fields(settings.every(), CHOICES)


def new(effective: dict[str, Any] | None = None, **values: Any) -> dict[str, Widget]:
    """The widgets of the form for a new loop, by name."""
    usual = {name: each.default for name, each in settings.every().items()}
    given = Values({**usual, **(effective or {})}, frozenset(effective or ()), **values)
    return {each.field.name: each for each in for_new(the_fields(), given)}


def of_file(file: dict[str, Any], below: dict[str, Any] | None = None) -> dict[str, Widget]:
    """The widgets for a settings file, by name."""
    usual = {name: each.default for name, each in settings.every().items()}
    shown = for_file(
        the_fields(), file, {**usual, **(below or {})}, Values({"mode": "ralph"}, usual_rounds={"ralph": 5})
    )
    return {each.field.name: each for each in shown}


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("loop_enabled", Kind.SWITCH),
        ("max_iterations", Kind.ROUNDS),
        ("promise", Kind.WORDS),
        ("max_cost", Kind.NUMBER),
        ("max_tokens", Kind.WHOLE),
        ("mode", Kind.CHOICE),
        ("tests", Kind.CHOICE),
        ("checks", Kind.CHECKS),
        ("args", Kind.LINES),
        ("gates", Kind.PAIRS),
        ("notify_secret", Kind.SECRET),
        ("store", Kind.SECRET),
        ("profiles", Kind.PROFILES),
        ("route", Kind.CHOICE),
    ],
)
def test_the_kind_of_a_field_comes_from_the_declaration(name: str, kind: Kind) -> None:
    assert {field.name: field.kind for field in the_fields()}[name] is kind


def test_every_setting_has_a_field_with_words() -> None:
    assert {field.name for field in the_fields()} == set(settings.every())
    assert all(field.title and field.hint for field in the_fields())


@pytest.mark.parametrize(
    ("kind", "value", "shown"),
    [
        (Kind.SWITCH, None, False),
        (Kind.NUMBER, 600.0, "600"),
        (Kind.NUMBER, 0.05, "0.05"),
        (Kind.NUMBER, 1e12, "1000000000000"),
        (Kind.ROUNDS, "none", "none"),
        (Kind.CHECKS, ["pytest -q", "make\nlint"], ("pytest -q", "make\nlint")),
        (Kind.LINES, ["--a", "b c"], "--a\nb c"),
        (Kind.PAIRS, {"KEY": "a=b"}, "KEY=a=b"),
        (Kind.PAIRS, EMPTY, ""),
        (Kind.WORDS, None, ""),
    ],
)
def test_what_a_widget_shows_for_a_value(kind: Kind, value: object, shown: object) -> None:
    assert content(Field("name", kind, "Name", ""), value) == shown


class TestNewLoop:
    def test_values_of_the_project_are_placeholders_of_what_is_typed(self) -> None:
        cost = new({"max_cost": 5.0})["max_cost"]
        assert (cost.content, cost.placeholder) == ("", "5")

    def test_what_cannot_be_empty_shows_the_value_of_the_project(self) -> None:
        shown = new({"require_change": True, "mode": "phases", "checks": ["pytest -q"], "promise": ""})
        assert shown["require_change"].content is True
        assert (shown["mode"].content, shown["checks"].content, shown["promise"].content) == (
            "phases",
            ("pytest -q",),
            "",
        )

    def test_the_rounds_follow_the_mode_unless_the_project_sets_them(self) -> None:
        usual = {"ralph": 5, "phases": None}
        rounds = new(usual_rounds=usual)["max_iterations"]
        assert (rounds.content, rounds.usual) == ("5", {"ralph": "5", "phases": "none"})
        fixed = new({"max_iterations": 80}, usual_rounds=usual)["max_iterations"]
        assert (fixed.content, fixed.usual) == ("80", None)

    def test_an_agent_that_is_not_installed_is_marked(self) -> None:
        options = new(missing={"codex": "npm install codex"})["agent"].options
        assert options == (Option("claude"), Option("codex", "not installed", "npm install codex"))

    def test_a_choice_that_the_project_has_made_cannot_be_sent_as_none(self) -> None:
        assert Option("") in new()["supervisor"].options
        assert Option("") not in new({"supervisor": "claude"})["supervisor"].options

    def test_a_value_that_is_no_longer_a_choice_stays_one(self) -> None:
        assert Option("mine") in new({"agent": "mine"})["agent"].options

    def test_options_of_a_mode_are_shown_with_it(self) -> None:
        assert new()["route"].hidden
        assert not new({"mode": "phases"})["route"].hidden

    def test_task_checks_and_budget_are_in_the_open_and_the_rest_is_under_more(self) -> None:
        widgets = tuple(new().values())
        opened = {title: [each.field.name for each in part.widgets] for title, part in in_the_open(widgets).items()}
        folded = [each.field.name for part in under_more(widgets) for each in part.widgets]
        assert opened["Checks"] == ["checks"]
        assert opened["Budget"] == ["max_cost", "max_minutes"]
        assert opened["Loop Settings"] == ["loop_enabled", "max_iterations", "promise"]
        assert opened["Agent"][:2] == ["agent", "mode"]
        assert {"command", *(option.name for _, option in modes.options(modes.own_names()))} <= set(opened["Agent"])
        absent = {each.name for each in the_fields() if each.group.in_new_loop == "absent"}
        everything = [*folded, *(name for names in opened.values() for name in names)]
        assert sorted(everything) == sorted(set(settings.every()) - absent)


class TestFile:
    def test_what_the_file_sets_is_shown_and_the_rest_is_a_placeholder(self) -> None:
        shown = of_file({"max_cost": 5.0}, {"max_minutes": 60.0})
        assert (shown["max_cost"].content, shown["max_cost"].is_set) == ("5", True)
        assert (shown["max_minutes"].content, shown["max_minutes"].placeholder) == ("", "60")

    def test_what_shows_once_it_is_removed_from_the_file(self) -> None:
        shown = of_file({"require_change": True, "max_cost": 5.0}, {"require_change": False, "max_cost": 2.0})
        assert (shown["require_change"].content, shown["require_change"].otherwise) == (True, False)
        assert (shown["max_cost"].content, shown["max_cost"].otherwise) == ("5", "")

    def test_a_secret_is_not_shown(self) -> None:
        secret = of_file(settings.hidden({"notify_webhook": "https://x", "notify_secret": "s3cret"}))["notify_secret"]
        assert (secret.content, secret.placeholder) == ("", settings.HIDDEN)

    def test_where_a_value_comes_from(self) -> None:
        widgets = of_file({"max_cost": 5.0, "mode": "ralph"}).values()
        found = {each.field.name: each.source for each in sourced(widgets, ["model"], ["mode"])}
        assert (found["max_cost"], found["model"]) == (Source.PROJECT, Source.PERSON)
        assert (found["mode"], found["agent"]) == (Source.ENVIRONMENT, Source.DEFAULT)

    def test_profiles_are_no_field_of_the_sections(self) -> None:
        sections = list(by_group(of_file({}).values()))
        assert "profiles" not in {each.field.name for part in sections for each in part.widgets}
        assert sections[0].title == "Agent"


def test_every_sentence_of_the_scripts_is_translated() -> None:
    assert [text for text in (*TEXTS.values(), NOT_INSTALLED, USED) if text not in CHINESE] == []
