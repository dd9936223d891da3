# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""libibverbs's own example programs, and the verbs clients of tests/clients."""
import os
import shutil

from harness import TALLY, free_port

# Options of the pingpong programs. Not -t with -e: the program takes an event whose completion it
# has polled already for an error, on any device.
PINGPONG = {
    "ibv_rc_pingpong": ["", "-e", "-c", "-e -c", "-N", "-t", "-o", "-O", "-P -o", "-j", "-s 1",
                        "-s 1048576 -n 200", "-m 4096", "-r 1 -n 200", "-N -c -e"],
    "ibv_uc_pingpong": ["", "-e", "-c", "-e -c", "-s 1", "-s 65536"],
    "ibv_ud_pingpong": ["", "-e", "-c", "-e -c", "-s 1", "-s 1024"],
    "ibv_srq_pingpong": ["", "-e", "-c", "-e -c", "-o", "-q 2", "-q 64 -n 100"],
    "ibv_xsrq_pingpong": ["-n 500", "-e -n 500"],
}


def pingpong(runner, report, prog, options):
    name = f"{runner.name}: {prog} {options}".rstrip()
    port = free_port()
    args = [prog, "-d", "dpa0", "-g", "0", "-p", str(port), *options.split()]
    s, c = runner.pair(args, [*args, "127.0.0.1"], limit=60, listens=port)
    good = s.rc == 0 and c is not None and c.rc == 0
    if good and ("usec/iter" in c.out or "success" in c.out):
        report.ok(name)
    else:
        report.fail(name, s.text() + (c.text() if c else ""))


def examples(runner, report, full):
    """All variants as an ordinary user; as root one of each program, unless `full`."""
    r = runner.run(["ibv_devinfo", "-v", "-d", "dpa0"], 20)
    if r.rc == 0 and "PORT_ACTIVE" in r.out:
        report.ok(f"{runner.name}: ibv_devinfo -v")
    else:
        report.fail(f"{runner.name}: ibv_devinfo -v", r.text())
    for prog, variants in PINGPONG.items():
        if not shutil.which(prog):
            report.skip(prog, "not installed")
            continue
        for options in variants if full or runner.name == "user" else variants[:1]:
            pingpong(runner, report, prog, options)


# Clients whose way to the memory of their peers is what share_mr makes of it.
ONE_SIDED = ("vt_revoke", "vt_same", "vt_killed", "vt_share", "vt_pages", "vt_peer", "vt_data",
             "vt_keys", "vt_memory", "vt_errors")


def clients(runner, report, full, seed):
    """Each client prints a line a case and a tally; its lines count as cases of ours. In each manner it
    has another seed."""
    folder = os.path.join(runner.build, "tests")
    for prog in ("vt_data", "vt_errors", "vt_cq", "vt_limits", "vt_keys", "vt_memory",
                 "vt_xrc", "vt_domain", "vt_events", "vt_peer", "vt_mcast", "vt_raw", "vt_tag",
                 "vt_flush", "vt_revoke", "vt_same", "vt_killed", "vt_ex", "vt_share",
                 "vt_pages", "vt_starve", "vt_checks", "vt_control", "vt_ends", "vt_watch",
                 "vt_foreign", "vt_steps"):
        manners = [{"DPA_PLACEMENT": placement} for placement in ("inline", "eu")]
        if prog in ("vt_checks", "vt_ends", "vt_foreign", "vt_watch"):  # on every link alike
            manners += [{"DPA_SHM": "never"}, {"DPA_DIRECT": "never"}, {"DPA_SHARE_MR": "always"}]
        # auto is the default
        if prog in ONE_SIDED:
            manners.append({"DPA_SHARE_MR": "never"})
            if full or prog in ("vt_share", "vt_pages"):
                manners.append({"DPA_SHARE_MR": "always"})
            if prog == "vt_pages":  # what comes from other hosts finds the same
                manners.append({"DPA_SHARE_MR": "always", "DPA_SHM": "never"})
        if prog == "vt_steps":  # of what is shared
            manners = [{"DPA_SHARE_MR": policy}
                       for policy in (("auto", "always", "never") if full else ("auto",))]
        for nth, env in enumerate(manners):
            cmd = [os.path.join(folder, prog), "--seed", str(seed + nth)] + (["--slow"] if full else [])
            r = runner.run(cmd, 1200, env)
            lines = r.out.rstrip().splitlines()
            name = f"{runner.name}: {prog} " + " ".join(
                value if key == "DPA_PLACEMENT" else f"{key}={value}" for key, value in env.items())
            if not lines or not TALLY.match(lines[-1]):
                report.fail(name, r.text())
                continue
            notes = []
            for line in lines:
                word, _, case = line.partition(" ")
                if word == "ok":
                    report.ok(f"{name} {case}")
                elif word == "FAIL":
                    report.fail(f"{name} {case}", "\n".join([lines[0], *notes]))
                elif word == "skip":
                    report.skip(f"{name} {case}", " ".join(notes))
                notes = notes + [line.strip()] if line.startswith("    ") else []
