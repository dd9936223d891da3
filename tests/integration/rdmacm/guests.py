# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""A guest of QEMU that moves over rdma_cm: stopped, running with all memory registered, running with the
chunks registered as they come."""
import json
import os
import re
import socket
import time

from harness import free_port, patience
from places import HERE, Failed
from whole import build


class Guest:
    """QEMU with the guest of guest.S, and its monitor."""

    def __init__(self, x, runner, name, image, *options):
        self.x = x
        base = os.path.join(x.work, f"{name}-{free_port()}")
        self.serial, self.monitor = base + ".serial", base + ".monitor"
        self.process = x.start(runner, [
            "qemu-system-x86_64", "-M", "pc", "-accel", "tcg", "-m", "64", "-nodefaults",
            "-no-user-config", "-display", "none", "-bios", image, "-serial",
            f"file:{self.serial}", "-qmp", f"unix:{self.monitor},server=on,wait=off", *options])
        self.wait(lambda: os.path.exists(self.monitor), "has no monitor")
        self.socket = socket.socket(socket.AF_UNIX)
        self.wait(self.attach, "does not answer")
        self.stream = self.socket.makefile("rw", encoding="utf-8")
        self.stream.readline()
        self.do("qmp_capabilities")

    def attach(self):
        return self.socket.connect_ex(self.monitor) == 0

    def wait(self, condition, what, limit=60):
        end = time.monotonic() + patience(limit)
        while not condition():
            if self.process.poll() is not None or time.monotonic() > end:
                raise Failed(f"the guest {what}\n" + self.x.texts())
            time.sleep(0.01)

    def do(self, command, **arguments):
        self.stream.write(json.dumps({"execute": command, "arguments": arguments}) + "\n")
        self.stream.flush()
        while True:
            line = self.stream.readline()
            if not line:
                raise Failed(f"QEMU ended at {command}\n" + self.x.texts())
            answer = json.loads(line)
            if "error" in answer:
                raise Failed(f"{command}: {answer['error']['desc']}\n" + self.x.texts())
            if "return" in answer:
                return answer["return"]

    def written(self):
        if not os.path.exists(self.serial):
            return ""
        with open(self.serial, encoding="ascii") as f:
            return f.read()


def ready_to_migrate(x, name, *options):
    image = build(x, "guest.bin", lambda path: [
        ["as", "--32", os.path.join(HERE, "guest.S"), "-o", path + ".o"],
        ["objcopy", "-O", "binary", "-j", ".text", path + ".o", path]])
    return Guest(x, x.place.server if name == "destination" else x.place.client, name, image,
                 *options)


def migrate(x, source, destination, pin_all):
    port = free_port()
    for guest in (destination, source):
        guest.do("migrate-set-capabilities", capabilities=[
            {"capability": "rdma-pin-all", "state": pin_all}])
    # QEMU listens before it answers
    destination.do("migrate-incoming", uri=f"rdma:{x.address}:{port}")
    source.do("migrate", uri=f"rdma:{x.address}:{port}")
    source.wait(lambda: done(source), "does not migrate")


def done(guest):
    answer = guest.do("query-migrate")
    if answer.get("status") in ("failed", "cancelled"):
        raise Failed(f"the migration: {answer}\n" + guest.x.texts())
    return answer.get("status") == "completed"


def run_on(x, source, destination):
    """The guest counts on at the destination, and its memory is as it was."""
    before = source.written()
    destination.wait(lambda: len(destination.written()) > 100, "does not run on")
    line = before + destination.written()
    if any(line[i] != "0123456789abcdef"[i % 16] for i in range(len(line))):
        raise Failed(f"the guest wrote ...{before[-20:]} and then {line[len(before):][:20]}...\n" +
                     x.texts())


def end(x, *guests):
    for guest in guests:
        guest.do("quit")
        x.close(guest.process)


def running(x):
    """Migrate a running guest, rdma-pin-all."""
    destination = ready_to_migrate(x, "destination", "-incoming", "defer")
    source = ready_to_migrate(x, "source")
    source.wait(lambda: len(source.written()) > 100, "does not run")
    migrate(x, source, destination, True)
    run_on(x, source, destination)
    end(x, source, destination)


def stopped(x):
    """Migrate a stopped guest without rdma-pin-all."""
    destination = ready_to_migrate(x, "destination", "-incoming", "defer")
    source = ready_to_migrate(x, "source")
    source.wait(lambda: len(source.written()) > 100, "does not run")
    source.do("stop")
    migrate(x, source, destination, False)
    destination.wait(lambda: destination.do("query-status")["status"] == "paused",
                     "does not arrive")
    destination.do("cont")
    run_on(x, source, destination)
    end(x, source, destination)


# ----------------------------------------------------------------- running, chunks registered one by one

PAGE = 4096
PATTERN = range(0x10000, 0x80000, PAGE)  # what guest.S writes
# QEMU 7.2 forgets writes of a TCG guest after it has looked for dirty pages in a block whose size is
# a multiple of 64 pages, whatever the transport ("physmem: Fix migration dirty bitmap coherency with TCG
# memory access"). This size is not one.
MEMORY = (64 << 20) + 2 * PAGE


def dump(guest, name):
    """The guest's memory."""
    path = os.path.join(guest.x.work, f"{name}-{free_port()}.memory")
    guest.do("pmemsave", val=0, size=MEMORY, filename=path)
    with open(path, "rb") as f:
        data = f.read()
    os.unlink(path)
    return data


def posted_last(trace):
    """Offsets of the pages in the WRITEs that QEMU posted after it had stopped the guest."""
    base = int(re.search(r"poll_write .* block 0, chunk: \d+ (0x\w+)", trace).group(1), 16)
    last = trace[trace.rindex("qemu_rdma_registration_start 3"):]
    return {page - base for start, size in re.findall(
        r"one_post Posting chunk: \d+, addr: (0x\w+) remote: 0x\w+, bytes (\d+)", last)
            for page in range(int(start, 16), int(start, 16) + int(size), PAGE)}


def running_chunks(x):
    """Migrate a running guest without rdma-pin-all. Compare both memories while both guests are stopped: each page
    of the last WRITEs must be the source's. A page of the pattern that none of them has may be an old one:
    QEMU 7.2 loses a dirty bit now and then while it looks for dirty pages (in few runs, 1 to 23 pages;
    its trace has no WRITE for them)."""
    trace = os.path.join(x.work, f"trace-{free_port()}")
    memory = ("-m", f"{MEMORY >> 10}k")
    destination = ready_to_migrate(x, "destination", "-incoming", "defer", "-S", *memory)
    source = ready_to_migrate(x, "source", "-trace", "qemu_rdma_*", "-D", trace, *memory)
    source.wait(lambda: len(source.written()) > 100, "does not run")
    migrate(x, source, destination, False)
    destination.wait(lambda: destination.do("query-status")["status"] == "paused",
                     "does not arrive")
    there, here = dump(destination, "destination"), dump(source, "source")
    differ = {p for p in range(0, MEMORY, PAGE) if here[p:p + PAGE] != there[p:p + PAGE]}
    with open(trace, encoding="utf-8") as f:
        last = posted_last(f.read())
    wrong = sorted(p for p in differ if p in last or p not in PATTERN)
    if wrong:
        raise Failed(f"{len(wrong)} pages differ, the first at {wrong[0]:#x}\n" + x.texts())
    if not differ:
        destination.do("cont")
        run_on(x, source, destination)
    end(x, source, destination)
