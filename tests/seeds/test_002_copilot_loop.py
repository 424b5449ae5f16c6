"""Seed 002, the Copilot loop (mode ralph, settings): its requirements, one test each."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from untildone import settings
from untildone.core.answers.claims import has_promise
from untildone.core.errors import UsageError
from untildone.core.events import AnswerRead, BudgetChanged, MessageSent
from untildone.core.limits import Limit
from untildone.core.model import Answer, Budget, Context, Outcome, SessionUse
from untildone.core.plugins.mode import FromFiles
from untildone.faces.web.forms.fields import Field, Kind, fields
from untildone.faces.web.translations.texts import Language, texts_for
from untildone.operations.creating import loop_settings
from untildone.settings.schema import json_schema
from untildone.testing import driver
from untildone.testing.driver import Reply

PROMISE = "<promise>COMPLETE</promise>"


def in_profile(tmp_path: Path, **chosen: Any) -> settings.Settings:
    """The settings of a project whose agent is a profile with these settings."""
    values = {"agent": "mine", "profiles": {"mine": {"agent": "scripted", **chosen}}}
    return settings.load(tmp_path, values, {"HOME": str(tmp_path)})


def rounds_of(chosen: settings.Settings) -> int | None:
    return loop_settings.loop_budget(chosen, FromFiles()).iterations


def schema_of(name: str) -> dict[str, Any]:
    """A setting of an agent profile in the JSON Schema."""
    found: dict[str, Any] = json_schema()["$defs"]["AgentProfile"]["properties"][name]
    return found


def field(name: str) -> Field:
    return next(each for each in fields(settings.every(), {}) if each.name == name)


# --- the settings and their schema ---


def test_on_purpose_loop_enabled_is_in_the_schema_and_on_for_run(tmp_path: Path) -> None:
    """Title and description are the design's. Its default is off, because there a loop is an addition to another program's run;
    who types `untildone run` asks for a loop, so it is on here, and `--once` or a profile turns it off."""
    found = schema_of("loop_enabled")
    assert (found["title"], found["description"]) == ("Enable Loop", "Enable automatic loop until task completion")
    assert settings.load(tmp_path, {}, {"HOME": str(tmp_path)}).loop_enabled
    home = {"HOME": str(tmp_path)}
    for own, once in (({}, False), ({"loop_enabled": False}, True)):
        assert loop_settings.loop_settings(in_profile(tmp_path, **own), str(tmp_path), home).once is once


def test_requirement_max_iterations_of_a_profile_are_1_to_100_and_5_unless_set(tmp_path: Path) -> None:
    found = schema_of("max_iterations")
    assert found["title"] == "Max Iterations"
    number = next(each for each in found["anyOf"] if each["type"] == "integer")
    assert (number["minimum"], number["maximum"]) == (1, 100)
    for wrong in (0, 101):
        with pytest.raises(UsageError, match=f"{wrong} is not a number of rounds"):
            in_profile(tmp_path, max_iterations=wrong)
    assert rounds_of(in_profile(tmp_path)) == 5
    assert [rounds_of(in_profile(tmp_path, max_iterations=n)) for n in (1, 100)] == [1, 100]


def test_on_purpose_a_person_may_set_more_than_a_hundred_or_no_limit(tmp_path: Path) -> None:
    """The design's hard limit guards against loops that nobody watches. Here minutes, dollars, tokens and the stall rule do
    that, so a person may choose any number of rounds for one run; a profile keeps the limit of 100."""
    home = {"HOME": str(tmp_path)}
    assert rounds_of(settings.load(tmp_path, {"max_iterations": 101}, home)) == 101
    assert rounds_of(settings.load(tmp_path, {"max_iterations": "none"}, home)) is None


@pytest.mark.parametrize("name", ["completion_promise", "promise"])
def test_requirement_completion_promise_is_in_the_schema_by_either_name(tmp_path: Path, name: str) -> None:
    assert schema_of("completion_promise")["title"] == "Completion Promise"
    assert "Exact string that signals task completion" in schema_of("completion_promise")["description"]
    chosen = in_profile(tmp_path, **{name: "DONE"})
    loop = loop_settings.loop_settings(chosen, str(tmp_path), {"HOME": str(tmp_path)})
    assert loop.promise == "DONE"


def promised(tmp_path: Path, **values: Any) -> str | None:
    chosen = settings.load(tmp_path, {"agent": "scripted", **values}, {"HOME": str(tmp_path)})
    return loop_settings.loop_settings(chosen, str(tmp_path), {"HOME": str(tmp_path)}).promise


def test_on_purpose_no_promise_is_the_empty_text_and_null_is_the_usual_one(tmp_path: Path) -> None:
    """In a request or a form, null means "not set", for every setting; so the wish for no promise has a value of its own."""
    assert promised(tmp_path) == PROMISE
    assert promised(tmp_path, promise="") is None


# --- the four scenarios ---


def test_requirement_scenario_the_promise_ends_it_after_one_iteration() -> None:
    loop = driver.looping(["Working on task...\nDONE"], Budget(iterations=5), promise="DONE").run()
    assert (loop.outcome, loop.spend.iterations) == (Outcome.CLAIMED, 1)


def test_requirement_scenario_three_iterations_without_a_promise_made() -> None:
    loop = driver.looping([f"step {n}" for n in range(9)], Budget(iterations=3), promise="DONE").run()
    assert (loop.outcome, loop.spend.iterations) == (Outcome.BUDGET, 3)


def test_requirement_scenario_with_the_loop_off_it_is_one_ordinary_run() -> None:
    loop = driver.looping(["I did something."], Budget(iterations=5), once=True).run()
    assert (loop.outcome, loop.spend.iterations) == (Outcome.CLAIMED, 1)


def test_requirement_scenario_no_promise_uses_all_iterations() -> None:
    loop = driver.looping([f"step {n} {PROMISE}" for n in range(9)], Budget(iterations=4), promise=None).run()
    assert (loop.outcome, loop.spend.iterations) == (Outcome.BUDGET, 4)


# --- the follow-up ---


def test_requirement_the_follow_up_is_the_task_and_its_iteration() -> None:
    ran = driver.looping(["one", "two"], Budget(iterations=3), task="Write it.")
    ran.run()
    second = ran.calls()[1].ask.prompt
    assert second.startswith("Write it.\n")
    assert second.endswith("[System: This is iteration 2 of 3. Continue the task.]")


def test_requirement_the_follow_up_is_in_the_same_session() -> None:
    says = [Reply(Answer("one", session_id="s")), Reply(Answer("two", session_id="s"))]
    ran = driver.looping(says, Budget(iterations=2))
    ran.run()
    assert [call.session for call in ran.calls()] == [SessionUse.NEW, SessionUse.RESUME]
    fresh = driver.looping(says, Budget(iterations=2), context=Context.FRESH)
    fresh.run()
    assert [call.session for call in fresh.calls()] == [SessionUse.NEW, SessionUse.NEW]


# --- the promise in the output ---


def test_requirement_the_promise_in_the_output_completes() -> None:
    assert has_promise(f"Working on task...\n{PROMISE}", PROMISE)
    assert has_promise("Working on task...\nDONE", "DONE")


def test_on_purpose_a_promise_with_words_after_it_does_not_complete() -> None:
    """The seed's own example ends in "Done.". Without knowing the language, that cannot be told from "Not yet."."""
    assert not has_promise(f"Working on task...\n{PROMISE}\nDone.", PROMISE)


