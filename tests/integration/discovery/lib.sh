# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# lib.sh - sourced by the discovery tests: cases, a tally, private surroundings.
# shellcheck shell=bash
set -u
HERE=$(cd "$(dirname "$0")" && pwd)
BUILD=${DPA_BUILD_DIR:-$HERE/../../../build}
unset DPA_BUILD_DIR # dpa-run refuses DPA_* variables that it does not know
BUILD=$(cd "$BUILD" && pwd)
RUN=$BUILD/bin/dpa-run
TREE=$BUILD/share/dpa
export RUN TREE BUILD
ME=$(id -u) # also inside a user namespace
export ME
[ -x "$RUN" ] || { echo "no $RUN: build first"; exit 77; }
. "$HERE/../ports.sh"
passed=0 failed=0 skipped=0
WORK=$(mktemp -d "$BUILD/discovery.XXXXXX") # not in /tmp, which private() hides
trap 'rm -rf "$WORK"' EXIT
chmod 755 "$WORK"
export WORK

# check NAME CMD...: passes if CMD succeeds; its output is shown if not. 77: skipped.
check() {
	local name=$1 rc
	shift
	"$@" >"$WORK/out" 2>&1
	rc=$?
	case $rc in
	0) passed=$((passed + 1)); echo "ok $name" ;;
	77) skipped=$((skipped + 1)); echo "skip $name: $(tail -1 "$WORK/out")" ;;
	*) failed=$((failed + 1)); echo "FAIL $name (status $rc)"; sed 's/^/    /' "$WORK/out" ;;
	esac
}

# Last line of a test.
tally() {
	echo "$passed passed, $failed failed, $skipped skipped"
	[ "$failed" = 0 ]
}

# private CMD...: in a mount namespace of its own, where /tmp, /run and /dev/shm are empty; an
# ordinary user's is inside a user namespace.
private() {
	local how
	for how in -m -rm; do
		unshare $how true 2>/dev/null || continue
		unshare $how --propagation private bash -c '
			for d in /tmp /run /dev/shm; do
				[[ $BUILD == $d/* ]] || mount -t tmpfs -o size=64m none $d || exit 77
			done
			"$@"' - "$@"
		return
	done
	echo "no mount namespace is available"
	return 77
}

# own_net CMD...: in a network namespace of its own; an ordinary user's is inside a user namespace
own_net() {
	local how
	for how in -n -rn; do
		unshare $how true 2>/dev/null && { unshare $how "$@"; return; }
	done
	echo "no network namespace is available" >&2
	return 77
}

# Where a mount namespace is to be had, dpa-run --no-preload must work.
mounts() {
	unshare -m true 2>/dev/null || unshare -rm true 2>/dev/null || { echo "no mount namespace is available"; return 77; }
}

# lines N FILE: has it that many?
lines() {
	[ "$(wc -l <"$2")" = "$1" ] || { echo "not $1 line(s):"; cat "$2"; return 1; }
}

# has_device NAME: exactly once in what ibv_devices says on stdin.
has_device() {
	local out
	out=$(cat)
	[ "$(grep -cw "$1" <<<"$out")" = 1 ] || { echo "$1 not there exactly once in: $out"; return 1; }
}

lacks_device() {
	local out
	out=$(cat)
	! grep -qw "$1" <<<"$out" || { echo "$1 is there: $out"; return 1; }
}
