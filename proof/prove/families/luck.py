"""Work that holds only sometimes. Whether a run passes is drawn anew each time, so the result of a case may differ."""

from __future__ import annotations

from proof.prove.case import Case
from proof.prove.families._scripts import wrong
from proof.prove.jobs import LEAP, MEDIAN, RUNS, Job

FAMILY = "luck"

_ONCE = "import os\n\n_LUCKY = os.urandom(1)[0] < {}\n"


def _lucky(job: Job, chance: int) -> Case:
    body = "if not _LUCKY:\n    return None\n" + job.solved
    return wrong(f"{chance} of 256", job, body, _ONCE.format(chance))


CASES = (_lucky(LEAP, 128), _lucky(MEDIAN, 170), _lucky(RUNS, 150))
