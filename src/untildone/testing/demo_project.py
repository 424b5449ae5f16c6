"""The demo: a small project with failing tests, and the script of an agent that claims too early and then finishes."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

TASK = "Make the tests of the shopping cart pass: totals, discounts and an empty cart."

_CART = '''"""A shopping cart."""


def total(prices):
    return 0


def discounted(prices, percent):
    return 0
'''
_TESTS = """import unittest

import cart


class CartTest(unittest.TestCase):
    def test_total(self):
        self.assertEqual(cart.total([3, 4, 5]), 12)

    def test_empty(self):
        self.assertEqual(cart.total([]), 0)

    def test_discount(self):
        self.assertEqual(cart.discounted([50, 50], 10), 90)


if __name__ == "__main__":
    unittest.main()
"""
_HALF_DONE = '''"""A shopping cart."""


def total(prices):
    return sum(prices)


def discounted(prices, percent):
    return 0
'''
_DONE = '''"""A shopping cart."""


def total(prices):
    return sum(prices)


def discounted(prices, percent):
    return total(prices) * (100 - percent) / 100
'''

SCRIPT = [
    [
        {"think": "Two functions, both stubs.", "sleep": 0.4},
        {"say": "I read cart.py and its tests. First the total.", "sleep": 0.6},
        {"write": {"cart.py": _HALF_DONE}, "usage": {"tokens": 1800, "cost_usd": 0.011}},
        {"say": "total() adds up now. The discount is next."},
    ],
    [
        {
            "sleep": 0.8,
            "say": "Everything is implemented and all tests pass.",
            "usage": {"tokens": 900, "cost_usd": 0.006},
        },
        {"claim": True},
    ],
    [
        {"think": "The check says that the discount still returns 0.", "sleep": 0.5},
        {"say": "The check is right: discounted() was still a stub. Now it is written.", "sleep": 0.4},
        {"write": {"cart.py": _DONE}, "usage": {"tokens": 2100, "cost_usd": 0.013}},
        {"claim": True},
    ],
]


def make(folder: Path) -> Path:
    """Create a git repository with the project; return the path of the agent's script."""
    project = folder / "cart"
    project.mkdir(parents=True)
    (project / "cart.py").write_text(_CART)
    (project / "test_cart.py").write_text(_TESTS)
    (project / ".gitignore").write_text("__pycache__/\n")
    script = folder / "script.json"
    script.write_text(json.dumps(SCRIPT))
    identity = ("-c", "user.name=Demo", "-c", "user.email=demo@localhost", "-c", "commit.gpgsign=false")
    for arguments in (("init", "-q"), ("add", "-A"), (*identity, "commit", "-qm", "A cart with failing tests")):
        subprocess.run(["git", *arguments], cwd=project, check=True, capture_output=True)
    return script
