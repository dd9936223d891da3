# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Every error status that a completion can have, each with its vendor error, on every transport.

A case returns its completions in order. What no case makes is listed with the reason, and the list
is held against the header and the enum, so that a new number does not go untested.
"""
import os
import re
import time
import unittest

import pyverbs.enums as e

import rig

HEADER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "device", "include",
                      "dpa_hw_format.h")
WRITE, READ, SEND, FAA = (e.IBV_WR_RDMA_WRITE, e.IBV_WR_RDMA_READ, e.IBV_WR_SEND,
                          e.IBV_WR_ATOMIC_FETCH_AND_ADD)
BAD = 0x5a5a00  # a key with these bits turned is nobody's
# A posted buffer of a plain region is the poster's word that it is there; of this one it is not.
PAGED = rig.ALL | e.IBV_ACCESS_ON_DEMAND
OK = ("SUCCESS", 0)
FLUSH = ("WR_FLUSH_ERR", 0x50)
NO_LKEY, BOUNDS, READ_ONLY, NOT_THERE = (("LOC_PROT_ERR", n) for n in (0x10, 0x11, 0x12, 0x16))
TOO_SMALL, TOO_LONG = ("LOC_LEN_ERR", 0x20), ("LOC_LEN_ERR", 0x15)
BAD_OP, BAD_WQE = ("LOC_QP_OP_ERR", 0x13), ("LOC_QP_OP_ERR", 0x14)
NO_BIND, NO_INV = ("MW_BIND_ERR", 0x54), ("MW_BIND_ERR", 0x52)
INV_REQ, ACCESS, REM_OP = ("REM_INV_REQ_ERR", 0x31), ("REM_ACCESS_ERR", 0x32), ("REM_OP_ERR", 0x33)
RNR, TIMEOUT, DEAD = (("RNR_RETRY_EXC_ERR", 0x34), ("RETRY_EXC_ERR", 0x35),
                      ("RETRY_EXC_ERR", 0x36))
NO_INV_RECV = ("REM_INV_REQ_ERR", 0x52)
NO_RKEY, RKEY_BOUNDS, NO_WRITE = (("LOC_ACCESS_ERR", n) for n in (0x40, 0x41, 0x42))

# name: (function(a, b, b's key, b's address), completions at a, at b, state of a, of b)
CASES = {}
# of enum dpa_syndrome, what no verb of a healthy device can make
NOT_BY_VERBS = {
    "NONE": "no error",
    "NAK_SEQ": "packets lost again and again: unit tests of the transport",
    "NO_PATH": "the GID of the address handle is gone: unit tests",
    "PULL_REFUSED": "inside the device",
    "NO_FDS": "no descriptor is left when two processes meet: unit tests",
    **{name: "the responder has no completion for it: the requester hears 0x31 or 0x32"
       for name in ("QP_ACCESS", "UNALIGNED")},
    "CQ_OVERRUN": "there is no room to say so: IBV_EVENT_CQ_ERR does",
}
# of enum ibv_wc_status
NOT_OF_THIS_DEVICE = {
    **{name: "of RD, which nobody has" for name in
       ("LOC_EEC_OP_ERR", "LOC_RDD_VIOL_ERR", "REM_INV_RD_REQ_ERR", "REM_ABORT_ERR",
        "INV_EECN_ERR", "INV_EEC_STATE_ERR")},
    "BAD_RESP_ERR": "an answer that no responder sends: such a packet is dropped",
    "FATAL_ERR": "the device's memory is gone", "RESP_TIMEOUT_ERR": "of SRD",
    "GENERAL_ERR": "of vendors",
    **{name: "of tag matching: tests/clients/vt_tag_cases.c" for name in
       ("TM_ERR", "TM_RNDV_INCOMPLETE")},
}


def case(at_a, at_b=(), a_state="ERR", b_state="RTS", **conn):
    def add(fn):
        CASES[fn.__name__] = (fn, list(at_a), list(at_b), a_state, b_state, conn)
        return fn
    return add


# -------------------------------------------------------------- the requester's own

def own(op, want):
    """The four ways in which the requester's SGE is wrong."""
    def no_key(a, b, key, addr):
        a.send(op, key, addr, lkey=a.mr["all"].lkey ^ BAD)

    def other_pd(a, b, key, addr):
        a.send(op, key, addr, lkey=a.register("pd2", rig.ALL, other_pd=True)[0])

    def bounds(a, b, key, addr):
        a.send(op, key, addr, off=rig.LENGTH - 7)

    def unmapped(a, b, key, addr):
        lkey, _, at = a.register_gone("gone", PAGED)
        a.send(op, key, addr, lkey=lkey, addr=at)
    for fn, wc in ((no_key, NO_LKEY), (other_pd, NO_LKEY), (bounds, BOUNDS), (unmapped, NOT_THERE)):
        fn.__name__ = f"{want}_{fn.__name__}"
        case([wc])(fn)


