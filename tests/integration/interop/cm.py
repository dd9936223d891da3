# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""rdma_cm of dpa0 against a kernel's: rxe0 with its own rdma_cm in the guest.

Each program in both directions, refused connections, and the death of either side. The kernel's
programs find rxe0, ours dpa0, by the address alone.
"""
import os
import re
import signal
import subprocess
import sys
import time

from harness import finish

# {A}: the server's address, {B}: the client's. A server without an end of its own is ended after the
# client.
PAIRS = [("rping -s -a {A} -C 10 -v", "rping -c -a {A} -C 10 -v", (4, 6)),
         ("ucmatose -b {A} -c 20 -C 20", "ucmatose -s {A} -c 20 -C 20", (4, 6)),
         ("udaddy -c 10", "udaddy -s {A} -c 10", (4,)),
         ("rdma_server", "rdma_client -s {A}", (4,)),
         ("rdma_xserver -c r", "rdma_xclient -c r -s {A}", (4,)),
         ("rstream -S 4096 -C 100 -T b", "rstream -s {A} -S 4096 -C 100 -T b", (4,)),
         ("riostream -S 4096 -C 100", "riostream -s {A} -S 4096 -C 100", (4,)),
         ("cmtime -c 50", "cmtime -s {A} -c 50", (4,)),
         ("mckey -m 239.1.1.1 -b {A}", "mckey -m 239.1.1.1 -b {B} -s", (4,)),
         ("ib_send_bw -R -n 100 -F", "ib_send_bw -R -n 100 -F {A}", ("dpa0",)),
         ("ib_write_lat -R -n 100 -F", "ib_write_lat -R -n 100 -F {A}", ("dpa0",)),
         ("ib_send_bw -R -c UD -n 100 -F", "ib_send_bw -R -c UD -n 100 -F {A}", ("dpa0",)),
         *(("qperf", "qperf {A} -cm1 -t 1 " + test, (4,))
           for test in ("rc_lat", "rc_bw", "rc_rdma_write_lat", "rc_rdma_read_lat"))]
ENDLESS = ("cmtime", "qperf")
# perftest and qperf connect while their own server is still about to listen. The kernel refuses them
# then ("no such service"), and they do not try again. perftest's server in the emulated guest is
# too late most times: there only dpa0 serves. No other program is tried again.
EARLY = ("ib_", "qperf")
TRIES = 10

# Connects, and ends by exit() without a word.
LEAVER = """
import ctypes, sys
cm = ctypes.CDLL("librdmacm.so.1", use_errno=True)
info, cmid = ctypes.c_void_p(), ctypes.c_void_p()
hints = (ctypes.c_uint32 * 64)(0, 0, 2, 0x106)  # RC, TCP
attr = (ctypes.c_uint32 * 64)()
attr[8:15] = [1, 1, 1, 1, 0, 2, 1]  # capabilities, RC, each signals
for rc in (cm.rdma_getaddrinfo(sys.argv[1].encode(), b"7174", hints, ctypes.byref(info)),
           cm.rdma_create_ep(ctypes.byref(cmid), info, None, attr),
           cm.rdma_connect(cmid, None)):
    if rc:
        sys.exit(f"errno {ctypes.get_errno()}")
print("connected", flush=True)
"""


class Wrong(Exception):
    """What was not as it must be."""


class Ours:
    """The host's side."""

    def __init__(self, sides):
        self.host = sides.machine.host
        self.runner, self.address = sides.runner, {4: self.host.v4, 6: self.host.v6}
        self.dpactl = [os.path.join(sides.build, "bin", "dpactl"), "ps"]

    def start(self, command):
        return self.runner.start(command if isinstance(command, list) else command.split())

    def run(self, argv):
        return subprocess.run(self.host.enter(argv), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                              check=False).stdout

    def ready(self, p, command):
        if p.poll() is not None:
            return True
        program = command.split()[0]
        if program == "mckey":
            return "239.1.1.1" in self.run(["ip", "maddr", "show"])
        if program == "qperf":
            return ":19765 " in self.run(["ss", "-Hltn"])
        return re.search(rf"^ *{p.pid}  (TCP|UDP|IB|IPOIB) ", self.run(self.dpactl), re.M)

    def wait(self, p, limit):
        r = finish(p, time.monotonic() + limit)
        return r.rc, r.text()

    def text(self, p):
        return os.pread(p.out.fileno(), 1 << 20, 0).decode(errors="replace")

    def end(self, p, sig=signal.SIGTERM):
        p.send_signal(sig)


class Theirs:
    """The guest's."""

    def __init__(self, sides):
        self.machine = sides.machine
        self.address = {4: self.machine.v4, 6: self.machine.v6}

    def start(self, command):
        n = self.machine.count
        return self.machine.start(f"sh -c 'echo $$ > /tmp/{n}.own; exec {command}'")

    def ready(self, n, command):
        program = command.split()[0]
        if self.machine.sh(f"test -e /tmp/{n}.rc")[0] == 0:
            return True
        if program == "qperf":
            return self.machine.listening(19765)
        if program == "mckey":
            return "239.1.1.1" in self.machine.sh("ip maddr show")[1]
        return f"comm {program}" in self.machine.sh("rdma resource show cm_id | grep LISTEN")[1]

    def wait(self, n, limit):
        if not until(lambda: self.machine.sh(f"test -e /tmp/{n}.rc")[0] == 0, limit):
            self.end(n, signal.SIGKILL)
        return self.machine.wait(n, 10)

    def text(self, n):
        return self.machine.sh(f"cat /tmp/{n}.out")[1]

    def end(self, n, sig=signal.SIGTERM):
        self.machine.sh(f"kill -{sig.value} $(cat /tmp/{n}.own)")


