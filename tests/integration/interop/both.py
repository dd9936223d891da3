# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""One event channel for dpa0 and a real rxe0, in the guest: whose a connection is follows from the
address, and a listener on a wildcard address has clients of both. rxe0's counter of sent packets
tells by which device the bytes went.
"""
import re

from beside import RUN, USER, must
from sides import Ours, Theirs, Wrong, serve, try_case, until

OTHER = "10.99.0.1"  # of the guest, but not of rxe0
PAIRS = [("rping -s -C 5 -v", "rping -c -a {A} -C 5 -v"),
         ("ucmatose -c 10 -C 10", "ucmatose -s {A} -c 10 -C 10"),
         ("ucmatose -m -c 5 -C 5", "ucmatose -m -s {A} -c 5 -C 5"),  # rdma_migrate_id()
         ("udaddy -c 10", "udaddy -s {A} -c 10"),
         ("rdma_server", "rdma_client -s {A}"),
         ("rstream -S 4096 -C 100 -T b", "rstream -s {A} -S 4096 -C 100 -T b"),
         ("riostream -S 4096 -C 100", "riostream -s {A} -S 4096 -C 100"),
         ("cmtime -c 20", "cmtime -s {A} -c 20")]


class Guest(Theirs):
    """Programs of the guest, started in some way."""

    def __init__(self, sides, way):
        super().__init__(sides)
        self.way, self.sides = way, sides

    def start(self, command, env=None):
        return super().start(f"{self.way} {command}", env)

    def ready(self, n, tcp=None):
        """It has ended, or its process listens on either side."""
        pid = self.machine.sh(f"cat /tmp/{n}.own")[1].strip()
        if not pid or self.machine.sh(f"test -e /tmp/{n}.rc")[0] == 0:
            return bool(pid)
        return (f"pid {pid} " in self.machine.sh("rdma resource show cm_id | grep LISTEN")[1] or
                re.search(rf"(?m)^ *{pid}  (TCP|UDP|IB) ", self.machine.sh("/dpa/bin/dpactl ps")[1]))


def sent(machine):
    return int(must(machine, "cat /sys/class/infiniband/rxe0/ports/1/hw_counters/sent_pkts"))


def pair(server, client, programs, address, by_rxe):
    machine = client.machine
    serving, connecting = programs[0], programs[1].replace("{A}", address)
    endless = serving.startswith("cmtime")
    s = serve(server, serving)
    before = sent(machine)
    crc, cout = client.wait(client.start(connecting), 60)
    packets = sent(machine) - before
    if endless or crc:
        server.end(s)
    src, sout = server.wait(s, 20)
    if crc or (src and not endless):
        raise Wrong(f"server {src}:\n{sout}\nclient {crc}:\n{cout}")
    if bool(packets) != by_rxe:
        raise Wrong(f"rxe0 sent {packets} packets, which is {'none' if by_rxe else 'wrong'}")


def ping(client, address, port=7174):
    rc, out = client.wait(client.start(f"rping -c -a {address} -p {port} -C 3 -v"), 60)
    if rc or "rdma-ping-2" not in out:
        raise Wrong(f"{address}: {rc}\n{out}")


def one_listener(sides, ours, guest, native):
    """One wildcard listener: processes of the guest by each address, and the host."""
    machine = sides.machine
    s = serve(guest, "rping -s -P -a ::")
    try:
        for who, address, by_rxe in ((guest, machine.v4, True), (guest, "127.0.0.1", False),
                                     (guest, OTHER, False), (guest, machine.v6, True),
                                     (guest, "::1", False), (native, machine.v4, True),
                                     (ours, machine.v4, True)):
            before = sent(machine)
            ping(who, address)
            if bool(sent(machine) - before) != by_rxe:
                raise Wrong(f"{address}: by the wrong device")
    finally:
        guest.end(s)
        guest.wait(s, 10)


def to_others(sides, ours, guest, native):
    """dpa-run's client reaches a server of the kernel's rdma_cm, and one on another host."""
    for side, address in ((native, sides.machine.v4), (ours, sides.machine.host.v4)):
        s = serve(side, "rping -s -P")
        try:
            ping(guest, address)
        finally:
            side.end(s)
            side.wait(s, 10)


def refused(side, command):
    n = side.start(command)
    rc, out = side.wait(n, 30)
    if rc == 0 or not re.search("in use|Cannot assign", out):
        raise Wrong(f"{command}: {rc}\n{out}")


def ports(sides, ours, guest, native):
    """A wildcard has its port on both sides or on none."""
    s = serve(native, "rping -s -P -p 7200")
    refused(guest, "rping -s -P -p 7200")
    t = serve(guest, "rping -s -P -a 127.0.0.1 -p 7200")
    ping(guest, "127.0.0.1", 7200)
    ping(guest, sides.machine.v4, 7200)
    for side, n in ((native, s), (guest, t)):
        side.end(n)
        side.wait(n, 10)
    s = serve(guest, "rping -s -P -p 7201")
    refused(native, "rping -s -P -p 7201")
    t = serve(guest, "rping -s -P -a 127.0.0.1 -p 7202")
    refused(guest, "rping -s -P -p 7202")
    u = serve(native, "rping -s -P -p 7202")  # nothing of the refused one is left there
    ping(native, sides.machine.v4, 7202)
    for side, n in ((guest, s), (guest, t), (native, u)):
        side.end(n)
        side.wait(n, 10)


def killed(sides, ours, guest, native):
    """Either end of a connection over rxe0 is killed: the other one gets DISCONNECTED."""
    for victim in ("client", "server"):
        s = serve(guest, "rping -s -P -v")
        c = guest.start(f"rping -c -a {sides.machine.v4} -C 1000000 -v")
        if not until(lambda n=c: "ping data" in guest.text(n), 30):
            raise Wrong(f"not connected: {guest.text(s)}\n{guest.text(c)}")
        dead, left = (c, s) if victim == "client" else (s, c)
        must(sides.machine, f"kill -9 $(cat /tmp/{dead}.own)")
        if not until(lambda n=left: "DISCONNECT EVENT" in guest.text(n), 20):
            raise Wrong(f"no DISCONNECTED: {guest.text(left)[-1000:]}")
        guest.end(left)
        for n in (dead, left):
            guest.wait(n, 10)


def nodes_of(guest, s):
    return must(guest.machine, f"ls -l /proc/$(cat /tmp/{s}.own)/fd").count("/dev/infiniband/rdma_cm")


def without_device(sides, ours, guest, native):
    """The node alone is no reason to open it."""
    machine = sides.machine
    s = serve(guest, "rping -s -P")
    with_device = nodes_of(guest, s)
    guest.end(s)
    guest.wait(s, 10)
    must(machine, "rdma link delete rxe0")
    try:
        must(machine, "test -e /dev/infiniband/rdma_cm")
        s = serve(guest, "rping -s -P")
        left = nodes_of(guest, s)
        ping(guest, "127.0.0.1")
        ping(guest, machine.v4)  # now dpa0's
        guest.end(s)
        guest.wait(s, 10)
    finally:
        must(machine, "rdma link add rxe0 type rxe netdev eth0")
    if (with_device, left) != (1, 0):
        raise Wrong(f"descriptors of the node: {with_device} with rxe0, {left} without")


def cases(sides):
    guest, native, ours = Guest(sides, RUN), Guest(sides, ""), Ours(sides)
    rxe = sides.machine.v4
    for programs in PAIRS:
        name = " ".join(programs[1].replace("-s {A}", "").replace("-a {A}", "").split())
        for address, by_rxe in ((rxe, True), ("127.0.0.1", False), (OTHER, False)):
            whom = "rxe0's address" if by_rxe else address
            yield f"{name}, {whom}", pair, (guest, guest, programs, address, by_rxe)
    for address, by_rxe in ((rxe, True), ("127.0.0.1", False)):
        bound = (f"rping -s -a {address} -C 5 -v", PAIRS[0][1])
        yield f"a listener on {address}", pair, (guest, guest, bound, address, by_rxe)
    prefers = Guest(sides, f"env DPA_CM_PREFER=dpa {RUN}")
    for programs in PAIRS[:3]:
        yield (f"cm_prefer = dpa: {programs[1].split()[0]} {programs[1].split()[1]}", pair,
               (prefers, prefers, programs, rxe, False))
    for name, way in (("no preload", f"{RUN} --no-preload"), ("an ordinary user", f"{USER} {RUN}")):
        other = Guest(sides, way)
        for address, by_rxe in ((rxe, True), ("127.0.0.1", False)):
            yield f"{name}: rping, {address}", pair, (other, other, PAIRS[0], address, by_rxe)
    for name, call in (("one listener, clients by both devices", one_listener),
                       ("clients of servers of others", to_others),
                       ("ports of wildcards", ports), ("either end is killed", killed),
                       ("the node without a device", without_device)):
        yield name, call, (sides, ours, guest, native)


def run(report, sides, only):
    prepared = False
    for name, call, args in cases(sides):
        name = f"both rdma_cms: {name}"
        if not only.search(name):
            continue
        if not prepared:
            try_case(report, "both rdma_cms: another address of the guest", must,
                     (sides.machine, f"ip addr add {OTHER}/32 dev lo"))
            prepared = True
        try_case(report, name, call, args)
