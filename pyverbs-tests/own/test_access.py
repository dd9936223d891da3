# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Every combination of access flags, local and remote, of regions, windows and QPs, against every
operation, on every transport: status, vendor error, the receive's completion, the bytes."""
import errno
import itertools
import unittest

import pyverbs.enums as e

import rig

LW, RW, RR, RA, BIND = (e.IBV_ACCESS_LOCAL_WRITE, e.IBV_ACCESS_REMOTE_WRITE,
                        e.IBV_ACCESS_REMOTE_READ, e.IBV_ACCESS_REMOTE_ATOMIC,
                        e.IBV_ACCESS_MW_BIND)
REMOTES = [sum(c) for n in range(4) for c in itertools.combinations((RW, RR, RA), n)]
# what each operation asks of the other side's QP and key
OPS = {"SEND": 0, "RDMA_WRITE": RW, "RDMA_WRITE_WITH_IMM": RW, "RDMA_READ": RR,
       "ATOMIC_CMP_AND_SWP": RA, "ATOMIC_FETCH_AND_ADD": RA, "ATOMIC_WRITE": RW}
TO_MEMORY = ("RDMA_READ", "ATOMIC_CMP_AND_SWP", "ATOMIC_FETCH_AND_ADD")  # of the requester
WORDS = ((LW, "LW"), (RW, "RW"), (RR, "RR"), (RA, "RA"), (BIND, "BIND"))
OLD = [1, 0, 0, 0, 0, 0, 0, 0]  # what the compare-and-swap of the rig expects
SENT = [9] * 8
AFTER = {"SEND": SENT, "RDMA_WRITE": SENT, "RDMA_WRITE_WITH_IMM": SENT, "ATOMIC_WRITE": SENT,
         "RDMA_READ": OLD, "ATOMIC_CMP_AND_SWP": [2] + [0] * 7,
         "ATOMIC_FETCH_AND_ADD": [2] + [0] * 7}
OK = ["IBV_WC_SUCCESS", 0]
FLUSHED = ["IBV_WC_WR_FLUSH_ERR", 0x50]


def words(access):
    return "+".join(w for bit, w in WORDS if access & bit) or "none"


def legal(access):
    """man ibv_reg_mr: remote write and atomic ask for local write."""
    return bool(access & LW) or not access & (RW | RA)


# ------------------------------------------------------------------- what must be

def want_remote(op, qp, key, local_write):
    """Status here, the other side's receive, its bytes."""
    need = OPS[op]
    if op == "SEND":
        if local_write:
            return [OK, OK, AFTER[op]]
        return [["IBV_WC_REM_OP_ERR", 0x33], ["IBV_WC_LOC_PROT_ERR", 0x12], OLD]
    # the QP is looked at before the key (IBA 9.7.4.1.2): for a function that it does not support;
    # kernel rxe and other adapters answer the same
    if not qp & need:
        return [["IBV_WC_REM_INV_REQ_ERR", 0x31], FLUSHED, OLD]
    if not key & need:
        return [["IBV_WC_REM_ACCESS_ERR", 0x32],
                ["IBV_WC_LOC_ACCESS_ERR", 0x42] if op == "RDMA_WRITE_WITH_IMM" else FLUSHED, OLD]
    return [OK, OK if op == "RDMA_WRITE_WITH_IMM" else None, AFTER[op]]


def want_local(op, access):
    if op in TO_MEMORY and not access & LW:
        return [["IBV_WC_LOC_PROT_ERR", 0x12], SENT]
    return [OK, OLD if op in TO_MEMORY else SENT]


def want_bind(parent, access):
    """IBA 10.6.7.2.2; the parent need not have the right itself, but memory that a window writes
    must be writable."""
    good = parent & BIND and (parent & LW or not access & (RW | RA))
    return OK if good else ["IBV_WC_MW_BIND_ERR", 0x54]


# ------------------------------------------------------------------ what there is

def connect(a, b, access=rig.REMOTE):
    pa, pb = a.create(), b.create()

    def up(qp_access):
        b.up(pa, access=qp_access)
        a.up(pb)
    up(access)
    return up


def attempt(a, b, op, rkey, raddr, recv_lkey):
    b.arm(0, OLD, recv_lkey)
    a.poke(0, SENT)
    assert a.send(getattr(e, "IBV_WR_" + op), rkey, raddr) == 0, op
    wc = a.wc()
    wait = wc != tuple(OK) or op in ("SEND", "RDMA_WRITE_WITH_IMM")
    recv, data = b.seen(0, 8, wait)
    return [wc, recv, data]


def regions(a, b):
    up, out = connect(a, b), {}
    for access in filter(legal, (lw | r for lw in (0, LW) for r in REMOTES)):
        lkey, rkey, addr = b.register("t", access)
        for qp in REMOTES:
            up(qp)
            for op in OPS:
                got = attempt(a, b, op, rkey, addr, lkey)
                out[f"MR {words(access)}, QP {words(qp)}, {op}"] = got
                if got[0] != tuple(OK):
                    up(qp)
        b.deregister("t")
    return out


