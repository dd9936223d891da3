# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""A small virtual machine whose kernel's Soft-RoCE (rdma_rxe) is the other side.

The kernel is the distribution's own, from its package; the initramfs holds busybox and this
machine's verbs programs with the libraries they need. Nothing is installed. The guest's network
card is a tap device in a network namespace of ours; commands go over a second serial port.
"""
import ctypes
import fcntl
import glob
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                                "wire"))

import netns  # noqa: E402, also finds harness
from harness import patience  # noqa: E402

PROGRAMS = ["ibv_devices", "ibv_devinfo", "ibv_rc_pingpong", "ibv_uc_pingpong", "ibv_ud_pingpong",
            "ibv_srq_pingpong", "ib_send_bw", "ib_write_bw", "ib_read_bw", "ib_atomic_bw",
            "ib_send_lat", "ib_write_lat", "ib_read_lat", "ib_atomic_lat", "rping", "ucmatose",
            "udaddy", "mckey", "cmtime", "rdma_server", "rdma_client", "rdma_xserver",
            "rdma_xclient", "rstream", "riostream", "qperf", "ip", "rdma",
            "setpriv", "cat", "ls", "readlink", "pkill"]  # the applets are static
MODULES = ["virtio_pci", "virtio_net", "crc32_generic", "rdma_rxe", "ib_uverbs", "rdma_ucm"]

INIT = """#!/bin/sh
export PATH=/bin HOME=/
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/shm /tmp
mount -t tmpfs shm /dev/shm
mount -t tmpfs tmp /tmp
ulimit -l unlimited
modprobe -a MODULES
ip link set lo up
echo "127.0.0.1 localhost" > /etc/hosts
echo 0 > /proc/sys/net/ipv6/conf/eth0/accept_dad
ip link set eth0 mtu MTU
ip addr add V4/24 dev eth0
ip -6 addr add V6/64 dev eth0 nodad
ip link set eth0 up
rdma link add rxe0 type rxe netdev eth0
exec 3<>/dev/ttyS1
stty -F /dev/ttyS1 raw -echo
echo "guest is up" >&3
while read -r id command <&3; do
	sh -c "$command" < /dev/null > /tmp/answer 2>&1
	status=$?
	{ cat /tmp/answer; echo; echo "=$id= $status"; } >&3
done
"""


# What the processes of the guest do, a line a thread: state, ticks of the processor used in user and kernel
# mode, function of the kernel, system call. Then connections of either rdma_cm.
STANDING = ("for t in /proc/[0-9]*/task/[0-9]*; do c=$(tr '\\0' ' ' < $t/cmdline); [ -n \"$c\" ] || continue; "
            "echo \"${t#/proc/} $c: $(sed 's/.*) //' $t/stat | cut -d' ' -f1,12,13) $(cat $t/wchan) "
            "$(cut -d' ' -f1 $t/syscall)\"; done 2> /dev/null; rdma resource show cm_id; "
            "! test -x /dpa/bin/dpactl || /dpa/bin/dpactl ps")


class Failure(RuntimeError):
    """The virtual machine could not be made or did not answer."""


def run(argv, **kw):
    p = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, text=True, check=False, **kw)
    if p.returncode:
        raise Failure(f"{' '.join(argv)}: {p.stdout.strip()[-2000:]}")
    return p.stdout


# ------------------------------------------------------------------------ image

def kernel_package():
    """What the distribution's kernel metapackage stands for."""
    arch = run(["dpkg", "--print-architecture"]).strip()
    m = re.search(r"Depends: (linux-image-\S+)", run(["apt-cache", "depends",
                                                      f"linux-image-{arch}"]))
    if not m:
        raise Failure("apt knows no kernel package: apt-get update?")
    return m.group(1)


