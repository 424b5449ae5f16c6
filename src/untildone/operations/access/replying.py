"""Tokens for answers to one loop: made for bridges to chats, and checked when an answer comes."""

from __future__ import annotations

import time

from untildone.engine.notices import replies


def check(token: str, loop_id: str) -> None:
    """ReplyRefused unless the token is valid now and for this loop."""
    replies.check(token, loop_id, time.time())
