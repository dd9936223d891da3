# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# upgrade.sh - sourced by `run`: new versions of the packages under processes that use the device.
# shellcheck shell=bash

# revised FROM TO: the packages of FROM as the next revision of the same release, which is what a
# build with one more entry in debian/changelog makes (tests/packages/reproduce).
revised() {
	local deb tree=$WORK/tree
	mkdir -p "$2"
	for deb in "$1"/{ibverbs-provider-dpa,libdpa1,dpa-tools}_*.deb; do
		rm -rf "$tree"
		dpkg-deb -R "$deb" "$tree" && sed -i -E 's/^(Version: .*|.*\(= [0-9.]+)-1(\)|,|$)/\1-2\2/; s/\(= ([0-9.]+)-1\)/(= \1-2)/g' "$tree/DEBIAN/control" &&
			dpkg-deb --root-owner-group -b "$tree" "$2/$(basename "${deb/-1_/-2_}")" || return
	done
}

lines_of() { wc -l <"$WORK/client"; }

# The pair of processes that was started before works: its client has more to say than it had.
goes_on() {
	local had i
	had=$(lines_of)
	for ((i = 0; i < 300 && $(lines_of) < had + 2; i++)); do
		kill -0 $running_client 2>/dev/null || { tail "$WORK/client"; return 1; }
		read -rt 0.1 <>"$WORK/never"
	done
	[ "$(lines_of)" -ge $((had + 2)) ] && ! grep -i "error\|fail\|unable" "$WORK/client"
}

start_pair() {
	local i
	begin 'ib_send_bw -d dpa0 -F --run_infinitely -D 1' >"$WORK/running" 2>&1 &
	running_server=$!
	pids="$pids $running_server"
	for ((i = 0; i < 100; i++)); do
		begin 'ib_send_bw -d dpa0 -F --run_infinitely -D 1 127.0.0.1' >"$WORK/client" 2>&1 &
		running_client=$!
		until grep -q '^ *65536' "$WORK/client"; do
			kill -0 $running_client 2>/dev/null || break
			read -rt 0.1 <>"$WORK/never"
		done
		kill -0 $running_client 2>/dev/null && { pids="$pids $running_client"; return; }
	done
	return 1
}

installed() { inside dpkg-query -W -f '${Version}\n' ibverbs-provider-dpa | grep -F -- "$1"; }

# Both versions by name, in the words of the tool and in the log of the program.
refused() {
	login 'DPA_LOG_FILE=/tmp/log timeout 60 ibv_rc_pingpong -d dpa0 -g 0'
	case $? in 0 | 124) echo "it runs"; return 1 ;; esac
	local words='in use by dpa 0\.1\.0 \(layout [0-9]+, interface [0-9]+\); this is dpa 9\.9\.9 \(layout [0-9]+, interface'
	grep -E "$words" "$ROOT/tmp/log" || { cat "$ROOT/tmp/log"; return 1; }
	login 'dpactl status' 2>&1 | grep -E "$words"
}

# What dpkg wrote while the preload was in it, too.
as_packaged() { inside env DPA_DISABLE=1 dpkg -V ibverbs-provider-dpa dpa-tools libdpa1; }

board_of_its_own() { pingpong own; }
own() { login "export DPA_BOARD=/tmp/own-board; $1"; }

part_upgrade() {
	local next=$WORK/next
	new_root upgrade
	mkfifo "$WORK/never"
	inside apt-get update -q >/dev/null
	apt_install ibverbs-utils perftest >/dev/null 2>&1
	check "upgrade: the first version" apt_install $(debs debs ibverbs-provider-dpa dpa-tools libdpa1)
	check "upgrade: processes that use it" start_pair
	check "upgrade: packages of the next revision" revised "$DEBS" "$ROOT/root/revised"
	inside dpactl enable --system >/dev/null
	check "upgrade: the next revision installs, enabled for every process" apt_install $(debs root/revised ibverbs-provider-dpa dpa-tools libdpa1)
	check "upgrade: it is there" installed -2
	check "upgrade: the files are as packaged" as_packaged
	check "upgrade: it is still enabled" lists bare
	inside dpactl disable --system >/dev/null
	check "upgrade: running processes go on" goes_on
	check "upgrade: a new one works beside them" pingpong login

	if [ -d "$NEXT" ]; then
		mkdir "$ROOT/root/next" && cp "$NEXT"/*.deb "$ROOT/root/next"
		check "another layout: it installs" apt_install $(debs root/next ibverbs-provider-dpa dpa-tools libdpa1)
		check "another layout: it is there" installed 9.9.9
		check "another layout: running processes go on" goes_on
		check "another layout: a new one is refused, with both versions named" refused
		check "another layout: running processes still go on" goes_on
		check "another layout: a board of its own" board_of_its_own
	else
		check "another layout" sh -c 'echo "no packages of the next release: make test-packages"; exit 77'
	fi
	# what a killed process leaves on its board is no obstacle to the next version
	kill -9 $running_client $running_server
	wait $running_client $running_server 2>/dev/null
	check "upgrade: once they are gone, killed, it works" pingpong login
	drop_root
}
