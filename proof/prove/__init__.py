"""A corpus for `--prove`: right and wrong work that plain checks cannot tell apart."""
