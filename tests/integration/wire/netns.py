# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Network namespaces joined by veth, for tests and measurements.

A namespace has no name: a process of ours holds it, and gets SIGKILL when its creator ends, however
that ends. With the last process in it the kernel removes the namespace and its links, so nothing
can be left over. Needs root, or user namespaces (reexec_as_root() makes one).
"""
import contextlib
import ctypes
import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from harness import Runner  # noqa: E402

CLONE_NEWNET = 0x40000000
PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)
_MARK = "TEST_IN_USER_NAMESPACE"  # not DPA_: the device refuses variables that it does not know
in_userns = bool(os.environ.pop(_MARK, None))


class Unavailable(Exception):
    """This machine or user cannot make network namespaces; says why."""


def _hold(ready):
    """The process that holds a namespace; never returns."""
    parent = os.getppid()
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    for s in (signal.SIGINT, signal.SIGTERM):
        signal.signal(s, signal.SIG_IGN)
    error = ctypes.get_errno() if _libc.unshare(CLONE_NEWNET) else 0
    os.write(ready, bytes([error]))
    os.close(ready)
    while not error and os.getppid() == parent:
        time.sleep(3600)  # until SIGKILL
    os._exit(0)


class Namespace:
    """One network namespace with lo up."""

    def __init__(self):
        out, ready = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.close(out)
                _hold(ready)
            finally:
                os._exit(1)
        os.close(ready)
        answer = os.read(out, 1)
        os.close(out)
        if answer != b"\0":
            self.close()
            raise Unavailable("no network namespace: " +
                              os.strerror(answer[0] if answer else 0))
        self._sweep()
        self.ip("link", "set", "lo", "up")
        self.sysctl("net/ipv6/conf/default/accept_dad", 0)
        self.sysctl("net/ipv6/conf/default/router_solicitations", 0)

    def _sweep(self):
        """The kernel gives numbers of namespaces again: files of a test that killed its last process
        may bear the number of this one."""
        for path in glob.glob(f"/dev/shm/dpa-*{os.stat(f'/proc/{self.pid}/ns/net').st_ino}"):
            with contextlib.suppress(OSError):
                os.unlink(path)

    def close(self):
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            self.pid = 0

    def enter(self, argv):
        return ["nsenter", f"--net=/proc/{self.pid}/ns/net", "--", *argv]

    def ip(self, *words):
        p = subprocess.run(self.enter(["ip", *words]), stdin=subprocess.DEVNULL, text=True,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        if p.returncode:
            raise Unavailable(f"ip {' '.join(words)}: {p.stdout.strip()}")
        return p.stdout

    def sysctl(self, name, value):
        """/proc/sys/net is that of the process that opens it."""
        subprocess.run(self.enter(["sh", "-c", f"echo {value} > /proc/sys/{name}"]), check=False,
                       stderr=subprocess.DEVNULL)


class Host(Namespace):
    """A namespace with one interface eth0 and its addresses."""

    def __init__(self, number):
        super().__init__()
        self.number = number
        self.v4, self.v6 = f"10.77.0.{number}", f"fd77::{number}"

    def plug(self, other, name, mtu):
        """eth0 here, `name` in the other namespace."""
        # both ends with MTU from the start: the smaller one bounds both
        self.ip("link", "add", "eth0", "mtu", str(mtu), "type", "veth", "peer", "name", name,
                "mtu", str(mtu), "netns", str(other.pid))
        self.up()

    def up(self):
        self.sysctl("net/ipv6/conf/eth0/accept_dad", 0)
        self.ip("addr", "add", self.v4 + "/24", "dev", "eth0")
        self.ip("-6", "addr", "add", self.v6 + "/64", "dev", "eth0", "nodad")
        self.ip("link", "set", "eth0", "up")

    def address(self, family):
        return self.v4 if family == 4 else self.v6

    def gid(self, family):
        """The GID of its address, as ibv_devinfo writes it in the table."""
        return f"::ffff:{self.v4}" if family == 4 else self.v6


class Net:
    """The hosts of a test. A context manager; `hosts` are numbered from 1 in their addresses."""

    def __init__(self, count=2, mtu=1500):
        self.mtu, self.hosts, self.switch = mtu, [], None
        try:
            self._make(count, mtu)
        except BaseException:
            self.close()
            raise

    def _make(self, count, mtu):
        for i in range(count):
            self.hosts.append(Host(i + 1))
        if count == 2:
            a, b = self.hosts
            a.plug(b, "eth0", mtu)
            b.up()
        else:
            self._bridge(mtu)
        for h in self.hosts:
            self._wait_carrier(h)

    def _bridge(self, mtu):
        self.switch = Namespace()
        self.switch.ip("link", "add", "br0", "type", "bridge", "forward_delay", "0",
                       "mcast_snooping", "0")
        for h in self.hosts:
            port = f"port{h.number}"
            h.plug(self.switch, port, mtu)
            self.switch.sysctl(f"net/ipv6/conf/{port}/disable_ipv6", 1)
            self.switch.ip("link", "set", port, "master", "br0")
            self.switch.ip("link", "set", port, "up")
        self.switch.ip("link", "set", "br0", "mtu", str(mtu))
        self.switch.ip("link", "set", "br0", "up")

    @staticmethod
    def _wait_carrier(host, limit=10):
        """Up, and the IPv6 address is usable: what the kernel does behind `ip link set up`."""
        end = time.monotonic() + limit
        while time.monotonic() < end:
            if "state UP" in host.ip("link", "show", "eth0") and \
               "tentative" not in host.ip("-6", "addr", "show", "dev", "eth0"):
                return
            time.sleep(0.01)
        raise Unavailable("eth0 does not come up")

    def close(self):
        for n in [*self.hosts, *([self.switch] if self.switch else [])]:
            n.close()
        self.hosts, self.switch = [], None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class NsRunner(Runner):
    """Starts programs in a namespace, so that they see dpa0 there."""

    def __init__(self, build, host, user="self"):
        super().__init__(build, user)
        self.host = host

    def command(self, argv):
        return self.host.enter(super().command(argv))

    def tcp_tables(self):
        return [f"/proc/{self.host.pid}/net/tcp", f"/proc/{self.host.pid}/net/tcp6"]

    def gid_index(self, family):
        """Index of the RoCEv2 GID of the host's address in dpa0's table."""
        return self.index_of(self.host.gid(family))

    def index_of(self, gid):
        r = self.run(["ibv_devinfo", "-v", "-d", "dpa0"], 20)
        for index, found in re.findall(r"GID\[ *(\d+)\]:\s*([0-9a-f:.]+)", r.out):
            if found == gid:
                return int(index)
        raise RuntimeError(f"no GID {gid}:\n{r.text()}")


def why_not():
    """None, or why there can be no namespaces here."""
    for tool in ("ip", "nsenter"):
        if not shutil.which(tool):
            return f"{tool} is not installed"
    try:
        with Net(2) as net:
            net.hosts[0].ip("link", "show", "eth0")
    except (Unavailable, OSError) as e:
        return str(e)
    return None


def reexec_as_root():
    """An ordinary user becomes root of a user namespace, where that is allowed."""
    if os.getuid() == 0:
        return
    probe = ["unshare", "--user", "--map-root-user", "true"]
    if shutil.which("unshare") and subprocess.run(probe, check=False, stderr=subprocess.DEVNULL,
                                                  stdin=subprocess.DEVNULL).returncode == 0:
        os.environ[_MARK] = "1"
        os.execvp("unshare", [*probe[:-1], sys.executable, *sys.argv])
