# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""The host's side and the guest's, and a server of one with a client of the other."""
import contextlib
import os
import re
import shlex
import signal
import subprocess
import time

from harness import finish, patience, standing


class Wrong(RuntimeError):
    """What was not as it must be."""


class Pair:
    """A server's command and its client's. {A}: the server's address, {B}: the client's, {D}: the device
    of the side, {X}: the index of its GID of IPv4, {T}: a file of the server's. `endless`: the server has
    no end of its own, and is ended after the client. `waits`: as many of the client's first connections
    wait for the server's listening (tests/clients/cm_gate.c).
    `tcp`: the server is ready when it listens on this TCP port. `check`: called with the server's side and
    the outputs of server and client; what it returns, if anything, is wrong."""

    def __init__(self, server, client, families=(4,), endless=False, waits=0, tcp=None, env=None,
                 check=None):
        self.server, self.client, self.families = server, client, families
        self.endless, self.waits, self.tcp, self.env, self.check = endless, waits, tcp, env, check

    def name(self, family):
        """The client's command without what differs between the sides."""
        words = re.sub(" -d {D}| -x {X}|:{T}|\"", "", self.client)
        return re.sub("{[AB]}", f"IPv{family}", words)


class Side:
    """What both sides have in common."""

    def __init__(self):
        self.started = []

    def end_all(self):
        """Ends what a case that failed has left."""
        for p in self.started:
            if not self.ended(p):
                self.end(p, signal.SIGKILL)
                self.wait(p, 10)
        self.started.clear()


class Ours(Side):
    """The host's side."""

    device = "dpa0"

    def __init__(self, sides):
        super().__init__()
        self.host = sides.machine.host
        self.runner, self.address = sides.runner, {4: self.host.v4, 6: self.host.v6}
        self.dpactl = [os.path.join(sides.build, "bin", "dpactl"), "ps"]
        self.folder, self.gid = sides.machine.folder, self.runner.gid_index
        self.preload = os.path.join(sides.build, "tests", "cm_gate.so")

    def start(self, command, env=None):
        p = self.runner.start(command if isinstance(command, list) else shlex.split(command), env,
                              session=True)
        self.started.append(p)
        return p

    def run(self, argv):
        return subprocess.run(self.host.enter(argv), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                              check=False).stdout

    def ended(self, p):
        return p.poll() is not None

    def ready(self, p, tcp=None):
        if self.ended(p):
            return True
        if tcp:
            return f":{tcp} " in self.run(["ss", "-Hltn"])
        return re.search(rf"^ *{p.pid}  (TCP|UDP|IB|IPOIB) ", self.run(self.dpactl), re.M)

    def member(self, group):
        return group in self.run(["ip", "maddr", "show"])

    def standing(self, p):
        """What its threads do, and the connections of the adapter instance."""
        return standing(p.pid) + "\n" + self.run(self.dpactl)

    def wait(self, p, limit):
        until(lambda: self.ended(p), limit)
        doing = "" if self.ended(p) else self.run(self.dpactl)
        r = finish(p, time.monotonic())
        return r.rc, r.text() + doing

    def text(self, p):
        return os.pread(p.out.fileno(), 1 << 20, 0).decode(errors="replace")

    def end(self, p, sig=signal.SIGTERM):
        """SIGKILL is for what it forked, too."""
        if sig == signal.SIGKILL and p.poll() is None:
            os.killpg(p.pid, sig)
        else:
            p.send_signal(sig)

    def exists(self, name):
        return os.path.exists(self.path(name))

    def make(self, name):
        with open(self.path(name), "wb"):
            pass

    def remove(self, name):
        if self.exists(name):
            os.unlink(self.path(name))

    def do(self, command):
        return subprocess.run(["sh", "-c", command], check=False).returncode

    def path(self, name):
        return os.path.join(self.folder, name)


