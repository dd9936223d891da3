# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""dpa0 and a real rxe0 in one system: a stock kernel with RDMA netlink, in the guest.

The kernel's device is what it was without dpa-run, dpa0 is beside it, both carry traffic, and each
has its own GIDs, though both make them of the same addresses.
"""
import errno
import json
import re
import time

from harness import free_port, patience, wait_listen
from sides import Wrong, until

RUN = "/dpa/bin/dpa-run"
USER = "setpriv --reuid 12345 --regid 12345 --clear-groups --inh-caps=-all"
WAYS = (("preload", RUN), ("no preload", f"{RUN} --no-preload"),
        ("preload, an ordinary user", f"{USER} {RUN}"),
        ("no preload, an ordinary user", f"{USER} {RUN} --no-preload"))


def must(machine, command, limit=60):
    rc, out = machine.sh(command, limit)
    if rc:
        raise Wrong(f"{command}: {rc}\n{out}")
    return out


def gids(machine, way, device):
    """Index and text of each GID of the first port, as ibv_devinfo shows them."""
    out = must(machine, f"{way} ibv_devinfo -v -d {device}")
    if "PORT_ACTIVE" not in out:
        raise Wrong(out)
    return {int(i): gid for i, gid in re.findall(r"GID\[ *(\d+)\]:\s*([^,\s]+)", out)}


def index_of(machine, way, device):
    """Of the GID of the guest's IPv4 address."""
    v4 = "::ffff:" + machine.v4
    return next(i for i, gid in gids(machine, way, device).items() if gid == v4)


def guid(machine, way, device):
    return re.search(r"node_guid:\s*(\S+)", must(machine, f"{way} ibv_devinfo -d {device}"))[1]


def devices(machine, way):
    return sorted(line.split()[0]
                  for line in must(machine, f"{way} ibv_devices").splitlines()[2:])


# ------------------------------------------------------------------------- cases

def netlink(machine):
    """Else nothing here shows what it is for."""
    if "rxe0" not in must(machine, "rdma link show"):
        raise Wrong("the guest has no RDMA netlink, or no rxe0")


def listed(machine, way):
    must_be = ["dpa0", "rxe0"]
    if devices(machine, "") != ["rxe0"]:
        raise Wrong("rxe0 is not alone without dpa-run")
    if devices(machine, way) != must_be:
        raise Wrong(f"{devices(machine, way)}, not {must_be}")
    out = must(machine, f"{way} ibv_devices 2>&1 > /dev/null")
    if out:
        raise Wrong(f"on standard error: {out}")


def rdma(machine, command, way=RUN):
    """What iproute2's rdma prints as JSON, by device."""
    out = must(machine, f"{way} rdma {command} -j")
    return {d["ifname"]: d for d in json.loads(out)}


def shown_by_rdma(machine):
    """One dump has both; the kernel's answers for rxe0 are what they are without us."""
    both = rdma(machine, "dev")
    if sorted(both) != ["dpa0", "rxe0"] or both["rxe0"] != rdma(machine, "dev", "")["rxe0"]:
        raise Wrong(both)
    if both["dpa0"]["ifindex"] == both["rxe0"]["ifindex"]:
        raise Wrong(f"one index for both: {both}")
    links = rdma(machine, "link show")
    if links["rxe0"] != rdma(machine, "link show", "")["rxe0"] or links["dpa0"]["state"] != "ACTIVE":
        raise Wrong(links)
    counts = rdma(machine, "resource show")
    if "pd" not in counts["rxe0"] or "pd" not in counts["dpa0"]:
        raise Wrong(counts)
    if must(machine, f"{RUN} rdma system") != must(machine, "rdma system"):
        raise Wrong("the kernel's answer about the system is another one")


def set_by_rdma(machine):
    """A setting of the real device passes, with the caller's privileges; dpa0 has none."""
    must(machine, f"{RUN} rdma dev set rxe0 name rxe7")
    try:
        if sorted(rdma(machine, "dev")) != ["dpa0", "rxe7"]:
            raise Wrong(rdma(machine, "dev"))
        rc, out = machine.sh(f"{USER} {RUN} rdma dev set rxe7 name rxe8")
        if rc == 0 or "not permitted" not in out:
            raise Wrong(f"an ordinary user: {rc}: {out}")
    finally:
        must(machine, f"{RUN} rdma dev set rxe7 name rxe0")
    rc, out = machine.sh(f"{RUN} rdma dev set dpa0 name dpa7")
    if rc == 0 or "not supported" not in out:
        raise Wrong(f"{rc}: {out}")


