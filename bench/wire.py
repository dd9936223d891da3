# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""The rows of dpa0 between hosts: against bare UDP, and against others over TCP, on one link.

veth: two network namespaces, MTU 9000. lo: two processes of one board that DPA_SHM=never sends by
UDP, in a namespace that has nothing but lo: from 127.0.0.1 to itself, as the bare UDP beside it (to
another address of the host the kernel makes a route for each datagram).
"""
import contextlib
import os
import re
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "tests", "integration", "wire"))

import netns  # noqa: E402
from harness import free_port, last_row, wait_listen  # noqa: E402


class Wire:
    """Two hosts and what is measured between them; the namespaces are made at first use."""

    def __init__(self, bench):
        self.bench, self._net, self._alone, self._stack = bench, None, None, contextlib.ExitStack()

    def close(self):
        self._stack.close()

    def net(self):
        if not self._net:
            try:
                self._net = self._stack.enter_context(netns.Net(2, 9000))
            except netns.Unavailable as e:
                raise RuntimeError(f"no network namespaces: {e}") from None
        return self._net

    def alone(self):
        if not self._alone:
            try:
                self._alone = self._stack.enter_context(contextlib.closing(netns.Namespace()))
            except netns.Unavailable as e:
                raise RuntimeError(f"no network namespaces: {e}") from None
        return self._alone

    def sides(self, where):
        """Of the server and the client: host, address of the server, environment."""
        if where == "lo":
            return self.alone(), self.alone(), "127.0.0.1", [{"DPA_SHM": "never"}] * 2
        a, b = self.net().hosts
        return a, b, a.v4, [{}, {}]

    def pair(self, where, argv, listens=None, env=None, dpa=True, limit=60):
        """Server on core 0, client on core 1; what both print. argv(side, address)."""
        a, b, address, boards = self.sides(where)
        env, out = env or {}, [None, None]
        s = self.start(a, argv(0, address), 0, {**env, **boards[0]}, dpa)
        try:
            end = time.monotonic() + 20
            tables = [f"/proc/{a.pid}/net/tcp", f"/proc/{a.pid}/net/tcp6"]
            if listens and not wait_listen(s, listens, end, tables):
                raise RuntimeError(f"{argv(0, address)}: {self.bench.finish(s, 1)}")
            c = self.start(b, argv(1, address), 1, {**env, **boards[1]}, dpa)
            out[1] = self.bench.finish(c, limit)
            out[0] = self.bench.finish(s, 20)
        finally:
            if s.poll() is None:
                s.kill()
                s.wait()
        return out

    def start(self, host, argv, cpu, env, dpa):
        run = [os.path.join(self.bench.build, "bin", "dpa-run")] if dpa else []
        return self.bench.start(host.enter([*run, *argv]), cpu, env, dpa=False)

    # ------------------------------------------------------------- figures

    def udp_lat(self, where, *more):
        port = str(free_port())
        out = self.pair(where, lambda side, address: [
            self.bench.tool("udp_pingpong"), "client" if side else "server", address, port, "64",
            "100000", *more], dpa=False)
        return float(out[1].split()[0])

    def udp_stream(self, where, bytes_):
        port = str(free_port())
        out = self.pair(where, lambda side, address: [
            self.bench.tool("udp_stream"), "client" if side else "server", address, port,
            str(bytes_), "1"], dpa=False)
        return float(out[0])

    def lat(self, where, mode):
        port = free_port()
        out = self.pair(where, lambda side, address: [
            self.bench.tool("wire_lat"), mode, str(port), "64", "30000",
            *([address] if side else [])], port)
        return float(out[1].split()[0])

    def perftest(self, where, tool, *args, env=None):
        port = free_port()
        out = self.pair(where, lambda side, address: [
            tool, "-d", "dpa0", "-F", "-x", "0", "-p", str(port), *args,
            *([address] if side else [])], port, env, limit=120)
        row = last_row(out[1])
        if not row:
            raise RuntimeError(out[1][-1000:])
        return row

    def write_bw(self, where, fault=""):
        env = {"DPA_FAULT": fault} if fault else None
        return self.perftest(where, "ib_write_bw", "-s", "1048576", "-m", "4096", "-n", "1000",
                             "-N", env=env)[3]

    def send_bw(self, size):
        n = max(200, min(20000, (1 << 29) // size))
        return self.perftest("veth", "ib_send_bw", "-s", str(size), "-n", str(n), "-N")[3]

    def send_lat(self, size, column=4, *more):
        """Column 4: the median; 5: the average."""
        n = 5000 if more else 50000 if size <= 4096 else 1000
        return self.perftest("veth", "ib_send_lat", "-s", str(size), "-n", str(n), "-C",
                             *more)[column] / self.bench.cycles_per_ns

    def ucx(self, test, size):
        """The final numbers: iterations, percentile, average, overall, MB/s and msg/s twice."""
        port, n = free_port(), 30000 if size <= 4096 else 2000
        out = self.pair("veth", lambda side, address: [
            "ucx_perftest", "-f", "-t", test, "-p", str(port), "-s", str(size), "-n", str(n),
            *([address] if side else [])], port,
            {"UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "eth0"}, dpa=False)
        m = re.findall(r"^(?:Final:)? *(\d+(?: +[\d.]+){7})$", out[1], re.M)
        if not m:
            raise RuntimeError(out[1][-1000:])
        return [float(x) for x in m[-1].split()]

    def libfabric(self, size):
        """Half a round trip, ns, average: the last column but one of the one row."""
        port, n = free_port(), 20000 if size <= 4096 else 1000
        out = self.pair("veth", lambda side, address: [
            "fi_pingpong", "-p", "tcp", "-e", "msg", "-I", str(n), "-S", str(size),
            *(["-P", str(port), address] if side else ["-B", str(port)])], port, dpa=False)
        m = re.findall(r"^\s*\S+\s+\S+\s+=\S+\s+\S+\s+\S+\s+\S+\s+([\d.]+)\s+[\d.]+\s*$", out[1],
                       re.M)
        if not m:
            raise RuntimeError(out[1][-1000:])
        return float(m[-1]) * 1000


SIZES = ((8, "8 B"), (1024, "1 KiB"), (4096, "4 KiB"), (16384, "16 KiB"), (65536, "64 KiB"),
         (262144, "256 KiB"), (1 << 20, "1 MiB"))


def rows(bench, wire, row):
    """The table; `row` makes one: name, unit, ours, theirs, must, aim, more is better, other."""
    for where in ("lo", "veth"):
        for mode, what in (("send", "SEND 64 B one way"), ("write", "WRITE 64 B, half")):
            yield row(f"{where}: {what} / UDP", "ns", lambda w=where, m=mode: wire.lat(w, m),
                      lambda w=where: wire.udp_lat(w), 1.8, 1.3, False, "UDP")
        yield row(f"  {where}: the calls that RoCEv2 needs (only reported)", "ns",
                  lambda w=where: wire.udp_lat(w, "roce"), lambda w=where: wire.udp_lat(w), None,
                  None, False, "UDP")
        yield row(f"  {where}: ib_write_lat 64 B (only reported)", "ns",
                  lambda w=where: wire.perftest(w, "ib_write_lat", "-s", "64", "-n", "1000",
                                                "-C")[4] / bench.cycles_per_ns,
                  lambda w=where: wire.udp_lat(w), None, None, False, "UDP")
        yield row(f"{where}: WRITE 1 MiB, MTU 4096 / UDP GSO", "MiB/s",
                  lambda w=where: wire.write_bw(w), lambda w=where: wire.udp_stream(w, 4096), 0.6,
                  0.85, True, "UDP")
    yield row("veth: WRITE 1 MiB, 1 % loss / none", "MiB/s",
              lambda: wire.write_bw("veth", "drop=1%,seed=1"), lambda: wire.write_bw("veth"), 0.5,
              0.8, True, "no loss")
    # what the fault link itself costs
    yield row("  veth: 1 % loss / 1 ppm (only reported)", "MiB/s",
              lambda: wire.write_bw("veth", "drop=1%,seed=1"),
              lambda: wire.write_bw("veth", "drop=1ppm,seed=1"), None, None, True, "1 ppm")
    yield row("  veth: send_lat 8 B, average, events / polling (only reported)", "ns",
              lambda: wire.send_lat(8, 5, "-e"), lambda: wire.send_lat(8, 5), None, None, False,
              "polling")
    for size, name in SIZES:
        yield row(f"veth: send_lat {name} / UCX tcp", "ns", lambda s=size: wire.send_lat(s),
                  lambda s=size: wire.ucx("tag_lat", s)[1] * 1000, 1, 1, False, "UCX")
        yield row(f"veth: send_bw {name} / UCX tcp", "MiB/s", lambda s=size: wire.send_bw(s),
                  lambda s=size: wire.ucx("tag_bw", s)[4], 1, 1, True, "UCX")
        yield row(f"veth: send_lat {name} / libfabric tcp", "ns",
                  lambda s=size: wire.send_lat(s, 5), lambda s=size: wire.libfabric(s), 1, 1,
                  False, "libfabric")
