# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Runs programs under dpa-run, alone or as server and client, and keeps the count."""
import concurrent.futures
import contextlib
import glob
import os
import random
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

TALLY = re.compile(r"^(\d+) passed, (\d+) failed, (\d+) skipped$")
NOBODY = "65534"
TCP_TABLES = ("/proc/net/tcp", "/proc/net/tcp6")


class Report:
    """One line a case: ok, FAIL (with the output) or skip (with the reason)."""

    def __init__(self):
        self.passed = self.failed = self.skipped = 0
        self.lock = threading.Lock()

    def add(self, passed, failed, skipped, text):
        """The text comes in one piece: several lanes may report."""
        with self.lock:
            self.passed += passed
            self.failed += failed
            self.skipped += skipped
            print(text, flush=True)

    def ok(self, name, note=""):
        self.add(1, 0, 0, f"ok {name}{' ' + note if note else ''}")

    def fail(self, name, output, cases=1):
        lines = output.rstrip().splitlines()
        if len(lines) > 60:  # what goes wrong is said at once, other output at the end
            lines = lines[:20] + ["..."] + lines[-40:]
        self.add(0, cases, 0, "\n".join([f"FAIL {name}", *("    " + line for line in lines)]))

    def skip(self, name, reason):
        self.add(0, 0, 1, f"skip {name}: {reason}")

    def finish(self):
        print(f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped")
        return 1 if self.failed else 0


def lanes(*work):
    """Call these functions beside each other, each in a thread of its own, and wait for all. For
    cases that wait most of their time: each lane has an adapter instance, or hosts, of its own.
    Namespaces are made before: they end with the thread that makes them."""
    with concurrent.futures.ThreadPoolExecutor(len(work)) as pool:
        for done in [pool.submit(w) for w in work]:
            done.result()


# perftest squares the distance from the mean in an int: one value 20 us away, and t_stdev is nan.
ROW = re.compile(r"^[ \t]*\d+[ \t]+\d+[ \t]+(?:-?nan|[\d. \t])+$", re.M)


def last_row(out):
    """The numbers of the last row of perftest's table; None if there is none."""
    rows = ROW.findall(out)
    return [float(x) for x in rows[-1].split()] if rows else None


def patience(limit):
    """Seconds that are `limit` on a machine with nothing else to do: programs that poll take turns
    on a busy one, and each turn is as long as all others take."""
    busy = os.getloadavg()[0] / (os.cpu_count() or 1)
    return limit * min(max(busy, 1), 4)


def progress_thread(pid):
    """The id of the process's progress thread; None before that has given itself its name."""
    for tid in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{tid}/comm", encoding="utf-8") as f:
                if f.read().strip() == "dpa-eu-parked":
                    return tid
        except (FileNotFoundError, ProcessLookupError):
            pass  # another thread, which has ended
    return None


def system_call(pid, tid):
    """Number and arguments of the call in which a thread sleeps; [] while it runs."""
    try:
        with open(f"/proc/{pid}/task/{tid}/syscall", encoding="utf-8") as f:
            words = f.read().split()
    except OSError:
        return []
    return [int(w, 0) for w in words] if words and words[0].isdigit() else []


def sleep_of(pid):
    """The limit of the sleep in which the process's progress thread is, in whole seconds; 0 while it
    runs. Numbers: epoll_pwait2; epoll_pwait and epoll_wait."""
    thread = progress_thread(pid)
    call = system_call(pid, thread) if thread else []
    if call and call[0] == 441 and call[4]:
        with open(f"/proc/{pid}/mem", "rb") as f:
            f.seek(call[4])
            return int.from_bytes(f.read(8), "little")
    old = (281, 232) if os.uname().machine == "x86_64" else (22,)
    return call[4] // 1000 if call and call[0] in old and call[4] < 1 << 31 else 0


def reachable(path):
    """Whether an ordinary user can get at what is in this folder."""
    while True:
        if not os.stat(path).st_mode & 0o001:
            return False
        if path == "/":
            return True
        path = os.path.dirname(path)


def public_copy(build, stack):
    """The build folder itself; a copy of what runs where ordinary users cannot reach it."""
    build = os.path.abspath(build)
    if os.getuid() != 0 or reachable(build):
        return build
    copy = stack.enter_context(tempfile.TemporaryDirectory(prefix="dpa-build-"))
    os.chmod(copy, 0o755)
    for part in ("bin", "include", "lib", "share", "tests"):
        if os.path.isdir(os.path.join(build, part)):
            shutil.copytree(os.path.join(build, part), os.path.join(copy, part), symlinks=True,
                            ignore=shutil.ignore_patterns("CMakeFiles", "unit", "test_*"))
    print(f"{build} is not open to ordinary users: using a copy of it")
    return copy


class Result:
    """What one process did."""

    def __init__(self, rc, out, cmd):
        self.rc, self.out, self.cmd = rc, out, cmd

    def text(self):
        return f"$ {shlex.join(self.cmd)}\n{self.out.rstrip()}\n[exit status {self.rc}]\n"


class Runner:
    """Starts programs so that they see dpa0: as this user, or as an ordinary one."""

    def __init__(self, build, user="self"):
        self.build, self.user = os.path.abspath(build), user
        self.name = "root" if user == "self" and os.getuid() == 0 else "user"

    def command(self, argv):
        run = [os.path.join(self.build, "bin", "dpa-run"), *argv]
        if self.user == "self":
            return run
        return ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups",
                "--no-new-privs", "--inh-caps=-all", "--bounding-set=-all",
                "env", "-u", "XDG_RUNTIME_DIR", "HOME=/nonexistent", *run]

    def start(self, argv, env=None, session=False):
        """Output goes to a file: a full pipe would stop the program. `session`: one of its own, for
        end_now() to end what it forks, too."""
        out = tempfile.TemporaryFile()
        cmd = self.command(argv)
        p = subprocess.Popen(cmd, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                             env=dict(os.environ, **(env or {})), start_new_session=session)
        p.cmd, p.out = cmd, out
        return p

    def run(self, argv, limit=120, env=None):
        return finish(self.start(argv, env), time.monotonic() + patience(limit))

    def tcp_tables(self):
        """Where the kernel lists the TCP sockets of the programs started here."""
        return TCP_TABLES

    def pair(self, server, client, limit=120, env=None, listens=None, other=None):
        """Server, then client (by the other runner) once the server listens on TCP port
        `listens`."""
        end = time.monotonic() + patience(limit)
        s = self.start(server, env)
        if listens and not wait_listen(s, listens, end, self.tcp_tables()):
            return finish(s, end), None
        c = (other or self).start(client, env)
        # When one side fails the other may wait for it for ever.
        while time.monotonic() < end and (s.poll() is None or c.poll() is None):
            if (s.poll() or 0) or (c.poll() or 0):
                end = min(end, time.monotonic() + 10)
            try:
                (s if s.poll() is None else c).wait(0.05)
            except subprocess.TimeoutExpired:
                pass
        return finish(s, end), finish(c, end)


