"""The proof `mutants`: each Python function that the agent changed is damaged, and some test must notice.

A function whose body is removed without a failing test refuses the claim. Other mutants that survive count for the score only."""

from __future__ import annotations

from untildone.core.judging.trees import Write
from untildone.core.plugins.option import Option
from untildone.core.receipts.proving import Base, Planned, Trial, TrialRan, TrialsRan, Work
from untildone.gates._proofs import ProofGate, Verdict, why_red
from untildone.gates.mutants.python import EMPTIED, Mutant, mutants

MOST = 60
MOST_NAMED = 10
FIRST_SECONDS, TIMES_LONGER = 10.0, 3.0


class Mutants(ProofGate):
    name = "mutants"
    judges_parts = True
    declared_options = (
        Option(
            name, "Mutants", "prove that tests notice if a function that the agent changed is damaged", default=False
        ),
    )

    def trials(self, work: Work) -> Planned:
        """Emptied functions first: the time may not be enough for all. A mutant is dead if one of the checks fails."""
        changed = [path for path in work.changed if path not in work.judges and path in work.after.files]
        sources = [path for path in changed if path.endswith(".py")]
        others = sorted({path.rpartition(".")[2] for path in changed if path.endswith(_OTHER_LANGUAGES)})
        left_out = (f"No mutants of {', '.join(others)} files.",) if others else ()
        work.before.fetch(sources)
        work.after.fetch(sources)
        made = [each for path in sources for each in mutants(path, work.before.text(path), work.after.text(path))]
        made.sort(key=lambda each: not each.is_emptied)
        more = (f"Mutants beyond {MOST} were left out: {len(made) - MOST}.",) if len(made) > MOST else ()
        trials = tuple(_trial(each, command, work) for each in made[:MOST] for command in work.commands)
        return Planned(trials, (*left_out, *more))

    def verdict(self, finding: TrialsRan, timeout: float) -> Verdict:
        runs: dict[str, list[TrialRan]] = {}
        for each in finding.runs:
            runs.setdefault(each.trial.label, []).append(each)
        dead = {label for label, group in runs.items() if any(why_red(each.ran, timeout) for each in group)}
        checks = max((len(group) for group in runs.values()), default=0)
        # The time may have been over between two checks of a mutant that lives so far: nobody knows about that one.
        runs = {label: group for label, group in runs.items() if label in dead or len(group) == checks}
        alive = [label for label in runs if label not in dead]
        words = f"{len(runs) - len(alive)} of {len(runs)} mutants died"
        cut = ("The time for proofs was over before every mutant had run.",) if finding.is_cut else ()
        survivors = "\n".join(f"- {label}: no test noticed" for label in alive[:MOST_NAMED])
        if not runs:
            return Verdict("the time for proofs was over before a mutant had run (hint: more `--prove-minutes`)")
        if any(label.endswith(EMPTIED) for label in alive):
            return Verdict(f"{words}; tests must notice what these functions do", survivors, words, notes=cut)
        return Verdict(words=words, notes=(*cut, *((survivors,) if alive else ())))


_OTHER_LANGUAGES = (
    ".js",
    ".ts",
    ".jsx",
    ".tsx",
    ".mjs",
    ".go",
    ".rs",
    ".java",
    ".rb",
    ".php",
    ".c",
    ".cc",
    ".cpp",
    ".kt",
    ".cs",
)


def _trial(mutant: Mutant, command: str, work: Work) -> Trial:
    """A mutant may never end: it gets a multiple of the time that the check took."""
    timeout = FIRST_SECONDS + TIMES_LONGER * work.seconds.get(command, 0.0)
    return Trial(command, Base.CLAIMED, (Write(mutant.path, mutant.source.encode()),), mutant.label, timeout)


GATE = Mutants()
