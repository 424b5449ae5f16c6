"""The panels of a loop's page, one file each."""
