"""Sentences about loops that the command line and the dashboard both show."""
