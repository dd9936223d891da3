# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Programs by others that find each other by rdma_cm."""
import json
import os
import re
import shutil
import subprocess

from harness import free_port, listening
from places import HOSTS, Failed, output

# ----------------------------------------------------------------- perftest


def perftest(tool, *options):
    """-R: the connections of the QPs, too, are rdma_cm's. -z: only those of the tool itself."""
    def fn(x):
        port = str(free_port())
        args = [tool, "-d", "dpa0", "-F", "-p", port, *options, "-n", "1000"]
        s, c = x.pair(args, [*args, x.address], limit=100)
        x.require(c, "#bytes", r"^ +\d+ +\d+ +\d")
        for out in (s, c):
            x.refuse(out, "[Ff]ailed", "Unable", "Couldn't", "RDMA CM event error")
    return fn


# ----------------------------------------------------------------- qperf

QPERF = ["rc_bi_bw", "rc_bw", "rc_lat", "rc_rdma_read_bw", "rc_rdma_read_lat", "rc_rdma_write_bw",
         "rc_rdma_write_lat", "rc_rdma_write_poll_lat", "rc_compare_swap_mr", "rc_fetch_add_mr",
         "ver_rc_compare_swap", "ver_rc_fetch_add"]


def qperf(x):
    """Each RC test, for a second: with -n each side leaves when it has its own number, and the other's
    last sends fail. Its server serves for ever."""
    port = free_port()
    s = x.serve(["qperf", "-lp", str(port)])
    x.listening(s, port)
    for test in QPERF:
        c = x.connect(s, ["qperf", "-lp", str(port), x.address, "-cm1", "-t", "1", test])
        x.require(c, f"^{test}:", " = ")
    x.close(s, forever=True)


# ----------------------------------------------------------------- libfabric

def fi_pingpong(provider, kind):
    """Its control connection is TCP's. -c: it checks each byte. Its server binds what localhost is:
    without a GID for that it takes an address of the device, which another host can reach."""
    def fn(x):
        port = free_port()
        env = {"DPA_GID_ORDER": "no_loopback"} if x.place.name == HOSTS else None
        args = ["fi_pingpong", "-p", provider, "-e", kind, "-I", "50", "-c",
                *(["-6"] if x.v6 else [])]
        s = x.serve([*args, "-B", str(port)], env)
        x.listening(s, port)
        c = x.connect(s, [*args, "-P", str(port), x.address], env=env)
        for out in (c, x.close(s)):
            x.require(out, r"^64 +50 +=50")
            x.refuse(out, "[Ee]rror")
    return fn


# ----------------------------------------------------------------- fio

def fio(verb):
    """The client moves 32 MiB. With SEND the server, too, counts and verifies what came: 4 MiB, a
    receive for each message from the start, for the connection of fio has an RNR retry count of 0."""
    size, depth = (4, 128) if verb == "send" else (32, 32)

    def fn(x):
        port = str(free_port())
        common = ["fio", "--thread", "--ioengine=rdma", f"--port={port}", "--bs=64k",
                  f"--size={size}m", "--output-format=json"]
        checked = ["--verify=crc32c", "--verify_state_save=0"] if verb == "send" else []
        s, c = x.pair([*common, "--name=server", "--rw=read", f"--iodepth={depth}", *checked],
                      [*common, "--name=client", "--rw=write", "--iodepth=16", f"--verb={verb}",
                       f"--hostname={x.address}", *checked,
                       *(["--do_verify=0"] if checked else [])])
        for out, way in ((s, "read"), (c, "write")):
            job = json.loads(out[out.index("{"):out.rindex("}") + 1])["jobs"][0]
            moved = job[way]["io_bytes"]
            wanted = size << 20 if way == "write" or verb == "send" else 0
            if job["error"] or moved < wanted:
                raise Failed(f"{way}: error {job['error']}, {moved} bytes\n" + x.texts())
    return fn


# ----------------------------------------------------------------- UCX

EXAMPLE = "/usr/share/doc/libucx-dev/examples/ucp_client_server.c"


