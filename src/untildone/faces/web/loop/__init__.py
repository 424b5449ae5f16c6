"""What the pages of one loop show, as values: its head, its acts, its timeline, its changes. Pure, but for `reading`."""
