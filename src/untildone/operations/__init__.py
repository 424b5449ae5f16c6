"""What can be done with loops. Faces call these functions and import no package below.

`stores` opens the store of a folder, `control` changes a loop, `creation` makes one, `look` reads one, `presence` says what drives
it, `runner` drives one here, `background` in another process, `cluster` reaches a cluster, `service` and `loop_table` are for a
server, `hook`, `wrap` and `agents` are for the commands of the same name.
"""
