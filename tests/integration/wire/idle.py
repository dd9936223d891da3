# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Two processes on two hosts whose QPs of all transports stand idle (tests/clients/dpa_idle.c)."""
import json
import os
import socket
import subprocess

# Packets of one RC QP that the victim has had when it says that it is ready.
RC_PACKETS = 5


class Idle:
    """Two processes with idle QPs, one on each host: the victim and its peer."""

    def __init__(self, hosts, family, options=()):
        """options: of dpa-run, for the victim."""
        ends = socket.socketpair()
        self.runner, self.p = hosts[0], []
        for side, r in enumerate(hosts):
            cmd = r.command([*(() if side else options),
                             os.path.join(r.build, "tests", "dpa_idle"), "--side", str(side),
                             "--socket", str(ends[side].fileno()), "-g", str(r.gid_index(family))])
            self.p.append(subprocess.Popen(cmd, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                           stderr=subprocess.STDOUT, text=True,
                                           pass_fds=[ends[side].fileno()]))
            ends[side].close()

    def targets(self):
        """The victim's QPs, when both are ready."""
        lines = [p.stdout.readline() for p in self.p]
        if not all(ln.startswith("{") for ln in lines):
            raise RuntimeError("".join(ln + p.stdout.read() for ln, p in zip(lines, self.p)))
        return json.loads(lines[0])

    def dpactl(self, what):
        """About the victim."""
        cmd = self.runner.host.enter([os.path.join(self.runner.build, "bin", "dpactl"), "--json",
                                      what, str(self.p[0].pid)])
        return json.loads(subprocess.run(cmd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                         check=True, text=True).stdout)

    def counters(self):
        return self.dpactl("counters")["processes"][0]["counters"]

    def end(self):
        """None, or what the processes did not like."""
        for p in self.p:
            p.stdin.write("over\n")
            p.stdin.flush()
        said = [p.communicate(timeout=120)[0] for p in self.p]
        if all(s.split() == ["untouched", "works"] and not p.returncode
               for s, p in zip(said, self.p)):
            return None
        return f"victim: {said[0]}its peer: {said[1]}"

    def kill(self):
        for p in self.p:
            if p.poll() is None:
                p.kill()
                p.wait()
