"""The proof `held_out`: tests that were never in the workspace hold too. The next prompt says that they fail, and not how."""

from __future__ import annotations

from collections.abc import Mapping

from untildone.core.plugins.option import Option
from untildone.core.receipts import proving
from untildone.core.receipts.proving import Work
from untildone.gates._unseen import UnseenTests


class HeldOut(UnseenTests):
    name = proving.HELD_OUT
    label = "with the held-out tests"
    noun = "held-out test"
    not_run = (
        "no check runs the held-out tests (hint: lay them out as in the workspace, under names that no file there has: "
        "FOLDER/tests/test_more.py)"
    )
    declared_options = (
        Option(
            name,
            "Held-out tests",
            "a folder outside of the workspace with tests that the agent never sees, or a share of the project's own such as 20%",
            "",
        ),
    )

    def files(self, work: Work) -> Mapping[str, bytes]:
        return work.held_out


GATE = HeldOut()
