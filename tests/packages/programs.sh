# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# programs.sh - sourced by `run`: programs by others, with the packages installed and without dpa-run, as an ordinary user.
# shellcheck shell=bash
CLIENTS="rdmacm-utils perftest qperf libfabric-bin fio libucx-dev gcc libc6-dev"
SHOW="ibverbs-utils infiniband-diags hwloc-nox iproute2"

# Programs that show the device: by verbs, by the files of sysfs, by RDMA netlink.
shown() { # SHELL
	"$1" 'set -e; PATH=$PATH:/usr/sbin; ibv_devinfo -v -d dpa0 | grep PORT_ACTIVE; ibstat dpa0 | grep "State: Active"; ibstatus dpa0 | grep "4: ACTIVE"
		lstopo --of console | grep "OpenFabrics.*dpa0"; rdma dev show dpa0 | grep node_type; rdma link show dpa0/1 | grep "state ACTIVE"
		rdma resource show dpa0 | grep "pd .* mr "'
}
by_run() { user "exec dpa-run sh -c '$1'"; }

# The programs of tests/integration/rdmacm/table.py, server and client. Not rstream -T f: it uses sockets of the kernel. Nor
# -T a: 200,000 turns of two processes that spin, which have to share a busy machine's processors, take a quarter of an hour.
clients() { # SHELL REGEX
	inside python3 /root/integration/rdmacm/test_programs --installed "$1" tester --only "^(?!.*-T [af])$2"
}

tree_alone() { [ ! -e /sys/module/ib_core ] || { echo "the kernel has RDMA"; return 77; }; by_tree user; }

part_programs() {
	local at
	new_root programs
	inside apt-get update -q >/dev/null
	# shellcheck disable=SC2086
	check "programs: apt installs them" apt_install $(debs debs ibverbs-provider-dpa dpa-tools libdpa1) $CLIENTS $SHOW python3
	inside useradd -m tester
	# debootstrap makes no such file, and the server of fi_pingpong looks for the address of localhost
	printf '127.0.0.1\tlocalhost\n::1\tlocalhost\n' >"$ROOT/etc/hosts"
	mkdir "$ROOT/root/integration"
	cp -r "$TOP"/tests/integration/{harness.py,wire,rdmacm} "$ROOT/root/integration/"

	check "programs: a login shell has the tree" tree_alone
	check "programs: shown by dpa-run" shown by_run
	cases "programs, login shell: " clients login ""

	at=/lib/modules/$(uname -r)/kernel/drivers/infiniband/core
	inside mkdir -p "$at"
	check "programs: a login shell has the preload" by_preload user
	check "programs: shown in a login shell with the preload" shown user
	cases "programs, login shell with the preload: " clients login "one adapter"
	inside rmdir -p --ignore-fail-on-non-empty "$at" 2>/dev/null

	check "programs: enable --system" inside dpactl enable --system
	check "programs: shown to every process" shown bare
	cases "programs, every process: " clients bare "one adapter"
	drop_root
}
