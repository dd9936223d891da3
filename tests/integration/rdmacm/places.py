# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Where a server and its client run, and the addresses by which the client finds the server."""
import os
import re
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "wire"))
sys.path.insert(0, os.path.dirname(HERE))

import netns  # noqa: E402
from harness import end_now, finish, patience  # noqa: E402
from installed import InstalledRunner  # noqa: E402

LOOPBACK = {"lo4": "127.0.0.1", "lo6": "::1"}
ONE, USERS, HOSTS = "one adapter", "two users", "two hosts"


class Place:
    """A runner for the server, one for the client, and the server's addresses by kind."""

    def __init__(self, name, server, client, addresses):
        self.name, self.server, self.client, self.addresses = name, server, client, addresses


def places(build, net):
    """The places that this user can have. Both hosts have boards of their own."""
    a, b = net.hosts
    here = dict(LOOPBACK, v4=a.v4, v6=a.v6)
    one = netns.NsRunner(build, a)
    yield Place(ONE, one, one, here)
    if os.getuid() == 0 and not netns.in_userns:
        yield Place(USERS, one, netns.NsRunner(build, a, user="nobody"), here)
    yield Place(HOSTS, one, netns.NsRunner(build, b), {"v4": a.v4, "v6": a.v6})


def places_apart(build, stack):
    """The same places, each with hosts of its own, which end with the ExitStack."""
    with netns.Net(2) as net:
        number = len(list(places(build, net)))
    return [list(places(build, stack.enter_context(netns.Net(2))))[i] for i in range(number)]


def installed_places(shell, user, net):
    """The same with the packages: programs of an ordinary user, but for a server of root's."""
    a, b = net.hosts
    here = dict(LOOPBACK, v4=a.v4, v6=a.v6)
    one = InstalledRunner(a, shell, user)
    yield Place(ONE, one, one, here)
    yield Place(USERS, InstalledRunner(a, shell), one, here)
    yield Place(HOSTS, one, InstalledRunner(b, shell, user), {"v4": a.v4, "v6": a.v6})


def output(p):
    """What a running program has written so far. Its own file position stays where it is."""
    return os.pread(p.out.fileno(), 1 << 20, 0).decode(errors="replace")


class Failed(Exception):
    """What went wrong in a case."""


class Skipped(Exception):
    """Why a case is none for these programs."""


class Meeting:
    """One case at one place: starts the programs, and ends what a failure leaves."""

    def __init__(self, place, kind, build, work):
        self.place, self.kind, self.build, self.work = place, kind, build, work
        self.address = place.addresses[kind]
        self.v6 = ":" in self.address
        self.started = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for p in self.started:
            if p.poll() is None:
                end_now(p)
            p.out.close()

    def start(self, runner, argv, env=None):
        p = runner.start(argv, env, session=True)
        self.started.append(p)
        return p

    def serve(self, argv, env=None, ready=None, limit=60):
        """Start the server. With `ready`: returns once its output matches that."""
        s = self.start(self.place.server, argv, env)
        if ready:
            self.until(s, ready, limit)
        return s

    def until(self, s, text, limit=60):
        """Wait until the server's output matches that."""
        end = time.monotonic() + patience(limit)
        while not re.search(text, output(s)):
            if s.poll() is not None or time.monotonic() > end:
                raise Failed(f"the server does not say /{text}/\n" + self.texts())
            time.sleep(0.005)

    def listening(self, s, port, limit=60):
        """Wait until the server listens on this TCP port, where it has one beside rdma_cm."""
        from harness import wait_listen
        if not wait_listen(s, port, time.monotonic() + patience(limit),
                           self.place.server.tcp_tables()):
            raise Failed(f"no process listens on TCP port {port}\n" + self.texts())

    def listens(self, s, limit=60):
        """Wait until dpactl shows that the server listens by rdma_cm."""
        ps = [os.path.join(self.build, "bin", "dpactl"), "ps"]
        end = time.monotonic() + patience(limit)
        while not re.search(rf"^ *{s.pid} +(TCP|UDP|IB|IPOIB) ", self.place.server.run(ps, 30).out,
                            re.M):
            if s.poll() is not None or time.monotonic() > end:
                raise Failed("the server does not listen by rdma_cm\n" + self.texts())
            time.sleep(0.02)

    def connect(self, s, argv, env=None, limit=60):
        """Run a client to its end, once: a refusal is a failure. Returns its output."""
        end = time.monotonic() + patience(limit)
        c = self.start(self.place.client, argv, env)
        while c.poll() is None and time.monotonic() < end:
            if s is not None and (s.poll() or 0):
                end = min(end, time.monotonic() + 10)  # the client may wait for ever
            try:
                c.wait(0.05)
            except subprocess.TimeoutExpired:
                pass
        out = output(c)
        if c.poll() is None:
            raise Failed("the client did not finish in time\n" + self.texts())
        if c.returncode:
            raise Failed(f"the client's exit status is {c.returncode}\n" + self.texts())
        return out

    def close(self, s, forever=False, limit=60):
        """The server's end: by itself with exit status 0, or, where it serves for ever, by us.
        Returns its output."""
        if forever:
            if s.poll() is not None:
                raise Failed(f"the server ended, status {s.returncode}\n" + self.texts())
            s.send_signal(signal.SIGTERM)
        try:
            s.wait(patience(limit))
        except subprocess.TimeoutExpired:
            raise Failed("the server did not end in time\n" + self.texts()) from None
        if s.returncode and not forever:
            raise Failed(f"the server's exit status is {s.returncode}\n" + self.texts())
        return output(s)

    def texts(self):
        """Commands and output of all programs of the case."""
        end = time.monotonic()
        return "".join(finish(p, end).text() for p in self.started[-6:])

    def pair(self, server, client, forever=False, env=None, limit=60):
        """A server that listens by rdma_cm and its client, both to their ends; returns both outputs."""
        s = self.serve(server, env)
        self.listens(s, limit)
        out = self.connect(s, client, env, limit)
        return self.close(s, forever, limit), out

    def require(self, out, *patterns):
        for pattern in patterns:
            if not re.search(pattern, out, re.M):
                raise Failed(f"no /{pattern}/ in the output\n" + self.texts())

    def refuse(self, out, *patterns):
        for pattern in patterns:
            m = re.search(pattern, out, re.M)
            if m:
                raise Failed(f"'{m.group(0)}' in the output\n" + self.texts())
