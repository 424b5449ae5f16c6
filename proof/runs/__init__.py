"""Runs of untildone in scratch folders with small programs as agents: what the corpora `proof.cheats` and `proof.honest` share."""
