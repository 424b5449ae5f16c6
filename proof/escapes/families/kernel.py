"""Settings and services of the kernel that reach beyond the box."""

from __future__ import annotations

from proof.escapes.case import Escape

FAMILY = "kernel"

ESCAPES = (
    Escape(
        "kernel settings",
        'for name in ("kernel/core_pattern", "kernel/modprobe", "kernel/hotplug", "vm/drop_caches", "kernel/hostname", "kernel/randomize_va_space"):\n'
        '    if opens(f"/proc/sys/{name}", os.O_WRONLY):\n        got(f"/proc/sys/{name} can be written")',
    ),
    Escape(
        "kernel settings in a user namespace of its own",
        'if "yes" in run("unshare -Urmpf --mount-proc sh -c \'[ -w /proc/sys/kernel/core_pattern ] && (: >> /proc/sys/kernel/core_pattern) && echo yes\'"):\n'
        '    got("core_pattern can be written")',
    ),
    Escape("sysrq", 'if opens("/proc/sysrq-trigger", os.O_WRONLY):\n    got("/proc/sysrq-trigger can be written")'),
    Escape(
        "memory and log of the kernel",
        'for name in ("/proc/kcore", "/proc/kmsg", "/sys/kernel/debug", "/sys/kernel/tracing/trace", "/proc/kpagecount"):\n'
        "    if opens(name, os.O_RDONLY) and (not os.path.isdir(name) or os.listdir(name)):\n"
        '        got(f"{name} can be read") if name != "/proc/kmsg" else None',
    ),
    Escape(
        "settings of devices and modules",
        'for name in ("/sys/kernel/uevent_helper", "/sys/power/state", "/sys/module/kernel/parameters/panic", "/sys/kernel/mm/ksm/run"):\n'
        '    if opens(name, os.O_WRONLY):\n        got(f"{name} can be written")',
    ),
    Escape(
        "control groups",
        """
for folder, folders, names in os.walk("/sys/fs/cgroup"):
    for name in ("cgroup.procs", "release_agent", "memory.max", "cgroup.kill"):
        if name in names and opens(os.path.join(folder, name), os.O_WRONLY):
            got(f"{folder}/{name} can be written")
    folders[:] = folders[:3]
with contextlib.suppress(OSError):
    os.mkdir("/sys/fs/cgroup/escaped")
    got("a new control group")
""",
    ),
    Escape(
        "mounts control groups in a user namespace of its own",
        """
for kind in ("cgroup2 none", "cgroup -o freezer none", "cgroup -o pids none"):
    if "yes" in run(f"mkdir -p c; unshare -UrmC sh -c 'mount -t {kind} c && mkdir c/escaped && rmdir c/escaped && echo yes'"):
        got(f"a new control group by {kind}")
    if "yes" in run(f"unshare -Urm sh -c 'mount -t {kind} c && echo yes'"):
        got(f"control groups by {kind}")
""",
    ),
    Escape(
        "a namespace of control groups by other calls",
        """
import struct
NEW_USER, NEW_GROUPS = 0x10000000, 0x02000000
clone, unshare = {"x86_64": (56, 272), "aarch64": (220, 97)}[os.uname().machine]
arguments = struct.pack("=8Q", NEW_USER | NEW_GROUPS, 0, 0, 0, 17, 0, 0, 0)
for call in ((clone, NEW_USER | NEW_GROUPS | 17, 0, 0, 0, 0), (435, arguments, len(arguments))):
    child = syscall(*call)
    if child == 0:
        os._exit(0)
    if child > 0:
        os.waitpid(child, 0)
        got(f"a namespace by call {call[0]}")
if syscall(unshare, NEW_USER | NEW_GROUPS | 1 << 32) == 0:
    got("a namespace by unshare")
""",
    ),
    Escape(
        "mounts the settings of devices in a network of its own",
        'if "yes" in run("mkdir -p s; unshare -Urnm sh -c \'mount -t sysfs none s && (: >> s/kernel/mm/ksm/run) && echo yes\'"):\n'
        '    got("settings of the kernel can be written")',
    ),
    Escape(
        "clock",
        """
import time
class Spec(ctypes.Structure):
    _fields_ = [("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long)]
now = time.time_ns()
if LIBC.clock_settime(0, ctypes.byref(Spec(now // 10**9, now % 10**9))) == 0:
    got("the clock can be set")
""",
    ),
    Escape("name of the machine", 'with contextlib.suppress(OSError):\n    socket.sethostname("escaped")'),
    Escape(
        "keys of the user in the kernel",
        """
KEYCTL = {"x86_64": 250, "aarch64": 219}[os.uname().machine]
for ring in (-3, -4, -5):
    found = syscall(KEYCTL, 10, ring, b"user", MARK.encode(), 0)
    if found > 0:
        text = ctypes.create_string_buffer(200)
        if syscall(KEYCTL, 11, found, text, 200) > 0:
            say(text.value.decode())
        got("a key of the user")
""",
    ),
    Escape(
        "leaves a key for programs outside",
        """
KEYCTL, ADD = {"x86_64": (250, 248), "aarch64": (219, 217)}[os.uname().machine]
kept = syscall(ADD, b"user", b"escaped", b"x", 1, -4)
if kept > 0:
    got("a key of the user can be written")
    syscall(KEYCTL, 21, kept)
""",
    ),
    Escape(
        "loads code into the kernel",
        """
if syscall({"x86_64": 175, "aarch64": 105}[os.uname().machine], b"", 0, b"") not in (-1, -38):
    got("a module can be loaded")
attribute = (17).to_bytes(4, "little") + bytes(116)
if syscall({"x86_64": 321, "aarch64": 280}[os.uname().machine], 0, attribute, 120) >= 0:
    got("programs of the kernel")
""",
    ),
    Escape(
        "mounts a file system of its own",
        'os.mkdir("m")\nif syscall({"x86_64": 165, "aarch64": 40}[os.uname().machine], b"none", b"m", b"tmpfs", 0, None) == 0:\n    got("a mount")',
    ),
    Escape(
        "powers of the process",
        """
status = dict(line.split(":\\t", 1) for line in open("/proc/self/status") if ":\\t" in line)
for name, number in (("SYS_ADMIN", 21), ("SYS_PTRACE", 19), ("SYS_MODULE", 16), ("SYS_RAWIO", 17), ("DAC_READ_SEARCH", 2), ("NET_ADMIN", 12),
                     ("MKNOD", 27), ("SYS_TIME", 25), ("SYS_BOOT", 22), ("BPF", 39), ("PERFMON", 38), ("SYSLOG", 34)):
    for kind in ("CapEff", "CapPrm", "CapInh", "CapAmb"):
        if int(status[kind], 16) >> number & 1:
            got(f"{name} in {kind}")
if status["NoNewPrivs"].strip() != "1":
    got("programs may gain powers")
""",
    ),
    Escape(
        "programs that give powers",
        'if "uid=0" in run("sudo -n id; su -c id </dev/null; pkexec id") and os.geteuid():\n    got("root")',
    ),
    Escape(
        "shared memory of other programs",
        'if "yes" in run("ipcs -m | grep -q ^0x && echo yes"):\n    got("segments of shared memory")',
        before="ipcmk -M 64 >/dev/null",
        then=("ipcs -m | awk '$3 == \"'$(id -un)'\" && $5 == 64 {print $2}' | xargs -r -n1 ipcrm -m",),
        needs=("ipcmk",),
    ),
)
