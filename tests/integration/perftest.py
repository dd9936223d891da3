# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""The matrix of perftest runs: every combination of the options that matter and are accepted."""
import itertools
import re
import shutil

from harness import free_port

CONNECTIONS = {"write": ["RC", "UC"], "read": ["RC"], "send": ["RC", "UC", "UD"], "atomic": ["RC"]}
# Options of the bandwidth tests. -e is refused with WRITE: a WRITE completes nothing at the peer.
BW_OPTIONS = {"write": ["-b", "-q 16", "-l 16", "-t 16"],
              "read": ["-e", "-b", "-q 16", "-l 16", "-t 16"],
              "send": ["-e", "-b", "-q 16", "-l 16", "-r 16 -t 16"],
              "atomic": ["-e", "-b", "-q 16", "-l 16", "-t 16"]}
LAT_OPTIONS = {"write": [], "read": ["-e"], "send": ["-e"], "atomic": ["-e"]}

# What perftest 4.5 itself says about combinations that it does not take.
REFUSED = re.compile(
    r"Message size cannot be changed for Atomic|Post list is supported in BW tests only|"
    r"Number of iterations must be a multiple|Using SRQ depth should be greater|"
    r"Post list size must be a multiple|doesn't work with events|not supported in .*mode", re.I)


def sizes(op, conn, full):
    """Sizes: all of them by -a (8 MiB; UD stops at the MTU), and the ends one by one."""
    if op == "atomic":
        return [""]
    if conn == "UD":
        return ["-a", "-s 1", "-s 1024"] if full else ["-a", "-s 1"]
    return ["-a", "-s 1", "-s 65536", "-s 8388608"] if full else ["-a", "-s 1"]


def powerset(options):
    return itertools.chain.from_iterable(
        itertools.combinations(options, n) for n in range(len(options) + 1))


def quick_sets(options):
    """Each option alone, none, and all together."""
    sets = [(), *[(o,) for o in options]]
    return sets if len(options) < 2 else [*sets, tuple(options)]


def iterations(tool, size, full):
    """A multiple of 16 (the posted list) and of 100: perftest counts a signalled send as 100 of
    them, and with several QPs takes the rest of one size for completions of the next."""
    if tool.endswith("_lat"):
        return "200" if size in ("-a", "-s 8388608") else "1000"
    return "400" if size in ("-a", "-s 8388608") else "4000"


def matrix(full):
    """Tool and its arguments, one case each."""
    pick = powerset if full else quick_sets
    for op, conns in CONNECTIONS.items():
        for kind, table in (("bw", BW_OPTIONS), ("lat", LAT_OPTIONS)):
            tool = f"ib_{op}_{kind}"
            for conn in conns:
                for opts in pick(table[op]):
                    for size in sizes(op, conn, full):
                        if not full and opts and size != "-a" and op != "atomic":
                            continue
                        extra = ["-A CMP_AND_SWAP", "-A FETCH_AND_ADD"] if op == "atomic" else [""]
                        for x in extra:
                            args = ["-c", conn, *size.split(), *x.split()]
                            for o in opts:
                                args += o.split()
                            yield tool, args + ["-n", iterations(tool, size, full)]


def run_case(runner, report, tool, args):
    name = f"{runner.name}: {tool} {' '.join(args)}"
    port = free_port()
    cmd = [tool, "-d", "dpa0", "-F", "-p", str(port), *args]
    s, c = runner.pair(cmd, [*cmd, "127.0.0.1"], limit=180, listens=port)
    if s.rc == 0 and c is not None and c.rc == 0 and "#bytes" in c.out:
        report.ok(name)
    elif s.rc > 0 and REFUSED.search(s.out):
        report.skip(name, "perftest refuses: " + REFUSED.search(s.out).group(0))
    else:
        report.fail(name, s.text() + (c.text() if c else ""))


def run(runner, report, full):
    if not shutil.which("ib_send_bw"):
        report.skip("perftest", "not installed")
        return
    for tool, args in matrix(full):
        run_case(runner, report, tool, args)
