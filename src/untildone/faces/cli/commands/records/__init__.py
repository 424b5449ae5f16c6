"""Looking at loops: lists, views, records, changes, and whether the checks of an ended loop still hold."""
