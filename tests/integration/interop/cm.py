# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""rdma_cm of dpa0 against a kernel's: rxe0 with its own rdma_cm in the guest.

Each program in both directions, refused connections, and the death of either side. The kernel's
programs find rxe0, ours dpa0, by the address alone.
"""
import re
import signal
import sys

import apps
from sides import Ours, Pair, Theirs, Wrong, pair_case, serve, try_case, until


def ends(server, sout, cout):
    """The rdma_* programs exit with 0 after some failures, too."""
    return not ("end 0" in sout and "end 0" in cout) and "not both say 'end 0'"


def measured(server, sout, cout):
    return " = " not in cout and "no result"


# rdma_xserver -c x is not here: rxe has no XRC (rdma_create_ep: Operation not supported).
PAIRS = [Pair("rping -s -a {A} -C 10 -v", "rping -c -a {A} -C 10 -v", (4, 6)),
         Pair("rping -s -a {A} -C 10 -q", "rping -c -a {A} -C 10 -q"),
         Pair("ucmatose -b {A} -c 20 -C 20", "ucmatose -s {A} -c 20 -C 20", (4, 6)),
         Pair("ucmatose -m -c 5 -C 5 -a 15", "ucmatose -m -s {A} -c 5 -C 5 -t 96 -a 15"),
         Pair("udaddy -c 10 -b {A}", "udaddy -s {A} -c 10", (4, 6)),
         Pair("rdma_server", "rdma_client -s {A}", check=ends),
         Pair("rdma_xserver -c r", "rdma_xclient -c r -s {A}", check=ends),
         Pair("rstream -S 4096 -C 100 -T b", "rstream -s {A} -S 4096 -C 100 -T b"),
         Pair("riostream -S 4096 -C 100", "riostream -s {A} -S 4096 -C 100"),
         Pair("cmtime -c 50", "cmtime -s {A} -c 50", endless=True),
         Pair("mckey -m 239.1.1.1 -b {A}", "mckey -m 239.1.1.1 -b {B} -s"),
         *(Pair("qperf", "qperf {A} -cm1 -t 1 " + test, endless=True, waits=1, tcp=19765,
                check=measured)
           for test in ("rc_lat", "rc_bw", "rc_rdma_write_lat", "rc_rdma_read_lat"))]

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


def pairs(server, client):
    who = f"{server.device} serves" + (" itself" if server is client else "")
    for pair in PAIRS + apps.PAIRS:
        for family in pair.families:
            yield f"rdma_cm: {who}: {pair.name(family)}", pair_case, (server, client, pair, family)


def cases(ours, theirs):
    yield from pairs(ours, theirs)
    yield from pairs(theirs, ours)
    yield "rdma_cm: dpa0 at a dead port of rxe0", dead_port, (ours, theirs)
    yield "rdma_cm: rxe0 at a dead port of dpa0", dead_port_of_ours, (ours, theirs)
    yield "rdma_cm: our client is killed, another process lives", killed_with_survivor, (
        ours, theirs)
    yield "rdma_cm: our client is killed, the next one tells", killed_alone, (ours, theirs)
    yield "rdma_cm: the guest's client is killed", killed_theirs, (ours, theirs)
    yield "rdma_cm: our client exits while connected", leaves, (ours, theirs)


def run(report, sides, only, control):
    """With `control` only the pairs, of rxe0 with itself."""
    ours, theirs = Ours(sides), Theirs(sides)
    for name, case, args in pairs(theirs, theirs) if control else cases(ours, theirs):
        if not only.search(name):
            continue
        try_case(report, name, case, args)
