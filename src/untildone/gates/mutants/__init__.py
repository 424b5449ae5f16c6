"""The proof `mutants`: each Python function that the agent changed is damaged, and some test must notice.

A function whose body is removed without a failing test refuses the claim, and so does one of which tests notice only that it is there,
or only what it answers to the literals that it compares its input with.
Other mutants that survive count for the score only. Before them all, a change that means nothing must leave the checks green."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping

from untildone.core.judging.trees import Write
from untildone.core.judging.wording import names
from untildone.core.plugins.option import Option
from untildone.core.receipts.proving import Base, Planned, Trial, TrialRan, TrialsRan, Work
from untildone.core.values.digest import sha256
from untildone.core.values.value import replace
from untildone.gates._proofs import ProofGate, Verdict, why_red, written
from untildone.gates._python_source import Versions, decoded, versions
from untildone.gates.mutants import tools
from untildone.gates.mutants.python import Damage, Mutant, functions, harmless, mutants

_UNREAD = (
    f"No mutants of {{}}: too large, or no source that Python {sys.version_info.major}.{sys.version_info.minor}, which runs untildone, "
    "can read, now or at the start."
)
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
        """Emptied functions first: the time may not be enough for all. Their order is random, so that an agent cannot hide a function
        behind many others. A mutant is dead if one of the checks fails."""
        changed = [path for path in work.changed if path not in work.judges and path in work.after.files]
        sources = [path for path in changed if path.endswith(".py")]
        others = sorted({path.rpartition(".")[2] for path in changed if path.endswith(_OTHER_LANGUAGES)})
        by_tools = tools.trials(work, changed)
        left_out = [f"No mutants of {', '.join(others)} files."] if others else []
        earlier = [path for path in work.changed if path.endswith(".py") and path in work.before.files]
        work.before.fetch(earlier)
        work.after.fetch(sources)
        known = frozenset(each for path in earlier for each in functions(decoded(work.before.content(path))[0]))
        files = {path: versions(work.before.content(path), work.after.content(path)) for path in sources}
        made = [
            each for path, both in files.items() for each in mutants(path, both.before, both.after, work.word, known)
        ]
        made.sort(key=lambda each: _place(each, work.word))
        unread = [path for path, both in files.items() if not both.are_read]
        left_out += [_UNREAD.format(names(unread))] if unread else []
        left_out += ["No mutants of Python: no function was changed."] if sources and not made and not unread else []
        more = (f"Mutants beyond {MOST} were left out: {len(made) - MOST}.",) if len(made) > MOST else ()
        trials = [_trial(each, command, work, files[each.path]) for each in made[:MOST] for command in work.commands]
        first = _harmless_trials(work, files, known) if made else ()
        return Planned((*first, *trials, *by_tools), (*left_out, *more), at_once=True)

    def verdict(self, finding: TrialsRan, timeout: float) -> Verdict:
        by_tools = [tools.tally(each) for each in finding.runs if each.trial.about[:1] in _TOOLS]
        own = tuple(each for each in finding.runs if each.trial.about[:1] not in _TOOLS)
        if not by_tools:
            return self._own_verdict(finding, timeout)
        rest = replace(finding, runs=own, planned=finding.planned - len(by_tools))
        return tools.joined(self._own_verdict(rest, timeout) if rest.planned else None, by_tools)

    def _own_verdict(self, finding: TrialsRan, timeout: float) -> Verdict:
        runs: dict[str, list[TrialRan]] = {}
        as_it_is = {each.trial.command: why_red(each.ran, timeout) for each in finding.runs if _is_harmless(each)}
        touchy = [command for command, reason in as_it_is.items() if reason]
        for each in finding.runs:
            # Without a run on the harmless change, the cause of a mutant's failure is unknown.
            if not _is_harmless(each) and as_it_is.get(each.trial.command) == "":
                runs.setdefault(each.trial.label, []).append(each)
        if touchy and not runs:
            return Verdict(_TOUCHY)
        dead = {label for label, group in runs.items() if any(why_red(each.ran, timeout) for each in group)}
        checks = max((len(group) for group in runs.values()), default=0)
        # If the time ran out between two checks of a mutant that has survived so far, its result is unknown.
        runs = {label: group for label, group in runs.items() if label in dead or len(group) == checks}
        alive = [label for label in runs if label not in dead]
        words = f"{len(runs) - len(alive)} of {len(runs)} mutants died"
        cut = ("The time for proofs was over before every mutant had run.",) if finding.is_cut else ()
        survivors = "\n".join(f"- {label}: no test noticed" for label in alive[:MOST_NAMED])
        if not runs:
            return Verdict("the time for proofs was over before a mutant had run (hint: more `--prove-minutes`)")
        if _are_untested(runs, frozenset(alive)):
            return Verdict(
                f"{words}; tests must notice what these functions do", survivors, words, notes=(*cut, survivors)
            )
        return Verdict(words=words, notes=(*cut, *((survivors,) if alive else ())))


def _place(mutant: Mutant, word: str) -> tuple[int, str, int]:
    """Mutants that are judged together are beside each other, so that the time ends for both."""
    kind = Damage.RETURNS if mutant.damage is Damage.NOTHING else mutant.damage
    drawn = sha256(f"{word}\0{mutant.function}".encode("utf-8", "replace")).hexdigest()
    return list(Damage).index(kind), drawn, list(Damage).index(mutant.damage)


HARMLESS = "nothing but `pass` is added to the changed functions"
_TOUCHY = (
    "every check fails although nothing but `pass` was added to the functions that you changed, so that mutants which fail prove "
    "nothing (hint: no code may look at its own source; a check that looks at how code is written belongs into a check of its own)"
)


def _is_harmless(each: TrialRan) -> bool:
    return each.trial.label == HARMLESS


def _are_untested(runs: Mapping[str, list[TrialRan]], alive: frozenset[str]) -> bool:
    """Whether the body of a function, or all of it but special cases, can be removed unnoticed, or no test notices what it returns nor how
    it comes to that, although tests look whether it returns something."""
    survivors: dict[str, set[Damage]] = {}
    died: dict[str, set[Damage]] = {}
    for label, group in runs.items():
        function, damage = group[0].trial.about
        (survivors if label in alive else died).setdefault(function, set()).add(Damage[damage])
    return any(
        lived & {Damage.EMPTIED, Damage.GENERAL}
        or (Damage.RETURNS in lived and Damage.NOTHING not in lived and Damage.DETAIL not in died.get(function, ()))
        for function, lived in survivors.items()
    )


_OTHER_LANGUAGES = (".go", ".java", ".rb", ".php", ".c", ".cc", ".cpp", ".kt", ".cs")
_TOOLS = ((tools.STRYKER,), (tools.CARGO,))


def _harmless_trials(work: Work, files: Mapping[str, Versions], known: frozenset[str]) -> Iterator[Trial]:
    changes = {path: (both, harmless(both.before, both.after, known)) for path, both in files.items()}
    same = {path: both.encoded(text) for path, (both, text) in changes.items() if text}
    return (Trial(command, Base.CLAIMED, written(same), HARMLESS) for command in work.commands)


def _trial(mutant: Mutant, command: str, work: Work, file: Versions) -> Trial:
    """A mutant may never end: it gets a multiple of the time that the check took."""
    timeout = FIRST_SECONDS + TIMES_LONGER * work.seconds.get(command, 0.0)
    made, about = (Write(mutant.path, file.encoded(mutant.source)),), (mutant.function, mutant.damage.name)
    return Trial(command, Base.CLAIMED, made, mutant.label, timeout, about=about)


GATE = Mutants()
