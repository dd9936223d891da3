# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""The packets of the storm."""
import os
import struct

import roce

PCAPS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "pcaps")
QKEY = 0x11111111
# Packets of each QP's that were exchanged after the victim told its PSN: that many behind it is what
# is expected next, the one PSN that is not sent. (Of the other XRC QP it is another one.)
HAD = {"RC": 5, "UC": 4, "UD": 1, "XRC": 3}
# Half of the others are so close ahead as packets are kept for later.
AHEAD = 1024
# Source ports below those that senders have: the peer's own port is not to be had by another user.
PORTS = 32768, 49152
TRANSPORT = {"RC": 0x00, "UC": 0x20, "UD": 0x60, "XRC": 0xa0}
# UC executes what begins a message whatever its PSN is (IBA 9.8.3): of what a stranger sends, a
# WRITE is stopped by its R_Key, a SEND by nothing.
UC_SENDS = {0x20, 0x24, 0x25}


def recorded():
    """UDP payloads of the recorded packets, Ethernet and IPv4."""
    out = []
    for name in sorted(os.listdir(PCAPS)):
        if not name.endswith(".pcap"):
            continue
        with open(os.path.join(PCAPS, name), "rb") as f:
            data = f.read()
        order = "<" if data[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1") else ">"
        at = 24
        while at + 16 <= len(data):
            n = struct.unpack_from(order + "I", data, at + 8)[0]
            frame = data[at + 16:at + 16 + n]
            at += 16 + n
            if frame[12:14] == b"\x08\x00" and frame[23] == 17 and len(frame) > 62:
                out.append(frame[42:])
    return out


class Mob:
    """Makes them. addresses: of each family, in whose name and to whom; targets: what the victims
    said of themselves."""

    def __init__(self, rng, addresses, targets):
        self.rng, self.addresses, self.targets = rng, addresses, targets
        self.recorded, self.aimed = recorded(), 0

    def packet(self, family):
        """A datagram. Half of them are for idle QPs."""
        src, dst = self.addresses[str(family)]
        sport = self.rng.randrange(*PORTS)
        kind = self.rng.randrange(8)
        if kind == 0:
            return self.plain(src, dst, sport, self.rng.randbytes(self.rng.randrange(0, 300)))
        if kind == 1:
            data = bytearray(self.rng.choice(self.recorded)[:1400])
            for _ in range(self.rng.randrange(1, 8)):
                data[self.rng.randrange(len(data))] ^= self.rng.randrange(1, 256)
            return self.plain(src, dst, sport, bytes(data))
        victim = self.targets[str(family)]
        if kind == 2:  # all is right but the ICRC
            return roce.datagram(src, dst, sport, self.to_idle(victim, True), False)
        if kind == 3:
            return roce.datagram(src, dst, sport, self.to_anybody())
        self.aimed += 1
        return roce.datagram(src, dst, sport, self.to_idle(victim, False))

    def plain(self, src, dst, sport, data):
        udp = struct.pack(">HHHH", sport, roce.PORT, 8 + len(data), 0)
        return roce.ip_header(src, dst, len(udp) + len(data), self.rng.randrange(65536)) + \
            udp + data

    def payload(self, code):
        """What its opcode may carry; now and then what it may not."""
        if not roce.OPCODES[code].payload and self.rng.randrange(8):
            return b""
        return self.rng.randbytes(self.rng.choice((0, 4, 8, 63, 64, 1024)))

    def fields(self, code):
        return {f: self.rng.randrange(1 << 8 * n) for f, n in roce.OPCODES[code].fields()}

    def to_anybody(self):
        """To a QPN and with a P_Key that are guessed."""
        code = self.rng.choice(list(roce.OPCODES))
        pkey = self.rng.choice((0xffff, 0x7fff, self.rng.randrange(65536)))
        return roce.body(code, self.rng.randrange(1 << 24), self.rng.randrange(1 << 24),
                         self.payload(code), self.fields(code), pkey=pkey,
                         ackreq=bool(self.rng.randrange(2)))

    def to_idle(self, victim, right):
        """To a QP that is there, mostly of its transport; with any PSN but the expected one and a
        wrong Q_Key, unless they shall be right."""
        qp = self.rng.choice(victim["qps"])
        codes = [c for c in roce.OPCODES if c & 0xe0 == TRANSPORT[qp["type"]]]
        code = self.rng.choice(codes if self.rng.randrange(8) else list(roce.OPCODES))
        if qp["type"] == "UC" and not right:
            while code in UC_SENDS:
                code = self.rng.choice(codes)
        fields = self.fields(code)
        if qp["type"] != "UC" and self.rng.randrange(2):  # memory that is there, by its key
            fields.update(rkey=victim["rkey"], va=victim["addr"] + self.rng.randrange(0, 4096, 8),
                          dmalen=self.rng.choice((0, 8, 64, 1024)))
        fields["xrcsrq"] = qp.get("srqn", 0)
        fields["qkey"] = QKEY if right else (QKEY ^ self.rng.randrange(1, 1 << 32))
        off = HAD[qp["type"]]
        if not right:
            near = self.rng.randrange(2)
            off += self.rng.randrange(1, AHEAD if near else (1 << 24) - max(HAD.values()))
        return roce.body(code, qp["qpn"], (qp["psn"] + off) % (1 << 24), self.payload(code),
                         fields, ackreq=bool(self.rng.randrange(2)))
