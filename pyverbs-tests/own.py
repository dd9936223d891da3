# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Runs our own tests: the Python ones of own/, and the verbs client vt_storm of tests/clients."""
import glob
import os
import re
import signal
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
PYTHON = "/usr/bin/python3"
TALLY = re.compile(r"^\d+ passed, \d+ failed, \d+ skipped$")
LIMIT_S = 240


class Own:
    """Counts and prints as the suite's run does."""

    def __init__(self, build, folder, seed, long):
        self.build, self.folder, self.seed, self.long = os.path.abspath(build), folder, seed, long
        self.count = {"pass": 0, "fail": 0, "skip": 0}

    def note(self, test, status, reason=""):
        self.count[status] += 1
        if status != "pass":
            print(f"{status.upper() if status == 'fail' else status} {test}: {reason[:1500]}")

    def call(self, args):
        p = subprocess.Popen([os.path.join(self.build, "bin", "dpa-run"), *args], text=True,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, cwd=self.folder, start_new_session=True,
                             env=dict(os.environ, PYTHONDONTWRITEBYTECODE="1"))
        try:
            out, _ = p.communicate(timeout=LIMIT_S)
            return p.returncode, out
        except subprocess.TimeoutExpired:
            os.killpg(p.pid, signal.SIGKILL)  # the program and what it started
            out, _ = p.communicate()
            return 124, f"{out}\nran past {LIMIT_S} s"

    def python(self, path):
        name = os.path.basename(path)[:-3]
        results = os.path.join(self.folder, name + ".tsv")
        if os.path.exists(results):
            os.unlink(results)
        rc, out = self.call([PYTHON, os.path.join(HERE, "record.py"), str(self.seed), results,
                             os.path.join(HERE, "own", "main.py"), "-v", name])
        seen = {}
        if os.path.exists(results):
            with open(results, encoding="utf-8") as f:
                for line in f:
                    test, status, reason = line.rstrip("\n").split("\t", 2)
                    if seen.get(test, ("",))[0] != "fail":
                        seen[test] = (status, reason)
        for test, (status, reason) in seen.items():
            self.note(test, status, reason)
        if not seen or (rc and not any(s == "fail" for s, _ in seen.values())):
            self.note(name, "fail", f"exit status {rc}: {out[-1500:]}")

    def client(self, name):
        """A client prints a line a case and a tally."""
        program = os.path.join(self.build, "tests", name)
        if not os.path.exists(program):
            self.note(name, "skip", "built with -DDPA_TESTS=ON only")
            return
        rc, out = self.call([program] + (["--slow"] if self.long else []))
        lines = out.rstrip().splitlines()
        if not lines or not TALLY.match(lines[-1]):
            self.note(name, "fail", f"exit status {rc}: {out[-1500:]}")
            return
        notes = []
        for line in lines[:-1]:
            word, _, case = line.partition(" ")
            if line.startswith("    "):
                notes.append(line.strip())
            elif word in ("ok", "FAIL", "skip"):
                self.note(f"{name} {case}", "pass" if word == "ok" else word.lower(),
                          f"{lines[0]}; " + "; ".join(notes))
                notes = []


def run(build, folder, seed, only=(), long=False):
    """passed, failed, skipped"""
    own = Own(build, folder, seed, long)
    for path in sorted(glob.glob(os.path.join(HERE, "own", "test_*.py"))):
        if not only or os.path.basename(path)[:-3] in only:
            own.python(path)
    if not only or "vt_storm" in only:
        own.client("vt_storm")
    return own.count["pass"], own.count["fail"], own.count["skip"]
