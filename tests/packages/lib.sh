# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# lib.sh - sourced by `run`: cases and their tally, roots with a Debian 12 in them.
# shellcheck shell=bash
passed=0 failed=0 skipped=0 pids=
WORK=$(mktemp -d /var/tmp/dpa-packages.XXXXXX)

unmount() { # ROOT
	local m
	for m in debs var/cache/apt/archives dev/shm proc sys dev; do
		mountpoint -q "$1/$m" && umount -l "$1/$m"
	done
}

finish() {
	local p r
	for p in $pids; do kill "$p" 2>/dev/null; done
	for r in "$WORK"/root.*; do unmount "$r"; done
	rm -rf --one-file-system "$WORK"
}
trap finish EXIT
trap 'exit 130' INT TERM

check() { # NAME CMD...: 77 is skipped
	local name=$1
	shift
	"$@" >"$WORK/out" 2>&1
	case $? in
	0) passed=$((passed + 1)); echo "ok $name" ;;
	77) skipped=$((skipped + 1)); echo "skip $name: $(tail -1 "$WORK/out")" ;;
	*) failed=$((failed + 1)); echo "FAIL $name"; sed 's/^/    /' "$WORK/out" | tail -30 ;;
	esac
}

# cases PREFIX CMD...: a program that prints a line for each case, shown as it comes, and ends with a tally, which is
# added to ours.
TALLY='[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped'
cases() {
	local prefix=$1 p f s
	shift
	"$@" 2>&1 | tee "$WORK/out" | sed -uE "/^$TALLY\$/d; s/^(ok|FAIL|skip) /&$prefix/"
	if read -r p _ f _ s _ < <(tail -n 1 "$WORK/out" | grep -xE "$TALLY") && [ "$p" != 0 ]; then
		passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
	else
		failed=$((failed + 1)); echo "FAIL $prefix no case passed"
	fi
}

# $BASE: a minimal Debian that the roots are copies of. One that is named in the environment is used again.
fetch_base() {
	BASE=${BASE:-$WORK/base}
	[ -d "$BASE/usr" ] || debootstrap --variant=minbase bookworm "$BASE" >"$WORK/log" 2>&1 ||
		{ tail "$WORK/log"; echo "no Debian is available"; echo "0 passed, 1 failed, 0 skipped"; exit 1; }
}

# new_root NAME: $ROOT becomes a fresh Debian with a /dev of its own: what the packages make there
# must not show outside. The packages are in /debs. All roots have one archive of downloaded packages, and dpkg does not
# wait for the disk: without that most of the time of a run is theirs.
new_root() {
	ROOT=$WORK/root.$1
	local d n a b
	cp -a --reflink=auto "$BASE" "$ROOT"
	cp /etc/resolv.conf "$ROOT/etc/resolv.conf" 2>/dev/null
	mount -t tmpfs -o mode=755 tmpfs "$ROOT/dev"
	mkdir "$ROOT/dev/shm" "$ROOT/dev/pts" "$ROOT/debs"
	echo force-unsafe-io >"$ROOT/etc/dpkg/dpkg.cfg.d/fast"
	for d in null:1:3 zero:1:5 full:1:7 random:1:8 urandom:1:9 tty:5:0; do
		IFS=: read -r n a b <<<"$d"
		mknod -m 666 "$ROOT/dev/$n" c "$a" "$b"
	done
	ln -s /proc/self/fd "$ROOT/dev/fd"
	mount -t tmpfs -o size=64m,mode=1777 tmpfs "$ROOT/dev/shm"
	mount -t proc proc "$ROOT/proc"
	mount -t sysfs -o ro sysfs "$ROOT/sys"
	mount --bind "$DEBS" "$ROOT/debs"
	mkdir -p "$WORK/archives/partial" "$ROOT/var/cache/apt/archives"
	mount --bind "$WORK/archives" "$ROOT/var/cache/apt/archives"
}

drop_root() {
	unmount "$ROOT"
	rm -rf --one-file-system "$ROOT"
}

inside() { chroot "$ROOT" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"; }
login() { inside bash -l -c "$1"; }             # a new login shell
user() { inside su -l tester -c "$1"; }          # of an ordinary user
bare() { inside sh -c "$1"; }                    # without any environment
# begin COMMAND: in a login shell; the process that is started in the background is the command's own.
begin() { exec chroot "$ROOT" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 bash -l -c "exec $1"; }
apt_install() { inside apt-get install -y -q --no-install-recommends "$@"; }
# debs FOLDER PACKAGE...: their files as the root sees them
debs() {
	local folder=$1 p
	shift
	for p in "$@"; do (cd "$ROOT/$folder" && ls "$PWD/${p}"_*.deb) | sed "s|^$ROOT||"; done
}

lists() { "$1" ibv_devices | grep -w dpa0; }
lists_not() { ! lists "$1"; }

# pingpong SHELL: two processes of it. They spin, and have to share a busy machine's processors: few turns. A client whose
# server has ended waits without end.
pingpong() {
	"$1" 'exec timeout 300 ibv_rc_pingpong -d dpa0 -g 0 -n 100' >"$WORK/server" 2>&1 &
	local server=$! i
	for i in $(seq 100); do
		"$1" 'timeout 240 ibv_rc_pingpong -d dpa0 -g 0 -n 100 127.0.0.1' && { wait $server; return; }
		kill -0 $server || { cat "$WORK/server"; return 1; }
	done
	return 1
}

# rdma_cm SHELL: rping at both ends. The client comes again until the server listens.
rdma_cm() {
	"$1" 'exec timeout 300 rping -s -a 127.0.0.1 -C 5 -v' >"$WORK/server" 2>&1 &
	local server=$! i
	for i in $(seq 100); do
		"$1" 'timeout 240 rping -c -a 127.0.0.1 -C 5 -v' && { wait $server && grep "ping data" "$WORK/server"; return; }
		kill -0 $server || { cat "$WORK/server"; return 1; }
	done
	return 1
}
