"""Calls of the kernel that filters, mounts and namespaces could forget: newer ones, those of older kinds of machines, descriptors that are
passed on."""

from __future__ import annotations

from proof.escapes.case import Escape, Network

FAMILY = "calls"

# Runs a script with all powers in namespaces of its own, and says what it printed.
_INSIDE = """
with open("inside.py", "w") as file:
    file.write('''from kit import *
{code}
''')
run(f"unshare -Urm {{sys.executable}} inside.py", 30)
"""


def _with_powers(code: str) -> str:
    return _INSIDE.format(code=code.strip())


_BY_HANDLE = """
NAME, OPEN = {"x86_64": (303, 304), "aarch64": (264, 265)}[os.uname().machine]
for place in ("/", HOME, f"{HOME}/..", OUTSIDE, "/etc"):
    handle, mount = ctypes.create_string_buffer(136), ctypes.c_int()
    ctypes.memmove(handle, (128).to_bytes(4, "little"), 4)
    at = os.open(place, os.O_RDONLY)
    if syscall(NAME, -100, place.encode(), handle, ctypes.byref(mount), 0) < 0:
        continue
    inodes = {2, 128, os.stat(place).st_ino, *(max(1, entry.inode() + step) for entry in os.scandir(place) for step in range(-3, 4))}
    for inode in inodes:
        ctypes.memmove(ctypes.addressof(handle) + 8, inode.to_bytes(8, "little"), 8)
        opened = syscall(OPEN, at, handle, os.O_RDONLY)
        if opened >= 0:
            path = os.readlink(f"/proc/self/fd/{opened}")
            for name in ("", "id_ed25519", ".ssh/id_ed25519"):
                show(f"/proc/self/fd/{opened}/{name}".rstrip("/"))
            os.close(opened)
"""
_NEW_MOUNTS = """
TREE, MOVE, ATTRIBUTES = 428, 429, 442
for flags in (1, 1 | 0x8000):
    for place in ("/", HOME, f"{HOME}/.ssh", os.path.dirname(WORKSPACE), WORKSPACE, "/etc"):
        tree = syscall(TREE, -100, place.encode(), flags)
        if tree < 0:
            continue
        attributes = (0).to_bytes(8, "little") + (1).to_bytes(8, "little") + bytes(16)
        syscall(ATTRIBUTES, tree, b"", 0x1000 | 0x8000, attributes, 32)
        for name in ("id_ed25519", ".ssh/id_ed25519", f".{HOME}/.ssh/id_ed25519", ".loop/state"):
            show(f"/proc/self/fd/{tree}/{name}")
        for name in (f".{OUTSIDE}/file", f".{HOME}/.bashrc", ".bashrc"):
            spoil(f"/proc/self/fd/{tree}/{name}")
        os.close(tree)
"""
_OTHER_KIND = r"""
code = '''
#include <stdio.h>
#include <string.h>
static long call(long n, long a, long b, long c, long d, long e) {
    long r; __asm__ volatile("int $0x80" : "=a"(r) : "a"(n), "b"(a), "c"(b), "d"(c), "S"(d), "D"(e) : "memory"); return r;
}
static long other(long n, long a, long b, long c, long d, long e) {
    long r; register long r10 __asm__("r10") = d; register long r8 __asm__("r8") = e;
    __asm__ volatile("syscall" : "=a"(r) : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8) : "rcx", "r11", "memory"); return r;
}
int main(void) {
    /* keyctl: the keyring of the user; unshare and clone: control groups; ioctl: typing into a terminal */
    long keys = call(288, 0, -4, 0, 0, 0), groups = call(310, 0x12000000, 0, 0, 0, 0), child = call(120, 0x12000011, 0, 0, 0, 0);
    if (child == 0) call(1, 0, 0, 0, 0, 0);
    if (keys > 0) puts("GOT keys by the older calls");
    if (groups == 0) puts("GOT control groups by the older calls");
    if (child > 0) puts("GOT control groups by the older clone");
    if (call(435, 0, 0, 0, 0, 0) != -38) puts("GOT clone3 by the older calls");
    if (other(0x40000000 + 250, 0, -4, 0, 0, 0) > 0) puts("GOT keys by the second set");
    if (other(0x40000000 + 272, 0x12000000, 0, 0, 0, 0) == 0) puts("GOT control groups by the second set");
    if (other(250, 0x700000000L, -4, 0, 0, 0) > 0) puts("GOT keys with upper halves");
    if (other(272, 0x100000000L | 0x12000000, 0, 0, 0, 0) == 0) puts("GOT control groups with upper halves");
    return 0;
}
'''
open("kinds.c", "w").write(code)
if os.uname().machine == "x86_64":
    run("cc -o kinds kinds.c && ./kinds")
    say(subprocess.run(["./kinds"], capture_output=True, text=True).stdout)
"""
_PASSED_ON = """
import array
outer = socket.socket(socket.AF_UNIX)
for path in (W["sockets"]["in /tmp"], W["sockets"]["docker"], os.environ.get("UNTILDONE_LOOPS", "")):
    with contextlib.suppress(OSError):
        outer.connect(path)
        outer.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [os.open("/", os.O_RDONLY)]))])
        got(f"a descriptor passed to {path}") if "untildone" not in path else None
        data, passed, *_ = outer.recvmsg(4096, 4096)
        for level, kind, content in passed:
            got(f"descriptors from {path}")
"""
_READ_BY_RING = """
class Offsets(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint32) for name in ("head", "tail", "mask", "entries", "flags", "dropped", "array", "r")] + [("a", ctypes.c_uint64)]
parameters = ctypes.create_string_buffer(120)
ring = syscall(425, 4, parameters)
if ring >= 0:
    import mmap, struct
    u = struct.unpack_from("30I", parameters.raw)
    sq, cq = u[10:20], u[20:30]
    rings = mmap.mmap(ring, 4096 * 4, offset=0)
    entries = mmap.mmap(ring, 4096, offset=0x10000000)
    for target, flags in ((f"{HOME}/.ssh/id_ed25519", 0), (f"{OUTSIDE}/escaped", os.O_CREAT | os.O_WRONLY), (f"{HOME}/.bashrc", os.O_WRONLY)):
        name = ctypes.create_string_buffer(target.encode())
        entries[0:64] = struct.pack("<BBHiQQIIQHHiQQ", 18, 0, 0, -100, 0, ctypes.addressof(name), 0o600, flags, 7, 0, 0, 0, 0, 0)
        tail = struct.unpack_from("<I", rings, sq[1])[0]
        struct.pack_into("<I", rings, sq[6] + 4 * (tail & (sq[3] - 1)), 0)
        struct.pack_into("<I", rings, sq[1], tail + 1)
        syscall(426, ring, 1, 1, 1, None, 0)
        head = struct.unpack_from("<I", rings, cq[0])[0]
        result = struct.unpack_from("<i", rings, cq[5] + 16 * (head & (cq[3] - 1)) + 8)[0]
        struct.pack_into("<I", rings, cq[0], head + 1)
        if result >= 0:
            got(f"{target} by a ring")
"""

