# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# install.sh - sourced by `run`: install, use, remove, purge; nothing is left.
# shellcheck shell=bash
files() { # /dev is another file system
	{
		find "$ROOT" -xdev \( -path "$ROOT/proc" -o -path "$ROOT/sys" -o -path "$ROOT/var/cache" -o -path "$ROOT/var/lib/apt" \
			-o -path "$ROOT/var/log" \) -prune -o -printf '%P\n'
		find "$ROOT/dev" -xdev -printf 'dev/%P\n'
	} | LC_ALL=C sort
}
left() { ! grep -iE '(^|[^a-z])(lib)?(dpa|doca|flexio)|^dev/' <(LC_ALL=C comm -13 "$WORK/before" "$WORK/after"); }
nine_steps() {
	login 'cd /root/t && gcc -Wall -Werror -o nine_steps nine_steps.c -libverbs && { ./nine_steps >s & p=$!; i=0
		until ./nine_steps 127.0.0.1 2>/dev/null; do i=$((i+1)); test $i -lt 200 || exit 1; done; wait $p; grep -q "without this process" s; }'
}

# A provider for each number of libibverbs that a release has had; libdpa goes with all of them.
providers() {
	local n at
	at=$(inside dpkg -L ibverbs-provider-dpa) || return
	for n in $(sed -n 's/^set(DPA_PABI_KNOWN \(.*\))/\1/p' "$TOP/cmake/DpaPabi.cmake"); do
		grep "/libibverbs/libdpa-rdmav$n.so\$" <<<"$at" || { echo "no provider for $n"; return 1; }
	done
	! readelf -d "$ROOT"/usr/lib/*/libdpadv.so.1 | grep NEEDED.*ibverbs
}

# What systemd gives the services of a user: this variable.
user_services() { # VARIABLE
	local vars
	vars=$(inside /usr/lib/systemd/user-environment-generators/60-dpa) && echo "$vars" && [ "${vars%%=*}" = "$1" ] || return
	# shellcheck disable=SC2086
	inside env $vars ibv_devices | grep -w dpa0
}

# What a shell of this kind sees dpa0 by.
# shellcheck disable=SC2016
by_tree() { "$1" '[ -n "$SYSFS_PATH" ] && [ -z "$LD_PRELOAD" ] && ibv_devices | grep -w dpa0'; }
# shellcheck disable=SC2016
by_preload() { "$1" '[ -z "$SYSFS_PATH" ] && [ -n "$LD_PRELOAD" ] && ibv_devices | grep -w dpa0'; }

# Where the machine that this runs on has RDMA in its kernel, all go by the preload.
without_rdma() {
	[ ! -e /sys/module/ib_core ] || { echo "the kernel has RDMA"; return 77; }
	by_tree login && user_services SYSFS_PATH
}

# A distribution's own kernel has this folder; the roots have no modules.
with_rdma() {
	local at rc
	at=/lib/modules/$(uname -r)/kernel/drivers/infiniband/core
	inside mkdir -p "$at" && by_preload login && by_preload user && user_services LD_PRELOAD && pingpong login && rdma_cm login &&
		login 'ls /sys/class/infiniband | grep -w dpa0 && realpath /sys/class/infiniband/dpa0/device | grep "^/sys/devices/pci" && rdma link | grep dpa0/1'
	rc=$?
	inside rmdir -p --ignore-fail-on-non-empty "$at" 2>/dev/null
	return $rc
}

# The node is missing, then as systemd makes it at each boot.
node_at_boot() {
	local node=$ROOT/dev/infiniband/uverbs_dpa0
	apt_install systemd-standalone-tmpfiles && rm -r "$ROOT/dev/infiniband" && by_preload login &&
		inside systemd-tmpfiles --create dpa.conf && [ "$(readlink "$node")" = /dev/null ] && lists login
}

# A line of /etc/ld.so.preload for each process; the second is not of the packages.
ANOTHER=/opt/another/libdpa-preload.so
another_install() { inside sh -c "mkdir -p /opt/another && cp /lib/*/libm.so.6 $ANOTHER && echo $ANOTHER >>/etc/ld.so.preload"; }
another_stays() { [ "$(cat "$ROOT/etc/ld.so.preload")" = $ANOTHER ]; }
forget_another() { rm -r "$ROOT/etc/ld.so.preload" "$ROOT/opt/another"; }

no_driver_file() { [ ! -L "$ROOT/etc/libibverbs.d/dpa.driver" ] && [ ! -e "$ROOT/etc/libibverbs.d/dpa.driver" ]; }

not_disabled() { inside env DPA_DISABLE=0 bash -l -c ibv_devices | grep -w dpa0; }
disabled() { ! inside env DPA_DISABLE=1 bash -l -c ibv_devices | grep -w dpa0; }

part_install() {
	new_root install
	inside apt-get update -q >/dev/null
	apt_install ibverbs-utils rdmacm-utils iproute2 perftest libc6-dev gcc >/dev/null 2>&1
	inside useradd -m tester
	files >"$WORK/before"
	check "apt installs provider and tools" apt_install $(debs debs ibverbs-provider-dpa dpa-tools libdpa1)
	check "providers" providers
	check "a login shell lists dpa0" lists login
	check "an ordinary user's too" lists user
	check "a shell with no environment does not" lists_not bare
	check "DPA_DISABLE=1" disabled
	check "DPA_DISABLE=0" not_disabled
	check "by the tree alone, user services too" without_rdma
	check "by the preload where the kernel has RDMA, user services too" with_rdma
	check "pingpong" pingpong login
	check "pingpong of an ordinary user" pingpong user
	check "rdma_cm" rdma_cm login
	check "rdma_cm of an ordinary user" rdma_cm user
	check "dpa-run" inside dpa-run ibv_devinfo -d dpa0
	check "dpactl doctor finds nothing wrong" login 'dpactl doctor'
	check "enable --system" inside dpactl enable --system
	check "every process lists it" lists bare
	check "pingpong as it is" pingpong bare
	check "rdma_cm as it is" rdma_cm bare
	check "disable --system" inside dpactl disable --system
	check "and no longer" lists_not bare
	check "nothing in ld.so.preload" test ! -e "$ROOT/etc/ld.so.preload"
	check "apt installs the development files" apt_install $(debs debs libdpa-dev libdpa-doc) pkg-config libibverbs-dev
	mkdir -p "$ROOT/root/t"
	cp "$TOP/debian/tests/dpa-program" "$TOP/docs/examples/nine_steps.c" "$ROOT/root/t/"
	check "a device program is built and runs" inside sh /root/t/dpa-program
	check "nine steps" nine_steps
	check "the node, made at boot" node_at_boot
	inside apt-get purge -y -q systemd-standalone-tmpfiles >/dev/null 2>&1
	rm -rf "$ROOT/root/t"
	inside dpactl enable --system >/dev/null
	check "another installation for every process" another_install
	check "remove" inside apt-get remove -y -q ibverbs-provider-dpa dpa-tools libdpa1 libdpa-dev
	check "nothing lists dpa0" lists_not login
	check "libibverbs is not told of a provider that is gone" no_driver_file
	check "of ld.so.preload the other installation's line is left" another_stays
	check "no device node" test ! -e "$ROOT/dev/infiniband"
	forget_another
	check "apt installs them again" apt_install $(debs debs ibverbs-provider-dpa dpa-tools)
	inside dpactl enable --system >/dev/null
	check "purge" inside dpkg --purge ibverbs-provider-dpa dpa-tools libdpa1 libdpa-dev libdpa-doc
	check "nothing in ld.so.preload after removal" test ! -e "$ROOT/etc/ld.so.preload"
	inside apt-get purge -y -q pkg-config libibverbs-dev >/dev/null 2>&1
	inside apt-get autoremove --purge -y -q >/dev/null 2>&1
	files >"$WORK/after"
	check "nothing is left" left
	drop_root
}
