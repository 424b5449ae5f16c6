"""The work of a loop that goes from machine to machine: fetched from a git remote, published there after each turn.

A worker keeps one bare mirror for each remote, and one clone for each loop, which borrows the mirror's objects: so a clone is made at
once, and what an agent does to its branches or its stash is no other loop's business. What git ignores stays in the clone, and is
not carried to another machine.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from untildone.core.errors import Superseded, UsageError
from untildone.core.loop import Loop
from untildone.hosts import workspace
from untildone.hosts.cluster import ownership
from untildone.hosts.cluster.ownership import Address, Move
from untildone.hosts.git import GitFailed, git, line_of, root_of

CLAIMS_TRIED = 20
"""How often a claim is tried again that another one came before."""
TAKE_WITHIN, PUBLISH_WITHIN = 30.0, 600.0
"""How long, in seconds, a remote that cannot be reached is tried again: before a turn, and after one that cost something."""
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 15.0
UNPUBLISHED = "unpublished"
"""The branch of a clone in which work is kept that could not be published."""
_LEFTOVERS = (*workspace.UNFINISHED, "index.lock", "HEAD.lock")
"""What an agent or git itself may have left in the middle of something."""

_mirrors: dict[Path, threading.Lock] = {}


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
        self._mark = self._commit = ""
        """Where this attempt left mark and branch on the remote; the branch may not be there yet."""
        self._has_branch = False

    def enter(self, loop: Loop) -> str:
        self._address = address_of(loop)
        mirror = _mirror(self.folder, self._address.remote)
        self._tried(lambda: self._claim(mirror), TAKE_WITHIN, lambda: False)
        place = self.folder / "work" / loop.loop_id
        try:
            self._stand_at(place, mirror)
        except (GitFailed, OSError):
            # Whatever a crash left there: made anew, it is as good.
            shutil.rmtree(place, ignore_errors=True)
            self._stand_at(place, mirror)
        return str(place)

    def _stand_at(self, place: Path, mirror: Path) -> None:
        """Make the clone's files what was published last; what git ignores stays."""
        if not (place / ".git").is_dir():
            _clone(place, mirror, self._address)
        for name in _LEFTOVERS:
            _remove(place / ".git" / name)
        git(str(place), "checkout", "--quiet", "--force", "-B", self._address.branch, self._commit)
        git(str(place), "clean", "--quiet", "-ffd")

    def keep(self, loop: Loop, title: str, wants_out: Callable[[], bool]) -> None:
        self._publish(title, PUBLISH_WITHIN, wants_out)

    def secure(self, loop: Loop, title: str) -> None:
        self._publish(title, 0.0, lambda: True)

    def leave(self, loop: Loop) -> None:
        """The loop has ended: nobody needs its mark and its clone any more."""
        place = self.folder / "work" / loop.loop_id
        if self._mark:
            with suppress(GitFailed):
                ownership.push(str(place), self._address.remote, [Move(self._address.mark_ref, self._mark, None)])
        shutil.rmtree(place, ignore_errors=True)

    def _claim(self, mirror: Path) -> None:
        repository, address = str(mirror), self._address
        for _ in range(CLAIMS_TRIED):
            found = ownership.standing(repository, address)
            base = found.branch or found.head
            if base is None:
                raise UsageError(
                    f"The remote {address.remote} has no commit to start from.", "push something: work starts from it"
                )
            self._fetch(repository, found, base)
            self._refuse_if_late(repository, found.mark)
            mark = ownership.new_mark(repository, address, self._token, base)
            try:
                ownership.push(repository, address.remote, [Move(address.mark_ref, found.mark, mark)])
            except GitFailed as refusal:
                if ownership.standing(repository, address).mark == found.mark:
                    raise _refused(address, refusal) from refusal
                continue
            self._mark, self._commit, self._has_branch = mark, base, found.branch is not None
            return
        raise Superseded(f"Loop {address.loop_id} is claimed again and again.", "look at the other workers")

    def _fetch(self, repository: str, found: ownership.Standing, base: str) -> None:
        refs = {"base": self._address.branch_ref if found.branch else "HEAD", "mark": self._address.mark_ref}
        wanted = {name: commit for name, commit in (("base", base), ("mark", found.mark)) if commit}
        missing = {name: refs[name] for name, commit in wanted.items() if not _has(repository, commit)}
        if missing:
            named = {f"{self._address.loop_id}/{name}": ref for name, ref in missing.items()}
            ownership.fetch(repository, self._address.remote, **named)

    def _refuse_if_late(self, repository: str, mark: str | None) -> None:
        if mark is not None and ownership.token_of(repository, mark) > self._token:
            raise self._superseded()

    def _superseded(self) -> Superseded:
        return Superseded(
            f"Loop {self._address.loop_id} was claimed by a newer runner.",
            "what this one did meanwhile is not published",
        )

    def _publish(self, title: str, within: float, wants_out: Callable[[], bool]) -> None:
        """Commit what changed, and move the branch there. Nothing changed: nothing happens."""
        place = str(self.folder / "work" / self._address.loop_id)
        if root_of(place) != os.path.realpath(place):
            raise UsageError(
                f"The git repository of {place} is gone.", "the agent removed it; resume starts from what is published"
            )
        try:
            commit = workspace.commit(place, title) or line_of(git(place, "rev-parse", "HEAD"))
            mark = "" if commit == self._commit else ownership.new_mark(place, self._address, self._token, commit)
        except GitFailed as problem:
            raise UsageError(
                f"The work in {place} cannot be committed: {problem}.", "look at its git status"
            ) from problem
        if mark:
            self._tried(lambda: self._move(place, commit, mark), within, wants_out)

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
        """Try again while the remote cannot be reached."""
        deadline, pause = time.monotonic() + within, FIRST_PAUSE
        while True:
            try:
                return work()
            except GitFailed as problem:
                if time.monotonic() + pause > deadline or wants_out():
                    raise UsageError(
                        f"The git remote {self._address.remote} cannot be reached: {problem}.", "mend that, then resume"
                    ) from problem
            time.sleep(pause)
            pause = min(LONGEST_PAUSE, pause * 2)


def _refused(address: Address, refusal: GitFailed) -> UsageError:
    return UsageError(
        f"The git remote {address.remote} refuses what is published there: {refusal}.",
        f"it must allow pushes to {address.branch_ref} and {address.mark_ref}",
    )


def _mirror(folder: Path, remote: str) -> Path:
    """The bare repository that all loops with that remote share on this machine."""
    mirror = folder / "mirrors" / f"{hashlib.sha256(remote.encode()).hexdigest()[:16]}.git"
    with _mirrors.setdefault(mirror, threading.Lock()):
        if not mirror.exists():
            mirror.parent.mkdir(parents=True, exist_ok=True)
            draft = Path(tempfile.mkdtemp(".tmp", "mirror-", mirror.parent))
            git(str(draft), "init", "--quiet", "--bare")
            os.rename(draft, mirror)
    return mirror


def _has(repository: str, commit: str) -> bool:
    try:
        git(repository, "cat-file", "-e", commit)
    except GitFailed:
        return False
    return True


def _clone(place: Path, mirror: Path, address: Address) -> None:
    """Under another name first: a clone is there, or not at all."""
    shutil.rmtree(place, ignore_errors=True)
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(".tmp", "clone-", place.parent) as draft:
        clone = os.path.join(draft, "clone")
        git(draft, "clone", "--quiet", "--shared", "--no-checkout", str(mirror), clone)
        git(clone, "remote", "set-url", "origin", address.remote)
        os.rename(clone, place)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