own(SEND, "send")
own(WRITE, "write")
own(READ, "read")
own(FAA, "atomic")


@case([READ_ONLY])
def read_into_read_only(a, b, key, addr):
    a.send(READ, key, addr, lkey=a.register("ro", 0)[0])


@case([BAD_OP], rd_atomic=0)
def read_with_no_read_resources(a, b, key, addr):
    a.send(READ, key, addr)


@case([TOO_SMALL])
def atomic_of_four_bytes(a, b, key, addr):
    a.send(FAA, key, addr, length=4)


@case([BAD_WQE])
def atomic_write_of_four_bytes(a, b, key, addr):
    a.send(e.IBV_WR_ATOMIC_WRITE, key, addr, length=4)


@case([NO_INV])
def invalidate_a_region_locally(a, b, key, addr):
    a.send(e.IBV_WR_LOCAL_INV, invalidate=a.mr["all"].rkey)


@case([NO_INV])
def invalidate_nothing_locally(a, b, key, addr):
    a.send(e.IBV_WR_LOCAL_INV, invalidate=a.mr["all"].rkey ^ BAD)


@case([NO_BIND])
def bind_without_the_right(a, b, key, addr):
    return [a.bind("w", 2, "all", rig.REMOTE)[0]]


@case([NO_BIND])
def bind_past_the_end(a, b, key, addr):
    a.register("p", rig.ALL | e.IBV_ACCESS_MW_BIND, length=4096)
    return [a.bind("w", 2, "p", rig.REMOTE, off=8, length=4096)[0]]


@case([FLUSH, FLUSH])
def to_error(a, b, key, addr):
    a.recv()
    a.to(e.IBV_QPS_ERR)
    a.send(SEND)


@case([ACCESS, FLUSH, FLUSH], b_state="ERR")
def what_follows_an_error(a, b, key, addr):
    a.recv()
    a.send(WRITE, key ^ BAD, addr, wr_id=7)
    a.send(SEND, wr_id=8)


# ------------------------------------------------------------------ the other side's

@case([REM_OP], [NO_LKEY], b_state="ERR")
def receive_no_key(a, b, key, addr):
    b.recv(lkey=key ^ BAD)
    a.send(SEND)


@case([REM_OP], [BOUNDS], b_state="ERR")
def receive_bounds(a, b, key, addr):
    b.recv(off=rig.LENGTH - 7)
    a.send(SEND)


@case([REM_OP], [READ_ONLY], b_state="ERR")
def receive_read_only(a, b, key, addr):
    b.recv(lkey=b.register("ro", 0)[0])
    a.send(SEND)


@case([REM_OP], [NOT_THERE], b_state="ERR")
def receive_unmapped(a, b, key, addr):
    lkey, _, at = b.register_gone("gone", PAGED)
    b.recv(lkey=lkey, addr=at)
    a.send(SEND)


@case([INV_REQ], [TOO_SMALL], b_state="ERR")
def receive_too_small(a, b, key, addr):
    b.recv(length=7)
    a.send(SEND)


@case([INV_REQ], [TOO_SMALL], b_state="ERR")
def receive_too_small_by_packets(a, b, key, addr):
    b.recv(length=1000)
    a.send(SEND, length=30000)


