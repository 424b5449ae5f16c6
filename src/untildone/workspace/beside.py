"""Calls a function in a thread while the caller goes on: two git processes that do not depend on each other take the time of one."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

Result = TypeVar("Result")


class Beside(Generic[Result]):
    """A call that has begun. `result` raises the exception of the call."""

    def __init__(self, work: Callable[[], Result]) -> None:
        self._results: list[Result] = []
        self._problem: BaseException | None = None
        self._thread = threading.Thread(target=self._run, args=(work,), name="beside", daemon=True)
        self._thread.start()

    def _run(self, work: Callable[[], Result]) -> None:
        try:
            self._results.append(work())
        except BaseException as problem:
            self._problem = problem

    @property
    def is_over(self) -> bool:
        return not self._thread.is_alive()

    @property
    def has_failed(self) -> bool:
        return self._problem is not None

    def result(self) -> Result:
        """Wait for the call; return its result."""
        self._thread.join()
        if self._problem is not None:
            raise self._problem
        return self._results[0]