def windows(a, b):
    """The parent has no remote right: what is allowed, the window allows."""
    up, out = connect(a, b), {}
    all_lkey, _, addr = b.register("p", LW | BIND)
    for kind, access in itertools.product((1, 2), REMOTES):
        for qp in REMOTES:
            up(qp)
            # a reset QP's windows of type 2 are its own still: bound anew to be plain
            wc, rkey = b.bind("w", kind, "p", access)
            out[f"bind type {kind} {words(access)}, QP {words(qp)}"] = wc
            for op in OPS:
                if op == "SEND":
                    continue
                got = attempt(a, b, op, rkey, addr, all_lkey)
                out[f"MW{kind} {words(access)}, QP {words(qp)}, {op}"] = got
                if got[0] != tuple(OK):
                    up(qp)
            b.unbind("w")
    b.deregister("p")
    return out


def binds(a, b):
    up, out = connect(a, b), {}
    for parent in (lw | bind for lw in (0, LW) for bind in (0, BIND)):
        b.register("p", parent)
        for kind, access in itertools.product((1, 2), REMOTES):
            wc, _ = b.bind("w", kind, "p", access)
            out[f"bind type {kind} {words(access)} to {words(parent)}"] = wc
            b.unbind("w")
            if wc != tuple(OK):
                up(rig.REMOTE)
        b.deregister("p")
    return out


def own_side(a, b):
    """The flags of the requester's own region."""
    up, out = connect(a, b), {}
    lkey_b, rkey, raddr = b.register("t", rig.ALL)
    for access in filter(legal, (lw | r for lw in (0, LW) for r in REMOTES)):
        lkey, _, _ = a.register("s", access)
        for op in OPS:
            b.arm(0, OLD, lkey_b)
            a.poke(0, SENT)
            assert a.send(getattr(e, "IBV_WR_" + op), rkey, raddr, lkey=lkey) == 0, op
            wc = a.wc()
            out[f"own MR {words(access)}, {op}"] = [wc, a.peek(0, 8)]
            if wc != tuple(OK):
                up(rig.REMOTE)
            elif op in ("SEND", "RDMA_WRITE_WITH_IMM"):
                b.wc()
        a.deregister("s")
    b.deregister("t")
    return out


# ------------------------------------------------------------- unreliable services

# Posted, and completed with an error: what a QP cannot do is the device's to judge.
FOREIGN = [0, ["IBV_WC_LOC_QP_OP_ERR", 0x13]]
UC_OPS = ("SEND", "RDMA_WRITE", "RDMA_WRITE_WITH_IMM")
MARK = [5] * 8
FIRST, SECOND = 64, 128  # where a receive may put the mark


def want_unreliable(op, qp, key):
    """What is sent is done. What the other side does not allow is dropped without a word; only its own
    receive can fail, and ends its QP."""
    if op == "SEND":
        return ([OK, [OK], SENT, "IBV_QPS_RTS"] if key & LW else
                [OK, [["IBV_WC_LOC_PROT_ERR", 0x12]], OLD, "IBV_QPS_ERR"])
    if not qp & key & RW:
        return [OK, [], OLD, "IBV_QPS_RTS"]
    return [OK, [OK] if op == "RDMA_WRITE_WITH_IMM" else [], SENT, "IBV_QPS_RTS"]


def attempt_unreliable(a, b, op, rkey, raddr, recv_lkey):
    """One request, and a SEND behind it: when that is there, the request was dealt with."""
    b.poke(0, OLD)
    b.poke(FIRST, [0] * 8)
    b.poke(SECOND, [0] * 8)
    a.poke(0, SENT + MARK)
    if op == "SEND":
        b.recv(0, 8, lkey=recv_lkey)
    elif op == "RDMA_WRITE_WITH_IMM":
        b.recv(FIRST, 8)
    b.recv(SECOND, 8)
    assert a.send(getattr(e, "IBV_WR_" + op), rkey, raddr) == 0, op
    done, seen = a.wc(), [b.wc()] if op == "SEND" else []
    if not seen or seen[0] == tuple(OK):
        assert a.send(e.IBV_WR_SEND, off=8) == 0
        assert a.wc() == tuple(OK)
        last = b.wc()
        if op == "RDMA_WRITE_WITH_IMM" and b.peek(FIRST, 8) != MARK:  # else the mark took it
            seen.append(last)
            last = b.wc()
        assert last == tuple(OK)
    return [done, seen, b.peek(0, 8), b.state()]


def unreliable(a, b):
    pa, pb, out = a.create(e.IBV_QPT_UC), b.create(e.IBV_QPT_UC), {}

    def up(qp_access):
        b.up(pa, access=qp_access)
        a.up(pb, access=0)
    for access in filter(legal, (lw | r for lw in (0, LW) for r in REMOTES)):
        lkey, rkey, addr = b.register("t", access)
        for qp, op in itertools.product(REMOTES, UC_OPS):
            up(qp)
            out[f"UC: MR {words(access)}, QP {words(qp)}, {op}"] = attempt_unreliable(
                a, b, op, rkey, addr, lkey)
        b.deregister("t")
    for op in set(OPS) - set(UC_OPS):
        up(RW)
        out[f"UC: {op}"] = [a.send(getattr(e, "IBV_WR_" + op), 1, 8), a.wc()]
    return out


