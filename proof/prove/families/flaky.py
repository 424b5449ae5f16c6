"""Right work in projects with a test that fails now and then. What such a check says is luck, so no claim may be believed for it."""

from __future__ import annotations

from proof.prove.case import Case
from proof.prove.jobs import LEAP, MERGE, SLUG, UNITTEST, Job, Style

FAMILY = "flaky suites"

_PYTEST = "import os\n\n\ndef test_now_and_then():\n    assert os.urandom(1)[0] < 150\n"
_UNITTEST = (
    "import os\nimport unittest\n\n\nclass Flaky(unittest.TestCase):\n    def test_now_and_then(self):\n"
    "        self.assertLess(os.urandom(1)[0], 150)\n"
)


def _flaky(job: Job, test: str, style: Style | None = None) -> Case:
    files = {"tests/test_flaky.py": test}
    return Case(f"{job.module}", job, "solve()\n", is_right=True, is_reliable=False, style=style, files=files)


CASES = (_flaky(SLUG, _PYTEST), _flaky(LEAP, _PYTEST), _flaky(MERGE, _UNITTEST, UNITTEST))
