"""The pure core: what a loop is, what an event changes, what to do next. No I/O, no clock, standard library only."""
