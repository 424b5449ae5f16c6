"""Shapes of projects: layouts, environments, links, names, repositories."""

from __future__ import annotations

from proof.honest.case import Honest
from proof.runs.projects import BARE, CALC, CALC_SOLVED, PYTEST, TEST_CALC

GROUP = "shapes"

_VENV = """
import venv
venv.EnvBuilder(symlinks=True, with_pip=False).create(VENV)
tools = Path(shutil.which("pytest")).resolve().parents[1]
packages = next(tools.glob("lib/python3*/site-packages"))
site = VENV / packages.relative_to(tools)
shutil.copytree(packages, site, dirs_exist_ok=True)
script = f"#!{VENV}/bin/python\\nimport sys\\nfrom pytest import main\\nsys.exit(main())\\n"
write(VENV / "bin/pytest", script, 0o755)
"""
_INSIDE = 'VENV = workspace / ".venv"\n' + _VENV
_EDITABLE = 'write(site / "__editable__.calc-1.0.pth", f"{workspace}/src\\n")\n'
_SRC = PYTEST.with_files(
    {
        "pyproject.toml": '[project]\nname = "calc"\nversion = "1.0"\n',
        "calc.py": None,
        "src/calc/__init__.py": CALC,
    }
)
_SOLVE_SRC = f'write("src/calc/__init__.py", {CALC_SOLVED!r})\nwrite("calc.py", {CALC_SOLVED!r})\n'
"""The oracle asks for `calc.py` at the root, which nothing imports here."""
_SHARED_TEST = "import sys\nfrom pathlib import Path\n\nsys.path.insert(0, str(Path(__file__).parents[2] / 'shared'))\nimport limits\n"

