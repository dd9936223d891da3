# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Two sides with a QP each, on every way that a packet of theirs can go.

A scenario is a function of two sides, a and b, that returns what it saw as JSON. `measure()` runs
it in a process of its own: with both sides in that process (loopback), or with b in a process
beside it, which meet in shared memory (by packets alone, or where it applies the direct path, in
memory that the kernel copies or that is mapped) or (DPA_SHM=never) on the wire. Side b is then
called by remote procedure calls; a scenario does not notice.
"""
import ctypes
import enum
import importlib
import json
import mmap
import os
import pickle
import platform
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest

import pyverbs.enums as e
from pyverbs.addr import AH, GID, AHAttr, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR, MW, MWBind, MWBindInfo
from pyverbs.pd import PD
from pyverbs.pyverbs_error import PyverbsRDMAError
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, RecvWR, SendWR

TRANSPORTS = {"loopback": {"DPA_DIRECT": "never"}, "shared memory": {"DPA_DIRECT": "never"},
              "direct path": {"DPA_DIRECT": "auto", "DPA_SHARE_MR": "never"},
              "mapped": {"DPA_DIRECT": "auto", "DPA_SHARE_MR": "always"},
              "wire": {"DPA_SHM": "never"}}
DIRECT = ("direct path", "mapped")
DEVICE = "dpa0"
LENGTH = 1 << 16
QKEY = 0x11111111
WC_LIMIT_S = 30
NO_DIRECT = 77
TRIES = 200
REMOTE = e.IBV_ACCESS_REMOTE_WRITE | e.IBV_ACCESS_REMOTE_READ | e.IBV_ACCESS_REMOTE_ATOMIC
ALL = e.IBV_ACCESS_LOCAL_WRITE | REMOTE
ATOMICS = (e.IBV_WR_ATOMIC_CMP_AND_SWP, e.IBV_WR_ATOMIC_FETCH_AND_ADD)
RDMA = (e.IBV_WR_RDMA_WRITE, e.IBV_WR_RDMA_WRITE_WITH_IMM, e.IBV_WR_RDMA_READ,
        e.IBV_WR_ATOMIC_WRITE)


def wc_name(status):
    """IBV_WC_... of a completion status; pyverbs has several enums of that prefix."""
    return e.ibv_wc_status(status).name


def gid_index(ctx):
    """The first IPv4 GID, else the first that there is."""
    there = [(i, ctx.query_gid(1, i).gid) for i in range(ctx.query_port(1).gid_tbl_len)]
    there = [(i, g) for i, g in there if g.strip("0:")]
    return next((i for i, g in there if g.startswith("0000:0000:0000:0000:0000:ffff:")),
                there[0][0])


def is_shared(pid, at):
    """Whether this address of the process is one that peers map."""
    with open(f"/proc/{pid}/maps", encoding="utf-8") as f:
        for line in f:
            first, last = (int(x, 16) for x in line.split()[0].split("-"))
            if first <= at < last:
                return "memfd:dpa-shared" in line
    return False


class Side:
    """A process's part: a device, a buffer, one CQ, one QP at a time; named regions and windows."""

    def __init__(self):
        self.ctx = Context(name=DEVICE)
        self.gid_index = gid_index(self.ctx)
        self.gid = self.ctx.query_gid(1, self.gid_index).gid
        self.pd, self.pd2 = PD(self.ctx), PD(self.ctx)
        self.cq = CQ(self.ctx, 512, None, None, 0)
        # what a device may share, which no other process could have mapped
        self.map = mmap.mmap(-1, LENGTH, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self.addr = ctypes.addressof(ctypes.c_char.from_buffer(self.map))
        self.mr, self.mw, self.gone = {}, {}, []
        self.qps, self.qp, self.type, self.received, self.ups = {}, None, None, 0, 0
        self.datagrams = False  # such a QP hears the wire in any case
        # on a busy machine a device may leave the memory as it is: then again
        self.register("all", ALL)
        # the device may leave the memory as it is while its own threads are kept from resting
        for _ in range(TRIES if os.environ.get("DPA_SHARE_MR") == "always" else 0):
            if is_shared(os.getpid(), self.addr):
                break
            self.deregister("all")
            self.register("all", ALL)

    # ------------------------------------------------------------------- memory

    def register(self, name, access, off=0, length=LENGTH, other_pd=False):
        self.mr[name] = MR(self.pd2 if other_pd else self.pd, length, access,
                           address=self.addr + off)
        return self.mr[name].lkey, self.mr[name].rkey, self.addr + off

    def try_register(self, access):
        """0 or the errno."""
        try:
            MR(self.pd, 4096, access, address=self.addr).close()
        except PyverbsRDMAError as ex:
            return ex.error_code
        return 0

    def key_of(self, name):
        return self.mr[name].rkey, self.addr

    def deregister(self, name):
        self.mr.pop(name).close()

    def register_gone(self, name, access=ALL):
        """A region over memory that is unmapped afterwards; of the kind that is never shared: shared
        pages stay (docs/conformance.md, the differences; tests/clients/vt_share_cases.c)."""
        m = mmap.mmap(-1, 16384)
        addr = ctypes.addressof(ctypes.c_char.from_buffer(m))
        self.mr[name] = MR(self.pd, 16384, access, address=addr)
        libc = ctypes.CDLL(None, use_errno=True)
        libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
        assert libc.munmap(addr, 16384) == 0
        # the hole stays one: nothing else is mapped there meanwhile, and m is never touched again
        libc.mmap.restype = ctypes.c_void_p
        libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int,
                              ctypes.c_int, ctypes.c_long]
        assert libc.mmap(addr, 16384, 0, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x10, -1, 0) == addr
        self.gone.append(m)
        return self.mr[name].lkey, self.mr[name].rkey, addr

    def bind(self, name, kind, parent, access, off=0, length=4096):
        """A new window; the completion of its bind."""
        mw = MW(self.pd, kind)
        info = MWBindInfo(self.mr[parent], self.addr + off, length, access)
        if kind == e.IBV_MW_TYPE_1:
            self.qp.bind_mw(mw, MWBind(info, e.IBV_SEND_SIGNALED))
            rkey = None
        else:
            wr = SendWR(wr_id=40, opcode=e.IBV_WR_BIND_MW, send_flags=e.IBV_SEND_SIGNALED)
            wr.set_bind_wr(mw, info)
            self.qp.post_send(wr)
            rkey = wr.rkey
        wc = self.wc()
        self.mw[name] = mw
        return wc, mw.rkey if rkey is None else rkey

    def unbind(self, name):
        self.mw.pop(name).close()

    def peek(self, off, n):
        return list(self.map[off:off + n])

    def poke(self, off, values):
        self.map[off:off + len(values)] = bytes(values)

    # ---------------------------------------------------------------------- QPs

    def create(self, qp_type=e.IBV_QPT_RC):
        """The QP of this type; one serves all cases, reset, so that its peer's way to it is known."""
        self.qp, self.type = self.qps.get(qp_type), qp_type
        self.datagrams |= qp_type == e.IBV_QPT_UD
        if self.qp:
            return self.qp.qp_num, self.gid
        cap = QPCap(max_send_wr=64, max_recv_wr=64, max_send_sge=4, max_recv_sge=4)
        self.qp = QP(self.pd, QPInitAttr(qp_type=qp_type, scq=self.cq, rcq=self.cq, cap=cap,
                                         sq_sig_all=1))
        self.qps[qp_type] = self.qp
        return self.qp.qp_num, self.gid

    def up(self, peer, access=REMOTE, rd_atomic=4, timeout=14, retry=7, rnr=7):
        """From whatever state to RTS, connected with peer; the CQ is emptied. The peer does as often:
        no PSN is used again, so that what is still under way is not taken for something new."""
        self.ups += 1
        psn = 100 + self.ups * 4099 & 0xffffff
        a = QPAttr(port_num=1)
        a.qp_state = e.IBV_QPS_RESET
        self.qp.modify(a, e.IBV_QP_STATE)
        while self.cq.poll(16)[0]:
            pass
        self.received = 0
        conn, rc = self.type != e.IBV_QPT_UD, self.type == e.IBV_QPT_RC
        a.qp_state, a.qp_access_flags, a.qkey = e.IBV_QPS_INIT, access, QKEY
        mask = e.IBV_QP_STATE | e.IBV_QP_PKEY_INDEX | e.IBV_QP_PORT
        self.qp.modify(a, mask | (e.IBV_QP_ACCESS_FLAGS if conn else e.IBV_QP_QKEY))
        a.qp_state, mask = e.IBV_QPS_RTR, e.IBV_QP_STATE
        a.path_mtu, a.rq_psn, a.max_dest_rd_atomic, a.min_rnr_timer = e.IBV_MTU_1024, psn, 4, 1
        if conn:
            a.dest_qp_num = peer[0]
            a.ah_attr = AHAttr(gr=GlobalRoute(dgid=GID(val=peer[1]), sgid_index=self.gid_index), is_global=1,
                               port_num=1)
            mask |= e.IBV_QP_AV | e.IBV_QP_PATH_MTU | e.IBV_QP_DEST_QPN | e.IBV_QP_RQ_PSN
        if rc:
            mask |= e.IBV_QP_MAX_DEST_RD_ATOMIC | e.IBV_QP_MIN_RNR_TIMER
        self.qp.modify(a, mask)
        a.qp_state, mask = e.IBV_QPS_RTS, e.IBV_QP_STATE | e.IBV_QP_SQ_PSN
        a.sq_psn, a.max_rd_atomic, a.timeout, a.retry_cnt, a.rnr_retry = (psn, rd_atomic, timeout,
                                                                         retry, rnr)
        if rc:
            mask |= (e.IBV_QP_TIMEOUT | e.IBV_QP_RETRY_CNT | e.IBV_QP_RNR_RETRY |
                     e.IBV_QP_MAX_QP_RD_ATOMIC)
        self.qp.modify(a, mask)

    def state(self):
        return e.ibv_qp_state(self.qp.query(e.IBV_QP_STATE)[0].qp_state).name

    def to(self, state):
        a = QPAttr(port_num=1)
        a.qp_state = state
        self.qp.modify(a, e.IBV_QP_STATE)

    # ------------------------------------------------------------ work, completions

    def recv(self, off=0, length=4096, lkey=None, addr=None, wr_id=1):
        sge = SGE(self.addr + off if addr is None else addr, length,
                  self.mr["all"].lkey if lkey is None else lkey)
        self.qp.post_recv(RecvWR(wr_id=wr_id, sg=[sge], num_sge=1))
        self.received += 1

    def send(self, op, rkey=0, raddr=0, off=0, length=8, lkey=None, addr=None, wr_id=7,
             invalidate=None, ud=None):
        """Posts; 0 or the errno."""
        sge = SGE(self.addr + off if addr is None else addr, length,
                  self.mr["all"].lkey if lkey is None else lkey)
        local = op == e.IBV_WR_LOCAL_INV
        wr = SendWR(wr_id=wr_id, opcode=op, num_sge=0 if local else 1, sg=None if local else [sge],
                    send_flags=e.IBV_SEND_SIGNALED)
        if op in RDMA:
            wr.set_wr_rdma(rkey, raddr)
        elif op in ATOMICS:
            wr.set_wr_atomic(rkey, raddr, 1, 2)
        if invalidate is not None:
            wr.imm_data = invalidate
        if ud:
            ah = AH(self.pd, attr=AHAttr(gr=GlobalRoute(dgid=GID(val=ud[1]), sgid_index=self.gid_index),
                                         is_global=1, port_num=1))
            wr.set_wr_ud(ah, ud[0], QKEY)
        try:
            self.qp.post_send(wr)
        except PyverbsRDMAError as ex:
            return ex.error_code
        return 0

    def wc(self):
        """The next completion: status and vendor error."""
        limit = time.monotonic() + WC_LIMIT_S
        while True:
            n, wcs = self.cq.poll(1)
            if n:
                self.received -= wcs[0].wr_id == 1
                return wc_name(wcs[0].status), wcs[0].vendor_err
            if time.monotonic() > limit:
                raise TimeoutError(f"no completion within {WC_LIMIT_S} s")

    def none(self):
        """Nothing more is there."""
        return not any(self.cq.poll(1)[0] for _ in range(20))

    def tidy(self):
        """What cases made, ended."""
        for name in list(self.mw):
            self.unbind(name)
        for name in [n for n in self.mr if n != "all"]:
            self.deregister(name)

    def arm(self, off, pattern, lkey):
        """For a case of the matrix: known bytes, and a receive if there is none."""
        self.map[off:off + len(pattern)] = bytes(pattern)
        if not self.received:
            self.recv(off, len(pattern), lkey=lkey)

    def seen(self, off, n, wait):
        """The bytes there, and the receive's completion if one is due."""
        return [self.wc() if wait else None, self.peek(off, n)]


