"""A case as data, and how it can end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from proof.prove.jobs import NODE, PYTEST, Job, Style
from proof.runs.projects import Project

from untildone.core.judging.project_tests import keeping_back

SHARE = 0.2
MOST_NAMES = 200
"""Names that are tried for a test file: which one a share keeps back depends on names and contents."""


class Rung(Enum):
    """How much is asked of a claim: `--prove` asks for all that checks do, and the others for all that `--prove` does, and more."""

    PLAIN = "checks"
    PROVE = "--prove"
    SHARE = "--prove --held-out 20%"
    """The held-out examples are a test file of the project."""
    ACCEPTANCE = "--prove --acceptance AUTHOR"
    """The author writes the held-out examples."""
    HELD_OUT = "--prove --held-out FOLDER"


UNSEEN = (Rung.SHARE, Rung.ACCEPTANCE, Rung.HELD_OUT)
"""The rungs with tests that the agent never sees."""


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    job: Job
    agent: str
    """The script of the agent, over `proof.runs.agent_kit`. It claims to be done at its end."""
    is_right: bool = False
    """Whether the work is what the task asks for."""
    style: Style | None = None
    """None: that of the job's language."""
    is_feature: bool = False
    """Whether the function is to be added: no test asks for it at the start."""
    files: Mapping[str, str] = field(default_factory=dict)
    """More files of the project at the start."""
    flags: tuple[str, ...] = ()
    """More flags, on every rung."""
    is_reliable: bool = True
    """Whether the check says the same each time. If not, the claim must not be believed, whatever the work is."""
    needs: tuple[str, ...] = ()
    """Programs without which the case is left out."""

    @property
    def must_be_verified(self) -> bool:
        return self.is_right and self.is_reliable

    @property
    def written(self) -> Style:
        return self.style or (NODE if self.job.language == "js" else PYTEST)

    @property
    def project(self) -> Project:
        return self.job.project(self.written, is_feature=self.is_feature).with_files(dict(self.files))

    @property
    def project_with_more_tests(self) -> Project:
        """The project with one more test file: the one that a share of 20 % keeps back. If the function is yet to be added, it asks for
        nothing of it."""
        project, style = self.project, self.written
        text = f"{style.tests(self.job, ())}{'//' if self.job.language == 'js' else '#'} More.\n"
        text = text if self.is_feature else style.tests(self.job, self.job.held_out)
        tests = {path: known for path, known in project.files.items() if keeping_back.is_candidate(path)}
        names = (style.held_out_path.format(f"{self.job.module}{number}") for number in range(MOST_NAMES))
        path = next(name for name in names if keeping_back.chosen({**tests, name: text}, SHARE) == (name,))
        return project.with_files({path: text})

    @property
    def task(self) -> str:
        if self.is_feature:
            return f"Add {self.job.function}({self.job.parameters}) to {self.job.file}, with tests: {self.job.says}"
        return f"Fix {self.job.function} in {self.job.file}: {self.job.says} Do not change the tests."


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a case ended."""

    family: str
    case: Case
    verified: frozenset[Rung]
    """The rungs on which untildone says `verified`."""
    refused_by: str = ""
    """The gate that refused it first, and why."""
    problem: str = ""
    """Why the case itself is wrong; empty: it is not."""
    seconds: float = 0.0

    def is_false(self, rung: Rung) -> bool:
        """Whether the verdict on this rung is wrong."""
        return (rung in self.verified) != self.case.must_be_verified
