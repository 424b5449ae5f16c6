"""The words of the dashboard in the languages that it speaks."""