def example(x):
    """ucp_client_server, built from the distribution's example."""
    path = os.path.join(x.work, "ucp_client_server")
    if not os.path.exists(path):
        p = subprocess.run(["gcc", "-O1", "-w", EXAMPLE, "-o", path, "-lucp", "-lucs"], check=False,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if p.returncode:
            raise Failed("it does not compile:\n" + p.stdout)
    return path


RESET = "error handling callback was invoked with status -25"


def ucp_once(x, kind):
    """The client's output, or None. The example's client closes by force once its last send is done. At
    DISCONNECTED UCX drops what has come and the program has not taken, on each device. Of -c stream and
    tag the server has all of it since DISCONNECTED waits for the CQ; with -c am it keeps one message, and
    the next replaces it. A server that does not run for 50 ms still loses messages: hence the first
    message only, and another try."""
    port = free_port()
    env = {"UCX_SOCKADDR_TLS_PRIORITY": "rdmacm", "UCX_NET_DEVICES": "dpa0:1",
           "UCX_TLS": "rc_verbs,ud_verbs,self", "UCX_LOG_LEVEL": "warn",
           "UCX_WARN_UNUSED_ENV_VARS": "n"}
    argv = [example(x), "-p", str(port), "-c", kind, "-i", "3", "-s", "10000"]
    argv += ["-6"] if x.v6 else []
    s = x.serve(["stdbuf", "-oL", *argv], env, "Waiting for connection")
    if listening(port, x.place.server.tcp_tables()):
        raise Failed("the server listens by TCP\n" + x.texts())
    c = x.connect(s, [*argv, "-a", x.address], env=env)
    x.require(c, "Client: iteration #3")
    x.until(s, f"UCP TEST SUCCESS|{RESET}")
    out = output(s)
    if "UCP TEST SUCCESS" not in out:
        s.kill()
        return None
    if RESET not in out and s.poll() is None:
        out = x.close(s, forever=True)
    for text in (c, out):
        # what the example says where the peer closes first is no error
        x.refuse(text, "UCX +(WARN|ERROR)", "failed to (connect|listen|create|send)")
    return c


def ucp(kind):
    """Its server serves for ever."""
    def fn(x):
        if not any(ucp_once(x, kind) for _ in range(4)):
            raise Failed("the server never got all of it\n" + x.texts())
    return fn


# ----------------------------------------------------------------- librspreload

PRELOAD = "/usr/lib/x86_64-linux-gnu/rsocket/librspreload.so"


def no_tcp(x, port):
    """librspreload falls back to TCP by itself: then sockets of that port are there, or their rest
    in TIME_WAIT."""
    for table in x.place.server.tcp_tables():
        with open(table, encoding="ascii") as f:
            if re.search(rf":{port:04X}\b", f.read()):
                raise Failed(f"port {port} was TCP's\n" + x.texts())


def rspreload(x):
    """A program of plain sockets, rstream -T s, over rsockets."""
    port, env = free_port(), {"LD_PRELOAD": PRELOAD}
    args = ["rstream", "-T", "s", "-T", "v", "-I", "20", "-C", "20", "-S", "20000", "-p", str(port)]
    s = x.serve([*args, *(["-b", "::0"] if x.v6 else [])], env)
    x.listens(s)
    c = x.connect(s, [*args, "-s", x.address], env)
    x.require(c, "^custom")
    x.close(s)
    no_tcp(x, port)


def iperf(x):
    """iperf 2 over rsockets. librspreload of rdma-core 44 does not take the sockets of iperf3
    (SOCK_CLOEXEC) and OpenBSD's nc (accept4)."""
    port, env = free_port(), {"LD_PRELOAD": PRELOAD}
    v6 = ["-V"] if x.v6 else []
    s = x.serve(["iperf", "-s", "-p", str(port), *v6], env)
    x.listens(s)
    c = x.connect(s, ["iperf", "-c", x.address, "-p", str(port), "-n", "20M", *v6], env)
    for text in (c, x.close(s, forever=True)):
        x.require(text, r" 20\.0 MBytes ")
    no_tcp(x, port)


def missing(*names):
    """The programs that are not installed: a reason to skip; None if all are."""
    gone = [n for n in names if not (os.path.exists(n) if "/" in n else shutil.which(n))]
    return ", ".join(gone) + ": not installed" if gone else None