def links_by_rdma(machine):
    """A link that is made and removed under dpa-run is one of the kernel."""
    must(machine, f"{RUN} rdma link delete rxe0")
    try:
        if list(rdma(machine, "dev")) != ["dpa0"]:
            raise Wrong(rdma(machine, "dev"))
    finally:
        must(machine, f"{RUN} rdma link add rxe0 type rxe netdev eth0")
    if sorted(rdma(machine, "dev")) != ["dpa0", "rxe0"]:
        raise Wrong(rdma(machine, "dev"))


def own_gids(machine, way):
    """rxe0's are what they are without us; dpa0's are the addresses, and a GUID of its own."""
    rxe, dpa = gids(machine, way, "rxe0"), gids(machine, way, "dpa0")
    if rxe != gids(machine, "", "rxe0"):
        raise Wrong(f"rxe0 has {rxe}, and without dpa-run {gids(machine, '', 'rxe0')}")
    for address in ("::ffff:" + machine.v4, machine.v6):
        if address not in dpa.values() or address not in rxe.values():
            raise Wrong(f"no GID {address}: rxe0 {rxe}, dpa0 {dpa}")
    if list(rxe.values()) == list(dpa.values()):
        raise Wrong(f"both tables are {rxe}: a mistaken one would not be seen")
    if guid(machine, way, "rxe0") != guid(machine, "", "rxe0"):
        raise Wrong("rxe0 has another GUID under dpa-run")
    if guid(machine, way, "rxe0") == guid(machine, way, "dpa0"):
        raise Wrong("one GUID for both")


def files(machine, way):
    """What UCX and ibstat read by themselves."""
    for what in ("node_guid", "ports/1/gids/0", "ports/1/gids/1"):
        path = f"/sys/class/infiniband/rxe0/{what}"
        if must(machine, f"cat {path}") != must(machine, f"{way} cat {path}"):
            raise Wrong(f"{path} reads otherwise under dpa-run")
    for command in ("ls /sys/class/infiniband/rxe0/ports/1", "readlink /sys/class/infiniband/rxe0",
                    "ls -R /sys/class/infiniband/rxe0/ports", "ls /sys/class/infiniband_verbs/uverbs0"):
        if must(machine, command) != must(machine, f"{way} {command}"):
            raise Wrong(f"'{command}' says something else under dpa-run")
    device = "/sys/devices/pcid9a0:00/d9a0:00:00.0"
    for command, want in (
            ("ls /sys/class/infiniband", "dpa0\nrxe0"),
            ("readlink -f /sys/class/infiniband/dpa0/device", device),
            ("cat /sys/class/infiniband/dpa0/device/class", "0x020700"),
            ("ls -d /sys/bus/pci/devices/d9a0:00:00.0", "/sys/bus/pci/devices/d9a0:00:00.0"),
            ("ls /sys/class/infiniband/dpa0/ports/1/gids | wc -l", "256")):
        out = must(machine, f"{way} sh -c '{command}'").strip()
        if "\n".join(sorted(out.split())) != want:
            raise Wrong(f"'{command}' says {out}")
    shown = gids(machine, way, "dpa0")
    for i, gid in shown.items():
        text = must(machine, f"{way} cat /sys/class/infiniband/dpa0/ports/1/gids/{i}")
        if gid.startswith("::ffff:"):
            want = "%02x%02x:%02x%02x" % tuple(map(int, gid[7:].split(".")))
            if not text.endswith(want):
                raise Wrong(f"GID {i} of dpa0 is {gid}, its file says {text}")


def static_program(machine):
    """busybox makes its system calls by itself, and sees both without the preload."""
    out = must(machine, f"{RUN} --no-preload busybox ls /sys/class/infiniband")
    if sorted(out.split()) != ["dpa0", "rxe0"]:
        raise Wrong(out)
    for path in ("rxe0/node_guid", "rxe0/ports/1/gids/0", "dpa0/node_guid", "dpa0/device/class"):
        path = f"/sys/class/infiniband/{path}"
        want = must(machine, f"{RUN} cat {path}")
        if must(machine, f"{RUN} --no-preload busybox cat {path}") != want:
            raise Wrong(f"{path} reads otherwise without the preload")


