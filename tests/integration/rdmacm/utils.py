# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""librdmacm's own programs (rdmacm-utils)."""
import os
import re
import time

from harness import free_port, patience
from places import Failed, Skipped, output

EVENT_ERROR = r"event: RDMA_CM_EVENT_|RDMA_CM_EVENT_[A-Z_]+, error"


def lines(argv):
    """The program, writing line by line into a file, too."""
    return ["stdbuf", "-oL", *argv]


def bound(x):
    """The server's bind address of the same family as the client's: wildcard."""
    return ["-b", "::0"] if x.v6 else []


def rping(x):
    port = str(free_port())
    s, c = x.pair(["rping", "-s", "-a", x.address, "-p", port, "-C", "100", "-v", "-V"],
                  ["rping", "-c", "-a", x.address, "-p", port, "-C", "100", "-v", "-V"])
    for out in (s, c):
        x.require(out, r"ping data: rdma-ping-99:")
        x.refuse(out, "cq completion failed", "mismatch")


def rping_own_qp(x):
    """-q: the QP is made and modified by the program, and rdma_establish() sends the RTU."""
    port = str(free_port())
    args = ["-a", x.address, "-p", port, "-C", "20", "-V", "-q"]
    x.pair(["rping", "-s", *args], ["rping", "-c", *args])


def rping_wildcard(x):
    """A server on the wildcard address, a client that binds its source."""
    port = str(free_port())
    x.pair(["rping", "-s", "-a", "::0" if x.v6 else "0.0.0.0", "-p", port, "-C", "20"],
           ["rping", "-c", "-a", x.address, "-p", port, "-C", "20", "-V",
            *(["-I", x.address] if x.place.name != "two hosts" else [])])


def rping_50(x):
    """50 clients of one server, connected all at a time. Each is started when the one before has
    its connection: rping -P takes the second of two requests at once for both (child_cm_id)."""
    port = str(free_port())
    s = x.serve(["rping", "-s", "-P", "-a", x.address, "-p", port])
    argv = ["rping", "-c", "-a", x.address, "-p", port, "-V", "-C"]
    x.listens(s)
    x.connect(s, [*argv, "1"])
    clients, end = [], time.monotonic() + patience(300)
    for _ in range(50):
        c = x.start(x.place.client, lines([*argv, "300", "-v"]))
        while "ping data" not in output(c) and c.poll() is None and time.monotonic() < end:
            time.sleep(0.002)
        clients.append(c)
    for c in clients:
        while c.poll() is None and time.monotonic() < end:
            time.sleep(0.01)
        if c.returncode != 0 or "rdma-ping-299:" not in output(c):
            raise Failed("a client failed\n" + x.texts())
    x.refuse(x.close(s, forever=True), "failed", "error")


def rping_dead_port(x):
    """A process of the server's host must be there to refuse it: another server."""
    s = x.serve(["rping", "-s", "-a", x.address, "-p", str(free_port())])
    x.listens(s)
    c = x.place.client.run(["rping", "-c", "-a", x.address, "-p", str(free_port()), "-C", "1"])
    if c.rc == 0 or "cma event RDMA_CM_EVENT_REJECTED, error 8" not in c.out:
        raise Failed("not REJECTED 8\n" + c.text())


def cmatose(x, *options, server=(), client=()):
    port = str(free_port())
    args = ["-p", port, "-c", "100", "-C", "100", *options]
    s, c = x.pair(["ucmatose", *args, *bound(x), *server],
                  ["ucmatose", *args, "-s", x.address, *client], limit=100)
    for out in (s, c):
        x.require(out, "^data transfers complete", "^return status 0$")
        x.refuse(out, EVENT_ERROR, "fail")


def cmatose_migrate(x):
    cmatose(x, "-m")


def cmatose_options(x):
    """Type of service and ACK timeout, and a server that is bound to the address."""
    cmatose(x, server=["-b", x.address, "-a", "15"], client=["-t", "96", "-a", "15"])


def cmatose_gid(x):
    """AF_IB names ports of InfiniBand. A RoCE device has none, as with a kernel."""
    gid = x.address if x.v6 else "::ffff:" + x.address
    s = x.place.server.run(["ucmatose", "-f", "gid", "-P", "ib", "-b", gid], 10)
    c = x.place.client.run(["ucmatose", "-f", "gid", "-P", "ib", "-s", gid], 10)
    for r, what in ((s, "bind address failed"), (c, "failure getting addr")):
        if r.rc == 0 or f"{what}: No such device" not in r.out:
            raise Failed(f"not '{what}: No such device'\n" + r.text())


def udaddy(x, *options):
    args = ["-c", "10", *options]
    s, c = x.pair(["udaddy", *args, *bound(x)], ["udaddy", *args, "-s", x.address])
    for out in (s, c):
        x.require(out, "^data transfers complete", "^return status 0$")
        x.refuse(out, EVENT_ERROR, "fail")


def udaddy_ipoib(x):
    udaddy(x, "-P", "ipoib")


