"""What can be done with loops. Faces call these functions and import no package below.

`stores` opens the store of a folder, `control` changes a loop, `creating` makes one, `look` and `showing` read them, `driving` drives
them here, in the background, on a server or in a cluster, `history` goes on and back. `sessions` is for the commands `hook` and
`wrap` and for editors, `setup` for those that prepare a machine, `loop_table`, `access` and `serving` are for servers.
"""
