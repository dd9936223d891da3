# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""What runs between the hosts, and what must come of it."""
import contextlib
import errno
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import time

import netns
from harness import finish, free_port, wait_listen

FAULTS = "drop=1%,dup=1%,reorder=1%,corrupt=0.1%"
PATH_MTU = {1500: 1024, 9000: 4096}  # the path MTU that fits a frame


class Case:
    """Hosts, the MTU of their links, and a function that returns None or what went wrong."""

    def __init__(self, name, fn, mtu=1500, hosts=2, needs=None, user="self"):
        self.name, self.fn, self.mtu, self.hosts = name, fn, mtu, hosts
        self.needs, self.user = needs, user


class Ctx:
    """What a case gets: a runner for each host."""

    def __init__(self, build, net, user, seed):
        self.build, self.net, self.seed = build, net, seed
        self.r = [netns.NsRunner(build, h, user) for h in net.hosts]

    def tool(self, name):
        return os.path.join(self.build, "tests", name)

    def pair(self, argv, port, limit=60, env=None, hosts=(0, 1), tcp=4):
        """Server on the first host, client on the second, told the server's address."""
        a, b = self.r[hosts[0]], self.r[hosts[1]]
        return a.pair(argv(a), [*argv(b), a.host.address(tcp)], limit, env, port, b)


def outcome(s, c, good, good_server=lambda out: True):
    if s.rc == 0 and c is not None and c.rc == 0 and good(c.out) and good_server(s.out):
        return None
    return s.text() + (c.text() if c else "")


# ----------------------------------------------------------------- the programs

def went_well(out):
    """A pingpong program says so; with -c it names wrong bytes, and ends with 0 all the same."""
    return ("usec/iter" in out or "success" in out) and "invalid data" not in out


def pingpong(prog, options, family):
    def fn(x):
        port = free_port()
        # by TCP over IPv4 in any case: that is what the programs' servers listen on
        s, c = x.pair(lambda r: [prog, "-d", "dpa0", "-p", str(port), "-g",
                                 str(r.gid_index(family)), *options.split()], port)
        return outcome(s, c, went_well, went_well)
    return fn


def perftest(tool, conn, options, family):
    def fn(x):
        port = free_port()
        s, c = x.pair(lambda r: [tool, "-d", "dpa0", "-F", "-p", str(port), "-x",
                                 str(r.gid_index(family)), "-c", conn, *options.split()],
                      port, 120)
        return outcome(s, c, lambda out: "#bytes" in out)
    return fn


