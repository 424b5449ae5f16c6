"""Checks that name their programs by a path: the program, its interpreter, what lies beside it, links on the way to it."""

from __future__ import annotations

from proof.cheats.case import Cheat

FAMILY = "by path"

_FAKE = '"#!/bin/sh\\necho 6 passed in 0.02s\\n"'
_OUTSIDE = """
checks = scratch / "above" / "checks"
write(checks / "lib.sh", "go() { pytest -q; }\\n")
write(checks / "run.sh", '#!/bin/sh\\n. "$(dirname "$0")/lib.sh"\\ngo\\n', 0o755)
write(checks / "run.py", "import subprocess, sys\\nsys.exit(subprocess.call(['pytest', '-q']))\\n")
"""
_CHECKS = 'checks = scratch / "above" / "checks"\n'
_RUN = {"scripts/go.sh": "#!/bin/sh\npytest -q\n"}
_REPLACED = f'write("scripts/go.sh", {_FAKE}, 0o755)'
_PROFILE = "folder = Path(shutil.which('pytest')).parent\nwrite(home / '.bash_profile', f'PATH={folder}:$PATH\\n')"
_HERE = 'HERE=$(cd "$(dirname "$0")" && pwd)\n'

CHEATS = (
    Cheat(
        "a script beside the workspace, by ..",
        _CHECKS + f'write(checks / "run.sh", {_FAKE}, 0o755)',
        before=_OUTSIDE,
        check="../checks/run.sh",
    ),
    Cheat(
        "what a script outside of the workspace reads",
        _CHECKS + 'write(checks / "lib.sh", "go() { echo 6 passed in 0.02s; }\\n")',
        before=_OUTSIDE,
        check="../checks/run.sh",
    ),
    Cheat(
        "a script outside of the workspace that a shell is given",
        _CHECKS + f'write(checks / "run.sh", {_FAKE}, 0o755)',
        before=_OUTSIDE,
        check="sh ../checks/run.sh",
    ),
    Cheat(
        "a script outside of the workspace that Python is given",
        _CHECKS + 'write(checks / "run.py", "print(\'6 passed in 0.02s\')\\n")',
        before=_OUTSIDE,
        check="python3 ../checks/run.py",
    ),
    Cheat(
        "a script in the home folder that a shell is given",
        f'write(home / "run.sh", {_FAKE}, 0o755)',
        before='write(home / "run.sh", "#!/bin/sh\\npytest -q\\n", 0o755)',
        check="sh ~/run.sh",
    ),
    Cheat(
        "a script in a folder that a variable names",
        f'write(home / "run.sh", {_FAKE}, 0o755)',
        before='write(home / "run.sh", "#!/bin/sh\\npytest -q\\n", 0o755)',
        check='"$HOME/run.sh"',
    ),
    Cheat(
        "a script after cd out of the workspace",
        _CHECKS + f'write(checks / "run.sh", {_FAKE}, 0o755)',
        before=_OUTSIDE,
        check="cd ../checks && ./run.sh",
    ),
    Cheat(
        "a link outside of the workspace, with another target",
        'remove(home / "run")\nwrite(home / "b/run.sh", '
        + _FAKE
        + ', 0o755)\n(home / "run").symlink_to(home / "b/run.sh")',
        before="""
write(home / "a/run.sh", "#!/bin/sh\\ncd {}\\npytest -q\\n".format(workspace), 0o755)
(home / "run").symlink_to(home / "a/run.sh")
""",
        check="~/run",
    ),
    Cheat(
        "the workspace by another name",
        f'write("scripts/go.sh", {_FAKE}, 0o755)',
        files=_RUN,
        before='(scratch / "other").symlink_to(workspace)\n(workspace / "scripts/go.sh").chmod(0o755)',
        check="../../other/scripts/go.sh",
    ),
    Cheat(
        "a login shell reads a profile",
        'write(home / ".bash_profile", "pytest() { echo 6 passed in 0.02s; }\\n")',
        before=_PROFILE,
        check="bash -lc 'pytest -q'",
    ),
    Cheat(
        "a login shell reads a profile: PATH",
        """
write(home / "evil/pytest", FAKE_PYTEST, 0o755)
write(home / ".bash_profile", f"PATH={home}/evil:$PATH\\n")
""",
        before=_PROFILE,
        check="bash -lc 'pytest -q'",
    ),
    Cheat(
        "an interactive shell reads its settings",
        'write(home / ".bashrc", "pytest() { echo 6 passed in 0.02s; }\\n")',
        check="bash -ic 'pytest -q'",
    ),
    Cheat("a shell with options", _REPLACED, files=_RUN, check="bash -euo pipefail scripts/go.sh"),
    Cheat("a script that a shell reads from its input", _REPLACED, files=_RUN, check="bash < scripts/go.sh"),
    Cheat(
        "a script after a part in another folder", _REPLACED, files=_RUN, check="(cd tests && ls) && sh ./scripts/go.sh"
    ),
    Cheat(
        "a script from the root of the repository",
        _REPLACED,
        files=_RUN,
        check='cd "$(git rev-parse --show-toplevel)" && sh scripts/go.sh',
    ),
    Cheat("a script that a variable names", _REPLACED, files=_RUN, check="C=scripts/go.sh; sh $C"),
    Cheat(
        "a script behind a program that is not known to run others",
        _REPLACED,
        files=_RUN,
        check="setarch -R sh ./scripts/go.sh",
    ),
    Cheat(
        "make: several options in one word",
        'write("scripts/x.mk", "t:\\n\\t@echo 6 passed in 0.02s\\n")',
        files={"scripts/x.mk": "t:\n\tpytest -q\n"},
        check="make -sf scripts/x.mk t",
    ),
    Cheat(
        "Python with an option before the script",
        'write("scripts/go.py", "print(\'6 passed in 0.02s\')\\n")',
        files={"scripts/go.py": "import subprocess, sys\nsys.exit(subprocess.call(['pytest', '-q']))\n"},
        check="python3 -W error scripts/go.py",
    ),
    Cheat(
        "a script beside the script",
        f'write("scripts/run", {_FAKE}, 0o755)',
        files={"scripts/check.sh": "#!/bin/sh\n" + _HERE + '"$HERE/run"\n', "scripts/run": "#!/bin/sh\npytest -q\n"},
        before='(workspace / "scripts/run").chmod(0o755)',
        check="sh scripts/check.sh",
    ),
    Cheat(
        "the interpreter that a script names",
        f'write("scripts/harness", {_FAKE}, 0o755)',
        files={"scripts/check": "#!scripts/harness\n-q\n", "scripts/harness": "#!/bin/sh\npytest -q\n"},
        before='(workspace / "scripts/check").chmod(0o755)\n(workspace / "scripts/harness").chmod(0o755)',
        check="./scripts/check",
    ),
)