# no NAK says so
@case([TIMEOUT], [NO_INV_RECV], b_state="ERR", timeout=8, retry=1)
def send_with_invalidate_of_a_region(a, b, key, addr):
    b.recv()
    a.send(e.IBV_WR_SEND_WITH_INV, invalidate=key)


@case([ACCESS], [NO_RKEY], b_state="ERR")
def write_with_immediate_no_key(a, b, key, addr):
    b.recv()
    a.send(e.IBV_WR_RDMA_WRITE_WITH_IMM, key ^ BAD, addr)


@case([ACCESS], [RKEY_BOUNDS], b_state="ERR")
def write_with_immediate_bounds(a, b, key, addr):
    b.recv()
    a.send(e.IBV_WR_RDMA_WRITE_WITH_IMM, key, addr + rig.LENGTH - 7)


@case([ACCESS], [NO_WRITE], b_state="ERR")
def write_with_immediate_read_only(a, b, key, addr):
    b.recv()
    a.send(e.IBV_WR_RDMA_WRITE_WITH_IMM, b.register("ro", 0)[1], addr)


def remote(op, name):
    def no_key(a, b, key, addr):
        a.send(op, key ^ BAD, addr)

    def other_pd(a, b, key, addr):
        a.send(op, b.register("pd2", rig.ALL, other_pd=True)[1], addr)

    def before(a, b, key, addr):
        a.send(op, key, addr - 8)

    def past(a, b, key, addr):
        a.send(op, key, addr + rig.LENGTH)

    def ended(a, b, key, addr):
        old = b.register("old", rig.ALL)[1]
        b.deregister("old")
        a.send(op, old, addr)

    def unmapped(a, b, key, addr):
        _, rkey, at = b.register_gone("gone")
        a.send(op, rkey, at)
    for fn in (no_key, other_pd, before, past, ended, unmapped):
        fn.__name__ = f"remote_{name}_{fn.__name__}"
        case([ACCESS], b_state="ERR")(fn)


remote(WRITE, "write")
remote(READ, "read")
remote(FAA, "atomic")
remote(e.IBV_WR_ATOMIC_WRITE, "atomic_write")


@case([INV_REQ], b_state="ERR")
def unaligned_atomic(a, b, key, addr):
    a.send(FAA, key, addr + 4)


@case([INV_REQ], b_state="ERR", access=0)
def qp_refuses(a, b, key, addr):
    a.send(WRITE, key, addr)


@case([RNR], rnr=0)
def no_receive(a, b, key, addr):
    a.send(SEND)


@case([RNR], rnr=1)
def no_receive_after_a_retry(a, b, key, addr):
    a.send(SEND)


@case([TIMEOUT], b_state="RESET", timeout=8, retry=1)
def peer_in_reset(a, b, key, addr):
    b.to(e.IBV_QPS_RESET)
    a.send(WRITE, key, addr)


# --------------------------------------------------------------------- other services

@case([TOO_LONG], qp_type=e.IBV_QPT_UD, a_state="SQE")
def datagram_too_long(a, b, key, addr):
    a.send(SEND, length=4097, ud=b.create(e.IBV_QPT_UD))


@case([NO_LKEY, FLUSH], qp_type=e.IBV_QPT_UD, a_state="SQE")
def datagram_no_key(a, b, key, addr):
    there = b.create(e.IBV_QPT_UD)
    a.send(SEND, lkey=a.mr["all"].lkey ^ BAD, ud=there)
    a.send(SEND, ud=there, wr_id=8)


@case([NO_LKEY], qp_type=e.IBV_QPT_UC, a_state="SQE")
def unreliable_no_key(a, b, key, addr):
    a.send(WRITE, key, addr, lkey=a.mr["all"].lkey ^ BAD)


# --------------------------------------------------------------------------- runner

def may_write(conn):
    """The case's connection, as it is, lets a good WRITE through; for sure, however late it comes."""
    return (conn.get("qp_type", e.IBV_QPT_RC) == e.IBV_QPT_RC and conn.get("access", 1) and
            "timeout" not in conn)