def verify(total, options="", family=4, env=None, hosts=(0, 1), mtu=None):
    """Traffic of both sides, every byte checked; the client's JSON line is the proof."""
    def fn(x):
        port, n = free_port(), total
        fault = {k: v.replace("SEED", str(x.seed)) for k, v in (env or {}).items()}
        s, c = x.pair(lambda r: [x.tool("dpa_verify"), "-p", str(port), "--total", str(n),
                                 "-g", str(r.gid_index(family)), "--mtu",
                                 str(mtu or PATH_MTU[x.net.mtu]), "--seed", str(x.seed),
                                 *options.split()],
                      port, 100 + n // 1000000, fault, hosts, family)
        return outcome(s, c, lambda out: json.loads(out.splitlines()[-1])["bytes"] >= n // 2)
    return fn


def unreachable(timeout, retry, env, hosts=(0, 1)):
    """Nothing arrives: RETRY_EXC_ERR, and not before the attributes allow it. IBA 9.7.6.1.3 lets
    a timeout last up to four times its value; the seconds on top are for a busy machine."""
    def fn(x):
        port = free_port()
        s, c = x.pair(lambda r: [x.tool("dpa_verify"), "-p", str(port), "-g",
                                 str(r.gid_index(4)), "--timeout", str(timeout), "--retry-cnt",
                                 str(retry), "--expect-error"], port, 60, env, hosts)
        bad = outcome(s, c, lambda out: "first_error_s" in out)
        if bad:
            return bad
        took = json.loads(c.out.splitlines()[-1])["first_error_s"]
        one = 4.096e-6 * 2 ** timeout
        if not (retry + 1) * one <= took <= 4 * (retry + 1) * one + 3:
            return f"{retry + 1} timeouts of {one:.4f} s, and the error came after {took:.4f} s"
        return None
    return fn


def no_route(x):
    """modify_qp to a peer that no route leads to: ENETUNREACH. With a route it works."""
    far, (a, b) = "fd99::1", x.r

    def run():
        port = free_port()
        argv = [[x.tool("dpa_verify"), "-p", str(port), "--total", "1M", "--qps", "1", "-g", str(i)]
                for i in (a.index_of(far), b.gid_index(6))]
        return a.pair(argv[0], [*argv[1], a.host.v4], 60, None, port, b)

    a.host.ip("-6", "addr", "add", far + "/128", "dev", "eth0", "nodad")
    try:
        s, c = run()
        if c is None or c.rc == 0 or \
           not re.search(rf"ibv_modify_qp\(.*is {errno.ENETUNREACH}, not 0", c.out):
            return "without a route: " + s.text() + (c.text() if c else "")
        b.host.ip("-6", "route", "add", far, "dev", "eth0")
        s, c = run()
        b.host.ip("-6", "route", "del", far, "dev", "eth0")
        return outcome(s, c, lambda out: '"bytes"' in out)
    finally:
        a.host.ip("-6", "addr", "del", far + "/128", "dev", "eth0")


def alone(tool, case, env):
    """A program that has both sides itself, on one host: one case, in one or two ways."""
    def fn(x):
        p = x.r[0].run([x.tool(tool), case], 100, env)
        return None if p.rc == 0 and re.search(r"^[12] passed", p.out, re.M) else p.text()
    return fn


def unreliable(options, family):
    """Datagrams and what lies in front of them, or UC: every byte checked, on both sides."""
    def fn(x):
        port = free_port()
        s, c = x.pair(lambda r: [x.tool("dpa_unreliable"), "-p", str(port), "-g",
                                 str(r.gid_index(family)), *options.split()], port, 60, None,
                      (0, 1), family)
        return outcome(s, c, lambda out: "all right" in out, lambda out: "all right" in out)
    return fn


def by_udp(client, some):
    """Cases of a client, or all, whose two sides on one host write to each other by UDP."""
    def fn(x):
        p = x.r[0].run([x.tool(client), "--seed", str(x.seed), *some], 300, {"DPA_SHM": "never"})
        return None if p.rc == 0 and re.search(r"^\d+ passed, 0 failed", p.out, re.M) else p.text()
    return fn


def all_to_all(argv, good, limit=120):
    """Every pair of hosts at once; the sides meet by TCP over IPv4, whatever they send then."""
    def fn(x):
        end, running = time.monotonic() + limit, []
        try:
            for i, j in itertools.combinations(range(len(x.r)), 2):
                port, a, b = free_port(), x.r[i], x.r[j]
                s = a.start(argv(x, a, port))
                running.append([s, None])
                if not wait_listen(s, port, end, a.tcp_tables()):
                    return finish(s, time.monotonic()).text()
                running[-1][1] = b.start([*argv(x, b, port), a.host.v4])
            results = [[finish(p, end) for p in pair] for pair in running]
            return "".join(filter(None, (outcome(s, c, good, good) for s, c in results))) or None
        finally:
            for p in itertools.chain(*running):
                if p and p.poll() is None:
                    p.kill()
                    p.wait()
    return fn


def verify_argv(family):
    return lambda x, r, port: [x.tool("dpa_verify"), "-p", str(port), "-g",
                               str(r.gid_index(family)), "--total", "16M", "--qps", "2", "--mtu",
                               str(PATH_MTU[x.net.mtu]), "--stuck", "100"]


def pingpong_argv(prog, family):
    return lambda x, r, port: [prog, "-d", "dpa0", "-g", str(r.gid_index(family)), "-p",
                               str(port), "-n", "500", "-c"]


# --------------------------------------------------------------------- the table

# The first of a program in all four ways; -c looks at a byte of each page.
PINGPONG = {"ibv_rc_pingpong": ["-c -s 16384", "-e", "-c -s 65536 -n 200"],
            "ibv_uc_pingpong": ["-c -s 16384", "-e -c"], "ibv_ud_pingpong": ["-c -s 1024", "-e -c"],
            "ibv_srq_pingpong": ["-c", "-e -c"], "ibv_xsrq_pingpong": ["-m 1024 -n 500"]}
FOUR_WAYS = ("ibv_rc_pingpong", "ibv_uc_pingpong", "ibv_ud_pingpong")
# Windows and invalidation, FLUSH, solicited events, SQD, fences: these cases, or all of the client.
CLIENTS = {"vt_data": ("fence", "sges_32", "full_duplex"), "vt_keys": (), "vt_flush": (),
           "vt_checks": (), "vt_ends": (), "vt_cq": ("events", "solicited", "one_event", "destroy_purges", "srq"), "vt_events": ()}
CONNECTIONS = {"write": ["RC", "UC"], "read": ["RC"], "send": ["RC", "UC", "UD"], "atomic": ["RC"]}


def programs(full):
    """The examples and perftest: everything, or each program once with families and MTUs in
    turn."""
    every = [(4, 1500), (6, 9000), (4, 9000), (6, 1500)]
    turn = itertools.cycle(every)
    for prog, variants in PINGPONG.items():
        for o in variants:
            four = full or (prog in FOUR_WAYS and o == variants[0])
            for family, mtu in every if four else [next(turn)]:
                yield Case(f"{prog} {o} IPv{family} MTU {mtu}", pingpong(prog, o, family), mtu,
                           needs=prog)
    for prog, path, family, mtu in (("ibv_rc_pingpong", 4096, 4, 9000),
                                    ("ibv_uc_pingpong", 256, 6, 1500),
                                    ("ibv_uc_pingpong", 512, 4, 9000),
                                    ("ibv_uc_pingpong", 2048, 6, 9000)):
        yield Case(f"{prog} -m {path} IPv{family} MTU {mtu}",
                   pingpong(prog, f"-c -m {path} -s 100000 -n 200", family), mtu, needs=prog)
    for op, kind in itertools.product(CONNECTIONS, ("lat", "bw")):
        tool = f"ib_{op}_{kind}"
        for conn in CONNECTIONS[op]:
            for options in perftest_options(op, kind, conn, full):
                for family, mtu in every if full else [next(turn)]:
                    yield Case(f"{tool} -c {conn} {options} IPv{family} MTU {mtu}",
                               perftest(tool, conn, options, family), mtu, needs=tool)


def perftest_options(op, kind, conn, full):
    """Few iterations where much is moved."""
    n = "-n 200" if kind == "bw" else "-n 500"
    if op == "atomic":
        return [f"-A {a} -n 500" for a in ("FETCH_AND_ADD", "CMP_AND_SWAP")]
    sizes = ["-s 2", "-s 1024"] if conn == "UD" else ["-s 2", "-s 65536", "-s 1048576"]
    if (op, kind, conn) == ("send", "bw", "UC"):
        # more than a socket's buffer holds gets lost, and perftest's server waits for it
        sizes = sizes[:2]
    if not full:
        return [f"{sizes[1]} {n}"]
    return [f"{s} {n}" for s in sizes] + ([f"-b {sizes[1]} {n}", f"-q 8 {sizes[1]} {n}"]
                                          if kind == "bw" else [])


def everybody(full):
    """4 hosts: reliable and not, in both families at each MTU."""
    some = (("ibv_rc_pingpong", 4, 1500), ("ibv_uc_pingpong", 6, 1500),
            ("ibv_ud_pingpong", 6, 9000))
    more = (("ibv_ud_pingpong", 4, 1500), ("ibv_rc_pingpong", 6, 9000),
            ("ibv_uc_pingpong", 4, 9000))
    for family, mtu in ((4, 9000), (6, 1500)):
        yield Case(f"4 hosts, all to all: every byte IPv{family} MTU {mtu}",
                   all_to_all(verify_argv(family), lambda out: '"bytes"' in out), mtu, 4)
    for prog, family, mtu in some + more if full else some:
        yield Case(f"4 hosts, all to all: {prog} IPv{family} MTU {mtu}",
                   all_to_all(pingpong_argv(prog, family), went_well), mtu, 4, prog)


def table(full):
    gib, quick = 1 << 30, 64 << 20
    total = gib if full else quick
    faults = {"DPA_FAULT": FAULTS + ",seed=SEED"}
    void = {"DPA_FAULT": "drop=100%"}
    yield from programs(full)
    yield Case("ordinary user: ibv_rc_pingpong", pingpong("ibv_rc_pingpong", "", 4),
               needs="ibv_rc_pingpong", user="nobody")
    yield Case("ordinary user: ibv_ud_pingpong IPv6", pingpong("ibv_ud_pingpong", "", 6),
               needs="ibv_ud_pingpong", user="nobody")
    for family, mtu in itertools.product((4, 6), (1500, 9000)):
        yield Case(f"every byte IPv{family} MTU {mtu}", verify(quick, family=family), mtu)
    for path, family, mtu in ((256, 4, 1500), (512, 6, 1500), (2048, 4, 9000)):
        yield Case(f"every byte, path MTU {path} IPv{family} MTU {mtu}",
                   verify(quick // 8, family=family, mtu=path), mtu)
    yield Case("every byte, receives run out", verify(quick // 4, "--recvs 2"))
    yield Case("every byte, tiny messages", verify(quick // 64, "--size 100"))
    yield Case("every byte, messages of 4 MiB", verify(quick, "--size 4M --qps 2"), 9000)
    yield Case("every byte, ordinary user", verify(quick // 4), user="nobody")
    yield Case("a peer that no route leads to", no_route)
    for family, mtu in itertools.product((4, 6), (1500, 9000)):
        yield Case(f"datagrams, GRH and answers IPv{family} MTU {mtu}", unreliable("", family),
                   mtu)
        yield Case(f"unreliable connection, every byte IPv{family} MTU {mtu}",
                   unreliable("--uc", family), mtu)
    for client, some in CLIENTS.items():
        yield Case(f"{client} by UDP", by_udp(client, () if full else some))
    yield Case("a forked child keeps no socket",
               alone("vt_limits", "fork_child", {"DPA_SHM": "never"}))
    yield Case("the answer to the first packet of a QP arrives",
               alone("vt_errors", "ever_new_qps", {"DPA_SHM": "never"}))
    yield Case("a killed peer is an error when the retries are used up, not before",
               alone("vt_killed", "posted_afterwards", {"DPA_SHM": "never"}))
    yield from everybody(full)
    for mtu in (1500, 9000) if full else (1500,):
        yield Case(f"loss and more of all kinds, veth, IPv4 MTU {mtu}", verify(total, env=faults),
                   mtu)
    yield Case("loss and more of all kinds, veth, IPv6 MTU 9000",
               verify(total if full else quick // 4, env=faults, family=6), 9000)
    yield Case("loss and more of all kinds, shared memory",
               verify(total, env=faults, hosts=(0, 0)))
    for where, hosts in (("veth", (0, 1)), ("shared memory", (0, 0))):
        for timeout, retry in ((12, 1), (14, 3)):
            yield Case(f"nothing arrives, {where}, timeout {timeout}, {retry} retries",
                       unreachable(timeout, retry, void, hosts))


@contextlib.contextmanager
def captured(host, folder, name):
    """All packets of the host meanwhile, to a file of this case in the folder, if one is given."""
    if not folder:
        yield
        return
    path = os.path.join(folder, re.sub(r"[^\w.-]+", "-", name) + ".pcap")
    p = subprocess.Popen(host.enter(["tcpdump", "-i", "eth0", "-s", "0", "-B", "65536", "-U", "-w",
                                     path]),
                         stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                         stderr=subprocess.PIPE)
    p.stderr.readline()  # it listens
    try:
        yield
    finally:
        p.send_signal(signal.SIGINT)
        p.communicate()


def run(build, report, cases, seed, pcaps=None):
    """Cases on the same network share it, one network at a time."""
    for key in dict.fromkeys((c.hosts, c.mtu) for c in cases):
        with netns.Net(*key) as net:
            for c in cases:
                if (c.hosts, c.mtu) == key:
                    with captured(net.hosts[0], pcaps, c.name):
                        run_case(build, report, c, net, seed)


def run_case(build, report, case, net, seed):
    if case.needs and not shutil.which(case.needs):
        report.skip(case.name, f"{case.needs} is not installed")
        return
    if case.user != "self" and (netns.in_userns or not shutil.which("setpriv")):
        report.skip(case.name, "only root can become another user")
        return
    try:
        bad = case.fn(Ctx(build, net, case.user, seed))
    except (RuntimeError, ValueError, KeyError, IndexError) as e:
        bad = f"{type(e).__name__}: {e}"
    if bad:
        report.fail(case.name, re.sub(r"\n{2,}", "\n", bad))
    else:
        report.ok(case.name)
