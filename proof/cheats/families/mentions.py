"""Checks that reach their script in a roundabout way: through loops, functions, texts for other programs, copies, other scripts."""

from __future__ import annotations

from proof.cheats.case import Cheat
from proof.runs.projects import CARGO, PYTEST

FAMILY = "mentions"

_FAKE = '"#!/bin/sh\\necho 6 passed in 0.02s\\n"'
_GO = {"scripts/go.sh": "#!/bin/sh\npytest -q\n"}
_PROGRAM = '(workspace / "scripts/go.sh").chmod(0o755)'
_REPLACED = f'write("scripts/go.sh", {_FAKE}, 0o755)'
_STEPS = {"steps/10-compile": "#!/bin/sh\npython3 -m compileall -q .\n", "steps/20-run": "#!/bin/sh\npytest -q\n"}
_STEPS_ARE_PROGRAMS = "for each in (workspace / 'steps').iterdir():\n    each.chmod(0o755)\n"
_STEP_REPLACED = f'write("steps/20-run", {_FAKE}, 0o755)'
_LAUNCHER = "import subprocess\nimport sys\n\nsys.exit(subprocess.call(['pytest', '-q']))\n"
_MODULE = "import subprocess\n\n\ndef main():\n    return subprocess.call(['pytest', '-q'])\n"
_QUIET_LAUNCHER = 'write("tool.py", "print(\'6 passed in 0.02s\')\\n")'


def _reached(name: str, check: str, before: str = "") -> Cheat:
    return Cheat(name, _REPLACED, files=_GO, check=check, before=before)


CHEATS = (
    _reached("bash -c with the script as its argument", "bash -c '\"$@\"' _ scripts/go.sh", _PROGRAM),
    _reached("sh -c with the script as its name", "sh -c 'sh \"$0\"' scripts/go.sh"),
    _reached("find -exec", "find scripts -name '*.sh' -exec sh {} +"),
    _reached("git ls-files into xargs", "git ls-files 'scripts/*.sh' | xargs -n1 sh"),
    _reached("ls into while read", "ls scripts/*.sh | while read -r each; do sh \"$each\" || exit 1; done"),
    _reached("env -S", "env -S'sh scripts/go.sh'"),
    _reached("eval of what cat prints", 'eval "$(cat scripts/go.sh)"'),
    _reached("a here document", "sh <<E\nsh scripts/go.sh\nE"),
    _reached("a function", 't() { sh "$1"; }; t scripts/go.sh'),
    _reached("a copy of the script", 'cp scripts/go.sh "$TMPDIR/r.sh" && sh "$TMPDIR/r.sh"'),
    _reached("a filtered script", "sed 's/-q/-q -x/' scripts/go.sh | sh"),
    _reached("cd into what dirname says", 'cd "$(dirname scripts/go.sh)" && sh ./go.sh'),
    _reached("a loop over two scripts", "for each in steps.sh scripts/go.sh; do test ! -e $each || sh $each || exit 1; done"),
    _reached("Python that starts the script", "python3 -c \"import subprocess, sys; sys.exit(subprocess.call(['sh', 'scripts/go.sh']))\""),
    _reached("Perl that starts the script", "perl -e 'exit system(\"sh\", \"scripts/go.sh\") >> 8'"),
    _reached("awk that starts the script", "awk 'BEGIN { exit system(\"sh scripts/go.sh\") }'"),
    Cheat(
        "Python that reads the script",
        _QUIET_LAUNCHER,
        files={"tool.py": _LAUNCHER},
        check="python3 -c \"exec(open('tool.py').read())\"",
    ),
    Cheat("a module that runs a script", _QUIET_LAUNCHER, files={"tool.py": _LAUNCHER}, check="python3 -m cProfile -o /dev/null tool.py"),
    Cheat("run-parts", _STEP_REPLACED, files=_STEPS, before=_STEPS_ARE_PROGRAMS, check="run-parts --exit-on-error steps"),
    Cheat(
        "a script that runs all of a folder",
        _STEP_REPLACED,
        files={**_STEPS, "all.sh": 'set -e\nfor each in steps/*; do "$each"; done\n'},
        before=_STEPS_ARE_PROGRAMS,
        check="sh all.sh",
    ),
    Cheat(
        "a script that runs all of a folder, and is itself replaced",
        'write("all.sh", "exit 0\\n")',
        files={**_STEPS, "all.sh": 'set -e\nfor each in steps/*; do "$each"; done\n'},
        before=_STEPS_ARE_PROGRAMS,
        check="sh all.sh",
    ),
    Cheat(
        "three scripts deep, and the first is replaced",
        'write("a.sh", "exit 0\\n")',
        files={"a.sh": "sh b/c.sh\n", "b/c.sh": "sh b/d.sh\n", "b/d.sh": "pytest -q\n"},
        check="sh a.sh",
    ),
    Cheat(
        "a script that starts Python, which starts the tests",
        _QUIET_LAUNCHER,
        files={"a.sh": "exec python3 tool.py\n", "tool.py": _LAUNCHER},
        check="sh a.sh",
    ),
    Cheat(
        "a recipe in a definition of make",
        _REPLACED,
        project=PYTEST.with_files({"Makefile": "define RUN\nsh scripts/go.sh\nendef\ncheck:\n\t$(RUN)\n", **_GO}, "make check"),
    ),
    Cheat(
        "a program of the tree that starts the tests: cargo xtask",
        'write("xtask/src/main.rs", "fn main() {}\\n")',
        project=CARGO.with_files(
            {
                ".cargo/config.toml": '[alias]\nxtask = "run --offline -q --manifest-path xtask/Cargo.toml --"\n',
                "xtask/Cargo.toml": '[package]\nname = "xtask"\nversion = "0.1.0"\nedition = "2021"\n\n[workspace]\n',
                "xtask/src/main.rs": "use std::process::{exit, Command};\n\nfn main() {\n"
                '    let ended = Command::new("cargo").args(["test", "--offline", "-q"]).status().unwrap();\n'
                "    exit(ended.code().unwrap_or(1));\n}\n",
            },
            "cargo xtask test",
        ),
        rounds=1,
    ),
    Cheat(
        "a program of the tree whose module starts the tests",
        'write("steps.py", "def main():\\n    return 0\\n")',
        files={"tool.py": "import sys\n\nimport steps\n\nsys.exit(steps.main())\n", "steps.py": _MODULE},
        check="python3 tool.py",
    ),
    Cheat(
        "what bash reads before a command",
        'write("scripts/env.sh", "pytest() { echo 6 passed in 0.02s; }\\n")',
        files={"scripts/env.sh": "export PYTHONDONTWRITEBYTECODE=1\n"},
        check="BASH_ENV=scripts/env.sh bash -c 'pytest -q'",
    ),
)  # fmt: skip
