"""What can be done with loops. Every face calls these functions; none of them imports a room below.

`stores` opens the loops of a folder, `control` changes a loop, `creation` makes one, `look` reads one, `presence` says who works on
it, `runner` drives one, `background` has one driven, `cluster` reaches a cluster, `loop_table` lists the loops of a server.
"""
