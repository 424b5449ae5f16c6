"""The script of the scripted agent: its fields, the built-in scenarios, and the choice of the turn for a call."""

from __future__ import annotations

import argparse
import json
import re

from untildone.testing.scripted_actions import Actions, ScriptError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Part = dict[str, Any]
    Turn = list[Part]

KINDS = ("limit", "auth", "overloaded", "context_full", "refused", "crashed", "timeout", "malformed", "unavailable",
         "session_busy", "resources")  # fmt: skip
SCENARIOS = ("truthful", "liar", "never", "slow", "flood", "crash", "hang", "limit", "fork", "nonsense")
FOREVER = "forever"
LARGEST = 4_000_000_000
WORK_FILE = "scripted-work.md"
CHILDREN_FILE = "children.txt"
NONSENSE = ["Segmentation fault?", '{"event": "answer", "text": ', "\x00\x1b[31m", "[]"]


def is_text(value: object) -> bool:
    return isinstance(value, str)


def is_texts(value: object) -> bool:
    return is_text(value) or (isinstance(value, list) and all(map(is_text, value)))


def is_argv(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(map(is_text, value))


def is_files(value: object) -> bool:
    return isinstance(value, dict) and all(map(is_text, value.values()))


def is_flag(value: object) -> bool:
    return isinstance(value, bool)


def is_number(value: object) -> bool:
    return isinstance(value, int | float) and not is_flag(value) and 0 <= value <= LARGEST


def is_whole(value: object) -> bool:
    return isinstance(value, int) and is_number(value)


def is_usage(value: object) -> bool:
    return has_fields(value, {"tokens": is_whole, "cost_usd": is_number})


def is_child(value: object) -> bool:
    return has_fields(
        value, {"seconds": is_number, "ignore_term": is_flag, "keep_output": is_flag, "pid_file": is_text}
    )


def is_failure(value: object) -> bool:
    if isinstance(value, dict):
        return value.get("kind") in KINDS and has_fields(
            value, {"kind": is_text, "message": is_text, "reset_in": is_number}
        )
    return value in KINDS


def is_regex(value: object) -> bool:
    try:
        return isinstance(value, str) and bool(re.compile(value))
    except (re.error, OverflowError, RecursionError):
        return False


def has_fields(value: object, checks: dict[str, Callable[[object], bool]]) -> bool:
    return isinstance(value, dict) and all(name in checks and checks[name](part) for name, part in value.items())


FIELDS: dict[str, tuple[Callable[[Any], bool], str, Callable[[Actions, Any], None] | None]] = {
    "match": (is_regex, "a regular expression, searched in the prompt", None),
    "match_system": (is_regex, "a regular expression, searched in the system prompt", None),
    "repeat": (lambda n: n == FOREVER or (is_whole(n) and n > 0), 'a whole number from 1 on, or "forever"', None),
    "say": (is_texts, "a text or a list of texts", Actions.say),
    "think": (is_texts, "a text or a list of texts", Actions.think),
    "echo": (is_flag, "true or false", Actions.echo),
    "claim": (lambda value: is_flag(value) or is_text(value), "true, or the text to claim with", Actions.claim),
    "write": (is_files, "an object of file names and texts", Actions.write),
    "append": (is_files, "an object of file names and texts", Actions.append),
    "delete": (is_texts, "a file name or a list of them", Actions.delete),
    "run": (is_argv, "a list of words: program and arguments", Actions.run),
    "sleep": (is_number, "a number of seconds", Actions.sleep),
    "flood": (is_whole, "a number of bytes", Actions.flood),
    "huge_line": (is_whole, "a number of bytes", Actions.huge_line),
    "garbage": (is_texts, "a text or a list of texts", Actions.garbage),
    "usage": (is_usage, 'an object with "tokens" and "cost_usd"', Actions.spend),
    "fail": (
        is_failure,
        f'one of {", ".join(KINDS)}, or an object with "kind", "message" and "reset_in"',
        Actions.fail,
    ),
    "exit": (lambda value: is_whole(value) and value < 256, "an exit code", Actions.exit),
    "crash": (lambda value: is_flag(value) or (is_whole(value) and 0 < value < 64), "true, or a signal", Actions.crash),
    "hang": (is_flag, "true or false", Actions.hang),
    "ignore_term": (is_flag, "true or false", Actions.ignore_term),
    "child": (is_child, 'an object with "seconds", "ignore_term", "keep_output" and "pid_file"', Actions.child),
}


def checked(script: object) -> list[Turn]:
    """Check a script; return its turns, each a list of objects. Raises a ScriptError that names the first wrong turn."""
    if not isinstance(script, list) or not script:
        raise ScriptError("The script is not a list of turns")
    turns = [turn if isinstance(turn, list) else [turn] for turn in script]
    for number, turn in enumerate(turns, 1):
        for part in turn:
            if not isinstance(part, dict):
                raise ScriptError(f"Turn {number} of the script is not an object")
            for name, value in part.items():
                check_field(number, name, value)
    return turns


def check_field(number: int, name: str, value: object) -> None:
    if name not in FIELDS:
        raise ScriptError(f"Turn {number} of the script has an unknown field '{name}'; known are: {', '.join(FIELDS)}")
    is_valid, expected, _ = FIELDS[name]
    if not is_valid(value):
        raise ScriptError(f"Turn {number} of the script, field '{name}': expected {expected}, not {shown(value)}")


def shown(value: object) -> str:
    """The value as JSON of at most 60 characters."""
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:59] + "…"


