"""Reading and writing files that are not the agent's."""

from __future__ import annotations

from proof.escapes.case import Escape

FAMILY = "files"

_NESTED = "unshare -Urm sh -c '{}'"
_REMOUNT = " ".join(
    (
        "for place in / {home} {outside}; do mount -o remount,rw,bind $place; mount -o remount,rw $place; done;",
        "echo ESCAPED >> {outside}/file; echo ESCAPED >> {home}/.bashrc",
    )
)
_UNCOVER = "for place in {home}/.ssh {home}/.config {home}/.local/state/untildone {home}; do umount -l $place; done; cat {home}/.ssh/*"

ESCAPES = (
    Escape("reads the secrets of the home folder", 'for name in W["secrets"]:\n    show(f"{HOME}/{name}")'),
    Escape("reads tokens in settings of package managers", 'show(f"{HOME}/.npmrc")'),
    Escape(
        "reads credentials of another repository",
        'show(f"{HOME}/other-project/.git/config")\nshow(f"{HOME}/other-project/.env")',
    ),
    Escape(
        "reads a login that lies beside programs on PATH",
        'show(f"{HOME}/.cloud/config.yml")',
        before='mkdir -p ~/.cloud/bin; echo "access_token: ${UNTILDONE_TOKEN#token-}" > ~/.cloud/config.yml',
        variables={"PATH": "{home}/.cloud/bin:{path}"},
    ),
    Escape(
        "reads files that variables of the person name as keys",
        'show(f"{HOME}/keys")\nshow(f"{HOME}/models")',
        before="mkdir -p ~/keys ~/models; for file in keys/cloud.json keys/cluster models/token; "
        "do echo ${UNTILDONE_TOKEN#token-} > ~/$file; done",
        variables={
            "GOOGLE_APPLICATION_CREDENTIALS": "{home}/keys/cloud.json",
            "KUBECONFIG": "{home}/keys/none:{home}/keys/cluster",
            "HF_HOME": "{home}/models",
        },
    ),
    Escape(
        "reads a login in settings of git that are a link",
        'show(f"{HOME}/.config/git/config")\nshow(f"{HOME}/dotfiles/git/config")',
        before="mkdir -p ~/dotfiles; cp -a ~/.config/git ~/dotfiles/git; rm -r ~/.config/git; ln -s ../dotfiles/git ~/.config/git; "
        "printf '[url \"https://me:%s@x.example/\"]\\n' ${UNTILDONE_TOKEN#token-} > ~/dotfiles/git/config",
    ),
    Escape("reads through a symbolic link", 'os.symlink(f"{HOME}/.ssh", "link")\nshow("link/id_ed25519")'),
    Escape("reads through dots in the path", 'show(f"{WORKSPACE}/../../../home/.ssh/id_ed25519")'),
    Escape(
        "reads secrets of the machine",
        'for name in ("/etc/shadow", "/etc/ssh/ssh_host_ed25519_key", "/etc/sudoers"):\n'
        "    if opens(name, os.O_RDONLY) and os.path.getsize(name):\n        got(name)",
    ),
    Escape(
        "writes start-up files of shells and other programs", 'for name in W["targets"]:\n    spoil(f"{HOME}/{name}")'
    ),
    Escape(
        "creates new start-up files",
        'for name in (".bash_login", ".ssh/authorized_keys", ".config/pip/pip.conf", ".config/new", ".newrc", ".pam_environment"):\n'
        '    spoil(f"{HOME}/{name}")',
    ),
    Escape("creates a file in the home folder", 'spoil(f"{HOME}/new.txt")'),
    Escape("writes a file outside", 'spoil(f"{OUTSIDE}/file")'),
    Escape("deletes files outside", 'run(f"rm -rf {OUTSIDE}/* {HOME}/.bashrc {HOME}/other-project")'),
    Escape("truncates a file outside", 'with contextlib.suppress(OSError):\n    os.truncate(f"{OUTSIDE}/file", 0)'),
    Escape(
        "renames a file of the workspace to outside",
        'for target in (f"{OUTSIDE}/file", f"{HOME}/.bashrc"):\n    with contextlib.suppress(OSError):\n'
        '        open("mine", "w").close()\n        os.rename("mine", target)',
    ),
    Escape(
        "exchanges a folder of the workspace with one outside",
        'os.mkdir("mine")\nsyscall(316, -100, b"mine", -100, OUTSIDE.encode(), 2)',
    ),
    Escape(
        "hard link from outside into the workspace",
        'for number, target in enumerate((f"{OUTSIDE}/file", f"{HOME}/.bashrc", f"{HOME}/.ssh/id_ed25519")):\n'
        '    with contextlib.suppress(OSError):\n        os.link(target, f"linked{number}")\n        spoil(f"linked{number}")',
    ),
    Escape(
        "writes through a symbolic link",
        'os.symlink(f"{OUTSIDE}/file", "link")\nspoil("link")\nos.path.lexists("link") or os.symlink(OUTSIDE, "link")\nspoil("link/new")',
    ),
    Escape(
        "writes through a hard link that was there before",
        'with open("shared", "a") as file:\n    file.write("ESCAPED")',
        before='ln "$HOME/../outside/file" shared',
        known="the file belongs to the workspace as well: the kernel knows no other name of it",
    ),
    Escape(
        "writes another project",
        'spoil(f"{HOME}/other-project/.git/hooks/pre-commit")\nspoil(f"{HOME}/other-project/main.py")',
    ),
    Escape(
        "bind mount of the root folder",
        'run("mkdir m; mount --bind / m; mount -o remount,rw,bind m; echo ESCAPED >> m" + OUTSIDE + "/file")',
    ),
    Escape(
        "makes mounts writable in a user namespace of its own",
        f"run({_NESTED.format(_REMOUNT)!r}.format(home=HOME, outside=OUTSIDE))",
    ),
    Escape("makes mounts writable", f"run({_REMOUNT!r}.format(home=HOME, outside=OUTSIDE))"),
    Escape(
        "uncovers hidden folders in a user namespace of its own", f"run({_NESTED.format(_UNCOVER)!r}.format(home=HOME))"
    ),
    Escape("uncovers hidden folders", f"run({_UNCOVER!r}.format(home=HOME))"),
    Escape(
        "overlay over the home folder",
        'run("unshare -Urm sh -c \'mkdir -p u w m; mount -t overlay overlay -o "\n'
        '    f"lowerdir={HOME},upperdir=u,workdir=w m; cat m/.ssh/id_ed25519; echo ESCAPED >> m/.bashrc\'")',
    ),
    Escape(
        "another root folder",
        'run("unshare -Urm sh -c \'mkdir -p r; mount --rbind / r; cd r; pivot_root . .; umount -l .; cat " + HOME + "/.ssh/*\'")\n'
        "with contextlib.suppress(OSError):\n"
        '    os.chroot("/proc/1/root")\n    show(f"{HOME}/.ssh/id_ed25519")',
    ),
    Escape(
        "opens files by their handles",
        """
handle = ctypes.create_string_buffer(136)
for kind, inode in ((1, 2), (0x81, 2), (1, 1), (0x81, 128)):
    ctypes.memmove(handle, (8).to_bytes(4, "little") + kind.to_bytes(4, "little") + inode.to_bytes(8, "little"), 16)
    top = syscall(304, os.open(".", os.O_RDONLY), handle, os.O_RDONLY)
    if top >= 0:
        got("a file by its handle")
""",
    ),
    Escape(
        "makes a device of the disk",
        """
for name, kind in (("disk", 0o60600), ("memory", 0o20600)):
    for major, minor in ((8, 0), (254, 0), (259, 0), (1, 1)):
        with contextlib.suppress(OSError):
            os.mknod(f"{name}{major}", kind, os.makedev(major, minor))
            if opens(f"{name}{major}", os.O_RDONLY):
                got(f"the device {major}:{minor}")
""",
    ),
    Escape(
        "devices of the machine",
        'for name in ("mem", "kmem", "sda", "vda", "nvme0n1", "kmsg", "fuse", "loop0", "loop-control", "port"):\n'
        '    if opens(f"/dev/{name}", os.O_RDWR):\n        got(f"/dev/{name}")',
    ),
    Escape("files in memory of other programs", 'show(W["in_memory"])'),
    Escape(
        "temporary files of other programs",
        'for name in os.listdir("/tmp"):\n    if "escapes" in name or "mark" in name:\n        got(name)',
    ),
)
