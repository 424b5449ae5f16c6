"""Mutants by the tools of other languages: Stryker for JavaScript and TypeScript, cargo-mutants for Rust.

Each tool is one trial: a command that runs it on the files that the agent changed and prints its report line by line, each line after a
word that was drawn for the proof. A tool that is not installed prints that it is absent.
"""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Iterable, Mapping

from untildone.core.receipts.proving import Base, Trial, TrialRan, Work
from untildone.core.values.value import dataclass
from untildone.gates._proofs import Verdict

STRYKER, CARGO = "Stryker", "cargo-mutants"
SUFFIXES = {
    **dict.fromkeys(("js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts"), STRYKER),
    "rs": CARGO,
}
"""The tool of a language, by the suffix of its files."""
MOST_NAMED = 10
MOST_SHOWN = 40
"""Survivors that are printed: more do not fit into what is kept of an output."""


@dataclass(frozen=True, slots=True)
class Tally:
    """What a tool reports."""

    tool: str
    died: int = 0
    alive: tuple[str, ...] = ()
    """The survivors: where, and what was changed."""
    every: int = 0
    """How many mutants there were; more survivors than are named, if there are many."""
    is_absent: bool = False
    is_complete: bool = False
    """Whether the report came to its end."""


def trials(work: Work, changed: Iterable[str]) -> list[Trial]:
    """A trial for each tool that has changed files."""
    files: dict[str, list[str]] = {}
    inside = f"{work.folder}/" if work.folder else ""
    for path in changed:
        if (tool := SUFFIXES.get(path.rpartition(".")[2])) is not None and path.startswith(inside):
            files.setdefault(tool, []).append(path)
    commands = {STRYKER: _stryker, CARGO: _cargo}
    return [
        Trial(
            commands[tool](ranges, work.word),
            Base.CLAIMED,
            label=f"{tool}: {', '.join(ranges)}",
            about=(tool, work.word),
        )
        for tool, paths in files.items()
        if (ranges := {path.removeprefix(inside): lines for path, lines in changed_lines(work, paths).items()})
    ]


def changed_lines(work: Work, paths: Iterable[str]) -> dict[str, list[tuple[int, int]]]:
    """The lines of the claimed tree that differ from the start, by path, as first and last number."""
    paths = list(paths)
    work.before.fetch(paths)
    work.after.fetch(paths)
    by_path = {path: _ranges(work.before.text(path), work.after.text(path)) for path in paths}
    return {path: ranges for path, ranges in by_path.items() if ranges}


def _ranges(before: str, after: str) -> list[tuple[int, int]]:
    compared = difflib.SequenceMatcher(None, before.splitlines(), after.splitlines(), autojunk=False)
    return [(first + 1, last) for kind, _, _, first, last in compared.get_opcodes() if kind != "equal" and last > first]


# Reads the report of Stryker, which follows the mutation testing report schema.
_READ = """\
const fs = require("fs"), [word, most] = process.argv.slice(1);
const report = JSON.parse(fs.readFileSync("reports/mutation/mutation.json", "utf8"));
const lines = [];
let died = 0, alive = 0;
for (const [path, file] of Object.entries(report.files)) for (const mutant of file.mutants) {
  if (mutant.status === "Killed" || mutant.status === "Timeout") died += 1;
  else if (mutant.status === "Survived" || mutant.status === "NoCoverage") {
    alive += 1;
    const what = `${mutant.mutatorName} ${mutant.replacement || ""}`.replace(/\\s+/g, " ").trim().slice(0, 80);
    if (alive <= Number(most)) lines.push(`${word} alive ${path}:${mutant.location.start.line}: ${what}`);
  }
}
for (const line of lines) console.log(line);
console.log(`${word} died ${died}`);
console.log(`${word} all ${died + alive}`);
"""


def _stryker(ranges: Mapping[str, list[tuple[int, int]]], word: str) -> str:
    mutate = ",".join(f"{path}:{first}-{last}" for path, each in ranges.items() for first, last in each)
    absent = f"[ -x node_modules/.bin/stryker ] || {{ echo {word} absent; exit 0; }}"
    run = f"node_modules/.bin/stryker run --mutate {shlex.quote(mutate)} --reporters json --logLevel error --fileLogLevel off"
    read = f"node -e {shlex.quote(_READ)} {word} {MOST_SHOWN}"
    return f"{absent}; rm -rf reports/mutation; {run} </dev/null; {read}"


def _cargo(ranges: Mapping[str, list[tuple[int, int]]], word: str) -> str:
    """cargo-mutants writes one line a mutant into files that are named after what became of them. It has tried all mutants only if it
    exits with 0, 2 (some were missed) or 3 (some timed out): with 4, for example, the tests fail without a mutant."""
    files = " ".join(f"-f {shlex.quote(path)}" for path in ranges)
    absent = f"command -v cargo-mutants >/dev/null || {{ echo {word} absent; exit 0; }}"
    run = f'out=$(mktemp -d) && cargo mutants --no-shuffle --colors never {files} -o "$out" </dev/null'
    died = f"echo {word} died $(cat caught.txt timeout.txt | wc -l)"
    alive = f"head -n {MOST_SHOWN} missed.txt | sed 's/^/{word} alive /'"
    every = f"echo {word} all $(cat caught.txt timeout.txt missed.txt | wc -l)"
    return f'{absent}; {run}; case $? in 0|2|3) cd "$out/mutants.out" && {{ {alive}; {died}; {every}; }};; esac'


def tally(each: TrialRan) -> Tally:
    """The report in the output of a trial."""
    tool, word = each.trial.about
    lines = re.findall(rf"(?m)^{re.escape(word)} (\w+) ?(.*)$", each.ran.tail)
    numbers = {kind: int(rest) for kind, rest in lines if kind in ("died", "all") and rest.strip().isdigit()}
    return Tally(
        tool,
        numbers.get("died", 0),
        tuple(rest.strip() for kind, rest in lines if kind == "alive"),
        numbers.get("all", 0),
        any(kind == "absent" for kind, _ in lines),
        "all" in numbers,
    )


def joined(own: Verdict | None, tallies: Iterable[Tally]) -> Verdict:
    """The verdict on all mutants. A tool refuses a claim if it made mutants of the changed lines and not one of them died."""
    verdict = own or Verdict()
    words, notes = [verdict.words] if verdict.words else [], [each for each in verdict.notes if each != verdict.tail]
    reason, tail, proves = verdict.reason, verdict.tail, own is not None
    for each in tallies:
        if each.is_absent or not each.is_complete:
            notes.append(f"No mutants of its languages by {each.tool}: {_why(each)}.")
            continue
        words.append(f"{each.died} of {each.every} mutants of {each.tool} died")
        survivors = "\n".join(f"- {one}: no test noticed" for one in each.alive[:MOST_NAMED])
        if each.every and not each.died:
            reason = reason or f"{words[-1]}; tests must notice what the changed lines do"
            tail = "\n".join(filter(None, (tail, survivors)))
        elif survivors:
            notes.append(survivors)
        proves = proves or bool(each.died)
    return Verdict(reason, tail, "; ".join(words), proves, (*notes, *filter(None, (tail,))))


def _why(each: Tally) -> str:
    return "it is not installed in the project" if each.is_absent else "it did not come to its end"
