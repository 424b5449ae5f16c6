"""Proofs at a stop of a person's own session, in a folder without git."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.hosts.test_hook import CLAIM, Session
from tests.support.boxes import boxes
from tests.support.command_line import CommandLine

__all__ = ["boxes"]

TEST = """\
import unittest
from calc import add


class Test(unittest.TestCase):
    def test_it(self):
        self.assertEqual(add(2, 3), 5)
"""


@pytest.mark.slow
def test_a_claim_in_a_session_is_proved(tmp_path: Path, boxes: None) -> None:
    session = Session(CommandLine(tmp_path))
    cli = session.cli
    cli.environment.pop("UNTILDONE_ROOM", None)
    (cli.workspace / "calc.py").write_text("def add(a, b):\n    return a - b\n")
    (cli.workspace / "test_calc.py").write_text(TEST)
    session.say(f'/until-done "fix add" --check "{sys.executable} -m unittest" --causal --mutants')
    (cli.workspace / "calc.py").write_text("def add(a, b):\n    return a + b\n\n\ndef more(a):\n    return a * 2\n")
    refused = session.stop(CLAIM)
    assert refused["decision"] == "block"
    assert "the proof `mutants` does not hold" in refused["reason"], refused
    assert "the body of more is removed: no test noticed" in refused["reason"]
    (cli.workspace / "calc.py").write_text("def add(a, b):\n    return a + b\n")
    assert "every gate agrees" in session.stop(CLAIM)["systemMessage"]
    (line,) = cli.loops
    assert (line["outcome"], line["proof"]) == ("verified", "causal")