def run(a, b):
    """A good WRITE goes before each case: the counters show that it went the transport's way, which
    the case then takes, too."""
    out = {}
    for name, (fn, at_a, at_b, a_state, b_state, conn) in CASES.items():
        conn = dict(conn)
        qp_type = conn.pop("qp_type", e.IBV_QPT_RC)
        pa, pb = a.create(qp_type), b.create(qp_type)
        b.up(pa, access=conn.pop("access", rig.REMOTE if qp_type == e.IBV_QPT_RC else 2))
        a.up(pb, access=rig.REMOTE if qp_type == e.IBV_QPT_RC else 2, **conn)
        key, addr = b.key_of("all")
        if may_write(CASES[name][-1]):
            assert a.send(WRITE, key, addr) == 0
            assert a.wc() == (long(OK)[0], 0), name
        got = fn(a, b, key, addr) or []
        got = [got + [a.wc() for _ in at_a[len(got):]], [b.wc() for _ in at_b], a.state(),
               b.state()]
        out[name] = got + [a.none(), b.none()]
        for side in (a, b):
            side.tidy()
    return out


def killed(a, b):
    """The other process ends; what is sent then is not retried for ever. How many came out well
    before: its memory may still be mapped until its end is noticed."""
    pa, pb = a.create(), b.create()
    b.up(pa)
    a.up(pb, timeout=16, retry=2)
    key, addr = b.key_of("all")
    assert a.send(WRITE, key, addr) == 0
    first = a.wc()
    b.kill()
    last, well = first, -1
    limit = time.monotonic() + rig.WC_LIMIT_S
    while last == first and time.monotonic() < limit:
        assert a.send(WRITE, key, addr) == 0
        last, well = a.wc(), well + 1
    return [first, last, well]


def long(status):
    return ["IBV_WC_" + status[0], status[1]]


class Errors(unittest.TestCase):
    maxDiff = 4000

    def test_statuses(self):
        want = {name: [[long(w) for w in at_a], [long(w) for w in at_b], "IBV_QPS_" + sa,
                       "IBV_QPS_" + sb, True, True]
                for name, (_, at_a, at_b, sa, sb, _) in CASES.items()}
        for transport in rig.TRANSPORTS:
            with self.subTest(transport=transport):
                good = sum(bool(may_write(c[-1])) for c in CASES.values())
                got = rig.measure("test_errors", "run", transport, direct=good * 9 // 10)
                self.assertEqual({k: v for k, v in got.items() if v != want[k]},
                                 {k: v for k, v in want.items() if v != got[k]})

    def test_peer_killed(self):
        for transport, last in (("shared memory", DEAD), ("direct path", DEAD), ("mapped", DEAD),
                                ("wire", TIMEOUT)):
            with self.subTest(transport=transport):
                got = rig.measure("test_errors", "killed", transport)
                self.assertEqual(got[:2], [long(OK), long(last)])
                self.assertTrue(got[2] == 0 or transport == "mapped", got)

    def test_all_vendor_errors(self):
        with open(HEADER, encoding="utf-8") as f:
            text = re.search(r"enum dpa_syndrome \{(.*?)\};", f.read(), re.S)[1]
        there = {int(n, 0): name for name, n in re.findall(r"DPA_SYN_(\w+) = (\w+)", text)}
        made = {w[1] for c in CASES.values() for w in c[1] + c[2]} | {DEAD[1]}
        self.assertEqual({there[n] for n in made - {0}} | set(NOT_BY_VERBS), set(there.values()))
        self.assertFalse({there[n] for n in made} & set(NOT_BY_VERBS))

    def test_all_statuses(self):
        made = {w[0] for c in CASES.values() for w in c[1] + c[2]} | {"SUCCESS"}
        there = {s.name.removeprefix("IBV_WC_") for s in e.ibv_wc_status}
        self.assertEqual(made | set(NOT_OF_THIS_DEVICE), there)
        self.assertFalse(made & set(NOT_OF_THIS_DEVICE))
