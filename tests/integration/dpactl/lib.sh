# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# lib.sh - sourced by the dpactl tests: a board of their own, and programs on it.
# shellcheck shell=bash
. "$(dirname "$0")/../discovery/lib.sh"
CTL=$BUILD/bin/dpactl
[ -x "$CTL" ] || { echo "no $CTL: build first"; exit 77; }
SHM=$(mktemp -d /dev/shm/dpa-test.XXXXXX)
export CTL DPA_BOARD=$SHM/board
started=()
trap 'for p in "${started[@]}"; do kill -9 "$p"; wait "$p"; done 2>/dev/null; rm -rf "$WORK" "$SHM"' EXIT

# refuses STATUS TEXT CMD...: one line on standard error that has TEXT in it, nothing else
refuses() {
	local want=$1 text=$2 rc
	shift 2
	"$@" >"$WORK/a" 2>"$WORK/b"
	rc=$?
	[ "$rc" = "$want" ] || { echo "status $rc, not $want"; cat "$WORK/a" "$WORK/b"; return 1; }
	lines 0 "$WORK/a" && lines 1 "$WORK/b" || return
	grep -qF -- "$text" "$WORK/b" || { echo "no '$text' in:"; cat "$WORK/b"; return 1; }
}

# says TEXT CMD...: succeeds, and TEXT (a regular expression) is in what it says
says() {
	local text=$1
	shift
	"$@" >"$WORK/a" 2>&1 || { echo "failed:"; cat "$WORK/a"; return 1; }
	grep -qE -- "$text" "$WORK/a" || { echo "no '$text' in:"; cat "$WORK/a"; return 1; }
}

# json COMMAND EXPRESSION: what it prints for programs, as the Python value d, makes it true
json() {
	"$CTL" --json $1 >"$WORK/a" 2>"$WORK/b" || { cat "$WORK/a" "$WORK/b"; return 1; }
	lines 0 "$WORK/b" || return
	python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
sys.exit(0 if eval(sys.argv[2]) else 1)' "$WORK/a" "$2" || { echo "not: $2"; cat "$WORK/a"; return 1; }
}

# start CMD...: in the background under dpa-run; its process id is in $pid
start() {
	"$RUN" "$@" >"$WORK/program.$((++programs))" 2>&1 </dev/null &
	pid=$!
	started+=("$pid")
}
programs=0

# stop PID: ends what start() started
stop() {
	kill -"${2:-TERM}" "$1"
	wait "$1" 2>/dev/null
}
