# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Ends or stops one side of running traffic: the other gets error completions, or waits."""
import json
import os
import random
import signal
import subprocess
import tempfile
import time

from harness import finish, patience

PEER_LOST, PEER_NEVER = 3, 4
LIMIT = 90


LARGE = 1 << 19  # of such messages the sender brings a part itself while it polls


def traffic(runner, name, seed, count, env, size=32768):
    tool = os.path.join(runner.build, "tests", "dpa_traffic")
    common = ["--seed", str(seed), "--count", str(count), "--size", str(size)]
    s = runner.start([tool, "--server", name, *common], env)
    if not wait_text(s, "listening"):
        return [s]
    return [s, runner.start([tool, "--client", name, *common], env)]


def text(p):
    # its own file offset is shared with the child: read by position
    return os.pread(p.out.fileno(), 1 << 16, 0).decode(errors="replace")


def wait_text(p, word, limit=LIMIT):
    end = time.monotonic() + patience(limit)
    while time.monotonic() < end:
        if word in text(p):
            return True
        if p.poll() is not None:
            return word in text(p)
        time.sleep(0.001)
    return False


def program_pid(p):
    """The program's own pid, as it says itself; dpa-run may stand between."""
    for line in text(p).splitlines():
        if line.startswith("running "):
            return int(line.split()[1])
    return p.pid


def describe(results, what):
    return what + "\n" + "".join(r.text() for r in results)


def kill_once(runner, rng, i, env):
    """One pair, one SIGKILL; None or what went wrong."""
    pair = traffic(runner, f"dpa-kill-{os.getpid()}-{i}", rng.getrandbits(32), 0, env,
                   LARGE if i % 3 == 2 else 32768)
    early = rng.random() < 0.15
    if len(pair) == 2 and not early:
        for p in pair:
            wait_text(p, "running")
    time.sleep(rng.random() * (0.02 if early else 0.05))
    if len(pair) < 2:
        return describe([finish(pair[0], time.monotonic())], "the server did not start")
    victim = rng.randrange(2)
    try:
        os.kill(program_pid(pair[victim]), signal.SIGKILL)
    except ProcessLookupError:
        pass
    survivor = finish(pair[1 - victim], time.monotonic() + patience(LIMIT))
    dead = finish(pair[victim], time.monotonic() + 10)
    allowed = (PEER_LOST, PEER_NEVER) if early else (PEER_LOST,)
    if early and victim == 0 and survivor.rc == 1 and "connect:" in survivor.out:
        return None  # it was not even connected to its server
    if survivor.rc not in allowed:
        return describe([survivor, dead], f"survivor ended with {survivor.rc}, not {allowed}")
    return None


def stop_once(runner, rng, i, env):
    """SIGSTOP of one side for a while: both finish their share afterwards."""
    count, size = (10000, LARGE) if i == 1 else (30000, 32768)
    pair = traffic(runner, f"dpa-stop-{os.getpid()}-{i}", rng.getrandbits(32), count, env, size)
    for p in pair:
        wait_text(p, "running")
    pid = program_pid(pair[rng.randrange(len(pair))])
    for _ in range(3):
        try:
            os.kill(pid, signal.SIGSTOP)
            time.sleep(0.5)
            os.kill(pid, signal.SIGCONT)
        except ProcessLookupError:
            break
        time.sleep(0.02)
    results = [finish(p, time.monotonic() + patience(LIMIT)) for p in pair]
    if any(r.rc for r in results):
        return describe(results, "a stopped peer was not waited for")
    return None


def clean_pair(runner, rng, i, env):
    pair = traffic(runner, f"dpa-clean-{os.getpid()}-{i}", rng.getrandbits(32), 2000, env)
    results = [finish(p, time.monotonic() + patience(LIMIT)) for p in pair]
    return describe(results, "a new pair did not run clean") if any(r.rc for r in results) else None


def leftovers(runner, board, env):
    """After everybody has gone: no process on the board, and no file of it."""
    tool = os.path.join(runner.build, "bin", "dpactl")
    r = subprocess.run([tool, "status", "--json"], capture_output=True, text=True, timeout=20,
                       check=False, env=dict(os.environ, **env))
    try:
        procs = json.loads(r.stdout).get("processes", 0)
    except ValueError:
        procs = 0  # no board at all: dpactl says so
    if procs not in (0, []):
        return f"dpactl status still shows processes: {procs}"
    files = os.listdir(os.path.dirname(board))
    return f"left behind: {files}" if files else None


def tell_peers(runner, env):
    """The next process of the host tells the peers of dead ones, whose last was killed as well."""
    tool = os.path.join(runner.build, "bin", "dpactl")
    s = runner.start([os.path.join(runner.build, "tests", "dpa_cm_load"), "serve", "127.0.0.1",
                      "7471", "0"], env)
    end = time.monotonic() + patience(LIMIT)
    while wait_text(s, "listening") and time.monotonic() < end:
        r = subprocess.run([tool, "ps", "--json"], capture_output=True, text=True, timeout=20,
                           check=False, env=dict(os.environ, **env))
        if r.returncode == 0 and not any(p["cm_ids"] for p in json.loads(r.stdout)):
            break
        time.sleep(0.05)
    s.send_signal(signal.SIGTERM)
    r = finish(s, time.monotonic() + patience(LIMIT))
    return describe([r], "a process behind them did not end in order") if r.rc else None


def kill_in_cm(runner, report, seed, rounds, board):
    """One side of an rdma_cm connection ends at a step: its peer hears of it, the port is free."""
    env = {"DPA_BOARD": board}
    tool = os.path.join(runner.build, "tests", "dpa_cm")
    name = f"{runner.name}: {rounds} rounds of rdma_cm with a SIGKILL"
    r = finish(runner.start([tool, "127.0.0.1", str(rounds), str(seed)], env),
               time.monotonic() + patience(LIMIT + rounds))
    wrong = None
    if r.rc or f"{rounds} rounds, 0 bad" not in r.out:
        wrong = describe([r], "a peer waits without end, or the port is not free")
    wrong = wrong or tell_peers(runner, env) or leftovers(runner, board, env)
    report.fail(name, wrong) if wrong else report.ok(name)


def run(runner, report, seed, kills):
    with tempfile.TemporaryDirectory(prefix="dpa-kill-") as folder:
        # a board of its own: other processes of this user do not count
        run_on(runner, report, seed, kills, os.path.join(folder, "board"))


def run_on(runner, report, seed, kills, board):
    rng = random.Random(seed)
    print(f"kill seed {seed}")
    for placement in ("inline", "eu"):
        env = {"DPA_PLACEMENT": placement, "DPA_BOARD": board}
        name = f"{runner.name}: {kills // 2} SIGKILLs, {placement}"
        wrong = None
        for i in range(kills // 2):
            wrong = kill_once(runner, rng, i, env) or (clean_pair(runner, rng, i, env)
                                                       if i % 20 == 19 else None)
            if wrong:
                report.fail(name, f"seed {seed}, round {i}: {wrong}")
                break
        if not wrong:
            report.ok(name)
        name = f"{runner.name}: SIGSTOP and SIGCONT, {placement}"
        for i in range(3):
            wrong = stop_once(runner, rng, i, env)
            if wrong:
                break
        report.fail(name, wrong) if wrong else report.ok(name)
        wrong = clean_pair(runner, rng, 0, env) or leftovers(runner, board, env)
        name = f"{runner.name}: nothing left behind, {placement}"
        report.fail(name, wrong) if wrong else report.ok(name)
    kill_in_cm(runner, report, seed, kills // 2, board)
