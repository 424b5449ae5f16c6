"""What tokens cost: by model, with caches apart, dated, and changed by the person's own table."""

from __future__ import annotations

import pytest

from untildone.core.prices import PUBLISHED, Price, Prices, TokenCount, parsed

TABLE = Prices("2026-01-01", {"big": Price(10, 50, 1, 12), "big-mini": Price(1, 5, 0.1, 1)})


@pytest.mark.parametrize(
    ("model", "price"),
    [
        ("big", "big"),
        ("big-2026-01-01", "big"),
        ("big-mini", "big-mini"),
        ("big-mini-preview-7", "big-mini"),
        ("provider/BIG", "big"),
        ("big-4.5@20260101", "big"),
        ("big-2[1m]", "big"),
        ("big-lite", None),
        ("big.5", None),
        ("bigger", None),
        ("", None),
    ],
)
def test_a_model_has_the_price_of_its_longest_beginning(model: str, price: str | None) -> None:
    assert TABLE.find(model) == (TABLE.models[price] if price else None)


def test_each_kind_of_token_has_its_own_price() -> None:
    count = TokenCount(input=1_000_000, output=100_000, cache_read=2_000_000, cache_write=500_000)
    assert TABLE.cost("big", count) == pytest.approx(10 + 5 + 2 + 6)
    assert count.total == 3_600_000
    assert TABLE.cost(None, count) is None
    assert TABLE.cost("other", count) is None


def test_the_person_changes_rows_and_the_date() -> None:
    own = TABLE.changed({"Big": "1 2", "new": "1 2 3 4", "date": "2026-11-17"})
    assert (own.date, own.models["big"], own.models["new"]) == ("2026-11-17", Price(1, 2, 1, 1), Price(1, 2, 3, 4))
    assert TABLE.changed({"big": "1 2"}).date == "2026-01-01, changed"
    assert TABLE.changed({}) == TABLE


@pytest.mark.parametrize("text", ["", "1", "1 2 3 4 5", "x 2", "-1 2", "nan 2"])
def test_what_is_no_price_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parsed(text)


def test_reading_a_cache_is_never_dearer_than_reading_anew() -> None:
    assert [name for name, price in PUBLISHED.models.items() if price.cache_read > price.input] == []
