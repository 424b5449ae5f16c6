"""Boxes of programs: namespaces, the filter of system calls, and the proxy of a box without a network."""