def traffic(machine, way, device, port):
    """A pingpong of two processes of the guest over one device."""
    index = index_of(machine, way, device)
    command = f"{way} ibv_rc_pingpong -d {device} -g {index} -p {port} -n 50 -c"
    n = machine.start(command)
    until(lambda: machine.listening(port), 20)
    rc, out = machine.sh(f"{command} 127.0.0.1", 120)
    served, said = machine.wait(n, 30 if rc == 0 else 2)
    if rc or served or "usec/iter" not in out:
        raise Wrong(f"client {rc}: {out}\nserver {served}: {said}")


def doctor(machine, way):
    out = must(machine, f"{way} /dpa/bin/dpactl doctor 2>&1; true")
    if "4791" not in out or "rxe" not in out:
        raise Wrong(out)


def off_host(sides, way):
    """rxe has UDP 4791: a QP of dpa0 that is to reach another host fails at once (EADDRINUSE)."""
    machine, port = sides.machine, free_port()
    index = index_of(machine, way, "dpa0")
    server = sides.runner.start(sides.argv("dpa_verify --total 1M", port, 4, True))
    try:
        if not wait_listen(server, port, time.monotonic() + patience(20), sides.runner.tcp_tables()):
            raise Wrong("the host's server does not listen")
        rc, out = machine.sh(f"{way} dpa_verify --total 1M -d dpa0 -g {index} -p {port} "
                             f"{machine.host.v4} 2>&1")
    finally:
        server.kill()
        server.communicate()
    if rc == 0 or f"is {errno.EADDRINUSE}, not 0" not in out:
        raise Wrong(f"{rc}: {out}")


def bare(machine):
    """The environment and a node: libibverbs asks the netlink first, and SYSFS_PATH does not count.
    rxe0 is not disturbed by it."""
    must(machine, "ln -sf /dev/null /dev/infiniband/uverbs_dpa0")
    try:
        way = "env SYSFS_PATH=/dpa/share/dpa/sysfs IBV_DRIVERS=/dpa/lib/libdpa"
        if devices(machine, way) != ["rxe0"]:
            raise Wrong(f"{devices(machine, way)}")
        gids(machine, way, "rxe0")
    finally:
        machine.sh("rm -f /dev/infiniband/uverbs_dpa0")


def cases():
    """Names and calls."""
    yield "the guest's kernel lists rxe0 by netlink", lambda s: netlink(s.machine)
    port = 20001
    for name, way in WAYS:
        yield f"{name}: both are listed", lambda s, w=way: listed(s.machine, w)
        yield f"{name}: each has its own GIDs", lambda s, w=way: own_gids(s.machine, w)
        for device in ("dpa0", "rxe0"):
            port += 1
            yield (f"{name}: ibv_rc_pingpong over {device}",
                   lambda s, w=way, d=device, p=port: traffic(s.machine, w, d, p))
    yield "preload: rdma shows both", lambda s: shown_by_rdma(s.machine)
    yield "preload: rdma sets what is the kernel's", lambda s: set_by_rdma(s.machine)
    yield "preload: rdma removes and adds a link", lambda s: links_by_rdma(s.machine)
    yield "preload: files of /sys are each device's own", lambda s: files(s.machine, RUN)
    yield "no preload: files of /sys, by a static program", lambda s: static_program(s.machine)
    yield "preload: doctor names who has UDP 4791", lambda s: doctor(s.machine, RUN)
    yield "preload: dpa0 has no way to another host, and says so", lambda s: off_host(s, RUN)
    yield "bare environment: rxe0 alone, undisturbed", lambda s: bare(s.machine)


def run(report, sides, only):
    for name, call in cases():
        name = f"beside rxe0: {name}"
        if not only.search(name):
            continue
        try:
            call(sides)
            report.ok(name)
        except (RuntimeError, StopIteration, TypeError, ValueError) as e:
            report.fail(name, f"{type(e).__name__}: {e}")
