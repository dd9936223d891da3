#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""many_keys.py KEYS REQUESTS STEP LENGTH FILE: a capture of RC WRITEs of LENGTH bytes to many rkeys, REQUESTS to
each, STEP bytes apart. The packets are cut behind the RETH, so that they need no ICRC."""
import struct
import sys

keys, requests, step, length = (int(a, 0) for a in sys.argv[1:5])


def record(psn, rkey, va):
    head = struct.pack(">BBHIIQII", 0x0a, 0, 0xffff, 0x41, 1 << 31 | psn, va, rkey, length)
    n = 8 + len(head) + 8 + 4
    udp = struct.pack(">HHHH", 49152, 4791, n, 0) + head
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + n, 0, 0x4000, 64, 17, 0, bytes([192, 168, 7, 2]), bytes([192, 168, 7, 3]))
    return struct.pack("<IIII", 1, psn, len(ip) + len(udp), 20 + n) + ip + udp


with open(sys.argv[5], "wb") as f:
    f.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 101))
    for i in range(keys):
        for k in range(requests):
            f.write(record(requests * i + k, 0x100 + i * 0x101, 0x10000 + k * step))
