"""Reads a script file and chooses the step for each request."""

from __future__ import annotations

import json
import math
import re
import threading
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from untildone.core.answers.agreement import word_in
from untildone.testing.modelapi.checking import ScriptError, parse_steps
from untildone.testing.modelapi.steps import Step

DEFAULT_TEXT = "(script exhausted)"


@dataclass(slots=True)
class _Remaining:
    """A step and how often it is still served."""

    step: Step
    times: float


class Script:
    """Serves steps in order to all sessions: the first that matches the request, else the first without a `match`."""

    def __init__(self, steps: Iterable[Step], default_text: str = DEFAULT_TEXT) -> None:
        self._lock = threading.Lock()
        self._left = [_Remaining(step, math.inf if step.repeat == "forever" else step.repeat) for step in steps]
        self._default = Step(text=default_text)
        self._served = 0

    @property
    def served(self) -> int:
        return self._served

    @property
    def steps_left(self) -> int:
        """Steps not used up; one that repeats counts once."""
        with self._lock:
            return len(self._left)

    def take(self, user_text: str) -> Step:
        with self._lock:
            self._served += 1
            matching = (one for one in self._left if one.step.match is not None and _matches(one.step.match, user_text))
            others = (one for one in self._left if one.step.match is None)
            chosen = next(chain(matching, others), None)
            return _with_word(self._use(chosen) if chosen else self._default, user_text)

    def _use(self, chosen: _Remaining) -> Step:
        chosen.times -= 1
        self._left = [one for one in self._left if one.times > 0]
        return chosen.step


def _with_word(step: Step, user_text: str) -> Step:
    """The step with the word that the prompt names for a reviewer's agreement in the place of `{word}`."""
    return replace(step, text=step.text.replace("{word}", word_in(user_text))) if step.text else step


def _matches(pattern: str, user_text: str) -> bool:
    return re.search(pattern, user_text, re.DOTALL) is not None


def read_script(path: Path) -> tuple[Step, ...]:
    """Read and check the steps of a file. Raises ScriptError."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as problem:
        raise ScriptError(f"The script {path} cannot be read: {problem.strerror}.") from problem
    except ValueError as problem:
        raise ScriptError(f"The script {path} is not JSON: {problem}.") from problem
    return parse_steps(document)
