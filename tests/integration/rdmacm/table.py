# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""The cases, and where each of them runs."""
import guests
import others
import utils
import whole
from others import fi_pingpong, fio, perftest, ucp
from places import HOSTS, ONE, USERS
from utils import stream

V4, V6 = ("lo4", "v4"), ("lo6", "v6")
HERE = "v4"  # an address of the host alone: not a loopback one


class Case:
    """`needs`: programs and files. `kinds`: the addresses that the program takes. `at`: the places
    and addresses of the quick run. `full`: those of the full run, None: all. `every` has all."""

    def __init__(self, name, fn, needs, kinds=V4 + V6, at=((ONE, "lo4"),), places=None, full=None):
        self.name, self.fn, self.needs, self.kinds, self.at = name, fn, needs, kinds, at
        self.places = places or (ONE, USERS, HOSTS)
        self.full = full

    def wanted(self, place, kind, full, every=False):
        if kind not in self.kinds or place not in self.places:
            return False
        if every or (full and self.full is None):
            return True
        return (place, kind) in (self.full if full else self.at)


EVERYWHERE = ((ONE, "lo4"), (ONE, "lo6"), (ONE, "v4"), (USERS, "v4"), (USERS, "lo4"), (HOSTS, "v4"),
              (HOSTS, "v6"))
FEW = ((ONE, "lo4"), (USERS, "v4"), (HOSTS, "v4"))
FULL_ONLY = ()
# Programs that move gigabytes: once for each link between the two (shared memory, packets passed on
# inside the host, an interface). The address decides how the connection comes about and nothing
# after that, and shorter runs of the same programs have all addresses.
EACH_LINK = ((ONE, "lo4"), (USERS, "v6"), (HOSTS, "v4"))


def rdmacm_utils():
    yield Case("rping", utils.rping, ["rping"], at=EVERYWHERE)
    yield Case("rping -q", utils.rping_own_qp, ["rping"], at=FEW)
    yield Case("rping, wildcard", utils.rping_wildcard, ["rping"], at=((ONE, "lo6"), (USERS, "lo4")))
    yield Case("rping -P, 50 clients", utils.rping_50, ["rping"])
    yield Case("rping, dead port", utils.rping_dead_port, ["rping"], at=((ONE, "lo4"), (ONE, "v6")))
    yield Case("ucmatose", utils.cmatose, ["ucmatose"], at=FEW)
    yield Case("ucmatose -m", utils.cmatose_migrate, ["ucmatose"])
    yield Case("ucmatose -t -a", utils.cmatose_options, ["ucmatose"], at=((ONE, "v6"),))
    yield Case("ucmatose -f gid -P ib", utils.cmatose_gid, ["ucmatose"], kinds=("v4", "v6"),
               at=((ONE, "v4"),), places=(ONE,))
    yield Case("udaddy", utils.udaddy, ["udaddy"], at=FEW + ((HOSTS, "v6"),))
    yield Case("udaddy -P ipoib", utils.udaddy_ipoib, ["udaddy"])
    # What 127.0.0.1 sends to a group stays on its board: two users have two.
    for kinds, places in ((V4, (ONE,)), ((HERE,), (USERS, HOSTS))):
        yield Case("mckey", utils.mckey, ["mckey", "stdbuf"], kinds=kinds, at=((HOSTS, "v4"),),
                   places=places)
        yield Case("mckey -l", utils.mckey_no_loopback, ["mckey", "stdbuf"], kinds=kinds,
                   at=((ONE, "v4"),), places=places)
        yield Case("mckey -o", utils.mckey_send_only, ["mckey", "stdbuf"], kinds=kinds,
                   at=FULL_ONLY, places=[p for p in places if p != HOSTS])
    yield Case("cmtime -c 1000", utils.cmtime, ["cmtime"], at=((ONE, "lo4"), (HOSTS, "v4")))
    yield Case("rdma_client", utils.rdma_client, ["rdma_server", "rdma_client"], at=FEW)
    for kind in "rx":
        yield Case(f"rdma_xclient -c {kind}", utils.xclient(kind), ["rdma_xserver", "rdma_xclient"],
                   kinds=V4, at=FEW if kind == "r" else ((ONE, "lo4"),))


