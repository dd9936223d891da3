# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""The jobs of `run`: which there are, and several at a time, each in a cell of its own."""
import argparse
import concurrent.futures
import contextlib
import glob
import os
import queue
import re
import signal
import subprocess
import tempfile
import threading
import time
import traceback

import cell
from harness import TALLY, descendants, patience

HERE = os.path.dirname(os.path.abspath(__file__))
ONE_SIDED = re.compile(r"libdpa/test_(connections|dpacc|gpu|pingpong|rdma|samples|sync)|memory/|"
                       r"rdmacm/test_programs|ucx/")
NEVER = re.compile(r"memory/")  # scripts of the part `never`
# Two programs each that do nothing but poll: one such job at a time.
POLL = ("perftest", "clients", "examples", "never", "onesided", "ucx/test_ucx")
# The longest start first: one of them at the end would run alone.
LONG = ("rdmacm/test_programs", "dpactl/test_quiet", "kill", "libdpa/test_samples", "wire", "dpactl/test_progress",
        "inject/test_peer", "dpactl/test_errors", "cuda/test_nvcc", "libdpa/test_connections", "libdpa/test_pcc")
BESIDE = 3  # jobs at a time beside the one that polls
# The programs of the distribution, whatever else is on the path.
PATH = "/usr/sbin:/usr/bin:/sbin:/bin"


class Limit:
    """Ends a process and all that it forked after so many seconds; after more, the busier the machine is then."""

    def __init__(self, seconds, pid):
        self.seconds, self.pid, self.begin = seconds, pid, time.monotonic()
        self.lock, self.timer, self.reached = threading.Lock(), None, False
        self.look()

    def look(self):
        with self.lock:
            rest = self.begin + patience(self.seconds) - time.monotonic()
            if self.pid and rest > 0:
                self.timer = threading.Timer(rest, self.look)
                self.timer.start()
            elif self.pid:
                self.reached = True
                end_all(self.pid)

    def stop(self):
        """After the process has ended. True: in time."""
        with self.lock:
            self.pid = 0
            if self.timer:
                self.timer.cancel()
        return not self.reached


class Job:
    """A command with its name. limit: seconds after which it is ended. part: it prints a line a case; empty:
    it may have no case."""

    def __init__(self, name, command, limit, part=False, empty=False, env=()):
        self.name, self.command, self.limit = name, command, limit
        self.part, self.empty = part, empty
        self.env = dict(os.environ, PATH=f"{PATH}:{os.environ.get('PATH', '')}", **dict(env))
        self.took, self.pid = "", 0

    def run(self, words, each_line, over):
        """Its exit status and output. each_line: takes each line of a part as soon as it is printed. over: an
        event; if it is set after the job has begun, the caller of its set() ends the job by `pid`."""
        begin = time.monotonic()
        with tempfile.TemporaryFile() as out:
            p = subprocess.Popen([*words, *self.command], stdin=subprocess.DEVNULL, env=self.env,
                                 stdout=subprocess.PIPE if self.part else out, stderr=subprocess.STDOUT)
            self.pid = p.pid
            if over.is_set():
                end_all(p.pid)
            limit = Limit(self.limit, p.pid)
            text = b""
            for line in p.stdout or ():
                text += line
                if TALLY.match(line.decode(errors="replace")):
                    break  # what it leaves behind may hold the pipe
                each_line(line.decode(errors="replace").rstrip("\n"))
            _, status, used = os.wait4(p.pid, 0)
            p.returncode = os.waitstatus_to_exitcode(status)
            self.pid, in_time = 0, limit.stop()
            out.seek(0)
            text = (text or out.read()).decode(errors="replace")
            if p.stdout:
                p.stdout.close()
        self.took = (f"({time.monotonic() - begin:.0f} s, processor "
                     f"{used.ru_utime + used.ru_stime:.0f} s)")
        return p.returncode, text if in_time else text + "\nran past its limit"


def end_all(pid):
    """Kills a process and all that it forked."""
    for each in descendants(pid) if pid else ():
        with contextlib.suppress(ProcessLookupError):
            os.kill(each, signal.SIGKILL)


def part_of(path):
    """A script that makes its own network namespaces does so as root of a user namespace."""
    with open(path, encoding="utf-8") as f:
        return "hosts" if "reexec_as_root()" in f.read() else "scripts"