def plain(x):
    """pyverbs's enums cannot be pickled."""
    return int(x) if isinstance(x, enum.IntEnum) else x


class Remote:
    """A side in a process beside this one."""

    def __init__(self):
        self.p = subprocess.Popen([sys.executable, os.path.abspath(__file__), "serve"],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __getattr__(self, name):
        def call(*args, **kw):
            data = pickle.dumps((name, [plain(x) for x in args],
                                 {k: plain(v) for k, v in kw.items()}))
            self.p.stdin.write(struct.pack("I", len(data)) + data)
            self.p.stdin.flush()
            n = struct.unpack("I", self.p.stdout.read(4))[0]
            ok, value = pickle.loads(self.p.stdout.read(n))
            if not ok:
                raise RuntimeError(f"side b: {value}")
            return value
        return call

    def kill(self):
        self.p.kill()
        self.p.wait()

    def end(self):
        self.p.stdin.close()
        self.p.wait()


def serve():
    out, side = sys.stdout.buffer, Side()
    sys.stdout = sys.stderr
    while True:
        head = sys.stdin.buffer.read(4)
        if len(head) < 4:
            return
        name, args, kw = pickle.loads(sys.stdin.buffer.read(struct.unpack("I", head)[0]))
        try:
            answer = True, getattr(side, name)(*args, **kw)
        except Exception as ex:  # told to the caller, whatever it is
            answer = False, repr(ex)
        data = pickle.dumps(answer)
        out.write(struct.pack("I", len(data)) + data)
        out.flush()


def meet(a, b):
    """A message each way of the ways: what the case measures is not who has to be found first."""
    pa, pb = a.create(), b.create()
    b.up(pa)
    a.up(pb)
    key, addr = b.key_of("all")
    for op in (e.IBV_WR_RDMA_WRITE, e.IBV_WR_RDMA_READ):
        assert a.send(op, key, addr) == 0
        assert a.wc() == ("IBV_WC_SUCCESS", 0)


def measure(module, function, transport, limit=120, direct=0):
    """Runs the scenario; its result. Raises what it printed when it failed. At least `direct` of
    its operations must go the direct path where that is the transport, in mapped memory where that
    is, and none elsewhere."""
    # on a board of its own: this user's may be in use by another version
    with tempfile.TemporaryDirectory(prefix="dpa-own-") as where:
        env = dict(os.environ, DPA_BOARD=os.path.join(where, "board"), **TRANSPORTS[transport])
        p = subprocess.run([sys.executable, os.path.abspath(__file__), module, function, transport,
                            str(direct)],
                           env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, timeout=limit, check=False)
    if p.returncode == NO_DIRECT:
        raise unittest.SkipTest(p.stderr.decode(errors="replace").strip())
    if p.returncode:
        raise AssertionError(f"{transport}: exit status {p.returncode}: "
                             f"{p.stderr.decode(errors='replace')[-1500:]}")
    return json.loads(p.stdout)


def on_the_wire():
    """Has this process a datagram socket of the internet? In shared memory it needs none."""
    for fd in os.listdir("/proc/self/fd"):
        path = f"/proc/self/fd/{fd}"  # that of the listing itself is gone
        if not os.path.lexists(path) or not os.readlink(path).startswith("socket:"):
            continue
        with socket.socket(fileno=os.dup(int(fd))) as s:
            if s.family in (socket.AF_INET, socket.AF_INET6) and s.type == socket.SOCK_DGRAM:
                return True
    return False


def direct_works(b):
    """Whether this machine has the direct path from here to side b."""
    class Iovec(ctypes.Structure):
        _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]
    byte = ctypes.create_string_buffer(1)
    libc = ctypes.CDLL(None)
    libc.process_vm_readv.restype = ctypes.c_ssize_t
    return platform.machine() == "x86_64" and libc.process_vm_readv(
        b.p.pid, ctypes.byref(Iovec(ctypes.addressof(byte), 1)), ctypes.c_ulong(1),
        ctypes.byref(Iovec(b.key_of("all")[1], 1)), ctypes.c_ulong(1), ctypes.c_ulong(0)) == 1