def built_in(options: argparse.Namespace) -> list[Part]:
    """The script of a scenario: its usual turn until the claiming call, then claims."""
    usual, claims_on = usual_turn(options)
    if options.claims_on is not None:
        claims_on = options.claims_on
    if claims_on == 0:
        return [usual]
    before = [{**usual, "repeat": claims_on - 1}] if claims_on > 1 else []
    return [*before, claiming_turn(options.scenario, usual)]


def usual_turn(options: argparse.Namespace) -> tuple[Part, int]:
    """The usual turn of the scenario, and the number of the call that claims by default (0: never)."""
    seconds: float | None = options.seconds
    work: Part = {"append": {WORK_FILE: "Step {call}\n"}, "say": "I did step {call}; there is more to do."}
    turns: dict[str, tuple[Part, int]] = {
        "truthful": (work, 3),
        "liar": ({"say": "Everything is finished.", "claim": True}, 1),
        "never": (work, 0),
        "slow": ({"think": "Slowly.", "sleep": seconds or 2, **work}, 1),
        "flood": ({"flood": options.bytes, **work}, 1),
        "crash": ({**work, "crash": True}, 0),
        "hang": ({"say": "I shall think about it.", "hang": True}, 0),
        "limit": ({"fail": {"kind": "limit", "message": "usage limit reached", "reset_in": seconds or 2}}, 2),
        "fork": ({"child": {"seconds": seconds or 600, "pid_file": CHILDREN_FILE}, **work}, 1),
        "nonsense": ({"garbage": NONSENSE, "exit": 0}, 0),
    }
    return turns[options.scenario]


def claiming_turn(scenario: str, usual: Part) -> Part:
    if scenario == "liar":
        return usual
    kept = usual if scenario in ("slow", "flood", "fork") else {}
    work = {"append": {WORK_FILE: "Step {call}\n"}, "say": "I did step {call}, and that was the last.", "claim": True}
    return {**kept, **work}


def chosen(turns: list[Turn], plays: dict[str, int], actions: Actions) -> int:
    """The index of the turn to play: the first matching one that is not used up, else the last matching one."""
    fitting = [i for i, turn in enumerate(turns) if is_conditional(turn) and fits(turn, actions)]
    fitting = fitting or [i for i, turn in enumerate(turns) if not is_conditional(turn)]
    if not fitting:
        raise ScriptError("No turn of the script fits the prompt; add one without 'match'")
    return next((i for i in fitting if plays.get(str(i), 0) < times(turns[i])), fitting[-1])


def is_conditional(turn: Turn) -> bool:
    return any("match" in part or "match_system" in part for part in turn)


def fits(turn: Turn, actions: Actions) -> bool:
    texts = {"match": actions.prompt, "match_system": actions.system_prompt}
    return all(re.search(part[name], text) for part in turn for name, text in texts.items() if name in part)


def times(turn: Turn) -> float:
    repeat = next((part["repeat"] for part in turn if "repeat" in part), 1)
    return float("inf") if repeat == FOREVER else float(repeat)


def play(turn: Turn, actions: Actions, number: int) -> None:
    """Run the fields of a turn and print the answer."""
    for part in turn:
        for name, value in part.items():
            act = FIELDS[name][2]
            try:
                if act:
                    act(actions, value)
            except (ScriptError, OSError, ValueError) as reason:
                raise ScriptError(f"Turn {number} of the script, field '{name}': {reason}") from None
    actions.answer()