def fetch_kernel(folder):
    """Unpacks the kernel's package; its version."""
    root = os.path.join(folder, "kernel")
    if not glob.glob(os.path.join(root, "boot", "vmlinuz-*")):
        shutil.rmtree(root, ignore_errors=True)
        package = kernel_package()
        print(f"fetching {package}", flush=True)
        run(["apt-get", "download", "-q", package], cwd=folder)
        deb = glob.glob(os.path.join(folder, package + "_*.deb"))[0]
        run(["dpkg-deb", "-x", deb, root])
        os.unlink(deb)
    return os.path.basename(glob.glob(os.path.join(root, "boot", "vmlinuz-*"))[0])[8:]


def libraries(path):
    """Files that the loader maps for this program or library, the loader included."""
    p = subprocess.run(["ldd", path], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, text=True, check=False)
    if p.returncode and "not a dynamic executable" not in p.stdout:
        raise Failure(f"ldd {path}: {p.stdout.strip()}")
    return set(re.findall(r"(/\S+) \(0x", p.stdout))


def copy(path, image, name=None):
    to = image + (name or path)
    os.makedirs(os.path.dirname(to), exist_ok=True)
    shutil.copy(path, to)  # a link's target, under the link's name


def add_tree(image, build):
    """What dpa-run needs of the build tree, below /dpa."""
    for name in ["bin/dpa-run", "bin/dpactl", "lib/libdpa-preload.so", "lib/libdpadv.so.1",
                 *(os.path.relpath(p, build) for p in
                   glob.glob(os.path.join(build, "lib", "libdpa-rdmav*.so")))]:
        copy(os.path.join(build, name), image, f"/dpa/{name}")
        for lib in libraries(os.path.join(build, name)):
            if not lib.startswith(build):
                copy(lib, image)
            else:
                copy(lib, image, "/dpa" + lib[len(build):])
    shutil.copytree(os.path.join(build, "share", "dpa"), f"{image}/dpa/share/dpa", symlinks=True)


def fill_image(image, kernel, version, extra, tree):
    programs = {p: shutil.which(p) for p in PROGRAMS}
    missing = [p for p, path in programs.items() if not path]
    if missing:
        raise Failure("not installed: " + " ".join(missing))
    files = {os.path.realpath(p): f"/bin/{n}" for n, p in programs.items()}
    files.update({p: f"/bin/{name}" for name, p in extra.items()})
    # busybox's own shell would prefer its applets, ip among them
    files[os.path.realpath("/bin/dash")] = "/bin/sh"
    provider = glob.glob("/usr/lib/*/libibverbs/librxe-rdmav*.so")
    if not provider or not os.path.exists("/etc/libibverbs.d/rxe.driver"):
        raise Failure("the rxe provider is not installed (ibverbs-providers)")
    files[provider[0]] = provider[0]
    files["/etc/libibverbs.d/rxe.driver"] = "/etc/libibverbs.d/rxe.driver"
    for path, name in files.items():
        copy(path, image, name)
        if not path.endswith(".driver"):
            for lib in libraries(path):
                copy(lib, image)
    # what UCX loads; and stdbuf's library, which is preloaded
    for path in [*glob.glob("/usr/lib/*/ucx/lib*.so*"), "/usr/libexec/coreutils/libstdbuf.so"]:
        copy(path, image)
        for lib in libraries(path):
            copy(lib, image)
    # pthread_exit() loads it, beside the C library
    libc = next(lib for lib in libraries(programs["rping"]) if "/libc.so." in lib)
    copy(os.path.join(os.path.dirname(libc), "libgcc_s.so.1"), image)
    if tree:
        add_tree(image, tree)
    busybox = shutil.which("busybox") or "/bin/busybox"
    copy(busybox, image, "/bin/busybox")
    for lib in libraries(busybox):  # none, of busybox-static
        copy(lib, image)
    for applet in run([busybox, "--list"]).split():
        if not os.path.lexists(f"{image}/bin/{applet}"):
            os.symlink("busybox", f"{image}/bin/{applet}")
    modules(image, kernel, version)


