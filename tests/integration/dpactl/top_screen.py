#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Runs dpactl top in a terminal of its own, and waits until the screen shows the text of each step.

  top_screen.py DPACTL PID CASE
"""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios

CTL, PID, CASE = sys.argv[1:4]
LIMIT = 60  # s without a byte of output: the test has failed


class Screen:
    """A VT52: what is on it. It has what ncurses needs to move the cursor, and no colours."""

    def __init__(self, rows, cols):
        self.resize(rows, cols)
        self.escape = ""

    def resize(self, rows, cols):
        self.rows, self.cols, self.y, self.x = rows, cols, 0, 0
        self.cell = [[" "] * cols for _ in range(rows)]

    def clear(self, whole):
        self.cell[self.y][self.x:] = [" "] * (self.cols - self.x)
        for y in range(self.y + 1, self.rows if whole else 0):
            self.cell[y] = [" "] * self.cols

    def obey(self, c):
        """A character of an escape sequence."""
        self.escape += c
        if self.escape[0] == "Y" and len(self.escape) < 3:
            return
        if self.escape[0] == "Y":
            self.y, self.x = ord(self.escape[1]) - 32, ord(self.escape[2]) - 32
        elif c == "H":
            self.y = self.x = 0
        elif c in "JK":
            self.clear(c == "J")
        elif c in "ABCD":
            self.y += (c == "B") - (c == "A")
            self.x += (c == "C") - (c == "D")
        elif c not in "=>FG":
            sys.exit(f"an escape sequence that a VT52 does not have: {self.escape!r}")
        self.y, self.x = min(max(self.y, 0), self.rows - 1), min(max(self.x, 0), self.cols - 1)
        self.escape = ""

    def put(self, text):
        for c in text:
            if self.escape:
                self.escape = self.escape.strip("\x1b")
                self.obey(c)
                continue
            if c == "\x1b":
                self.escape = c
            elif c == "\r":
                self.x = 0
            elif c == "\n":
                self.y = min(self.y + 1, self.rows - 1)
            elif c == "\b":
                self.x = max(self.x - 1, 0)
            elif c == "\t":
                self.x = min((self.x // 8 + 1) * 8, self.cols - 1)
            elif c >= " ":
                self.cell[self.y][self.x] = c
                self.x = min(self.x + 1, self.cols - 1)

    def text(self):
        return "\n".join("".join(row).rstrip() for row in self.cell)


class Top:
    def __init__(self, rows=24, cols=80, term="vt52", delay="0.25"):
        self.pid, self.fd = pty.fork()
        if not self.pid:
            os.environ["TERM"] = term
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("4H", rows, cols, 0, 0))
            os.execv(CTL, [CTL, "top", "-d", delay])
        self.screen = Screen(rows, cols)

    def read(self):
        """Some more output; False: it has ended."""
        if not select.select([self.fd], [], [], LIMIT)[0]:
            sys.exit("no output for a minute; the screen:\n" + self.screen.text())
        try:
            new = os.read(self.fd, 65536).decode(errors="replace")
        except OSError:
            return False
        self.screen.put(new)
        return bool(new)

    def shows(self, pattern):
        """Waits until that is on the screen."""
        while not re.search(pattern, self.screen.text(), re.S):
            if not self.read():
                sys.exit(f"it ended without '{pattern}':\n{self.screen.text()}")

    def key(self, keys):
        os.write(self.fd, keys.encode())

    def size(self, rows, cols):
        self.screen.resize(rows, cols)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("4H", rows, cols, 0, 0))

    def ends(self, status=0):
        while self.read():
            pass
        found = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        assert found == status, f"status {found}"


def screen():
    t = Top()
    t.shows(r"dpactl top - .*PID PROGRAM.*\n +" + PID)
    t.key("2")
    t.shows(r"QPN +PID.*\n[0-9a-f]{6} +\d+ ib_send_.* shm")
    t.key("/" + PID)
    t.shows("show rows with: " + PID + "_")
    t.key("\r")
    t.shows(r"LINK\n([0-9a-f]{6} +" + PID + r" [^\n]*\n){2}\s*QPs by messages; with '" + PID + "'")
    t.key("b")
    t.shows("QPs by bytes")
    t.key("r")
    t.shows("QPs by bytes, reversed")
    t.key("\r")
    t.shows("QP [0-9a-f]{6} of ib_send_bw " + PID)
    t.shows(r"\npeer +QP [0-9a-f]{6} at [0-9a-f.:]+, ib_send_bw \d+, by shm\n")
    t.shows(r"\nPSNs +next \d+, oldest")
    t.shows(r"\nlast error -\n")
    t.key("\x1b")
    t.shows("QPs by bytes, reversed")
    t.key("3")
    t.shows("EU +PID")
    t.key("h")
    t.shows("keys and columns")
    t.key("q")
    t.ends()


def resize():
    t = Top()
    t.shows("THREAD")
    for rows, cols in (10, 40), (2, 20), (1, 1), (50, 200), (24, 80):
        t.size(rows, cols)
        t.key("2")
        t.key("1")
    t.shows("h: help")
    t.key("q")
    t.ends()


def slow():
    """Longer than a lease: rates come at all."""
    t = Top(delay="4")
    t.shows(r"\n +" + PID + r" ib_send_ +\d+ +-")
    t.shows(r"\n +" + PID + r" ib_send_ +\d+ +[\d.]+[kMG]? ")
    t.key("q")
    t.ends()


def ends():
    for how in "\x03", signal.SIGTERM:
        t = Top()
        t.shows("THREAD")
        if how == "\x03":
            t.key(how)
        else:
            os.kill(t.pid, how)
        t.ends()


def hangup():
    t = Top()
    t.shows("THREAD")
    os.close(t.fd)
    status = os.waitstatus_to_exitcode(os.waitpid(t.pid, 0)[1])
    assert status in (0, -signal.SIGHUP), status


def dumb():
    t = Top(term="no-such-terminal")
    t.shows("top cannot use this terminal")
    t.ends(2)


signal.alarm(110)
globals()[CASE]()
