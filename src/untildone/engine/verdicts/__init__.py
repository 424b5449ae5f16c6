"""Finds out whether a claim holds: gates, rooms, trials of proofs, reviewers, receipts."""