def end_now(p):
    """Kills a process that runs, and what it forked if it has a session of its own. Its status."""
    if os.getpgid(p.pid) == p.pid:
        os.killpg(p.pid, signal.SIGKILL)
    else:
        p.kill()
    return p.wait()


def descendants(pid):
    """A process and all that it forked, those they forked, and so on. Process IDs."""
    children = {}
    for path in glob.glob("/proc/[0-9]*/stat"):
        with contextlib.suppress(OSError, IndexError):
            parent = int(read(path).rpartition(")")[2].split()[1])
            children.setdefault(parent, []).append(int(path.split("/")[2]))
    found = [pid]
    for p in found:
        found += sorted(children.get(p, ()))
    return found


def read(path):
    with open(path, errors="replace", encoding="utf-8") as f:
        return f.read()


def ticks(task):
    """State of a thread, and the processor time that it has used, in ticks of the kernel."""
    words = read(task + "/stat").rpartition(")")[2].split()
    return words[0], int(words[11]) + int(words[12])


def standing(pid, over=0.3):
    """What the threads of a process and of its descendants do, a line each: state, processor time used
    in `over` seconds, function of the kernel and system call in which the thread waits. A thread
    that uses none and waits for a futex stands still; one that uses time gets no result."""
    tasks = [t for p in descendants(pid) for t in sorted(glob.glob(f"/proc/{p}/task/[0-9]*"))]
    before, lines = {}, []
    for t in tasks:
        with contextlib.suppress(OSError, IndexError):
            before[t] = ticks(t)[1]
    time.sleep(over)
    for t, had in before.items():
        with contextlib.suppress(OSError, IndexError):
            state, used = ticks(t)
            comm, wchan = read(t + "/comm").strip(), read(t + "/wchan").strip("0")
            call = read(t + "/syscall").split()
            lines.append(f"{t[6:]} {comm}: state {state}, {used - had} ticks in {over} s"
                         f"{', in ' + wchan if wchan else ''}, system call {call[0]}")
    return "\n".join(lines)


def finish(p, end):
    """Waits until `end`, then ends the process; its result. Output of one that was ended so shows
    what its threads did."""
    try:
        rc = p.wait(max(end - time.monotonic(), 0.01))
        late = ""
    except subprocess.TimeoutExpired:
        late = standing(p.pid)
        rc = end_now(p)
        late = f"\nended by the test: it did not finish in time\n{late}"
    p.out.seek(0)
    return Result(rc, p.out.read().decode(errors="replace") + late, p.cmd)


def wait_listen(p, port, end, tables=TCP_TABLES):
    while time.monotonic() < end and p.poll() is None:
        if listening(port, tables):
            return True
        time.sleep(0.005)
    return False


def listening(port, tables=TCP_TABLES):
    """Whether somebody listens on this TCP port, without connecting to it."""
    for table in tables:
        try:
            with open(table) as f:
                for line in f.readlines()[1:]:
                    w = line.split()
                    if w[3] == "0A" and int(w[1].rsplit(":", 1)[1], 16) == port:
                        return True
        except OSError:
            pass
    return False


_next_port = random.Random(os.getpid()).randrange(20000, 30000)


def free_port():
    """A TCP port below the ephemeral range that nobody has bound; never the same one twice."""
    global _next_port
    while True:
        _next_port = 20000 + (_next_port - 19999) % 12000
        with socket.socket() as s:
            try:
                s.bind(("", _next_port))
                return _next_port
            except OSError:
                continue
