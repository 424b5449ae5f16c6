"""Signals that programs under test must obey, whoever starts the tests."""

from __future__ import annotations

import signal


def obey_signals() -> None:
    """Give SIGHUP and SIGINT their usual meaning: `nohup` and background jobs of a shell ignore them, and processes inherit that."""
    for number, usual in ((signal.SIGHUP, signal.SIG_DFL), (signal.SIGINT, signal.default_int_handler)):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, usual)
