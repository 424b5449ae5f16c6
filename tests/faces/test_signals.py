"""Ctrl-C while a command creates something that goes on without it."""

from __future__ import annotations

import os
import signal

import pytest

from untildone.faces.cli.signals import ctrl_c_afterwards


def create(times: int, done: list[str]) -> None:
    """Create something while Ctrl-C is pressed so many times."""
    with ctrl_c_afterwards():
        for _ in range(times):
            os.kill(os.getpid(), signal.SIGINT)
        done.append("created")


def test_the_first_ctrl_c_comes_at_the_end_and_the_second_at_once() -> None:
    done: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        create(1, done)
    assert done == ["created"]
    with pytest.raises(KeyboardInterrupt):
        create(2, done)
    assert done == ["created"]


def test_it_leaves_the_handler_as_it_was() -> None:
    before = signal.getsignal(signal.SIGINT)
    with ctrl_c_afterwards():
        assert signal.getsignal(signal.SIGINT) is not before
    assert signal.getsignal(signal.SIGINT) is before
