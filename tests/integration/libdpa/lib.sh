# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# lib.sh - sourced by the libdpa tests: cases and a tally.
# shellcheck shell=bash
set -u
HERE=$(cd "$(dirname "$0")" && pwd)
BUILD=${DPA_BUILD_DIR:-$HERE/../../../build}
unset DPA_BUILD_DIR # dpa-run refuses DPA_* variables that it does not know
BUILD=$(cd "$BUILD" && pwd)
RUN=$BUILD/bin/dpa-run
SAMPLES=$BUILD/bin/samples
DPACC=$BUILD/bin/dpacc
SRC=$(cd "$HERE/../../.." && pwd)
[ -x "$RUN" ] && [ -x "$DPACC" ] && [ -x "$SAMPLES/dpa_activation" ] ||
	{ echo "no dpa-run, dpacc or samples in $BUILD/bin: build first"; exit 77; }
. "$HERE/../ports.sh"
passed=0 failed=0 skipped=0
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT

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

tally() {
	echo "$passed passed, $failed failed, $skipped skipped"
	[ "$failed" = 0 ]
}