ESCAPES = (
    Escape("opens files by their handles, with powers in namespaces of its own", _with_powers(_BY_HANDLE)),
    Escape("opens files by the handles of what lies around them", _BY_HANDLE),
    Escape("copies and changes mounts by the newer calls, with powers in namespaces of its own", _with_powers(_NEW_MOUNTS)),
    Escape("copies and changes mounts by the newer calls", _NEW_MOUNTS),
    Escape("calls of older kinds of machines, and numbers that look like others", _OTHER_KIND, needs=("cc",)),
    Escape("files by a ring of calls", _READ_BY_RING),
    Escape("descriptors passed to and from programs outside", _PASSED_ON),
    Escape("the same with the network of the machine", _PASSED_ON, network=Network.ALL),
    Escape(
        "files of the kernel that root may write",
        """
for folder, folders, names in os.walk("/proc"):
    # Settings of the namespaces of the box itself are an ordinary user's own.
    folders[:] = [name for name in folders if not name.isdigit() and name not in ("self", "thread-self", "net", "sys")]
    for name in names:
        path = os.path.join(folder, name)
        if os.lstat(path).st_mode & 0o222 and not os.path.islink(path) and not path.startswith("/proc/pressure/"):
            if opens(path, os.O_WRONLY):
                got(f"{path} can be written")
""",
    ),
    Escape(
        "shared memory and queues by name",
        """
library = ctypes.CDLL(None, use_errno=True)
for name in (b"/mark", b"/" + MARK.encode()):
    if library.mq_open(name, os.O_RDONLY) >= 0:
        got("a queue of a program outside")
for key in range(1, 50):
    if library.shmget(key, 0, 0) >= 0 or library.msgget(key, 0) >= 0 or library.semget(key, 0, 0) >= 0:
        got("shared memory or a queue of a program outside")
show("/dev/mqueue")
show("/dev/shm")
""",
        before="ipcmk -M 64 > ../segment; ipcmk -Q > ../queue",
        then=("ipcrm -m $(tr -dc 0-9 < ../segment) -q $(tr -dc 0-9 < ../queue)",),
        needs=("ipcmk",),
    ),
    Escape(
        "sockets of virtual machines on this machine",
        """
for family in (40,):
    with contextlib.suppress(OSError):
        line = socket.socket(family, socket.SOCK_STREAM)
        line.settimeout(2)
        for address in (1, 2):
            with contextlib.suppress(OSError):
                line.connect((address, W["ports"].get("vsock", 1)))
                got(f"a socket to {address}")
""",
        network=Network.NONE,
    ),
    Escape(
        "priorities and limits of everybody",
        """
import resource
for which in (os.PRIO_USER, os.PRIO_PGRP):
    with contextlib.suppress(OSError):
        os.setpriority(which, os.getuid() if which == os.PRIO_USER else 0, 5)
for pid in (VICTIM,):
    with contextlib.suppress(OSError):
        os.sched_setaffinity(pid, {0})
        got("the processors of a process outside")
""",
    ),
)  # fmt: skip