def until(what, limit=60):
    """Polls; the last result, true or not."""
    end = time.monotonic() + limit
    while not (got := what()) and time.monotonic() < end:
        time.sleep(0.1)
    return got


def serve(side, command):
    s = side.start(command)
    until(lambda: side.ready(s, command))
    return s


def once(server, client, pair, family):
    """One try: None, or the output of both."""
    serving, connecting = (c.replace("{A}", server.address[family])
                           .replace("{B}", client.address[family]) for c in pair[:2])
    endless = serving.split()[0] in ENDLESS
    s = serve(server, serving)
    c = client.start(connecting)
    crc, cout = client.wait(c, 60)
    if endless or crc:
        server.end(s)
    src, sout = server.wait(s, 20)
    if crc == 0 and (endless or src == 0):
        return None
    return f"server {src}:\n{sout}\nclient {crc}:\n{cout}"


def pair_case(server, client, pair, family):
    for _ in range(TRIES if pair[0].startswith(EARLY) else 1):
        bad = once(server, client, pair, family)
        if not bad or not re.search("REJECTED|rejected|UNREACHABLE; error: 1|refused", bad):
            break
    if bad:
        raise Wrong(bad)


# ------------------------------------------------------------------------- death

def dead_port(client, server):
    rc, out = client.wait(client.start(f"rping -c -a {server.address[4]} -p 7999"), 60)
    if rc == 0 or "RDMA_CM_EVENT_REJECTED, error 8" not in out:
        raise Wrong(f"{rc}: {out}")


def dead_port_of_ours(ours, theirs):
    other = serve(ours, "rping -s -p 7300")  # else nothing is there that could refuse
    dead_port(theirs, ours)
    ours.end(other)
    ours.wait(other, 10)


def connected(server, client):
    """A server of rping, and a client that does not end."""
    s = serve(server, "rping -s -P -v")
    c = client.start(f"rping -c -a {server.address[4]} -C 1000000 -v")
    if not until(lambda: "ping data" in client.text(c), 20):
        raise Wrong(f"not connected: {server.text(s)}\n{client.text(c)}")
    return s, c


def must_disconnect(server, s):
    if not until(lambda: "DISCONNECT EVENT" in server.text(s), 20):
        raise Wrong(f"no DISCONNECTED:\n{server.text(s)[-1000:]}")


def killed_with_survivor(ours, theirs):
    other = serve(ours, "rping -s -p 7300")
    s, c = connected(theirs, ours)
    ours.end(c, signal.SIGKILL)
    ours.wait(c, 10)
    must_disconnect(theirs, s)
    for side, p in ((ours, other), (theirs, s)):
        side.end(p)
        side.wait(p, 10)


def killed_alone(ours, theirs):
    s, c = connected(theirs, ours)
    ours.end(c, signal.SIGKILL)
    ours.wait(c, 10)
    dead_port(ours, theirs)  # the next comer
    must_disconnect(theirs, s)
    theirs.end(s)
    theirs.wait(s, 10)


def killed_theirs(ours, theirs):
    s, c = connected(ours, theirs)
    theirs.end(c, signal.SIGKILL)
    must_disconnect(ours, s)
    theirs.wait(c, 10)
    ours.end(s)
    ours.wait(s, 10)


def leaves(ours, theirs):
    s = serve(theirs, "rping -s -P -v")
    rc, out = ours.wait(ours.start([sys.executable, "-c", LEAVER, theirs.address[4]]), 60)
    if rc or "connected" not in out:
        raise Wrong(f"{rc}: {out}")
    must_disconnect(theirs, s)
    theirs.end(s)
    theirs.wait(s, 10)


def cases(ours, theirs):
    for pair in PAIRS:
        for family in (4, 6) if 6 in pair[2] else (4,):
            program = " ".join(re.sub("{[AB]}", f"IPv{family}", pair[1]).split())
            yield f"rdma_cm: dpa0 serves: {program}", pair_case, (ours, theirs, pair, family)
            if "dpa0" not in pair[2]:
                yield f"rdma_cm: rxe0 serves: {program}", pair_case, (theirs, ours, pair, family)
    yield "rdma_cm: dpa0 at a dead port of rxe0", dead_port, (ours, theirs)
    yield "rdma_cm: rxe0 at a dead port of dpa0", dead_port_of_ours, (ours, theirs)
    yield "rdma_cm: our client is killed, another process lives", killed_with_survivor, (
        ours, theirs)
    yield "rdma_cm: our client is killed, the next one tells", killed_alone, (ours, theirs)
    yield "rdma_cm: the guest's client is killed", killed_theirs, (ours, theirs)
    yield "rdma_cm: our client exits while connected", leaves, (ours, theirs)


def run(report, sides, only):
    ours, theirs = Ours(sides), Theirs(sides)
    for name, case, args in cases(ours, theirs):
        if not only.search(name):
            continue
        try:
            case(*args)
            report.ok(name)
        except (Wrong, RuntimeError) as e:
            report.fail(name, str(e))
