"""The news about phases and subtasks in an answer or in an edit of the live state file: one value for both."""

from __future__ import annotations

from collections.abc import Mapping

from untildone.core.model import SubtaskChange
from untildone.core.values.value import dataclass, field

MOST_TASKS = 200
LONGEST_TEXT = 2_000
LONGEST_SUMMARY = 4_000


@dataclass(frozen=True, slots=True)
class News:
    done: bool | None = None
    """Whether the phase that was asked for is done; None: not said."""
    phases: tuple[int, ...] = ()
    """Phases that are said to be done, by number."""
    route: str = ""
    summaries: Mapping[int, str] = field(default_factory=dict)
    """What was done, by phase; 0: in the phase that was asked for."""
    tasks: tuple[SubtaskChange, ...] = ()
    dropped: tuple[str, ...] = ()
    """The ids of subtasks that are not to be done at all."""
    score: float | None = None
    findings: tuple[str, ...] = ()
    promised: bool = False
    aborted: bool = False
    max_iterations: int | None = None
    problems: tuple[str, ...] = ()


def both(file: News, answer: News) -> News:
    """The news of file and answer together. If they contradict each other, the answer counts."""
    return News(
        done=file.done if answer.done is None else answer.done,
        phases=(*file.phases, *answer.phases),
        route=answer.route or file.route,
        summaries={**file.summaries, **answer.summaries},
        tasks=(*file.tasks, *answer.tasks),
        dropped=(*file.dropped, *answer.dropped),
        score=file.score if answer.score is None else answer.score,
        findings=(*file.findings, *answer.findings),
        promised=file.promised or answer.promised,
        aborted=file.aborted,
        max_iterations=file.max_iterations,
        problems=(*file.problems, *answer.problems),
    )
