"""Which gates a loop has."""

from __future__ import annotations

import pytest

from untildone import gates
from untildone.core.errors import UsageError
from untildone.core.values.value import replace
from untildone.testing.driver import looping

SETTINGS = looping(["never asked"]).loop.settings


def test_the_gates_of_the_folder_are_always_there() -> None:
    assert {gate.name for gate in gates.gates_of(SETTINGS)} == set(gates.own_names())


def test_a_plugin_cannot_answer_for_a_gate_of_the_same_name() -> None:
    named_again = replace(SETTINGS, gates={"untildone.gates.review:GATE": ""})
    with pytest.raises(UsageError, match="Two gates are named 'review'"):
        gates.gates_of(named_again)
