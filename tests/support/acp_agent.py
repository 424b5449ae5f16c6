"""An agent of the Agent Client Protocol that answers every request: the other side of a conversation, without a process."""

from __future__ import annotations

import json
from typing import Any

from untildone.core.plugins.agent_io import AgentEvent, Conversation

CAPABLE = {"loadSession": True, "sessionCapabilities": {"fork": {}, "resume": {}}}
OPENED = {
    "sessionId": "opened",
    "modes": {"availableModes": [{"id": "plan", "name": "Plan"}], "currentModeId": "default"},
    "configOptions": [{"id": "model", "category": "model", "type": "select", "currentValue": "m0", "options": []}],
}


class AcpAgent:
    """Answers requests from a table, and keeps what was written to it."""

    def __init__(self, conversation: Conversation, **answers: Any) -> None:
        """`answers` are results by the last word of their method, such as `prompt`; a dict with `error` is an error."""
        self.conversation = conversation
        self.written: list[dict[str, Any]] = []
        self.events: list[AgentEvent] = []
        self._answers = {
            "initialize": {"protocolVersion": 1, "agentCapabilities": CAPABLE},
            **dict.fromkeys(("new", "fork", "load", "resume"), OPENED),
            "prompt": {"stopReason": "end_turn"},
            **answers,
        }

    @property
    def methods(self) -> list[str]:
        return [message["method"] for message in self.written if "method" in message]

    def answer_all(self) -> AcpAgent:
        """Answer until nothing more is written."""
        while lines := self.conversation.outgoing().splitlines():
            for line in lines:
                self._take(json.loads(line))
        return self

    def answer_before(self, method: str) -> AcpAgent:
        """Answer everything that is written before a request of that method, and leave that one open."""
        self._answers.pop(method.rpartition("/")[2])
        return self.answer_all()

    def say(self, message: dict[str, Any]) -> None:
        self.events.extend(self.conversation.feed(json.dumps({"jsonrpc": "2.0", **message}).encode()))

    def update(self, update: str, /, **fields: Any) -> None:
        self.say(
            {
                "method": "session/update",
                "params": {"sessionId": "opened", "update": {"sessionUpdate": update, **fields}},
            }
        )

    def _take(self, message: dict[str, Any]) -> None:
        self.written.append(message)
        word = message.get("method", "").rpartition("/")[2]
        if "id" not in message or "method" not in message or (word in ("prompt",) and word not in self._answers):
            return
        answer = self._answers.get(word, {})
        self.say({"id": message["id"], **(answer if "error" in answer else {"result": answer})})


def played(conversation: Conversation) -> list[dict[str, Any]]:
    """What a conversation writes to an agent that can do everything."""
    return AcpAgent(conversation).answer_all().written
