"""`python -m proof.escapes`: plays all tries, as root also as an ordinary user; exits with 1 if one gets out that must not."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from proof.escapes.case import Escape, Result, Verdict
from proof.escapes.families import ALL
from proof.escapes.play import play
from proof.escapes.world import new_world
from proof.runs.table import columns

NOBODY = 65534
HEAD = ("family", "tries", "held", "got out", "known", "skipped", "holes")


def main() -> int:
    chosen = options()
    if chosen.user:
        return as_nobody(sys.argv[1:])
    verdicts = []
    with new_world(place(chosen.place)) as world:
        for family, escape, number in selected(chosen):
            verdicts.append(shown(play(world, family, escape, number)))
    sys.stdout.write(table(verdicts))
    code = 1 if any(verdict.is_hole for verdict in verdicts) else 0
    if os.geteuid() == 0 and not chosen.alone:
        code = as_nobody(sys.argv[1:]) or code
    return code


def place(given: str) -> Path | None:
    """Where the world is made: not in a folder of which boxes have their own, if another one can be written."""
    if given:
        return Path(given)
    return next((Path(each) for each in ("/home", "/srv") if os.access(each, os.W_OK)), None)


def selected(chosen: argparse.Namespace) -> Iterator[tuple[str, Escape, int]]:
    every = ((family, escape) for family, escapes in ALL.items() for escape in escapes)
    for number, (family, escape) in enumerate(every, 1):
        if (not chosen.family or family in chosen.family) and (not chosen.case or chosen.case in escape.name):
            yield family, escape, number


def shown(verdict: Verdict) -> Verdict:
    """Print one line about a try on standard error."""
    mark = "HOLE " if verdict.is_hole else ""
    line = f"{mark}{verdict.family}: {verdict.escape.name}: {verdict.result.value} ({verdict.seconds:.1f} s)"
    sys.stderr.write("\n  ".join(part for part in (line, verdict.evidence) if part) + "\n")
    return verdict


def table(verdicts: Sequence[Verdict]) -> str:
    families = list(dict.fromkeys(verdict.family for verdict in verdicts))
    rows = [HEAD, *(_row(name, [each for each in verdicts if each.family == name]) for name in families)]
    who = "root" if os.geteuid() == 0 else "an ordinary user"
    holes = [f"hole: {each.family}: {each.escape.name}: {each.evidence}" for each in verdicts if each.is_hole]
    return "\n".join((f"as {who}", *columns([*rows, _row("all", verdicts)]), "", *holes)) + "\n"


def _row(name: str, verdicts: Sequence[Verdict]) -> tuple[str, ...]:
    def count(result: Result) -> int:
        return sum(each.result is result for each in verdicts)

    out = [each for each in verdicts if each.result is Result.GOT_OUT]
    known, holes = sum(bool(each.escape.known) for each in out), sum(each.is_hole for each in verdicts)
    counts = (len(verdicts), count(Result.HELD), len(out), known, count(Result.SKIPPED), holes)
    return (name, *map(str, counts))


def as_nobody(arguments: Sequence[str]) -> int:
    """The same as an ordinary user, who may be unable to enter the folder of this interpreter."""
    python = shutil.which("python3", path="/usr/bin:/usr/local/bin") or sys.executable
    folder = Path("/home" if os.access("/home", os.W_OK) else "/tmp", f"escapes-{os.getpid()}")
    folder.mkdir()
    os.chown(folder, NOBODY, NOBODY)
    environment = {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "PYTHONPATH": os.pathsep.join((os.getcwd(), *sys.path)),
        "HOME": str(folder),
    }
    own = [word for word in arguments if word != "--user"]
    command = (
        "setpriv",
        f"--reuid={NOBODY}",
        f"--regid={NOBODY}",
        "--clear-groups",
        python,
        "-B",
        "-m",
        "proof.escapes",
    )
    try:
        return subprocess.run([*command, *own, "--place", str(folder)], env=environment).returncode
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m proof.escapes", description=__doc__)
    parser.add_argument("--family", action="append", choices=list(ALL), help="only this family; repeatable")
    parser.add_argument("--case", help="only tries whose name contains this")
    parser.add_argument("--user", action="store_true", help="only as an ordinary user, started by root")
    parser.add_argument("--alone", action="store_true", help="only as the user who calls it")
    parser.add_argument("--place", default="", help="the folder in which the scratch home is made")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