def sharing_works():
    """Whether this machine has what sharing needs: x86-64, restartable sequences, Linux 5.14."""
    try:
        rseq = ctypes.c_uint.in_dll(ctypes.CDLL(None), "__rseq_size").value
    except ValueError:
        rseq = 0
    release = [int(x) for x in platform.release().split("-")[0].split(".")[:2]]
    return platform.machine() == "x86_64" and rseq and release >= [5, 14]


def missing(transport, b):
    """What this machine lacks for the transport; None: nothing."""
    if transport == "direct path" and not direct_works(b):
        return "no direct path here: another CPU, or process_vm_readv is refused"
    if transport == "mapped" and not sharing_works():
        return "no sharing here: another CPU, an old C library, or Linux before 5.14"
    return None


def counts():
    """RDMA operations of this board that their initiators carried out themselves: all of them,
    those in mapped memory."""
    folders = [os.path.dirname(x) + "/../bin" for x in os.environ.get("IBV_DRIVERS", "").split(":")
               if os.path.basename(x) == "libdpa"]
    tool = shutil.which("dpactl", path=os.pathsep.join([*folders, os.environ["PATH"]]))
    out = subprocess.run([tool, "--json", "counters"], stdout=subprocess.PIPE, check=True).stdout
    total = json.loads(out)["total"]
    return total["direct_ops"], total["mapped_ops"]


def wrong_way(transport, least):
    """What the counters say against its having gone that way; None: nothing."""
    direct, mapped = counts()
    want = {"direct path": direct >= least and not mapped,
            "mapped": mapped >= least}.get(transport, not direct)
    return None if want else (f"{transport}: {direct} went the direct path, {mapped} of them in "
                              f"mapped memory; {least} may")


def main():
    if sys.argv[1] == "serve":
        serve()
        return
    module, function, transport, direct = sys.argv[1:]
    a, b = Side(), Side() if transport == "loopback" else Remote()
    if missing(transport, b):
        print(missing(transport, b), file=sys.stderr)
        sys.exit(NO_DIRECT)
    meet(a, b)
    result = getattr(importlib.import_module(module), function)(a, b)
    if not a.datagrams and on_the_wire() != (transport == "wire"):
        sys.exit(f"{transport}: not that way")
    wrong = wrong_way(transport, int(direct))
    if wrong:
        sys.exit(wrong)
    print(json.dumps(result))
    if isinstance(b, Remote) and b.p.poll() is None:
        b.end()


if __name__ == "__main__":
    main()
