"""Proofs: gates that run the checks again on other trees than the claimed one, to find out what a check that passes is worth.

A proof is a gate in a folder of its own. It says, purely, which trials it needs (`Trial`: a command, a tree, edits of it) and judges
what came back. It runs only at a claim that everything else believes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum

from untildone.core.model import LoopSettings, Measured
from untildone.core.values.value import dataclass, field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from untildone.core.judging.survey import Survey
    from untildone.core.judging.trees import Edit, Tree
    from untildone.core.plugins.gate import CommandRan

PROVE = "prove"
"""The option that turns every proof on."""
MINUTES = "prove_minutes"
DEFAULT_MINUTES = 30.0
HELD_OUT = "held_out"
HELD_OUT_DIGEST = "held_out_sha256"
"""The hash of the held-out files when the loop was created. Beside the options, and no option itself."""
ACCEPTANCE = "acceptance"
REPEAT = "repeat"
BASELINE = "baseline"
IGNORE_FAILING = "ignore_failing"
REPEAT_WITH_PROVE = 3
"""How often a check runs with `--prove` alone."""

PROOFS = (REPEAT, "canary", "causal", "red_first", HELD_OUT, ACCEPTANCE, "mutants")
"""The proofs by name, in the order in which they run: the cheap ones first. Each is the name of its gate and of its setting."""


def chosen(settings: LoopSettings) -> tuple[str, ...]:
    """The proofs that the settings of a loop ask for. Without a check there is nothing to prove."""
    return tuple(name for name in PROOFS if settings.checks and _is_chosen(name, settings))


def _is_chosen(name: str, settings: LoopSettings) -> bool:
    value, every = settings.options.get(name), bool(settings.options.get(PROVE))
    if name == ACCEPTANCE:
        return settings.acceptance is not None
    if name == HELD_OUT:
        return bool(value)
    if name == REPEAT:
        return every or (isinstance(value, int) and value > 1)
    return every or bool(value)


def wants_baseline(settings: LoopSettings) -> bool:
    """Whether the checks of a loop run once before its first round."""
    options = settings.options
    return bool(settings.checks) and any(options.get(name) for name in (BASELINE, PROVE, IGNORE_FAILING))


def seconds(settings: LoopSettings) -> float:
    """The time for the proofs of one claim."""
    return float(settings.options.get(MINUTES, DEFAULT_MINUTES)) * 60


class Base(StrEnum):
    """The tree that a trial begins with."""

    START = "start"
    """The workspace when the loop began."""
    CLAIMED = "claimed"
    """The workspace as the agent claims it to be done."""
    JUDGED = "judged"
    """The claimed one as its check had to hold there first: with the judge files of the start, and none that the agent added."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One run of a check on a tree that a proof makes up."""

    command: str
    base: Base
    edits: tuple[Edit, ...] = ()
    label: str = ""
    """What is special about this run, for people: `without the work`, `calc.py:3: the body of add is removed`."""
    timeout: float | None = None
    """Seconds; None: the timeout of a check."""
    tests_before: int = 0
    """How many tests the command ran on the claimed tree, for a trial that must run more."""
    about: tuple[str, ...] = ()
    """What the trial is about, in words of its proof."""
    must_fail: tuple[tuple[str, str], ...] = ()
    """Pairs of patterns: if the name of a failed test matches the first, the name of one must match the second."""
    must_pass: tuple[tuple[str, str], ...] = ()
    """Pairs of patterns: if the name of a failed test matches the first, the name of none may match the second."""
    needed: Callable[[CommandRan], bool] | None = None
    """Whether it is run at all, by the result of the trial before it; None: always."""


@dataclass(frozen=True, slots=True)
class Work:
    """What a proof makes its trials from."""

    before: Tree
    after: Tree
    survey: Survey
    """What became of the judge files."""
    commands: tuple[str, ...]
    tests: Mapping[str, str] = field(default_factory=dict)
    """What the test runner of each command reported about the claimed tree; empty: no known runner reported anything."""
    all_is_work: bool = False
    """Whether the agent may change judge files as part of its work (`--tests free`)."""
    options: Mapping[str, object] = field(default_factory=dict)
    held_out: Mapping[str, bytes] = field(default_factory=dict)
    """The held-out files by path."""
    acceptance: Mapping[str, bytes] = field(default_factory=dict)
    """The acceptance tests by path."""
    says_nothing: bool = False
    """Whether every check passed with the acceptance tests before any work."""
    seconds: Mapping[str, float] = field(default_factory=dict)
    """How long each command took on the claimed tree."""
    measured: Mapping[str, Measured] = field(default_factory=dict)
    """What each command said before any work, if it passed then or each failed test has a name."""
    failing: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The tests of each command that failed on the claimed tree, as they did before any work, and were ignored."""
    word: str = "x"
    """A word that was drawn for this proof, for names that no agent can know."""
    folder: str = ""
    """The folder in which the commands run, relative to the root of the trees."""

    @property
    def changed(self) -> tuple[str, ...]:
        """Paths whose files differ between the two trees."""
        every = {**self.before.files, **self.after.files}
        return tuple(path for path in sorted(every) if self.before.files.get(path) != self.after.files.get(path))

    @property
    def is_judged_apart(self) -> bool:
        """Whether the tree that is `Base.JUDGED` is another one than the claimed."""
        return self.survey.needs_originals and not self.all_is_work

    @property
    def judges(self) -> frozenset[str]:
        """Judge files that the agent changed or added."""
        survey = self.survey
        return frozenset(file.path for file in (*survey.changed, *survey.added, *survey.approved))


@dataclass(frozen=True, slots=True)
class Planned:
    """The trials of a proof. Without any, the proof does not apply: it passes and proves nothing."""

    trials: tuple[Trial, ...] = ()
    notes: tuple[str, ...] = ()
    """Sentences about what was left out, and why."""
    at_once: bool = False
    """Whether the trials may run beside each other: none of them says how long a check takes, or how often it passes."""


@dataclass(frozen=True, slots=True)
class TrialRan:
    """A trial with its result."""

    trial: Trial
    ran: CommandRan


@dataclass(frozen=True, slots=True)
class TrialsRan:
    """The result of a `RunTrials` step."""

    runs: tuple[TrialRan, ...] = ()
    planned: int = 0
    """How many trials the proof wanted; more than there are runs if the time was over."""
    notes: tuple[str, ...] = ()
    problem: str = ""
    """Why no trial could be run, as a reason for people."""
    took: float | None = None
    """How many seconds all runs took together; None: the sum of the single runs."""

    @property
    def seconds(self) -> float:
        return round(sum(each.ran.seconds for each in self.runs) if self.took is None else self.took, 3)

    @property
    def is_cut(self) -> bool:
        """Whether the time for proofs was over before every trial had run."""
        return len(self.runs) < self.planned
