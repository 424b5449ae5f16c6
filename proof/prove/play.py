"""Plays one case on its rungs and says on which of them it is verified."""

from __future__ import annotations

import json
import re
import shutil
import time
from collections.abc import Mapping
from pathlib import Path

from proof.prove.case import SHARE, UNSEEN, Case, Rung, Verdict
from proof.runs import toolchain
from proof.runs.sandbox import Ended, Sandbox, add_files, log_commands, new_sandbox

from untildone.core.receipts.proving import PROOFS

PATIENCE = 400.0
ORACLE_TIMES = 16
_BEGIN = """\
with open(agent_folder / "calls", "a") as file:
    file.write(".")
"""


class Stage:
    """The folder of a run of the corpus, with the programs that all cases share."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.programs = toolchain.make(folder / "tools")

    def play(self, family: str, case: Case, number: int) -> Verdict | None:
        """None: a program that the case needs is not installed."""
        if any(shutil.which(name) is None for name in case.needs):
            return None
        started = time.monotonic()
        verified, refused_by, problem = set[Rung](), "", ""
        must, left = case.must_be_verified, list(_FIRST[case.must_be_verified])
        while left and not problem:
            asked = left.pop(0)
            ended, problem = self._run(case, number, asked)
            known = implied(ended, asked)
            verified |= known
            refused_by = refused_by or ("" if known >= asked else _refused_by(ended))
            left += _THEN[must] if asked == _FIRST[must][0] and (known >= asked) != must else ()
        verified -= set(UNSEEN) if Rung.PROVE not in verified else set()
        return Verdict(family, case, frozenset(verified), refused_by, problem, time.monotonic() - started)

    def _run(self, case: Case, number: int, asked: frozenset[Rung]) -> tuple[Ended, str]:
        folder = self.folder / "-".join((f"{number:03d}", *sorted(rung.name.lower() for rung in asked)))
        project = case.project_with_more_tests if Rung.SHARE in asked else case.project
        with new_sandbox(folder, project, self.programs) as sandbox:
            ended = sandbox.finish(sandbox.start(*_command(sandbox, case, asked)), PATIENCE)
            log_commands(sandbox, (ended,))
            return ended, _problem(case, sandbox, ended)


Asked = tuple[frozenset[Rung], ...]
_EACH: Asked = tuple(frozenset((rung,)) for rung in UNSEEN)
# What is asked of right work, and of wrong: as few runs as tell. What `--prove` says does not depend on unseen tests, and the other way round.
_FIRST: Mapping[bool, Asked] = {
    True: (frozenset((Rung.PROVE, Rung.ACCEPTANCE, Rung.HELD_OUT)), frozenset((Rung.SHARE,))),
    False: (frozenset((Rung.PROVE,)),),
}
# What is asked then, if right work is refused or wrong work is verified.
_THEN: Mapping[bool, Asked] = {
    True: (frozenset((Rung.PROVE,)), frozenset((Rung.ACCEPTANCE,)), frozenset((Rung.HELD_OUT,))),
    False: _EACH,
}


def implied(ended: Ended, asked: frozenset[Rung]) -> frozenset[Rung]:
    """The rungs on which a claim is verified, as far as a run that asks for some tells: a proof runs only at a claim that all other gates
    believe."""
    plain = frozenset((Rung.PLAIN,))
    if is_verified(ended):
        return plain | asked
    return plain if set(re.findall(r"(?m)^gate: (\w+): failed", ended.errors)) & set(PROOFS) else frozenset()


def is_verified(ended: Ended) -> bool:
    return ended.output.split()[-1:] == ["verified"]


def _command(sandbox: Sandbox, case: Case, asked: frozenset[Rung]) -> tuple[str, ...]:
    command = sandbox.add_agent(f"{_BEGIN}{case.agent}\nclaim()\n")
    plain = ("run", case.task, "--command", command, "--check", case.written.check, "--require-change", "-r", "1")
    prove = ("--prove",) if Rung.PROVE in asked else ()
    unseen = [flag for rung in UNSEEN if rung in asked for flag in _unseen(sandbox, case, rung)]
    return (str(sandbox.programs / "untildone"), *plain, *case.flags, *prove, *unseen)


def _unseen(sandbox: Sandbox, case: Case, rung: Rung) -> tuple[str, ...]:
    """The flags for tests that the agent never sees."""
    files = case.job.held_out_files(case.written)
    match rung:
        case Rung.SHARE:
            return ("--held-out", f"{SHARE:.0%}", "--sandbox", "on", "--allow-write", str(sandbox.agent_folder))
        case Rung.ACCEPTANCE:
            author = sandbox.add_agent(
                "".join(f"write({path!r}, {text!r})\n" for path, text in files.items()), "author"
            )
            profile = f'[profiles.author]\nagent = "command"\ncommand = {json.dumps(author)}\n'
            add_files(sandbox.home, {".config/untildone/config.toml": profile})
            return ("--acceptance", "author")
        case Rung.HELD_OUT:
            add_files(sandbox.folder / "held-out", files)
            return ("--held-out", str(sandbox.folder / "held-out"))
        case _:
            return ()


def _problem(case: Case, sandbox: Sandbox, ended: Ended) -> str:
    """Why the case proves nothing; empty: it is as it says."""
    if not (sandbox.agent_folder / "calls").exists():
        return f"the agent was not called: {ended.errors[-800:]}"
    if (crash := sandbox.agent_folder / "crashed").exists():
        return f"the agent failed: {crash.read_text()}"
    if ended.code is None or "Traceback (most recent call last)" in re.sub(r"(?m)^  \| .*$", "", ended.errors):
        return f"the command did not end well: {ended.errors[-1500:]}"
    # Work that holds only sometimes is wrong: one answer could be its luck.
    asked = range(1 if case.is_right else ORACLE_TIMES)
    is_done = all(case.job.is_done(sandbox.workspace, sandbox.environment) for _ in asked)
    return "" if is_done == case.is_right else f"the oracle says that the work is {'right' if is_done else 'wrong'}"


def _refused_by(ended: Ended) -> str:
    """The lines about the gates that refused the claim."""
    found = re.findall(r"(?m)^.*\bfailed: .*$", ended.errors)
    return "; ".join(line.strip() for line in found)[:300] or ended.errors.strip()[-300:]
