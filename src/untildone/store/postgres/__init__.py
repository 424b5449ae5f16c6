"""The store for many machines: the same journals as in files, kept in a Postgres database."""

from __future__ import annotations

from untildone.store.postgres.store import PostgresStore

__all__ = ["PostgresStore"]
