# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""4,096 QPs of one process: created, connected two by two, all used, while all are there."""
import random
import unittest

import pyverbs.enums as e
from pyverbs.addr import GID, AHAttr, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, RecvWR, SendWR

import rig

N = 4096


class Many(unittest.TestCase):
    def connect(self, side, qp, peer):
        a = QPAttr(port_num=1)
        a.qp_access_flags = rig.REMOTE
        a.ah_attr = AHAttr(gr=GlobalRoute(dgid=GID(val=side.gid), sgid_index=side.gid_index),
                           is_global=1, port_num=1)
        a.dest_qp_num, a.path_mtu, a.min_rnr_timer = peer.qp_num, e.IBV_MTU_1024, 1
        a.rq_psn = a.sq_psn = 5
        a.max_rd_atomic = a.max_dest_rd_atomic = 1
        a.timeout, a.retry_cnt, a.rnr_retry = 14, 7, 7
        qp.to_rts(a)

    def completions(self, cq, want):
        """wr_id to completion, as many as wanted."""
        got = {}
        idle = 0
        while len(got) < want:
            n, wcs = cq.poll(64)
            idle = 0 if n else idle + 1
            self.assertLess(idle, 1 << 20, f"{len(got)} of {want} completions")
            for wc in wcs[:n]:
                self.assertEqual(wc.status, e.IBV_WC_SUCCESS, f"{wc.wr_id}: {wc.vendor_err:#x}")
                self.assertNotIn(wc.wr_id, got)
                got[wc.wr_id] = wc
        return got

    def test_4096(self):
        side = rig.Side()
        cq = CQ(side.ctx, 4 * N, None, None, 0)
        cap = QPCap(max_send_wr=2, max_recv_wr=2)
        qps = [QP(side.pd, QPInitAttr(qp_type=e.IBV_QPT_RC, scq=cq, rcq=cq, cap=cap,
                                      sq_sig_all=1)) for _ in range(N)]
        self.assertEqual(len({qp.qp_num for qp in qps}), N)
        order = list(range(N))
        random.shuffle(order)
        peer = {}
        for i, j in zip(order[::2], order[1::2]):
            peer[i], peer[j] = j, i
        for i, qp in enumerate(qps):
            self.connect(side, qp, qps[peer[i]])
        lkey, slot = side.mr["all"].lkey, 8  # 8 bytes to send, 8 to receive, a QP
        values = [random.getrandbits(63).to_bytes(8, "little") for _ in range(N)]
        for part in range(0, N, N // 2):  # what one half sends the other half may receive
            now = list(range(part, part + N // 2))
            base = rig.LENGTH // 2
            for k, i in enumerate(now):
                side.map[k * slot:k * slot + 8] = values[i]
                sge = SGE(side.addr + base + k * slot, 8, lkey)
                qps[peer[i]].post_recv(RecvWR(wr_id=N + i, sg=[sge], num_sge=1))
            for k, i in enumerate(now):
                qps[i].post_send(SendWR(wr_id=i, opcode=e.IBV_WR_SEND, num_sge=1,
                                        sg=[SGE(side.addr + k * slot, 8, lkey)]))
            got = self.completions(cq, 2 * len(now))
            for k, i in enumerate(now):
                self.assertEqual(got[N + i].qp_num, qps[peer[i]].qp_num)
                self.assertEqual(side.map[base + k * slot:base + k * slot + 8], values[i])
        for qp in qps:
            qp.close()
        cq.close()
