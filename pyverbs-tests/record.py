# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""record.py SEED RESULTS PROGRAM ARGS...: runs a unittest program with a known random seed and
writes a line a test to RESULTS as it goes, so that a crash loses nothing: ID, status, reason."""
import random
import runpy
import sys
import unittest


class Recorder(unittest.TextTestResult):
    """Also writes each outcome to the results file."""

    out = None

    def record(self, test, status, reason=""):
        reason = " ".join(str(reason).split())
        print(f"{test.id()}\t{status}\t{reason}", file=self.out, flush=True)

    def addSuccess(self, test):
        super().addSuccess(test)
        self.record(test, "pass")

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.record(test, "fail", err[1])

    def addError(self, test, err):
        super().addError(test, err)
        self.record(test, "fail", err[1])

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err:
            self.record(test, "fail", err[1])

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.record(test, "skip", reason)

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self.record(test, "fail", "unexpected success")


random.seed(int(sys.argv[1]))
Recorder.out = open(sys.argv[2], "a", encoding="utf-8")
unittest.TextTestRunner.resultclass = Recorder
sys.argv = sys.argv[3:]
sys.path.insert(0, sys.argv[0].rpartition("/")[0])
runpy.run_path(sys.argv[0], run_name="__main__")