@pytest.mark.parametrize(
    "text",
    [
        f"明白。等測試全部通過後我才會輸出 {PROMISE}。",
        f"还没有完成，不能说 {PROMISE}",
        f"完成任務後，請輸出 {PROMISE} 標記。",
        f"I will say {PROMISE} when the tests pass.",
        f"Not done, so no {PROMISE} yet.",
        f"```\n{PROMISE}\n```",
        f"> {PROMISE}",
        f"`{PROMISE}`",
    ],
)
def test_requirement_wrong_detection_is_avoided(text: str) -> None:
    assert not has_promise(text, PROMISE)


# --- the form ---


def test_requirement_form_a_card_with_a_switch() -> None:
    switch = field("loop_enabled")
    assert (switch.group.title, switch.title, switch.kind) == ("Loop Settings", "Enable Auto Loop", Kind.SWITCH)


@pytest.mark.parametrize("name", ["max_iterations", "promise"])
def test_requirement_form_the_switch_hides_the_rest(name: str) -> None:
    assert field(name).is_shown_with({"loop_enabled": True})
    assert not field(name).is_shown_with({"loop_enabled": False})


def test_requirement_form_a_slider_with_its_label() -> None:
    from untildone.faces.web.forms import fields as forms

    slider = field("max_iterations")
    assert (slider.kind, slider.title, slider.lowest) == (Kind.ROUNDS, "Max Iterations", 1)
    assert (forms.MOST_ON_SLIDER, forms.USUAL_ROUNDS) == (50, 5)


