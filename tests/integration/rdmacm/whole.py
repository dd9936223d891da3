# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Whole systems of the distribution over rdma_cm: iSER storage, librpma."""
import os
import re
import subprocess
import time

from harness import free_port, patience
from places import HERE, Failed


def build(x, name, argv):
    """A program or image made from a source beside this file, in the work folder."""
    path = os.path.join(x.work, name)
    if os.path.exists(path):
        return path
    for cmd in argv(path):
        p = subprocess.run(cmd, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                           text=True)
        if p.returncode:
            raise Failed(f"{' '.join(cmd)}:\n{p.stdout}")
    os.chmod(path, 0o755)
    return path


# ----------------------------------------------------------------- librpma

def rpma(x):
    source = os.path.join(HERE, "rpma_client.c")
    tool = build(x, "rpma_client", lambda path: [
        ["gcc", "-O1", "-Wall", "-Wextra", "-Werror", source, "-o", path, "-lrpma", "-libverbs"]])
    port = str(free_port())
    s, c = x.pair([tool, "server", x.address, port], [tool, "client", x.address, port])
    x.require(s, "^server: all right$")
    x.require(c, "^client: all right$")


# ----------------------------------------------------------------- tgt and qemu-io

class Target:
    """tgtd with one LUN that is a file, reached by iSER on the default port: it takes another one only
    while errno is 0 when it starts (iser_param_parser), which the libraries that it loads do not do."""

    PORT, NAME = 3260, "iqn.2026-01.example.dpa:disk"
    INITIATOR = "iqn.2008-11.org.linux-kvm"  # QEMU's

    def __init__(self, x, disk):
        self.x = x
        self.env = {"TGT_IPC_SOCKET": os.path.join(x.work, f"tgt-{free_port()}")}
        self.process = x.start(x.place.server, [
            "tgtd", "-f", "--iser", "pool_sz_mb=128", "--iscsi", f"portal=127.0.0.1:{free_port()}"],
            self.env)
        end = time.monotonic() + patience(30)
        while self.admin("--op", "show", "--mode", "sys"):
            if self.process.poll() is not None or time.monotonic() > end:
                raise Failed("tgtd does not answer\n" + x.texts())
            time.sleep(0.02)
        for words in (["--op", "new", "--mode", "target", "-T", self.NAME],
                      ["--op", "new", "--mode", "logicalunit", "--lun", "1", "-b", disk],
                      ["--op", "bind", "--mode", "target", "-I", "ALL"],  # iSER asks for both
                      ["--op", "bind", "--mode", "target", "--initiator-name", self.INITIATOR]):
            said = self.admin("--lld", "iser", "--tid", "1", *words)
            if said:
                raise Failed(f"tgtadm {' '.join(words)}: {said}\n" + x.texts())

    def admin(self, *words):
        """What tgtadm complains about; None if it succeeds."""
        p = subprocess.run(["tgtadm", *words], env=dict(os.environ, **self.env), check=False,
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True)
        return (p.stdout or f"status {p.returncode}") if p.returncode else None

    @property
    def url(self):
        return f"iser://{self.x.address}:{self.PORT}/{self.NAME}/1"


def iser(x):
    """qemu-io writes a pattern of its own into each 256 KiB of 8 MiB and reads them back; the file
    behind the target must hold them. In such pieces: libiscsi 1.19 refuses more than 512 KiB over
    iSER, and then frees a request that it has in its list."""
    piece, count = 256 << 10, 32
    disk = os.path.join(x.work, f"disk-{free_port()}")
    with open(disk, "wb") as f:
        f.truncate(piece * count)
    target = Target(x, disk)
    words = []
    for op in ("write", "read"):
        for i in range(count):
            words += ["-c", f"{op} -P {i + 1} {i * piece} {piece}"]
    c = x.connect(target.process, ["qemu-io", "-f", "raw", *words, "-c", "flush", target.url])
    if len(re.findall(f"(?m)^(?:wrote|read) {piece}/{piece} bytes", c)) != 2 * count:
        raise Failed("not all was written and read\n" + x.texts())
    x.refuse(c, "[Pp]attern verification failed", "error")
    with open(disk, "rb") as f:
        if f.read() != b"".join(bytes([i + 1]) * piece for i in range(count)):
            raise Failed("the disk does not hold what was written\n" + x.texts())
    if target.process.poll() is not None:
        raise Failed("tgtd ended\n" + x.texts())
