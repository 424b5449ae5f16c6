"""The work of a loop that goes from machine to machine: fetched from a git remote, published there after each turn.

What git ignores stays in the clone, and is not carried to another machine.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from untildone.core.errors import Superseded, UsageError
from untildone.core.loop import Loop
from untildone.hosts.cluster import ownership
from untildone.hosts.cluster.clones import HEAD, Mirror, mirror_of
from untildone.hosts.cluster.ownership import Address, Move
from untildone.workspace import commits
from untildone.workspace.git import GitFailed, git, root_of

LEASE_ATTEMPTS = 20
"""How often taking the lease is tried again after another runner came first."""
TAKE_WITHIN, PUBLISH_WITHIN = 30.0, 600.0
"""How long, in seconds, a remote that cannot be reached is tried again: before a turn, and after one that cost something."""
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 15.0
REFUSALS = 3
"""How often a remote may refuse before that is believed: its refs are locked for a moment while somebody else changes or packs them."""
UNPUBLISHED = "unpublished"
"""The branch of a clone in which work is kept that could not be published."""
_LEFTOVERS = (*commits.UNFINISHED, "index.lock", "HEAD.lock")
"""What an agent or git itself may have left in the middle of something."""

_welcoming: set[str] = set()
"""Remotes that took a mark from this process."""


def address_of(loop: Loop) -> Address:
    chosen = loop.settings
    if chosen.remote is None:
        raise UsageError(f"Loop {loop.loop_id} names no git remote.", "a cluster needs one to carry the work: --remote")
    branch = ownership.checked_branch(chosen.branch or f"untildone/{loop.loop_id}")
    return Address(ownership.checked_remote(chosen.remote), branch, loop.loop_id)


class Published:
    """The site of one attempt: it owns the loop's branch from `enter` on, until another attempt enters."""

    def __init__(self, folder: Path, token: str) -> None:
        self.folder = folder
        self._token = token
        self._address = Address("", "", "")
        self._mark: str | None = None
        self._commit = ""
        """Where this attempt left mark and branch on the remote; they may not be there yet."""
        self._has_branch = False
        self._keeps_out = False
        """Whether a runner that came before and put no mark may still try to publish."""

    def enter(self, loop: Loop) -> str:
        self._address = address_of(loop)
        mirror = mirror_of(self.folder, self._address.remote)
        mirror.ensure()
        self._tried(lambda: self._claim(mirror, loop), TAKE_WITHIN, lambda: False)
        place = self.folder / "work" / loop.loop_id
        try:
            self._stand_at(place, mirror)
        except (GitFailed, OSError):
            # Whatever a crash left there: made anew, it is as good.
            shutil.rmtree(place, ignore_errors=True)
            mirror.make_template_anew()
            mirror.bring({self._commit: self._base_ref}, again=True)
            self._stand_at(place, mirror)
        return str(place)

    def _stand_at(self, place: Path, mirror: Mirror) -> None:
        """Make the clone's files what was published last; what git ignores stays."""
        is_new = not (place / ".git").is_dir()
        if is_new:
            mirror.clone(place)
        for name in _LEFTOVERS:
            _remove(place / ".git" / name)
        git(str(place), "checkout", "--quiet", "--force", "-B", self._address.branch, self._commit)
        if not is_new:
            git(str(place), "clean", "--quiet", "-ffd")

    def keep(self, loop: Loop, title: str, wants_out: Callable[[], bool]) -> str | None:
        return self._publish(title, PUBLISH_WITHIN, wants_out)

    def secure(self, loop: Loop, title: str) -> None:
        self._publish(title, 0.0, lambda: True)

    def leave(self, loop: Loop) -> None:
        """The loop has ended: nobody needs its clone any more, nor its mark, if the branch has moved away from where others began."""
        place = self.folder / "work" / loop.loop_id
        if self._mark and not (self._keeps_out and self._commit == loop.start.head):
            with suppress(GitFailed):
                ownership.push(str(place), self._address.remote, [Move(self._address.mark_ref, self._mark, None)])
        shutil.rmtree(place, ignore_errors=True)

    def _claim(self, mirror: Mirror, loop: Loop) -> None:
        repository, address = str(mirror.path), self._address
        self._keeps_out = not _is_first(loop)
        for _ in range(LEASE_ATTEMPTS):
            found = ownership.standing(repository, address)
            self._note(found)
            wanted = {self._commit: self._base_ref, **({found.mark: address.mark_ref} if found.mark else {})}
            if not mirror.bring(wanted):
                continue
            self._refuse_if_late(repository, found.mark)
            if found.mark is None and not self._keeps_out and address.remote in _welcoming:
                return
            mark = ownership.new_mark(repository, address, self._token, self._commit)
            try:
                ownership.push(repository, address.remote, [Move(address.mark_ref, found.mark, mark)])
            except GitFailed as refusal:
                if ownership.standing(repository, address).mark == found.mark:
                    raise _refused(address, refusal) from refusal
                continue
            _welcoming.add(address.remote)
            self._mark = mark
            return
        raise Superseded(
            f"Loop {address.loop_id} is leased again and again by other runners.", "look at the other machines"
        )

    def _note(self, found: ownership.Standing) -> None:
        """Where the branch is, or what it starts from."""
        base = found.branch or found.head
        if base is None:
            raise UsageError(
                f"The remote {self._address.remote} has no commit to start from.", "push something: work starts from it"
            )
        self._mark, self._commit, self._has_branch = None, base, found.branch is not None

    @property
    def _base_ref(self) -> str:
        return self._address.branch_ref if self._has_branch else HEAD

    def _refuse_if_late(self, repository: str, mark: str | None) -> None:
        if mark is not None and ownership.token_of(repository, mark) > self._token:
            raise self._superseded()

    def _superseded(self) -> Superseded:
        return Superseded(
            f"Loop {self._address.loop_id} was leased by a newer runner.",
            "what this one did meanwhile is not published",
        )

    def _publish(self, title: str, within: float, wants_out: Callable[[], bool]) -> str | None:
        """Commit what changed, and move the branch there. Nothing changed: nothing happens."""
        place = str(self.folder / "work" / self._address.loop_id)
        if root_of(place) != os.path.realpath(place):
            raise UsageError(
                f"The git repository of {place} is gone.", "the agent removed it; resume starts from what is published"
            )
        kept = commits.keep(place, title)
        commit = kept.head
        if commit is None:
            raise UsageError(f"The branch that {place} is on has no commit.", "resume starts from what is published")
        if commit != self._commit:
            mark = ownership.new_mark(place, self._address, self._token, commit)
            self._tried(lambda: self._move(place, commit, mark), within, wants_out)
        return kept.all_in

    def _move(self, place: str, commit: str, mark: str) -> None:
        address, before = self._address, self._commit if self._has_branch else None
        moves = [Move(address.mark_ref, self._mark, mark), Move(address.branch_ref, before, commit)]
        try:
            ownership.push(place, address.remote, moves)
        except GitFailed as refusal:
            self._understand(place, moves, refusal)
        self._mark, self._commit, self._has_branch = mark, commit, True

    def _understand(self, place: str, moves: list[Move], refusal: GitFailed) -> None:
        """Why a push failed; nothing, if it reached the remote and only its answer got lost."""
        mark, branch = moves
        found = ownership.standing(place, self._address)
        if found.mark == mark.after:
            return
        if found.mark != mark.before:
            raise self._superseded()
        if found.branch == branch.before:
            raise _refused(self._address, refusal)
        git(place, "branch", "--force", UNPUBLISHED, branch.after or "HEAD")
        raise UsageError(
            f"Somebody else moved the branch {self._address.branch} of {self._address.remote}.",
            f"resume starts from what is there now; this round's work is the branch {UNPUBLISHED} in {place}",
        )

    def _tried(self, work: Callable[[], None], within: float, wants_out: Callable[[], bool]) -> None:
        """Try again while the remote cannot be reached, and a few times if it refuses."""
        deadline, pause, refusals = time.monotonic() + within, FIRST_PAUSE, 0
        while True:
            try:
                return work()
            except _Refused:
                refusals += 1
                if refusals >= REFUSALS or wants_out():
                    raise
            except GitFailed as problem:
                if time.monotonic() + pause > deadline or wants_out():
                    raise UsageError(
                        f"The git remote {self._address.remote} cannot be reached: {problem}.", "mend that, then resume"
                    ) from problem
            time.sleep(pause)
            pause = min(LONGEST_PAUSE, pause * 2)


def _is_first(loop: Loop) -> bool:
    """Whether no earlier runner of the loop can publish anything: it would have had to write first what it found in the
    workspace, and the journal takes that from the one that took the last lease only. So there is nobody to be kept out."""
    return not loop.start.fingerprint


class _Refused(UsageError):
    """The remote was reached, and did not take what was published."""


def _refused(address: Address, refusal: GitFailed) -> _Refused:
    return _Refused(
        f"The git remote {address.remote} refuses what is published there: {refusal}.",
        f"it must allow pushes to {address.branch_ref} and {address.mark_ref}",
    )


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