def test_requirement_form_the_help_texts_are_those_of_the_design() -> None:
    assert field("max_iterations").hint == "Safety limit to prevent infinite loops"
    assert field("promise").hint == (
        "Exact string that signals task completion. Leave empty to rely only on max iterations."
    )


def test_requirement_form_the_placeholder() -> None:
    assert field("promise").placeholder == "e.g., <promise>COMPLETE</promise>"


def test_requirement_form_what_is_saved_is_in_the_projects_file_and_comments_stay(tmp_path: Path) -> None:
    file = tmp_path / "untildone.toml"
    file.write_text("# ours\nmax_iterations = 3  # few\n")
    settings.save(file, {"max_iterations": 8, "promise": "ALL DONE"})
    assert tomllib.loads(file.read_text()) == {"max_iterations": 8, "promise": "ALL DONE"}
    assert file.read_text().startswith("# ours\nmax_iterations = 8  # few\n")


def test_requirement_translations_are_complete_and_other_languages_fall_back_to_english() -> None:
    assert texts_for("zh-CN").language is Language.SIMPLIFIED
    assert {texts_for(wish).language for wish in ("zh-TW", "zh-HK")} == {Language.TRADITIONAL}
    assert texts_for("de-DE").language is Language.ENGLISH
    for name in ("loop_enabled", "max_iterations", "promise"):
        for wish in ("zh-CN", "zh-TW"):
            t = texts_for(wish)
            assert t(field(name).title) != field(name).title
            assert t(field(name).hint) != field(name).hint


def test_on_purpose_the_schema_has_no_words_about_widgets() -> None:
    """`ui:widget` and its like belong to one form library. The declaration of a setting says what its form shows; the schema
    that the API gives is plain JSON Schema."""
    assert "ui:" not in str(json_schema())


# --- risks ---


def test_requirement_much_output_is_kept_in_a_file_and_not_in_memory() -> None:
    """The answer that a loop holds is the end of what was said; all of it is in the file of the round."""
    ran = driver.looping(["x" * 20_000_000 + f"\n{PROMISE}"], Budget(iterations=2))
    loop = ran.run()
    assert loop.outcome is Outcome.CLAIMED
    assert len(loop.answer.text if loop.answer else "") < 1_000_000


def test_requirement_two_writers_at_once_lose_nothing() -> None:
    """What others append while the agent works counts beside the agent's answer."""
    others = (MessageSent("and the docs"), BudgetChanged(Limit.ITERATIONS, 2, add=True))
    ran = driver.looping([Reply(Answer("one"), meanwhile=others), "two"], Budget(iterations=2))
    loop = ran.run()
    assert (loop.budget.iterations, loop.spend.iterations) == (4, 4)
    assert "and the docs" in ran.calls()[1].ask.prompt
    assert len(list(ran.events(AnswerRead))) == 4