def rsockets():
    some = ["-T v", "-I 20", "-C 20", "-S 20000"]
    # -T a: poll() says POLLHUP, too, where the server has ended the connection behind its last data,
    # and rstream gives up the data. With its default sizes that costs the last row of each half; those
    # take minutes on a busy machine.
    ways = {"b": (some, 1), "a": (["-T v"], 6), "n": (some, 1)}
    for how, (options, rows) in ways.items():
        yield Case(f"rstream -T {how}, verified",
                   stream("rstream", f"-T {how}", *options, wanted=rows), ["rstream"],
                   at={"a": FULL_ONLY, "b": FEW, "n": ((ONE, "lo4"),)}[how],
                   full=EACH_LINK if how == "a" else None)
    for how, rows in (("b", 62), ("a", 60), ("n", 62)):
        yield Case(f"rstream -S all -T {how}",
                   stream("rstream", "-S all", f"-T {how}", wanted=rows), ["rstream"], at=FULL_ONLY,
                   full=EACH_LINK)
    yield Case("rstream -T f, verified", utils.stream_fork(1, *some), ["rstream"],
               at=((ONE, "lo4"),))
    # Both processes spin at sockets of the kernel, which takes minutes on a busy machine.
    yield Case("rstream -S all -T f", utils.stream_fork(62, "-S all"), ["rstream"], kinds=("lo4",),
               at=FULL_ONLY, places=(ONE,))
    yield Case("rstream -T r", stream("rstream", "-T r", *some), ["rstream"])
    for how in "bn":
        yield Case(f"riostream -T {how}, verified", stream("riostream", f"-T {how}", *some),
                   ["riostream"], at=((ONE, "lo4"),) if how == "b" else FULL_ONLY)
    yield Case("riostream", stream("riostream", wanted=8), ["riostream"], at=FULL_ONLY,
               full=EACH_LINK)
    yield Case("rcopy", utils.rcopy, ["rcopy"], kinds=V4, at=FEW)
    yield Case("librspreload", others.rspreload, ["rstream", others.PRELOAD], at=FEW)
    yield Case("librspreload, iperf", others.iperf, ["iperf", others.PRELOAD], at=((ONE, "lo4"),))


def perftests():
    for op in ("send", "write", "read"):
        for kind in ("bw", "lat"):
            tool = f"ib_{op}_{kind}"
            yield Case(f"{tool} -R", perftest(tool, "-R"), [tool], kinds=V4,
                       at=FEW if op == "send" else ((ONE, "lo4"),))
            if kind == "bw":
                yield Case(f"{tool} -R -q 8", perftest(tool, "-R", "-q", "8"), [tool], kinds=V4)
            yield Case(f"{tool} -z", perftest(tool, "-z"), [tool], kinds=V4,
                       at=((ONE, HERE),) if op == "write" else FULL_ONLY)
            yield Case(f"{tool} -R -T 96", perftest(tool, "-R", "-T", "96"), [tool], kinds=V4,
                       at=((HOSTS, "v4"),) if op == "read" else FULL_ONLY)
        if op == "send":
            for kind in ("bw", "lat"):
                tool = f"ib_send_{kind}"
                yield Case(f"{tool} -R -c UD", perftest(tool, "-R", "-c", "UD", "-s", "1024"), [tool],
                           kinds=V4, at=FEW if kind == "lat" else ((ONE, "lo4"),))


def programs():
    yield Case("qperf -cm1", others.qperf, ["qperf"], kinds=V4, at=((ONE, "lo4"), (HOSTS, "v4")))
    yield Case("fi_pingpong -p verbs -e msg", fi_pingpong("verbs", "msg"), ["fi_pingpong"],
               at=((ONE, HERE), (HOSTS, "v4")))
    yield Case("fi_pingpong -p verbs;ofi_rxm -e rdm", fi_pingpong("verbs;ofi_rxm", "rdm"),
               ["fi_pingpong"], at=((ONE, HERE), (USERS, "v4")))
    for verb in ("read", "write", "send"):
        yield Case(f"fio, {verb}", fio(verb), ["fio"], kinds=V4,
                   at=FEW if verb == "send" else ((ONE, "lo4"),))
    for kind in ("stream", "tag", "am"):
        yield Case(f"ucp_client_server -c {kind}", ucp(kind), [others.EXAMPLE, "gcc"],
                   at=((ONE, HERE), (HOSTS, "v4")) if kind == "tag" else ((ONE, HERE),))


def systems():
    """Whole systems: not in the quick run."""
    yield Case("librpma", whole.rpma, ["/usr/include/librpma.h", "gcc"], at=FULL_ONLY)
    yield Case("tgt and qemu-io iser://", whole.iser,
               ["tgtd", "tgtadm", "qemu-io", "/usr/lib/x86_64-linux-gnu/qemu/block-iscsi.so"],
               kinds=V4, at=FULL_ONLY)
    for name, fn in (("migration, guest stopped", guests.stopped),
                     ("live migration, rdma-pin-all", guests.running),
                     ("live migration", guests.running_chunks)):
        yield Case("QEMU " + name, fn, ["qemu-system-x86_64", "as", "objcopy"], kinds=V4, at=FULL_ONLY)


def table():
    for part in (rdmacm_utils, rsockets, perftests, programs, systems):
        yield from part()
