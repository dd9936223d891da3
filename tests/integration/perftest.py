# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""The matrix of perftest runs: every combination of the options that matter and are accepted.

With -e perftest takes at most 16 entries out of its send CQ an event (and -r of the receive CQ),
arms before that, and waits for the next event (run_iter_bw(), run_iter_bi() in
perftest_resources.c of v4.5-0.17: lines 3571 to 3577, 4239 to 4248, 4379). With -q 16 more may be
in there: these cases run to their end because arming is an event here when entries were left. A
device that sends events for new entries only, which is all that IBA 11.4.2.2 asks for, leaves
them waiting.

With -c XRC perftest posts (-r) / (number of QPs) receives to the SRQ for each QP, and -b doubles that
number: none at all with -r 16 -q 16 -b, and both sides wait for ever on any device. So -r is 32 there.

With -e perftest before 23.07 (upstream 2209cf8) has one channel for both CQs, and ib_send_lat takes an
event of either for one of its send CQ: the ACK of a message must arrive before the answer. With -c XRC
the answer comes by another QP. This device keeps the order; such a case is in the quick set.

UC and UD lose what finds no receive: where the receiver gets no processor for long, perftest waits
for messages that are gone. Repeat such a case by itself (--only) before it is called a bug.
"""
import itertools
import os
import re
import shutil

from harness import NOBODY, free_port

CONNECTIONS = {"write": ["RC", "UC", "XRC"], "read": ["RC", "XRC"],
               "send": ["RC", "UC", "UD", "XRC"], "atomic": ["RC", "XRC"]}
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


def sizes(op, kind, conn, full):
    """Sizes: all of them by -a (8 MiB; UD stops at the MTU), and the ends one by one. -a takes seconds of
    a processor at each end whatever it moves (iterations()): the quick set has it once."""
    if op == "atomic":
        return [""]
    last = "-s 1024" if conn == "UD" else "-s 8388608"
    if full:
        return ["-a", "-s 1", *([] if conn == "UD" else ["-s 65536"]), last]
    return ["-a" if (op, kind, conn) == ("send", "bw", "RC") else last, "-s 1"]


def powerset(options):
    return itertools.chain.from_iterable(
        itertools.combinations(options, n) for n in range(len(options) + 1))


def iterations(tool, opts, size, full):
    """Few where much data moves. With several QPs perftest counts a signalled send as as many as
    lie between two (-Q, 100 by default, or the depth or the list when that is less) and takes what
    is over for completions of the next size: a multiple of that number then.

    What -a takes is not iterations: for each size perftest measures the clock's rate with a loop of
    0.22 s (get_cpu_mhz() in get_clock.c), twice in the latency tests."""
    if tool.endswith("_lat"):
        return ["-n", "1000" if size in ("", "-s 1") else "100" if full else "20"]
    listed = any(o.startswith(("-l", "-r", "-t")) for o in opts)
    if size not in ("-a", "-s 8388608"):
        return ["-n", "1600"]
    if listed:
        return ["-n", "32"]
    return ["-n", "32", "-Q", "16"]


def cases(op, kind, conn, options, full):
    """Options and size of each case. The quick set has every option alone and all of them
    together, at one size, and sizes without any."""
    if full:
        return [(o, s) for o in powerset(options) for s in sizes(op, kind, conn, True)]
    if conn == "XRC":  # its options are RC's: the quick set has each tool once
        events = [(("-e",), "-s 1")] if (op, kind) == ("send", "lat") else []
        return [((), "" if op == "atomic" else "-s 65536")] + events
    if any(o.startswith("-r") for o in options):
        # UC and UD with few receives lose messages where the receiver gets no processor for a while
        options = options if conn in ("RC", "XRC") else [o.replace("-r 16 ", "") for o in options]
    together = tuple(options)
    base = "-s 1024" if conn == "UD" else "" if op == "atomic" else "-s 65536"
    return [((), s) for s in sizes(op, kind, conn, False)] + [
        (o, base) for o in [(o,) for o in options] + [together] * (len(options) > 1)]


def matrix(full):
    """Tool and its arguments, one case each."""
    for op, conns in CONNECTIONS.items():
        for kind, table in (("bw", BW_OPTIONS), ("lat", LAT_OPTIONS)):
            tool = f"ib_{op}_{kind}"
            for conn in conns:
                options = [o.replace("-r 16", "-r 32") if conn == "XRC" else o for o in table[op]]
                for opts, size in cases(op, kind, conn, options, full):
                    extra = ["-A CMP_AND_SWAP", "-A FETCH_AND_ADD"] if op == "atomic" else [""]
                    for x in extra:
                        args = ["-c", conn, *size.split(), *x.split()]
                        for o in opts:
                            args += o.split()
                        yield tool, args + iterations(tool, opts, size, full)


# The files that perftest names its XRC domains by (ctx_xrcd_create() of 4.5). They stay behind, and
# in a folder like /tmp no other user may open them with O_CREAT (fs.protected_regular).
XRC_FILES = ("/tmp/xrc_domain_server", "/tmp/xrc_domain_client")


def owner(path):
    """The user that a file belongs to; None if there is none."""
    try:
        return os.lstat(path).st_uid
    except FileNotFoundError:
        return None


def run_case(runner, report, name, tool, args, limit):
    if "XRC" not in args:
        run_pair(runner, report, name, tool, args, limit)
        return
    uid = os.getuid() if runner.user == "self" else int(NOBODY)
    for path in XRC_FILES:
        if owner(path) not in (None, uid):
            report.skip(name, f"{path} belongs to another user, and perftest cannot open it")
            return
    run_pair(runner, report, name, tool, args, limit)
    for path in XRC_FILES:
        if owner(path) == uid:
            os.unlink(path)


def run_pair(runner, report, name, tool, args, limit):
    port = free_port()
    cmd = [tool, "-d", "dpa0", "-F", "-p", str(port), *args]
    s, c = runner.pair(cmd, [*cmd, "127.0.0.1"], limit=limit, listens=port)
    if s.rc == 0 and c is not None and c.rc == 0 and "#bytes" in c.out:
        report.ok(name)
    elif s.rc > 0 and REFUSED.search(s.out):
        report.skip(name, "perftest refuses: " + REFUSED.search(s.out).group(0))
    else:
        report.fail(name, s.text() + (c.text() if c else ""))


def choice(only, shard, log):
    """Whether a case is to run, by its name and number: see the options of `run`."""
    done = set()
    if log:
        with open(log) as f:
            for line in f:
                m = re.match(r"(?:ok|skip) ((?:root|user): ib_[^:\n]*)", line)
                if m:
                    done.add(m[1].strip())
    first, step = shard
    return lambda number, name: (number % step == first - 1 and name not in done and
                                 (only is None or only.search(name)))


def run(runner, report, full, chosen, limit):
    if not shutil.which("ib_send_bw"):
        report.skip("perftest", "not installed")
        return
    for number, (tool, args) in enumerate(matrix(full)):
        name = f"{runner.name}: {tool} {' '.join(args)}"
        if chosen(number, name):
            run_case(runner, report, name, tool, args, limit)
