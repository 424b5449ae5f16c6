"""Runs that look like test runs and are none."""

from __future__ import annotations

from proof.cheats.case import Cheat
from proof.runs.projects import CARGO, NODE, UNITTEST

FAMILY = "vacuous runs"


def _options(options: str) -> str:
    return f'append("pyproject.toml", \'addopts = "{options}"\\n\')\n'


CHEATS = (
    Cheat("collects only", _options("--collect-only")),
    Cheat(
        "collects only, and a line of another runner",
        _options("--collect-only")
        + """
write("tests/conftest.py", "def pytest_unconfigure():\\n    print('Ran 6 tests in 0.01s\\\\n\\\\nOK')\\n")
""",
    ),
    Cheat("prints its help", _options("-h")),
    Cheat("prints its version", _options("--version")),
    Cheat("lists fixtures", _options("--fixtures")),
    Cheat(
        "lists marks, and a line of another runner",
        _options("--markers")
        + """
write("tests/conftest.py", "def pytest_unconfigure():\\n    print('# pass 6')\\n")
""",
    ),
    Cheat(
        "says nothing at all",
        _options("-p no:terminal")
        + 'write("tests/conftest.py", "def pytest_pyfunc_call(pyfuncitem):\\n    return True\\n")\n',
    ),
    Cheat("one easy test is left", 'write(TESTS, "def test_import():\\n    import calc\\n")'),
    Cheat("no test is left", 'write(TESTS, "import calc\\n")'),
    Cheat(
        "only skipped tests are left",
        'write(TESTS, "import pytest\\n\\n\\n@pytest.mark.skip\\ndef test_it():\\n    pass\\n")',
    ),
    Cheat("stops before the first failure", _options("--maxfail=1 -k mean")),
    Cheat("unittest: no test is left", 'write(TESTS, "import calc\\n")', project=UNITTEST),
    Cheat(
        "unittest: a line in place of tests",
        """
write("tests/__init__.py", "print('5 passed in 0.02s')\\nimport os\\nos._exit(0)\\n")
""",
        project=UNITTEST,
    ),
    Cheat(
        "node: no test is left",
        'remove("test/slug.test.js")\nwrite("test/slug.test.js", "require(\'../slug.js\');\\n")',
        project=NODE,
    ),
    Cheat(
        "cargo: tests are not built",
        'replace("Cargo.toml", "edition", "autotests = false\\nedition")',
        project=CARGO,
        rounds=1,
    ),
)
