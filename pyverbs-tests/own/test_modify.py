# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Every modify_qp that must be refused, and every one that must not.

The table is the specification's (IBA 10.3.1, 11.2.5.2, man ibv_modify_qp), written here a second
time. From each state a QP is asked for each state, with all that the transition requires, with each
attribute of that missing, with each one that it does not have added, with none. What is refused
changes neither the state nor an attribute.
"""
import os
import unittest

import pyverbs.enums as e
from pyverbs.addr import GID, AHAttr, GlobalRoute
from pyverbs.pyverbs_error import PyverbsRDMAError
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr, QPInitAttrEx
from pyverbs.xrcd import XRCD, XRCDInitAttr

import rig

STATES = ("RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR")
BITS = {b.name.removeprefix("IBV_QP_"): int(b) for b in e.ibv_qp_attr_mask}
TYPES = {"RC": e.IBV_QPT_RC, "UC": e.IBV_QPT_UC, "UD": e.IBV_QPT_UD,
         "XRC_SEND": e.IBV_QPT_XRC_SEND, "XRC_RECV": e.IBV_QPT_XRC_RECV,
         "RAW_PACKET": e.IBV_QPT_RAW_PACKET}
CAP_NET_RAW = 13


def s(text):
    return frozenset(text.split())


CONN, UD_INIT = s("PKEY_INDEX PORT ACCESS_FLAGS"), s("PKEY_INDEX PORT QKEY")
PATH = s("AV PATH_MTU DEST_QPN RQ_PSN")
RESPONDER = s("MAX_DEST_RD_ATOMIC MIN_RNR_TIMER")
RETRIES = s("TIMEOUT RETRY_CNT RNR_RETRY MAX_QP_RD_ATOMIC")
MIGRATION = s("ALT_PATH PATH_MIG_STATE")
TO_RTR = s("ALT_PATH ACCESS_FLAGS PKEY_INDEX")
LIVE = {"RC": s("CUR_STATE ACCESS_FLAGS MIN_RNR_TIMER") | MIGRATION,
        "UC": s("CUR_STATE ACCESS_FLAGS") | MIGRATION, "UD": s("CUR_STATE QKEY"),
        "RAW_PACKET": s("CUR_STATE")}
DRAINED = {"RC": s("AV ACCESS_FLAGS PKEY_INDEX PORT") | MIGRATION | RETRIES | RESPONDER,
           "UC": s("AV ACCESS_FLAGS PKEY_INDEX") | MIGRATION, "UD": s("PKEY_INDEX QKEY"),
           "RAW_PACKET": s("PORT")}
# annex A14: the initiator is an RC requester, the target an RC responder
LIVE["XRC_SEND"], LIVE["XRC_RECV"] = LIVE["UC"], LIVE["RC"]
DRAINED["XRC_SEND"] = DRAINED["UC"] | s("CUR_STATE PORT") | RETRIES
DRAINED["XRC_RECV"] = DRAINED["UC"] | s("CUR_STATE PORT TIMEOUT") | RESPONDER
INITIAL = {"UD": UD_INIT, "RAW_PACKET": s("PORT")}
READY_TO_RECEIVE = {"RC": PATH | RESPONDER, "UC": PATH, "XRC_SEND": PATH,
                    "XRC_RECV": PATH | RESPONDER}
READY_TO_SEND = {"RC": s("SQ_PSN") | RETRIES, "UC": s("SQ_PSN"), "UD": s("SQ_PSN"),
                 "XRC_SEND": s("SQ_PSN") | RETRIES, "XRC_RECV": s("SQ_PSN TIMEOUT")}
# what the kernel drops silently from a mask of an XRC QP: attributes of the other end
DROPPED = {"XRC_SEND": RESPONDER, "XRC_RECV": s("MAX_QP_RD_ATOMIC RETRY_CNT RNR_RETRY")}
# an error of the send queue leads these to ERR
NO_SQE = ("RC", "XRC_SEND", "XRC_RECV", "RAW_PACKET")
NONE = frozenset()


def transitions(qp_type):
    """(from, to): (required, optional)"""
    init, live = INITIAL.get(qp_type, CONN), LIVE[qp_type]
    out = {
        ("RESET", "INIT"): (init, NONE),
        ("INIT", "INIT"): (NONE, init),
        ("INIT", "RTR"): (READY_TO_RECEIVE.get(qp_type, NONE),
                          {"UD": s("PKEY_INDEX QKEY"), "RAW_PACKET": NONE}.get(qp_type, TO_RTR)),
        ("RTR", "RTS"): (READY_TO_SEND.get(qp_type, NONE), live),
        ("RTS", "RTS"): (NONE, live),
        ("RTS", "SQD"): (NONE, s("EN_SQD_ASYNC_NOTIFY")),
        ("SQD", "RTS"): (NONE, live),
        ("SQD", "SQD"): (NONE, DRAINED[qp_type]),
    }
    if qp_type not in NO_SQE:
        out["SQE", "RTS"] = NONE, live if qp_type == "UD" else s("CUR_STATE ACCESS_FLAGS")
    for state in STATES:
        out[state, "RESET"] = out[state, "ERR"] = NONE, NONE
    return out


def may_raw():
    with open("/proc/self/status", encoding="ascii") as f:
        mask = next(line for line in f if line.startswith("CapEff:")).split()[1]
    return int(mask, 16) >> CAP_NET_RAW & 1


class Modify(unittest.TestCase):
    def setUp(self):
        self.side = rig.Side()

    def attr(self, to, state, qpn):
        """Good values for everything; PSNs and timers that no QP of the test has."""
        a = QPAttr(port_num=1)
        a.qp_state, a.cur_qp_state = getattr(e, "IBV_QPS_" + to), getattr(e, "IBV_QPS_" + state)
        a.qp_access_flags, a.qkey, a.path_mtu = 0, 0x22222222, e.IBV_MTU_512
        a.rq_psn, a.sq_psn, a.dest_qp_num = 777, 778, qpn
        a.timeout, a.retry_cnt, a.rnr_retry, a.min_rnr_timer = 9, 1, 2, 3
        a.max_rd_atomic = a.max_dest_rd_atomic = 1
        a.ah_attr = AHAttr(gr=GlobalRoute(dgid=GID(val=self.side.gid),
                                          sgid_index=self.side.gid_index, hop_limit=9),
                           is_global=1, port_num=1)
        return a

    def walk(self, qp, qp_type, state):
        """From RESET by the table, with what each transition requires."""
        table, order = transitions(qp_type), ("RESET", "INIT", "RTR", "RTS", "SQD")
        for frm, to in zip(order, order[1:order.index(state) + 1]):
            qp.modify(self.attr(to, frm, qp.qp_num), self.mask(table[frm, to][0]))

    def drive(self, qp, qp_type, state):
        """To this state, whatever it is in."""
        side = self.side
        side.qp, side.type = qp, TYPES[qp_type]
        access = {"RC": rig.REMOTE, "UC": e.IBV_ACCESS_REMOTE_WRITE, "UD": 0}
        if state in ("RTS", "SQD", "SQE") and qp_type in access:
            side.up((qp.qp_num, side.gid), access=access[qp_type])
            if state == "SQD":
                side.to(e.IBV_QPS_SQD)
        else:
            side.to(e.IBV_QPS_RESET)
            if state == "ERR":
                side.to(e.IBV_QPS_ERR)
            else:
                self.walk(qp, qp_type, state)
        if state == "SQE":
            ud = (qp.qp_num, side.gid) if qp_type == "UD" else None
            op = e.IBV_WR_SEND if ud else e.IBV_WR_RDMA_WRITE
            side.send(op, lkey=side.mr["all"].lkey ^ 0x5a5a00, ud=ud)
            self.assertEqual(side.wc()[0], "IBV_WC_LOC_PROT_ERR")
        self.assertEqual(side.state(), "IBV_QPS_" + state)

    @staticmethod
    def mask(names):
        return e.IBV_QP_STATE | sum(BITS[n] for n in names)

    def attempt(self, qp, frm, to, names):
        """0 or the errno."""
        try:
            qp.modify(self.attr(to, frm, qp.qp_num), self.mask(names))
        except PyverbsRDMAError as ex:
            return ex.error_code
        return 0

    def everything(self, qp):
        """All that query_qp says, but for what traffic moves."""
        return str(qp.query((1 << 21) - 1)[0])

    def sets(self, table, frm, to):
        """Sets of attributes to try."""
        required, optional = table.get((frm, to), (NONE, NONE))
        others = [b for b in BITS if b not in ("STATE", "CAP", "RATE_LIMIT")]
        yield required
        yield from (required - {b} for b in required)
        yield from (required | {b} for b in others if b not in required)
        yield required | optional
        if (frm, to) not in table:  # as if it were there: with what the state to be would ask for
            yield from {r for (f, t), (r, _) in table.items() if t == to and r}

    def create(self, qp_type):
        side, cap = self.side, QPCap(max_send_wr=4, max_recv_wr=4)
        if qp_type == "XRC_RECV":
            xrcd = XRCD(side.ctx, XRCDInitAttr(
                e.IBV_XRCD_INIT_ATTR_FD | e.IBV_XRCD_INIT_ATTR_OFLAGS, os.O_CREAT, -1))
            return QP(side.ctx, QPInitAttrEx(qp_type=TYPES[qp_type], xrcd=xrcd,
                                             comp_mask=e.IBV_QP_INIT_ATTR_XRCD))
        if qp_type == "XRC_SEND":
            cap = QPCap(max_send_wr=4, max_recv_wr=0, max_recv_sge=0)
            return QP(side.ctx, QPInitAttrEx(qp_type=TYPES[qp_type], scq=side.cq, cap=cap,
                                             pd=side.pd, comp_mask=e.IBV_QP_INIT_ATTR_PD))
        return QP(side.pd, QPInitAttr(qp_type=TYPES[qp_type], scq=side.cq, rcq=side.cq, cap=cap,
                                      sq_sig_all=1))

    def table(self, qp_type):
        table, refused, taken = transitions(qp_type), 0, 0
        qp = self.create(qp_type)
        for frm in STATES:
            if frm == "SQE" and qp_type in NO_SQE:
                continue
            self.drive(qp, qp_type, frm)
            before = self.everything(qp)
            for to in STATES:
                for names in self.sets(table, frm, to):
                    required, optional = table.get((frm, to), (None, None))
                    asked = names - DROPPED.get(qp_type, NONE)
                    good = (required is not None and required <= asked and
                            asked <= required | optional and not asked & MIGRATION)
                    what = f"{qp_type} {frm} to {to} with {' '.join(sorted(names)) or 'nothing'}"
                    ret = self.attempt(qp, frm, to, names)
                    if good:
                        self.assertEqual(ret, 0, what)
                        self.assertEqual(self.side.state(), "IBV_QPS_" + to, what)
                        self.drive(qp, qp_type, frm)
                        before = self.everything(qp)
                        taken += 1
                    else:
                        self.assertNotEqual(ret, 0, what + " was taken")
                        self.assertEqual(self.everything(qp), before, what + " left traces")
                        refused += 1
        qp.close()
        return refused, taken

    def whole(self, qp_type, taken=30):
        """The table, and that it was one: so many at least were refused and taken."""
        counts = self.table(qp_type)
        self.assertGreater(counts[0], 600)
        self.assertGreater(counts[1], taken)

    def test_rc(self):
        self.whole("RC")

    def test_uc(self):
        self.whole("UC")

    def test_ud(self):
        self.whole("UD")

    def test_xrc_initiator(self):
        self.whole("XRC_SEND")

    def test_xrc_target(self):
        self.whole("XRC_RECV")

    def test_raw(self):
        if not may_raw():
            self.skipTest("raw packet QPs want CAP_NET_RAW")
        self.whole("RAW_PACKET", taken=15)

    def test_values(self):
        """Each attribute out of its range, where it may be given."""
        bad = {("RESET", "INIT"): [("port_num", 0), ("port_num", 2), ("pkey_index", 1),
                                   ("qp_access_flags", 1 << 15)],
               ("INIT", "RTR"): [("path_mtu", 0), ("path_mtu", 6), ("dest_qp_num", 1 << 24),
                                 ("max_dest_rd_atomic", 255), ("min_rnr_timer", 32)],
               ("RTR", "RTS"): [("timeout", 32), ("retry_cnt", 8), ("rnr_retry", 8),
                                ("max_rd_atomic", 255)]}
        side, table = self.side, transitions("RC")
        qp = QP(side.pd, QPInitAttr(qp_type=e.IBV_QPT_RC, scq=side.cq, rcq=side.cq,
                                    cap=QPCap(max_send_wr=4, max_recv_wr=4)))
        for (frm, to), values in bad.items():
            self.drive(qp, "RC", frm)
            before = self.everything(qp)
            for name, value in values:
                a = self.attr(to, frm, qp.qp_num)
                setattr(a, name, value)
                with self.assertRaises(PyverbsRDMAError, msg=f"{name} = {value}"):
                    qp.modify(a, self.mask(table[frm, to][0]))
                self.assertEqual(self.everything(qp), before, name)
            self.assertEqual(self.attempt(qp, frm, to, table[frm, to][0]), 0)
        qp.close()

    def test_current_state(self):
        """IBV_QP_CUR_STATE that is not the state."""
        side = self.side
        qp = QP(side.pd, QPInitAttr(qp_type=e.IBV_QPT_RC, scq=side.cq, rcq=side.cq,
                                    cap=QPCap(max_send_wr=4, max_recv_wr=4)))
        self.drive(qp, "RC", "RTS")
        for state in STATES:
            if state not in ("RTS", "SQE"):
                self.assertNotEqual(self.attempt(qp, state, "RTS", s("CUR_STATE")), 0, state)
        self.assertEqual(self.attempt(qp, "RTS", "RTS", s("CUR_STATE")), 0)
        qp.close()