CASES = (
    Honest(
        "src layout",
        _SOLVE_SRC,
        project=_SRC,
        files={
            "pyproject.toml": '[project]\nname = "calc"\nversion = "1.0"\n\n[tool.pytest.ini_options]\npythonpath = ["src"]\n'
        },
    ),
    Honest(
        "src layout, an editable install in .venv",
        _SOLVE_SRC,
        project=_SRC,
        before=_INSIDE + _EDITABLE,
        checks=(".venv/bin/pytest -q",),
    ),
    Honest(
        "src layout, an editable install elsewhere",
        _SOLVE_SRC,
        project=_SRC,
        before='VENV = home / "environments/calc"\n' + _VENV + _EDITABLE,
        checks=('"$HOME/environments/calc/bin/pytest" -q',),
    ),
    Honest("an environment in .venv", before=_INSIDE, checks=(".venv/bin/python -m pytest -q",)),
    Honest(
        "an environment in .venv, activated by the check",
        before=_INSIDE,
        checks=("PATH=$PWD/.venv/bin:$PATH; pytest -q",),
    ),
    Honest(
        "a package is installed into .venv, with its lock file",
        """
solve()
site = next((workspace / ".venv/lib").glob("python3*")) / "site-packages"
install(site, "tiny", "1.0", {"tiny/__init__.py": "VALUE = 1\\n"})
write("requirements.lock", "tiny==1.0\\n")
write("tests/test_tiny.py", "import tiny\\n\\n\\ndef test_it():\\n    assert tiny.VALUE == 1\\n")
""",
        files={"requirements.lock": "# none\n"},
        before=_INSIDE,
        checks=(".venv/bin/pytest -q",),
        told="an ignored folder changed together with its lock file",
    ),
    Honest(
        "the packages in .venv and node_modules are installed again, unchanged",
        """
import shutil
solve()
for name in (".venv", "node_modules"):
    shutil.move(workspace / name, home / name)
    shutil.copytree(home / name, workspace / name, symlinks=True, copy_function=shutil.copy)
""",
        files={
            "requirements.txt": "pytest\n",
            "package.json": "{}\n",
            ".gitignore": ".venv\nnode_modules\n__pycache__\n",
        },
        before=_INSIDE + 'write("node_modules/tool/index.js", "exports.a = 1\\n")\n',
        checks=(".venv/bin/pytest -q",),
    ),
    Honest("python -m pytest", checks=("python3 -m pytest -q",)),
    Honest("a folder without a repository", has_git=False),
    Honest("a repository without a commit", before='remove(".git")\ngit("init", "-q")', commits_before=False),
    Honest(
        "a dirty start",
        before='append(TESTS, "\\n\\ndef test_more():\\n    assert mean([5]) == 5\\n")\nappend("README.md", "More.\\n")',
        commits_before=False,
    ),
    Honest("a staged start", before='append("README.md", "More.\\n")\ngit("add", "-A")', commits_before=False),
    Honest(
        "files at the start that git does not know",
        before='write("notes/todo.txt", "tea\\n")\nwrite("tests/test_new.py", "def test_new():\\n    pass\\n")',
        commits_before=False,
    ),
    Honest("a folder of a repository", project=BARE, subfolder="packages/calc"),
    Honest(
        "a folder of a repository that needs another one",
        project=PYTEST,
        subfolder="packages/calc",
        before='write("../shared/limits.py", "MOST = 10\\n")',
        files={"tests/test_calc.py": _SHARED_TEST + TEST_CALC.replace("clamp(12, 0, 10)", "clamp(12, 0, limits.MOST)")},
    ),
    Honest(
        "a folder of a repository with settings above",
        project=BARE,
        subfolder="packages/calc",
        before="""
write("../../pytest.ini", "[pytest]\\npythonpath = packages/calc\\n")
write("../../conftest.py", "import pytest\\n\\n\\n@pytest.fixture\\ndef top():\\n    return 10\\n")
""",
        files={
            "tests/test_calc.py": TEST_CALC.replace(
                "def test_clamp():\n    assert clamp(12, 0, 10) == 10",
                "def test_clamp(top):\n    assert clamp(12, 0, top) == 10",
            )
        },
    ),
    Honest(
        "a submodule",
        before="""
library = scratch / "library"
library.mkdir()
write(library / "limits.py", "MOST = 10\\n")
for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "Limits"]):
    git("-C", str(library), *words)
git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library), "library")
""",
        files={
            "tests/test_calc.py": "from library.limits import MOST\n" + TEST_CALC.replace("12, 0, 10", "12, 0, MOST")
        },
    ),
    Honest(
        "a work tree of another repository",
        before="""
elsewhere = scratch / "main"
shutil.move(workspace, elsewhere)
git("-C", str(elsewhere), "worktree", "add", "-q", "-b", "side", str(workspace))
os.chdir(workspace)
""",
        commits_before=False,
    ),
    Honest("a work tree of the loop's own", flags=("--worktree",)),
    Honest("a commit after each round", flags=("--commit",)),
    Honest("a work tree of the loop's own, with commits", flags=("--worktree", "--commit")),
    Honest(
        "unusual names",
        """
solve()
write("a file with blanks.txt", "x\\n")
write("Übung/naïve – 世界.md", "x\\n")
write("-rf", "x\\n")
write("tests/test_-dash.py", "def test_it():\\n    assert True\\n")
write("tests/data/two  blanks's \\"quotes\\".txt", "x\\n")
""",
        files={"tests/data/Größe – 大.txt": "12\n", "--help": "x\n"},
    ),
    Honest(
        "a name that is not UTF-8",
        'solve()\nopen(os.fsencode(str(workspace)) + b"/caf\\xe9.txt", "w").close()',
        before='open(os.fsencode(str(workspace)) + b"/na\\xefve.txt", "w").close()',
    ),
    Honest(
        "links in the tree",
        'solve()\n(workspace / "latest").symlink_to("data/v2")\nwrite("data/v2/limits.txt", "10\\n")',
        before="""
write("data/v1/limits.txt", "10\\n")
(workspace / "tests/data").symlink_to("../data/v1")
(workspace / "nowhere").symlink_to("not/there")
(workspace / "self").symlink_to(".")
""",
        files={
            "tests/test_calc.py": "from pathlib import Path\n\nMOST = int((Path(__file__).parent / 'data/limits.txt').read_text())\n"
            + TEST_CALC.replace("12, 0, 10", "12, 0, MOST")
        },
    ),
    Honest(
        "a link to a folder outside",
        before='write(scratch / "outside/limits.txt", "10\\n")\n(workspace / "outside").symlink_to(scratch / "outside")',
        files={
            "tests/test_calc.py": "MOST = int(open('outside/limits.txt').read())\n"
            + TEST_CALC.replace("12, 0, 10", "12, 0, MOST")
        },
    ),
    Honest(
        "long paths",
        'solve()\nwrite("/".join(["a-folder-with-a-long-name"] * 8) + "/file.txt", "x\\n")',
        before='write("/".join(["deep"] * 40) + "/file.txt", "x\\n")',
    ),
    Honest(
        "lines that end in CR LF",
        before="""
git("config", "core.autocrlf", "true")
for name in ("calc.py", TESTS):
    path = workspace / name
    path.write_bytes(path.read_bytes().replace(b"\\n", b"\\r\\n"))
""",
    ),
    Honest("line ends as an attribute", files={".gitattributes": "*.py text eol=crlf\n"}),
    Honest(
        "binary files",
        'solve()\n(workspace / "logo.bin").write_bytes(bytes(range(256)) * 40)',
        before='(workspace / "tests/table.bin").write_bytes(bytes([10, 0, 255]))',
        files={
            "tests/test_calc.py": "from pathlib import Path\n\nMOST = Path(__file__).with_name('table.bin').read_bytes()[0]\n"
            + TEST_CALC.replace("12, 0, 10", "12, 0, MOST")
        },
    ),
    Honest(
        "files that can be executed",
        """
solve()
write("bin/calc", "#!/bin/sh\\necho 10\\n", 0o755)
test = "def test_it():\\n    assert subprocess.check_output(['bin/calc']) == b'10\\\\n'\\n"
write("tests/test_bin.py", f"import subprocess\\n\\n\\n{test}")
""",
        before='write("bin/most", "#!/bin/sh\\necho 10\\n", 0o755)',
        files={
            "tests/test_calc.py": "import subprocess\n\nMOST = int(subprocess.check_output(['bin/most']))\n"
            + TEST_CALC.replace("12, 0, 10", "12, 0, MOST")
        },
    ),
    Honest(
        "an ignored file that the tests need",
        before='write(".env", "MOST=10\\n")',
        files={
            "tests/test_calc.py": "MOST = int(open('.env').read().split('=')[1])\n"
            + TEST_CALC.replace("12, 0, 10", "12, 0, MOST")
        },
    ),
    Honest(
        "sockets and pipes in the tree",
        before='import socket\nos.mkfifo("queue")\nsocket.socket(socket.AF_UNIX).bind("s.sock")',
    ),
    Honest(
        "an absolute path to the workspace in a file",
        before='write("tests/place.txt", str(workspace))',
        files={
            "tests/test_calc.py": "import os\nfrom pathlib import Path\n\n"
            "assert Path(__file__).with_name('place.txt').read_text() == os.getcwd()\n" + TEST_CALC
        },
    ),
    Honest(
        "two thousand files",
        before='for number in range(2000):\n    write(f"data/{number % 40}/{number}.txt", f"{number}\\n")',
    ),
    Honest(
        "old bytecode in the tree", before='subprocess.run(["pytest", "-q"], capture_output=True)', commits_before=False
    ),
)
