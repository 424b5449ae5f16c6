"""Scripts of agents that the families share."""

from __future__ import annotations

from proof.prove.case import Case
from proof.prove.jobs import Job


def does(job: Job, body: str, above: str = "") -> str:
    """The script of an agent that writes this body of the function."""
    return f"write({job.file!r}, {job.source(body, above)!r})\n"


def wrong(name: str, job: Job, body: str, above: str = "") -> Case:
    return Case(f"{name}: {job.module}", job, does(job, body, above))
