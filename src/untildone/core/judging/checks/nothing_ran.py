"""Whether a command had nothing to run: new judge files count with the originals only then."""

from __future__ import annotations

import re
from collections.abc import Collection

from untildone.core.plugins.gate import CommandEnd, CommandRan

_NO_RUNNER = (126, 127)
_NOTHING = re.compile(
    r"(?i)\bno tests? (?:files? )?(?:found|ran|were found|to run|specified)"
    r"|no test files|collected 0 items|ran 0 tests|0 tests? (?:ran|executed)"
    r"|missing script|unknown command|could not find `?cargo\.toml"
    r"|no makefile found|no rule to make target|no such target|go\.mod file not found"
    r"|no package\.json|ENOENT[^\n]*package\.json|cannot find module|couldn't find an? [`\"']?eslint|no eslint configuration"
    r"|\.pre-commit-config\.yaml is not a file|no inputs were found in config|the typescript compiler - version|cannot find a tsconfig"
    r"|no pom in this directory|does not contain a gradle build|no examples found|no specs found"
    r"|no test suite|command not found|: not found$"
)


def nothing_ran(ran: CommandRan, modules: Collection[str] = ()) -> bool:
    """Whether no test ran and none was skipped, or the program that runs them was not there, or one of the modules is missing."""
    if ran.end is not CommandEnd.EXITED:
        return False
    lacks = any(re.search(rf"No module named ['\"]?{re.escape(name)}\b", ran.tail) for name in modules)
    report = ran.report
    if lacks or (report is not None and (report.run or report.unfinished)):
        return lacks
    if ran.exit_code in _NO_RUNNER or re.search(r"No module named ['\"]?\w+['\"]?\s*\Z", ran.tail):
        return True
    if report is not None and report.runners:
        return not report.skipped or bool(modules)
    return bool(ran.exit_code) and _NOTHING.search(ran.tail) is not None