def modules(image, kernel, version):
    run(["depmod", "-b", kernel, version])
    for name in MODULES:
        out = run(["modprobe", "-d", kernel, "-S", version, "--show-depends", name])
        for path in re.findall(r"^insmod (\S+)", out, re.M):
            copy(path, image, "/lib/modules/" + path.split("/lib/modules/")[1])
    for name in ("modules.order", "modules.builtin", "modules.builtin.modinfo"):
        copy(f"{kernel}/lib/modules/{version}/{name}", image,
             f"/lib/modules/{version}/{name}")
    run(["depmod", "-b", image, version])


def build(folder, extra, v4, v6, mtu, tree):
    """Kernel and initramfs; their paths."""
    os.makedirs(folder, exist_ok=True)
    version = fetch_kernel(folder)
    kernel, image = os.path.join(folder, "kernel"), os.path.join(folder, "image")
    shutil.rmtree(image, ignore_errors=True)
    for name in ("bin", "etc", "proc", "sys", "dev", "tmp"):
        os.makedirs(os.path.join(image, name))
    fill_image(image, kernel, version, extra, tree)
    init = INIT.replace("MODULES", " ".join(MODULES)).replace("MTU", str(mtu))
    with open(os.path.join(image, "init"), "w", encoding="utf-8") as f:
        f.write(init.replace("V4", v4).replace("V6", v6))
    os.chmod(os.path.join(image, "init"), 0o755)
    initrd = os.path.join(folder, "initrd")
    run(["sh", "-c", f"find . | cpio -o -H newc -R 0:0 --quiet > '{initrd}'"], cwd=image)
    shutil.rmtree(image)
    return os.path.join(kernel, "boot", "vmlinuz-" + version), initrd


# ---------------------------------------------------------------------- machine

_SETNS = ctypes.CDLL(None, use_errno=True).setns
_TUNSETIFF, _IFF_TAP, _IFF_NO_PI = 0x400454ca, 2, 0x1000