def failed_in(log):
    """The names of the jobs that the output of a run names as failed."""
    try:
        with open(log, encoding="utf-8", errors="replace") as f:
            names = set(re.findall(r"^failed job (\S+)$", f.read(), re.M))
    except OSError as e:
        raise argparse.ArgumentTypeError(str(e)) from e
    if not names:
        raise argparse.ArgumentTypeError(f"{log} names no failed job")
    return names


def chosen(args, build, here, parts, again):
    """The jobs of these parts. here: parts that `again`, a command, runs by itself. ValueError: a name of
    --failed-in is that of no job."""
    long = 36000 if args.full else 3000
    env = {"DPA_BUILD_DIR": os.path.abspath(build)}
    few = bool(args.only or args.after or args.shard != (1, 1))
    work = [Job(p, [*again, p], long, part=True, empty=few) for p in here if p in parts]
    if "wire" in parts:
        work.append(Job("wire", [os.path.join(HERE, "wire", "run"), "--build", build, "--seed", str(args.seed),
                                 *(["--full"] if args.full else [])], long, part=True))
    for path in sorted(glob.glob(os.path.join(HERE, "*", "test_*"))):
        name = os.path.relpath(path, HERE)
        if not os.access(path, os.X_OK):
            continue
        if part_of(path) in parts:
            work.append(Job(name, [path], 300, env=env))
        for part, which in (("never", NEVER), ("onesided", ONE_SIDED)):
            if part in parts and which.match(name):
                work.append(Job(f"{part}:{name}", [path], 300, env=dict(env, DPA_SHARE_MR="never")))
    if args.failed_in is None:
        return work
    if unknown := args.failed_in - {j.name for j in work}:
        raise ValueError("no such job: " + " ".join(sorted(unknown)))
    return [j for j in work if j.name in args.failed_in]


def tell(report, job, rc, out):
    """One line of a script that passed, the tally of a part; what failed, whole."""
    lines = out.rstrip().splitlines() or [""]
    tally = TALLY.match(lines[-1])
    passed, failed, skipped = map(int, tally.groups()) if tally else (0, 0, 0)
    bad = failed > 0 or rc not in (0, 77) or (not tally and rc == 0 and job.part)
    if tally and not (passed or failed or skipped or job.empty):
        bad = True  # a test that tests nothing
    text = f"{job.name}: {lines[-1]} {job.took}"
    if job.part:
        report.add(passed, failed, skipped, text if tally else f"{job.name}: no tally {job.took}")
        if bad and not failed:
            report.fail(job.name, f"[exit status {rc}]")
    elif bad:
        report.add(passed, 0, skipped, text)
        report.fail(job.name, out + f"\n[exit status {rc}]", max(failed, 1))
    elif tally:
        report.add(passed, 0, skipped, "ok " + text)
    elif rc == 77:
        report.skip(job.name, lines[-1])
    else:
        report.ok(job.name, job.took)
    if bad:
        report.add(0, 0, 0, f"failed job {job.name}")


def stop_by_signal(_number, _frame):
    """SIGTERM ends a run as Ctrl-C does."""
    raise KeyboardInterrupt


def run(report, work):
    """A lane for the jobs that poll, and some for the rest; one after the other where there are no cells.
    Ctrl-C and SIGTERM end the jobs that run, and no other one starts: KeyboardInterrupt."""
    words, remark = cell.prefix()
    polls, rest = queue.SimpleQueue(), queue.SimpleQueue()
    over = threading.Event()
    for job in sorted(work, key=lambda j: LONG.index(j.name) if j.name in LONG else len(LONG)):
        (polls if words and job.name in POLL else rest).put(job)
    if remark:
        report.add(0, 0, 0, remark)

    def lane(*queues):
        for q in queues:
            while not over.is_set():
                try:
                    job = q.get_nowait()
                except queue.Empty:
                    break
                try:
                    result = job.run(words or [], lambda line: report.add(0, 0, 0, line), over)
                    if not over.is_set():
                        tell(report, job, *result)
                except Exception:  # pylint: disable=broad-except; it must not pass for a success
                    report.fail(job.name, traceback.format_exc())

    signal.signal(signal.SIGTERM, stop_by_signal)
    beside = BESIDE if words else 0
    with concurrent.futures.ThreadPoolExecutor(1 + beside) as pool:
        lanes = [pool.submit(lane, polls, rest), *(pool.submit(lane, rest) for _ in range(beside))]
        try:
            concurrent.futures.wait(lanes)
        except KeyboardInterrupt:
            over.set()
            for job in work:
                end_all(job.pid)
            concurrent.futures.wait(lanes)
            raise
