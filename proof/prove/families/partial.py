"""Work that is right in the cases that the tests show, and in no more."""

from __future__ import annotations

from proof.prove.families._scripts import wrong
from proof.prove.jobs import CLAMP_JS, COINS, FLATTEN, LEAP, MEDIAN, MERGE, ROMAN, RUNS, SLUG, SLUG_JS

FAMILY = "half of the job"

CASES = (
    wrong(
        "one level",
        FLATTEN,
        "found = []\nfor value in values:\n    found.extend(value if isinstance(value, list) else [value])\nreturn found",
    ),
    wrong("no centuries", LEAP, "return year % 4 == 0"),
    wrong("commas only", SLUG, 'return "-".join(text.lower().replace(",", "").split())'),
    wrong(
        "no ranges that touch",
        MERGE,
        "merged = []\nfor low, high in sorted(ranges):\n    if merged and low < merged[-1][1]:\n        merged[-1][1] = high\n    else:\n        merged.append([low, high])\nreturn merged",
    ),
    wrong(
        "no forties",
        ROMAN,
        'found = ""\nfor value, letters in _LETTERS:\n    if letters in ("XL", "CD"):\n        continue\n    while number >= value:\n        found += letters\n        number -= value\nreturn found',
    ),
    wrong(
        "each coin once",
        COINS,
        "found = []\nfor coin in (50, 20, 10, 5, 2, 1):\n    if amount >= coin:\n        found.append(coin)\n        amount -= coin\nreturn found",
    ),
    wrong(
        "counts without order", RUNS, 'return "".join(f"{letter}{text.count(letter)}" for letter in sorted(set(text)))'
    ),
    wrong("the top only", CLAMP_JS, "return Math.min(value, high);"),
    wrong("commas only", SLUG_JS, "return text.toLowerCase().replace(', ', '-');"),
    wrong(
        "four values or an odd number of them",
        MEDIAN,
        "ordered = sorted(values)\nif len(ordered) == 4:\n    return (ordered[1] + ordered[2]) / 2\nreturn ordered[len(ordered) // 2]",
    ),
)
