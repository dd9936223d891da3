#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Runs a command whose standard error is a terminal, waits for two different lines of progress that match, and
presses Ctrl-C. Succeeds if the command ends with the status.

  progress_pty.py COLUMNS STATUS OUTPUT PATTERN COMMAND...

The standard output goes to the file OUTPUT.
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

COLUMNS, STATUS, OUTPUT, PATTERN = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
LIMIT = 60  # s without a byte: the test has failed
signal.alarm(150)
pid, fd = pty.fork()
if not pid:
    fcntl.ioctl(2, termios.TIOCSWINSZ, struct.pack("4H", 24, COLUMNS, 0, 0))
    out = os.open(OUTPUT, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.dup2(out, 1)
    os.execvp(sys.argv[5], sys.argv[5:])
text, pressed = "", False
while True:
    if not select.select([fd], [], [], LIMIT)[0]:
        sys.exit(f"no output for a minute, behind {text!r}")
    try:
        new = os.read(fd, 65536).decode(errors="replace")
    except OSError:  # it has closed the terminal
        break
    if not new:
        break
    text += new
    # Each line is complete only when the next one begins over it.
    shown = [line.rstrip() for line in re.split(r"[\r\n]+", text)[:-1]]
    found = [line for line in shown if re.fullmatch(PATTERN, line)]
    if len(set(found)) >= 2 and not pressed:
        pressed = True
        os.write(fd, b"\x03")
status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
assert pressed, f"no two lines like {PATTERN!r} in {text!r}"
assert status == STATUS, f"status {status}, not {STATUS}: {text!r}"
assert "\033" not in text, repr(text)
assert all(len(line) < COLUMNS for line in re.findall(r"\r(\d+\.\d s, [^\r\n^]*)", text)), repr(text)


def screen():
    """The rows that are left on the terminal; a long message is one row."""
    rows, x = [""], 0
    for c in text:
        if c == "\r":
            x = 0
        elif c == "\n":
            rows.append("")
        else:
            rows[-1] = rows[-1][:x].ljust(x) + c + rows[-1][x + 1:]
            x += 1
    return rows


left = [row for row in screen() if row.strip() and not re.fullmatch(r"dpactl: [^^]+|no flow was paced: .*", row.rstrip())]
assert not left, f"left on the terminal: {left}"