def open_tap(host, name):
    """A tap device of the host, as an open descriptor for whoever is to be behind it."""
    back = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    there = os.open(f"/proc/{host.pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        # the device belongs to the namespace in which /dev/net/tun was opened
        if _SETNS(there, netns.CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "setns")
        try:
            fd = os.open("/dev/net/tun", os.O_RDWR | os.O_CLOEXEC)
            fcntl.ioctl(fd, _TUNSETIFF,
                        struct.pack("16sH22x", name.encode(), _IFF_TAP | _IFF_NO_PI))
        finally:
            _SETNS(back, netns.CLONE_NEWNET)
    finally:
        os.close(back)
        os.close(there)
    return fd


class Machine:
    """The running guest. A context manager; ends with this process, however that ends."""

    def __init__(self, folder, extra, mtu=1500, tree=None):
        self.folder, self.serial, self.p, self.count = os.path.abspath(folder), None, None, 0
        self.pending, self.silent = b"", False
        self.host = netns.Host(1)
        try:
            self.v4, self.v6 = "10.77.0.2", "fd77::2"
            kernel, initrd = build(self.folder, extra, self.v4, self.v6, mtu, tree)
            tap = open_tap(self.host, "eth0")
            try:
                self.host.ip("link", "set", "eth0", "mtu", str(mtu))
                self.host.up()
                self.boot(kernel, initrd, tap, mtu)
            finally:
                os.close(tap)
        except BaseException:
            self.close()
            raise

    def boot(self, kernel, initrd, tap, mtu):
        accel = os.environ.get("DPA_INTEROP_ACCEL", "tcg")
        # emulated carry-less multiplication is slower than a table, and rxe computes CRCs
        cpu = "max,la57=off,pclmulqdq=off" if accel == "tcg" else "host"
        ours, theirs = socket.socketpair()
        os.set_inheritable(tap, True)
        os.set_inheritable(theirs.fileno(), True)
        libc = ctypes.CDLL(None)
        self.console = os.path.join(self.folder, "console")
        self.p = subprocess.Popen(
            ["qemu-system-x86_64", "-accel", accel, "-cpu", cpu, "-smp", "1", "-m", "512",
             "-M", "q35", "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
             "-kernel", kernel, "-initrd", initrd, "-append",
             "console=ttyS0 quiet panic=-1 mitigations=off nokaslr tsc=reliable no_timer_check "
             "net.ifnames=0",
             "-netdev", f"tap,id=n,fd={tap}",
             "-device", f"virtio-net-pci,netdev=n,romfile=,host_mtu={mtu}",
             "-device", "virtio-rng-pci", "-serial", f"file:{self.console}",
             "-chardev", f"socket,id=c,fd={theirs.fileno()}", "-serial", "chardev:c"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            pass_fds=(tap, theirs.fileno()),
            preexec_fn=lambda: libc.prctl(netns.PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0))
        theirs.close()
        self.serial = ours
        self.wait_line(b"guest is up", patience(300))

    def wait_line(self, word, limit):
        """What came before the line that starts with word, and that line."""
        end, out = time.monotonic() + limit, []
        while True:
            line, newline, rest = self.pending.partition(b"\n")
            if newline:
                self.pending = rest
                if line.startswith(word):
                    return b"\n".join(out).decode(errors="replace"), line.decode()
                out.append(line)
                continue
            self.serial.settimeout(max(0.01, end - time.monotonic()))
            try:
                more = self.serial.recv(65536)
            except socket.timeout:
                more = None
            if not more:
                self.silent = True
                raise Failure(f"the guest {'does not answer' if more is None else 'has ended'}:\n"
                              + self.console_text())
            self.pending += more

    def console_text(self):
        with open(self.console, errors="replace", encoding="utf-8") as f:
            return f.read()[-2000:]

    def sh(self, command, limit=60):
        """Runs one line in the guest's shell: exit status and output. After the first line without an
        answer none is tried: the shell is still at that one."""
        if self.silent:
            raise Failure("the guest did not answer before")
        self.count += 1
        limit = patience(limit)
        self.serial.settimeout(limit)
        self.serial.sendall(f"{self.count} {command}\n".encode())
        out, line = self.wait_line(f"={self.count}= ".encode(), limit)
        return int(line.split()[1]), out.rstrip("\n")

    def start(self, command):
        """Runs it in the background; a number for wait()."""
        n = self.count
        self.sh(f"(({command}) > /tmp/{n}.out 2>&1; echo $? > /tmp/{n}.st; "
                f"mv /tmp/{n}.st /tmp/{n}.rc) > /dev/null 2>&1 & echo $! > /tmp/{n}.pid")
        return n

    def wait(self, n, limit=120):
        """Exit status and output of what start() began; after the limit it is ended, and the output
        shows what the guest's processes did."""
        end = time.monotonic() + patience(limit)
        while time.monotonic() < end:
            rc, out = self.sh(f"cat /tmp/{n}.rc")
            if rc == 0:
                return int(out), self.sh(f"cat /tmp/{n}.out")[1]
            time.sleep(0.1)
        doing = self.standing()
        self.sh(f"pkill -P $(cat /tmp/{n}.pid)")
        return -1, self.sh(f"cat /tmp/{n}.out")[1] + f"\nended by the test: not in time\n{doing}"

    def standing(self):
        return self.sh(STANDING)[1]

    def listening(self, port):
        # the only colon-and-hex of this form in the tables is a local port in state LISTEN
        return self.sh(f"cat /proc/net/tcp /proc/net/tcp6 | grep -qi ':{port:04x} [0:]* 0A'")[
            0] == 0

    def close(self):
        if self.p:
            self.p.kill()
            self.p.wait()
            self.p = None
        if self.serial:
            self.serial.close()
        self.host.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