def datagrams(a, b):
    """40 bytes of the GRH, then the data."""
    pa, pb, out = a.create(e.IBV_QPT_UD), b.create(e.IBV_QPT_UD), {}
    for own, access in itertools.product((0, LW), filter(
            legal, (lw | r for lw in (0, LW) for r in REMOTES))):
        b.up(pa)
        a.up(pb)
        lkey, _, _ = b.register("t", access)
        mine, _, _ = a.register("s", own)
        b.poke(40, OLD)
        a.poke(0, SENT)
        b.recv(0, 48, lkey=lkey)
        assert a.send(e.IBV_WR_SEND, ud=pb, lkey=mine) == 0
        out[f"UD: own MR {words(own)}, MR {words(access)}"] = [a.wc(), b.wc(), b.peek(40, 8),
                                                              b.state()]
        b.deregister("t")
        a.deregister("s")
    for op in set(OPS) - {"SEND"}:
        a.up(pb)
        out[f"UD: {op}"] = [a.send(getattr(e, "IBV_WR_" + op), 1, 8, ud=pb), a.wc()]
    return out


def registrations(a, _b):
    return {words(x): a.try_register(x) for x in (lw | r for lw in (0, LW) for r in REMOTES)}


class AccessMatrix(unittest.TestCase):
    maxDiff = 4000

    def check(self, function, want):
        """The same on every transport, and what the specification says. All WRITEs and READs that
        are good are to go the direct path, in mapped memory the atomics, too; one that loses its
        processor four times need not."""
        def good(*ops):
            return sum(k.endswith(ops) and v[0] == OK and (not k.startswith("UC") or v[2] == SENT)
                       for k, v in want.items())
        direct = good(", RDMA_WRITE", ", RDMA_READ")
        atomics = good(", ATOMIC_CMP_AND_SWP", ", ATOMIC_FETCH_AND_ADD")
        for transport in rig.TRANSPORTS:
            with self.subTest(transport=transport):
                least = direct + (atomics if transport == "mapped" else 0)
                got = rig.measure("test_access", function, transport, direct=least * 9 // 10)
                self.assertEqual(set(got), set(want))
                self.assertEqual({k: v for k, v in got.items() if v != want[k]},
                                 {k: v for k, v in want.items() if v != got[k]})

    def test_regions(self):
        self.check("regions", {
            f"MR {words(m)}, QP {words(q)}, {op}": want_remote(op, q, m, m & LW)
            for m in filter(legal, (lw | r for lw in (0, LW) for r in REMOTES))
            for q in REMOTES for op in OPS})

    def test_windows(self):
        want = {}
        for kind, m, q in itertools.product((1, 2), REMOTES, REMOTES):
            want[f"bind type {kind} {words(m)}, QP {words(q)}"] = want_bind(LW | BIND, m)
            for op in OPS:
                if op != "SEND":
                    want[f"MW{kind} {words(m)}, QP {words(q)}, {op}"] = want_remote(op, q, m, True)
        self.check("windows", want)

    def test_binds(self):
        self.check("binds", {
            f"bind type {k} {words(m)} to {words(p)}": want_bind(p, m)
            for p in (lw | bind for lw in (0, LW) for bind in (0, BIND))
            for k in (1, 2) for m in REMOTES})

    def test_own_side(self):
        self.check("own_side", {
            f"own MR {words(m)}, {op}": want_local(op, m)
            for m in filter(legal, (lw | r for lw in (0, LW) for r in REMOTES)) for op in OPS})

    def test_unreliable(self):
        want = {f"UC: MR {words(m)}, QP {words(q)}, {op}": want_unreliable(op, q, m)
                for m in filter(legal, (lw | r for lw in (0, LW) for r in REMOTES))
                for q in REMOTES for op in UC_OPS}
        want.update({f"UC: {op}": FOREIGN for op in set(OPS) - set(UC_OPS)})
        self.check("unreliable", want)

    def test_datagrams(self):
        want = {f"UD: own MR {words(o)}, MR {words(m)}":
                [OK, OK, SENT, "IBV_QPS_RTS"] if m & LW else
                [OK, ["IBV_WC_LOC_PROT_ERR", 0x12], OLD, "IBV_QPS_ERR"]
                for o in (0, LW)
                for m in filter(legal, (lw | r for lw in (0, LW) for r in REMOTES))}
        want.update({f"UD: {op}": FOREIGN for op in set(OPS) - {"SEND"}})
        self.check("datagrams", want)

    def test_registrations(self):
        self.check("registrations", {words(m): 0 if legal(m) else errno.EINVAL
                                     for m in (lw | r for lw in (0, LW) for r in REMOTES)})
