"""Two versions of one judge file: whether they mean the same, and which part of the older one a room gets."""
