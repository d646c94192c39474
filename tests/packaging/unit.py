"""A stand-in for systemd: starts a service as its unit file says, in a mount and a network namespace of the
caller's choice. It honours what decides whether the service can work: ExecStart, user and group, the
directories made for it, umask, limits, capabilities, what it may write to or see, and which system calls
are left to it. A key of the unit that is neither honoured nor known to make no difference here is an error."""
import configparser
import ctypes
import functools
import os
import pathlib
import resource
import shlex
import subprocess

HONOURED = {"execstart", "user", "group", "statedirectory", "statedirectorymode", "logsdirectory",
            "workingdirectory", "umask", "limitnofile", "limitcore", "capabilityboundingset",
            "nonewprivileges", "protectsystem", "protecthome", "privatetmp", "systemcallfilter"}
# How and when it is started, ended and started again, which is the test's to do; then what takes a kernel's
# or a desktop's features away that musterd has no use for.
LEFT_OUT = {"type", "execreload", "restart", "restartsec", "restartpreventexitstatus", "timeoutstopsec",
            "killmode", "ambientcapabilities", "privatedevices", "protectclock", "protectcontrolgroups",
            "protecthostname", "protectkernellogs", "protectkernelmodules", "protectkerneltunables",
            "protectproc", "restrictaddressfamilies", "restrictnamespaces", "restrictrealtime",
            "restrictsuidsgid", "lockpersonality", "memorydenywriteexecute", "removeipc",
            "systemcallarchitectures"}
CLONE_NEWNS, MS_RDONLY, MS_REMOUNT, MS_BIND, MS_REC = 0x20000, 1, 32, 4096, 16384
PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 24, 38
SCMP_ACT_KILL_PROCESS, SCMP_ACT_ALLOW = 0x80000000, 0x7FFF0000

LIBC = ctypes.CDLL(None, use_errno=True)
SECCOMP = ctypes.CDLL("libseccomp.so.2")
SECCOMP.seccomp_init.restype = ctypes.c_void_p


def check(code):
    if code != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def mount(source, target, kind, flags):
    check(LIBC.mount(os.fsencode(source), os.fsencode(target), kind.encode(), flags, None))


@functools.lru_cache(maxsize=None)
def calls(group):
    """The system calls of a group, as systemd knows them."""
    text = subprocess.run(["systemd-analyze", "syscall-filter", group], check=True, text=True,
                          stdout=subprocess.PIPE).stdout
    words = [line.strip() for line in text.splitlines()[1:] if "#" not in line and line.strip()]
    found = set()
    for word in words:
        found |= calls(word) if word.startswith("@") else {word}
    return frozenset(found)


def read(path):
    """The [Service] section; a key that is given several times has all its values, in lines."""

    class Several(dict):
        def __setitem__(self, key, value):
            if isinstance(value, list) and key in self:
                value = self[key] + value
            super().__setitem__(key, value)

    parser = configparser.RawConfigParser(dict_type=Several, strict=False, comment_prefixes="#")
    parser.read(path, encoding="utf-8")
    found = dict(parser["Service"])
    unknown = found.keys() - HONOURED - LEFT_OUT
    assert not unknown, f"{path}: what does {unknown} change?"
    return found


class Service:
    """A service of the system at `root` in the namespaces of the process `machine`."""

    def __init__(self, root, unit):
        self.root = pathlib.Path(root)
        self.unit = read(self.root / unit)
        accounts = (line.split(":") for line in (self.root / "etc/passwd").read_text().splitlines())
        (self.uid, self.gid), = ((int(each[2]), int(each[3])) for each in accounts
                                 if each[0] == self.unit["user"])
        self.calls = self.allowed_calls()
        self.process = None

    def allowed_calls(self):
        allowed = set(calls("@default")) | {"execve"}
        for line in self.unit["systemcallfilter"].splitlines():
            for word in line.lstrip("~").split():
                group = calls(word) if word.startswith("@") else {word}
                allowed = allowed - group if line.startswith("~") else allowed | group
        return allowed

    def own_directories(self):
        return [(pathlib.Path("/var/lib", self.unit["statedirectory"]),
                 int(self.unit["statedirectorymode"], 8)),
                (pathlib.Path("/var/log", self.unit["logsdirectory"]), 0o755)]

    def start(self, machine, log):
        namespaces = [os.open(f"/proc/{machine}/ns/{kind}", os.O_RDONLY) for kind in ("net", "mnt")]
        root = os.open(f"/proc/{machine}/root", os.O_RDONLY)
        try:
            self.process = subprocess.Popen(
                shlex.split(self.unit["execstart"]), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env={"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin", "LANG": "C"},
                preexec_fn=lambda: self.become(namespaces, root))
        finally:
            for each in (*namespaces, root):
                os.close(each)

    def become(self, namespaces, root):
        try:
            self.step_down(namespaces, root)
        except BaseException as error:  # subprocess would keep the reason to itself.
            os.write(2, f"{type(error).__name__}: {error}\n".encode())
            raise

    def step_down(self, namespaces, root):
        for each in namespaces:
            check(LIBC.setns(each, 0))
        os.fchdir(root)  # This test may itself be in a chroot, which setns() has left.
        os.chroot(".")
        check(LIBC.unshare(CLONE_NEWNS))
        os.chroot(self.root)
        for path, mode in self.own_directories():
            path.mkdir(parents=True, exist_ok=True)
            path.chmod(mode)
            os.chown(path, self.uid, self.gid)
        self.restrict_files()
        os.chdir(self.unit["workingdirectory"])
        os.umask(int(self.unit["umask"], 8))
        for key, what in (("limitnofile", resource.RLIMIT_NOFILE), ("limitcore", resource.RLIMIT_CORE)):
            # No more than this test itself has; systemd's limit is the kernel's.
            most = resource.getrlimit(what)[1]
            limit = int(self.unit[key])
            resource.setrlimit(what, (limit if most == resource.RLIM_INFINITY else min(limit, most),) * 2)
        assert self.unit["capabilityboundingset"] == ""
        for capability in range(41):
            LIBC.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)  # An older kernel has fewer.
        os.setgroups([])
        os.setgid(self.gid)
        os.setuid(self.uid)
        assert self.unit["nonewprivileges"] == "yes"
        check(LIBC.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        self.restrict_calls()

    def restrict_files(self):
        assert [self.unit[key] for key in ("protectsystem", "protecthome", "privatetmp")] == [
            "strict", "yes", "yes"]
        for path, _ in self.own_directories():
            mount(path, path, "", MS_BIND)
        for path in ("/", "/etc"):  # The machine's only mounts that are not its own directories.
            mount("", path, "", MS_REMOUNT | MS_BIND | MS_RDONLY)
        mount("tmpfs", "/root", "tmpfs", MS_RDONLY)
        for path in ("/tmp", "/var/tmp"):
            mount("tmpfs", path, "tmpfs", 0)

    def restrict_calls(self):
        context = ctypes.c_void_p(SECCOMP.seccomp_init(SCMP_ACT_KILL_PROCESS))
        for name in self.calls:
            number = SECCOMP.seccomp_syscall_resolve_name(name.encode())
            if number >= 0:  # Below: not of this processor.
                assert SECCOMP.seccomp_rule_add(context, SCMP_ACT_ALLOW, number, 0) == 0, name
        assert SECCOMP.seccomp_load(context) == 0

    def stop(self, signal):
        self.process.send_signal(signal)
        return self.process.wait(timeout=60)
