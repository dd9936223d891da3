# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""A cell: network namespace and /dev/shm of one job, so that jobs beside each other share processors only.

A cell has lo and an interface with an address, as a host has. With its last process the kernel removes all
of it. Needs root, or user namespaces: the user keeps its ID and gets no capability. A job ends with the run.
"""
import os
import subprocess

# addrgenmode none: an address that comes by itself would come while the job runs. Where no veth or no IPv6
# is available the cell has less. The folders that come before /dev/shm in the search for an adapter instance
# are not the job's.
SETUP = """mount -t tmpfs -o mode=1777 tmpfs /dev/shm && ip link set lo up || exit 125
[ ! -d /run/dpa ] || mount -t tmpfs -o mode=755 tmpfs /run/dpa || exit 125
unset XDG_RUNTIME_DIR
if ip link add cell0 type veth peer name cell1 2>/dev/null; then
	ip link set cell0 addrgenmode none 2>/dev/null
	ip link set cell1 addrgenmode none 2>/dev/null
	ip addr add fd00:ce11::1/64 dev cell0 nodad 2>/dev/null
	ip addr add 198.18.0.1/24 dev cell0 && ip link set cell0 up && ip link set cell1 up || exit 125
fi
"""
AS_ROOT = ["unshare", "--mount", "--net", "--", "sh", "-c", SETUP + 'exec setpriv --pdeathsig KILL -- "$@"',
           "cell"]
AS_USER = ["unshare", "--map-current-user", "--keep-caps", "--mount", "--net", "--", "sh", "-c",
           SETUP + 'exec setpriv --inh-caps=-all --ambient-caps=-all --pdeathsig KILL -- "$@"', "cell"]


def prefix():
    """Words to put before a command so that it runs in a new cell, and a remark; None for the words where
    no cell can be made."""
    words = AS_ROOT if os.getuid() == 0 else AS_USER
    try:
        done = subprocess.run([*words, "ip", "-o", "addr"], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, check=False)
    except OSError as e:
        return None, f"no cell can be made here, one job at a time: {e}"
    if done.returncode:
        why = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        return None, f"no cell can be made here, one job at a time: {why}"
    return words, "" if "cell0" in done.stdout else "cells have lo only: no veth can be made here"