class Theirs(Side):
    """The guest's."""

    device = "rxe0"
    preload = "/bin/cm_gate.so"

    def __init__(self, sides):
        super().__init__()
        self.machine, self.gid = sides.machine, sides.guest_gid
        self.address = {4: self.machine.v4, 6: self.machine.v6}

    def start(self, command, env=None):
        n = self.machine.count
        words = "".join(f"{k}={v} " for k, v in (env or {}).items())
        self.machine.start(
            f"sh -c 'echo $$ > /tmp/{n}.own; exec {'env ' + words if words else ''}{command}'")
        self.started.append(n)
        return n

    def has(self, path):
        return self.machine.sh(f"test -e {path}")[0] == 0

    def ended(self, n):
        return self.has(f"/tmp/{n}.rc")

    def ready(self, n, tcp=None):
        if self.ended(n):
            return True
        if tcp:
            return self.machine.listening(tcp)
        # the kernel names the thread that made the id
        threads = self.machine.sh(f"ls /proc/$(cat /tmp/{n}.own)/task")[1].split()
        listens = self.machine.sh("rdma resource show cm_id | grep LISTEN")[1]
        return any(f"pid {t} " in listens for t in threads)

    def member(self, group):
        return group in self.machine.sh("ip maddr show")[1]

    def standing(self, n):
        """What the threads of all of the guest's processes do, and its connections."""
        return self.machine.standing()

    def wait(self, n, limit):
        doing = ""
        if not until(lambda: self.ended(n), limit):
            doing = "\nended by the test: not in time\n" + self.standing(n)
            self.end(n, signal.SIGKILL)
        rc, out = self.machine.wait(n, 10)
        return rc, out + doing

    def text(self, n):
        return self.machine.sh(f"cat /tmp/{n}.out")[1]

    def end(self, n, sig=signal.SIGTERM):
        self.machine.sh(f"kill -{sig.value} $(cat /tmp/{n}.own)")

    def exists(self, name):
        return self.has(self.path(name))

    def make(self, name):
        self.machine.sh(f"touch {self.path(name)}")

    def remove(self, name):
        self.machine.sh(f"rm -f {self.path(name)}")

    def do(self, command):
        return self.machine.sh(command)[0]

    def path(self, name):
        return f"/tmp/{name}"


class Gate:
    """Lets the client's connections through as the server comes to listen."""

    def __init__(self, server, client, waits):
        self.server, self.client, self.left = server, client, list(range(1, waits + 1))
        self.waits = waits
        for side in (server, client):
            for i in self.left:
                side.remove(f"gate.{i}")

    def env(self, side, more):
        """Of the program of that side."""
        env = {k: v.replace("{D}", side.device) for k, v in (more or {}).items()}
        if self.waits:
            env.update(LD_PRELOAD=side.preload, CM_GATE=side.path("gate"))
            if side is self.client:
                env.update(CM_GATE_WAITS=str(self.waits))
        return env

    def step(self):
        if self.left and self.server.exists(f"gate.{self.left[0]}"):
            self.client.make(f"gate.{self.left.pop(0)}")


def until(what, limit=60):
    """Polls for as many seconds, or more on a busy machine; the last result, true or not."""
    end = time.monotonic() + patience(limit)
    while not (got := what()) and time.monotonic() < end:
        time.sleep(0.1)
    return got


def serve(side, command, tcp=None, env=None):
    """Starts a server; it listens, or has ended."""
    s = side.start(command, env)
    if not until(lambda: side.ended(s) or side.member("239.1.1.1") if "mckey" in command else
                 side.ready(s, tcp)):
        doing = side.standing(s)
        side.end(s, signal.SIGKILL)
        raise Wrong(f"{command}: it does not listen\n{side.wait(s, 10)[1]}\n{doing}")
    return s


def try_case(report, name, case, args):
    """One line in the report; nothing that the case started is left."""
    try:
        case(*args)
        report.ok(name)
    except (RuntimeError, LookupError, ValueError) as e:
        report.fail(name, f"{type(e).__name__}: {e}")
    for side in args:
        if isinstance(side, Side):
            with contextlib.suppress(RuntimeError):  # of a guest that does not answer
                side.end_all()


def pair_case(server, client, pair, family):
    """One server and one client, to their ends. Nothing is tried again."""
    def words(command, side):
        for what, by in (("{A}", server.address[family]), ("{B}", client.address[family]),
                         ("{D}", side.device), ("{T}", server.path("copy"))):
            command = command.replace(what, by)
        return command.replace("{X}", str(side.gid(4))) if "{X}" in command else command

    gate = Gate(server, client, pair.waits)
    s = serve(server, words(pair.server, server), pair.tcp, gate.env(server, pair.env))
    c = client.start(words(pair.client, client), gate.env(client, pair.env))

    def over():
        gate.step()
        return client.ended(c) or not pair.endless and server.ended(s) and not gate.left

    until(over, 120)
    crc, cout = client.wait(c, 20)
    if pair.endless or crc:
        server.end(s)
    src, sout = server.wait(s, 20)
    wrong = crc or (src and not pair.endless) or (pair.check and pair.check(server, sout, cout))
    if wrong:
        raise Wrong(f"{wrong}\nserver {src}:\n{sout}\nclient {crc}:\n{cout}")
