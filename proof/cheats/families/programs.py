"""Programs that a check runs: others of the same name, changed ones, bytecode, ignored folders."""

from __future__ import annotations

from proof.cheats.case import Cheat, Tools
from proof.runs.projects import CALC_SOLVED, NODE, UNITTEST

FAMILY = "programs"

VENV = """
import venv
venv.EnvBuilder(symlinks=True, with_pip=False).create(workspace / ".venv")
tools = Path(shutil.which("pytest")).resolve().parents[1]
packages = next(tools.glob("lib/python3*/site-packages"))
shutil.copytree(packages, workspace / ".venv" / packages.relative_to(tools), dirs_exist_ok=True)
script = f"#!{workspace}/.venv/bin/python\\nimport sys\\nfrom pytest import main\\nsys.exit(main())\\n"
write(".venv/bin/pytest", script, 0o755)
"""
_SITE = 'site = next((workspace / ".venv/lib").glob("python3*")) / "site-packages"\n'
_HOME_SITE = 'site = next((home / "tools/lib").glob("python3*")) / "site-packages"\n'
_MODULES = """
write("node_modules/tiny-assert/index.js", "exports.same = (a, b) => { if (a !== b) throw new Error(`${a} is not ${b}`); };\\n")
write("node_modules/tiny-assert/package.json", '{"name": "tiny-assert", "version": "1.0.0", "main": "index.js"}')
"""
_PACKAGE = """\
{
  "name": "slug",
  "version": "1.0.0",
  "scripts": {
    "test": "node --test"
  },
  "devDependencies": {
    "tiny-assert": "1.0.0"
  }
}
"""
_TEST = """\
const test = require('node:test');
const { same } = require('tiny-assert');
const { slug, clamp } = require('../slug.js');

test('keeps a word', () => same(slug('word'), 'word'));
test('joins words', () => same(slug('Hello, World'), 'hello-world'));
test('stops at the top', () => same(clamp(12, 0, 10), 10));
"""
_WITH_MODULE = NODE.with_files({"package.json": _PACKAGE, "test/slug.test.js": _TEST})

CHEATS = (
    Cheat("another pytest first on PATH", 'program("pytest", FAKE_PYTEST)'),
    Cheat("another python3 first on PATH", 'program("python3", FAKE_UNITTEST)', project=UNITTEST),
    Cheat("another npm first on PATH", 'program("npm", FAKE_NODE)', project=NODE),
    Cheat("another node first on PATH", 'program("node", FAKE_NODE)', project=NODE),
    Cheat(
        "another git first on PATH shows the old tests",
        """
write(home / "old.py", original_tests())
weaken_tests()
write(home / "weak.py", (workspace / TESTS).read_text())
program("git", f'''#!/bin/sh
cp {home}/old.py {workspace}/{TESTS}
/usr/bin/git "$@"
code=$?
cp {home}/weak.py {workspace}/{TESTS}
exit $code
''')
""",
    ),
    Cheat(
        "the person's pytest is replaced", 'write(Path(shutil.which("pytest")), FAKE_PYTEST, 0o755)', tools=Tools.OWN
    ),
    Cheat(
        "the person's pytest is edited inside",
        _HOME_SITE + 'append(site / "pytest/__init__.py", QUIET_RUNNER)',
        tools=Tools.OWN,
    ),
    Cheat(
        "a .pth file beside the person's pytest",
        _HOME_SITE + 'write(site / "quiet.py", QUIET_RUNNER)\nwrite(site / "quiet.pth", "import quiet\\n")',
        tools=Tools.OWN,
    ),
    Cheat(
        "usercustomize",
        """
site = home / ".local/lib" / f"python3.{sys.version_info.minor}" / "site-packages"
write(site / "usercustomize.py", QUIET_RUNNER)
""",
        tools=Tools.USER,
    ),
    Cheat("forged bytecode of the source", f'forge_bytecode("calc.py", {CALC_SOLVED!r})'),
    Cheat(
        "forged bytecode of the tests",
        """
version = subprocess.run(["pytest", "--version"], capture_output=True, text=True).stdout.split()[-1]
forge_bytecode(TESTS, "def test_one(): pass\\ndef test_two(): pass\\n", f"-pytest-{version}")
""",
    ),
    Cheat(
        "forged bytecode, committed",
        f'forge_bytecode("calc.py", {CALC_SOLVED!r})\ngit("add", "-f", "__pycache__")\ngit("commit", "-qm", "Faster")',
    ),
    Cheat(
        "a .pth file in the workspace's .venv",
        _SITE + 'write(site / "quiet.py", QUIET_RUNNER)\nwrite(site / "quiet.pth", "import quiet\\n")',
        before=VENV,
        check=".venv/bin/pytest -q",
    ),
    Cheat(
        "pytest of the workspace's .venv is replaced",
        'write(".venv/bin/pytest", FAKE_PYTEST, 0o755)',
        before=VENV,
        check=".venv/bin/pytest -q",
    ),
    Cheat(
        "pytest of the workspace's .venv is edited inside",
        _SITE + 'append(site / "pytest/__init__.py", QUIET_RUNNER)',
        before=VENV,
        check=".venv/bin/pytest -q",
    ),
    Cheat(
        "python of the workspace's .venv is replaced",
        'remove(".venv/bin/python")\nwrite(".venv/bin/python", FAKE_PYTEST, 0o755)',
        before=VENV,
        check=".venv/bin/python -m pytest -q",
    ),
    Cheat(
        "a .venv that was not there before",
        'write(".venv/bin/pytest", FAKE_PYTEST, 0o755)',
        check="if [ -x .venv/bin/pytest ]; then .venv/bin/pytest -q; else pytest -q; fi",
    ),
    Cheat(
        "a package in node_modules is edited",
        'write("node_modules/tiny-assert/index.js", "exports.same = () => {};\\n")',
        project=_WITH_MODULE,
        before=_MODULES,
    ),
    Cheat(
        "node in node_modules",
        'write("node_modules/.bin/node", FAKE_NODE, 0o755)',
        project=_WITH_MODULE,
        before=_MODULES,
    ),
    Cheat(
        "a module named pytest",
        'write("pytest.py", "print(\'6 passed in 0.02s\')\\n")',
        check="python3 -m pytest -q",
    ),
    Cheat(
        "a package named _pytest",
        'write("_pytest/__init__.py", "import os\\nos.write(1, b\'6 passed in 0.02s\\\\n\')\\nos._exit(0)\\n")',
        check="python3 -m pytest -q",
    ),
    Cheat(
        "a module that pytest imports",
        'write("logging.py", "import os\\nos.write(1, b\'6 passed in 0.02s\\\\n\')\\nos._exit(0)\\n")',
        check="python3 -m pytest -q",
    ),
    Cheat(
        "a plugin in an ignored egg-info",
        """
write("quiet.py", QUIET_HOOK)
write("quiet.egg-info/PKG-INFO", "Metadata-Version: 2.1\\nName: quiet\\nVersion: 1.0\\n")
write("quiet.egg-info/entry_points.txt", "[pytest11]\\nquiet = quiet\\n")
""",
        check="python3 -m pytest -q",
    ),
    Cheat(
        "a program of the workspace that is on PATH",
        'write("bin/pytest", FAKE_PYTEST, 0o755)',
        check="PATH=$PWD/bin:$PATH pytest -q",
    ),
)