def mckey(x, *options):
    """The receiver has joined before the sender starts. Both wait three seconds by themselves."""
    own = x.address
    far = x.place.client.host.v4 if x.place.name == "two hosts" else own
    argv = lines(["mckey", "-m", "239.1.1.1", *options, "-b"])
    s = x.serve([*argv, own], ready="mckey: joined dgid: ::ffff:239.1.1.1")
    c = x.connect(s, [*argv, far, "-s"])
    for out in (x.close(s), c):
        x.require(out, "^data transfers complete", "^return status 0$")
        x.refuse(out, EVENT_ERROR, "fail")


def mckey_no_loopback(x):
    mckey(x, "-l")


def mckey_send_only(x):
    """The sender joins as a send-only member."""
    s = x.serve(lines(["mckey", "-m", "239.1.1.2", "-b", x.address]), ready="joined dgid")
    c = x.connect(s, ["mckey", "-m", "239.1.1.2", "-b", x.address, "-s", "-o"])
    x.require(x.close(s), "^return status 0$")
    x.require(c, "^return status 0$")


def cmtime(x):
    """Up to rdma-core 55 its server serves for ever. Since 56 both sides meet by TCP and end together; since
    60 the first of two equal programs is the one that the other one finds there."""
    usage = x.place.client.run(["cmtime", "-?"], 30).out
    port = str(free_port())
    args = ["cmtime", "-p", port, "-c", "1000"]
    if "controller" in usage:
        if x.v6:
            raise Skipped("this cmtime looks for its peer by IPv4 only")
        s = x.serve([*args, "-L", "-b", x.address, "-C", x.address])
        own = x.address if x.place.name != "two hosts" else x.place.client.host.v4
        client = [*args, "-b", own, "-C", x.address]
    else:
        s = x.serve([*args, *bound(x)])
        client = [*args, "-s", x.address]
    if "base_qpn" in usage:
        x.listening(s, int(port))
    else:
        x.listens(s)
    c = x.connect(s, client, limit=100)
    x.close(s, forever="base_qpn" not in usage)
    x.require(c, r"^(full )?connect +[:0-9]", r"^destroy( id)? +[:0-9]")
    x.refuse(c, EVENT_ERROR, "fail")


def rdma_client(x):
    port = str(free_port())
    s, c = x.pair(["rdma_server", "-p", port, "-s", "::" if x.v6 else "0.0.0.0"],
                  ["rdma_client", "-p", port, "-s", x.address])
    x.require(s, "^rdma_server: end 0$")
    x.require(c, "^rdma_client: end 0$")


def xclient(kind):
    def fn(x):
        port = str(free_port())
        s, c = x.pair(["rdma_xserver", "-p", port, "-c", kind],
                      ["rdma_xclient", "-p", port, "-c", kind, "-s", x.address])
        x.require(s, "^rdma_xserver: end 0$")
        x.require(c, "^rdma_xclient: end 0$")
        for out in (s, c):  # they end with 0 after some failures, too
            x.refuse(out, "^rdma_(create|get|post|reg)")
    return fn


def stream(prog, *options, wanted=1):
    """rsockets; how many rows of results there must be at the client."""
    def fn(x):
        port = str(free_port())
        args = ["-p", port]
        for option in options:
            args += option.split()
        s, c = x.pair([prog, *args, *(["-b", "::0"] if x.v6 else [])],
                      [prog, *args, "-s", x.address], limit=200)
        for out in (s, c):
            x.refuse(out, "^r(send|recv|poll|bind|listen|accept|connect|iowrite|iomap)", "async")
        rows = len(re.findall("_lat|_bw|custom", c))
        if rows < wanted:
            raise Failed(f"{rows} rows of results, not {wanted}\n" + x.texts())
    return fn


def stream_fork(wanted, *options):
    """-T f: rstream turns to sockets of the kernel for it. Its server forks; all rows come."""
    def fn(x):
        port = str(free_port())
        args = ["rstream", "-p", port, "-T", "f"]
        for option in options:
            args += option.split()
        s = x.serve([*args, *(["-b", "::0"] if x.v6 else [])])
        x.listening(s, int(port))
        c = x.connect(s, [*args, "-s", x.address], limit=200)
        for out in (c, x.close(s)):
            x.refuse(out, "^(r?send|r?recv|r?poll|bind|listen|accept|connect)")
        rows = len(re.findall("_lat|_bw|custom", c))
        if rows < wanted:
            raise Failed(f"{rows} rows of results, not {wanted}\n" + x.texts())
    return fn


def rcopy(x):
    """A file, compared afterwards. The server serves for ever."""
    port = str(free_port())
    where = os.path.join(x.work, "rcopy-" + port)
    os.makedirs(where)
    os.chmod(where, 0o777)
    source, copy = os.path.join(where, "source"), os.path.join(where, "copy")
    data = os.urandom(3 * 1000 * 1000 + 17)
    with open(source, "wb") as f:
        f.write(data)
    x.pair(["rcopy", "-p", port], ["rcopy", source, f"{x.address}:{copy}", "-p", port],
           forever=True)
    with open(copy, "rb") as f:
        if f.read() != data:
            raise Failed("the copy differs\n" + x.texts())
