# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Pairs of programs by others: perftest, fio, UCX, libfabric, and rcopy with a comparison."""
import json
import os
import re
import shutil
import subprocess

from sides import Pair

BAD = re.compile("[Ff]ailed|Unable|Couldn't|RDMA CM event error|cm_gate:")


# ----------------------------------------------------------------- perftest

def rows(server, sout, cout):
    if not re.search(r"(?m)^ +\d+ +\d+ +\d", cout):
        return "no row of results"
    bad = BAD.search(sout + cout)
    return bad and f"'{bad[0]}'"


# The ACK timeout of perftest's QPs, 1 s. Its default, 67 ms with 7 retries, ends QPs after half a second in
# which the emulated guest is not scheduled.
ACK_TIMEOUT = "-u 18"


def perftest(tool, options, waits):
    command = f"{tool} -F -n 100 {ACK_TIMEOUT} {options}"
    return Pair(command, command + " {A}", waits=waits, check=rows)


def perftests():
    """Without -o a server of READs asks for as many at a time as its own device can, and rxe can more than
    a client's device has offered."""
    for op in ("send", "write", "read"):
        own = " -o 16" if op == "read" else ""
        for kind in ("bw", "lat"):
            tool = f"ib_{op}_{kind}"
            yield perftest(tool, "-R" + own, 2)
            if kind == "bw":
                yield perftest(tool, "-R -q 8 -s 8192" + own, 2)
            yield perftest(tool, "-R -T 96" + own, 2)
            # the QPs of the test are not rdma_cm's
            yield perftest(tool, "-z -d {D} -x {X}" + own, 1)
            if op == "send":
                yield perftest(tool, "-R -c UD -s 1024", 2)


# ----------------------------------------------------------------- fio

def fio(verb):
    """The client moves it. With SEND the server, too, counts and verifies what came; it has a receive for
    each message from the start, for the connection of fio has an RNR retry count of 0."""
    depth = 128 if verb == "send" else 32
    common = "fio --thread --ioengine=rdma --port=7200 --bs=64k --size=4m --output-format=json"
    checked = " --verify=crc32c --verify_state_save=0" if verb == "send" else ""

    def moved(server, sout, cout):
        for out, way in ((sout, "read"), (cout, "write")):
            job = json.loads(out[out.index("{\n"):out.rindex("}") + 1])["jobs"][0]
            wanted = 4 << 20 if way == "write" or verb == "send" else 0
            if job["error"] or job[way]["io_bytes"] < wanted:
                return f"{way}: error {job['error']}, {job[way]['io_bytes']} bytes"
        return None
    return Pair(f"{common} --name=server --rw=read --iodepth={depth}{checked}",
                f"{common} --name=client --rw=write --iodepth=16 --verb={verb} --hostname={{A}}" +
                (checked + " --do_verify=0" if checked else ""), check=moved)


# ----------------------------------------------------------------- UCX

EXAMPLE = "/usr/share/doc/libucx-dev/examples/ucp_client_server.c"
STDBUF = "/usr/libexec/coreutils/libstdbuf.so"
UCX = {"UCX_SOCKADDR_TLS_PRIORITY": "rdmacm", "UCX_NET_DEVICES": "{D}:1",
       "UCX_TLS": "rc_verbs,ud_verbs,self", "UCX_LOG_LEVEL": "warn",
       "UCX_WARN_UNUSED_ENV_VARS": "n"}


def example(folder):
    """ucp_client_server, built from the distribution's example."""
    path = os.path.join(folder, "ucp_client_server")
    p = subprocess.run(["gcc", "-O1", "-w", EXAMPLE, "-o", path, "-lucp", "-lucs"], check=False,
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if p.returncode:
        raise RuntimeError("ucp_client_server does not compile:\n" + p.stdout)
    return path


def ucp(kind):
    command = f"ucp_client_server -p 13400 -c {kind} -i 3 -s 10000"

    def got(server, sout, cout):
        if "Client: iteration #3" not in cout:
            return "the client has not sent all"
        if "UCP TEST SUCCESS" not in sout:
            return "the server has not got it"
        bad = re.search("UCX +(WARN|ERROR)|failed to (connect|listen|create|send)", sout + cout)
        return bad and f"'{bad[0]}'"
    return Pair(command, command + " -a {A}", endless=True, check=got,
                env=dict(UCX, LD_PRELOAD=STDBUF, _STDBUF_O="L"))


# ----------------------------------------------------------------- libfabric

def fi_pingpong(provider, kind):
    """Its control connection is TCP's. -c: it checks each byte. Its server serves the address of localhost,
    if that has a device. ofi_rxm makes a CQ for 256 peers, which is larger than rxe's limit of 32767."""
    command = f'fi_pingpong -p "{provider}" -e {kind} -I 10 -S 65536 -c'

    def checked(server, sout, cout):
        for out in (sout, cout):
            if not re.search(r"(?m)^64k +10 +=10", out) or re.search("[Ee]rror", out):
                return "not all came"
        return None
    return Pair(command + " -B 47592", command + " -P 47592 {A}", tcp=47592, check=checked,
                env={"DPA_GID_ORDER": "no_loopback", "FI_UNIVERSE_SIZE": "16"})


def same_file(server, sout, cout):
    return server.do(f"cmp {FILE} {server.path('copy')} && rm {server.path('copy')}") and "it differs"


FILE = "/bin/busybox"
PAIRS = [*perftests(), *map(fio, ("read", "write", "send")), *map(ucp, ("stream", "tag", "am")),
         fi_pingpong("verbs", "msg"), fi_pingpong("verbs;ofi_rxm", "rdm"),
         Pair("rcopy", f"rcopy {FILE} {{A}}:{{T}}", endless=True, check=same_file)]


def programs(folder):
    """Those that are in the guest, too: name there, path here."""
    found = {p: shutil.which(p) for p in ("fio", "fi_pingpong", "rcopy")}
    return dict(found, ucp_client_server=example(folder))
