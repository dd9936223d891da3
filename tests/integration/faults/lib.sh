# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# lib.sh - sourced by the tests of faults and capture: pairs of programs on a board that stays.
# shellcheck shell=bash
. "$(dirname "$0")/../dpactl/lib.sh"
for tool in ibv_rc_pingpong ibv_ud_pingpong ib_write_bw; do
	command -v $tool >/dev/null || { echo "no $tool"; exit 77; }
done

# pair OPTIONS... -- TOOL ARGS...: server and client under dpa-run with these options, both must succeed
pair() {
	local opts=() server rc
	while [ "$1" != -- ]; do opts+=("$1"); shift; done
	shift
	next_port
	timeout 100 "$RUN" "${opts[@]}" "$@" -d dpa0 -p $port >"$WORK/server" 2>&1 </dev/null &
	server=$!
	until_true listens $port || { cat "$WORK/server"; return 1; }
	timeout 100 "$RUN" "${opts[@]}" "$@" -d dpa0 -p $port 127.0.0.1 >"$WORK/client" 2>&1 </dev/null
	rc=$?
	wait $server && [ $rc = 0 ] && return
	echo "client: status $rc"; cat "$WORK/client" "$WORK/server"
	return 1
}

# ended COUNTER: what processes counted that are gone
ended() {
	"$CTL" --json counters | python3 -c 'import json, sys
print(json.load(sys.stdin)["ended"][sys.argv[1]])' "$1"
}

# counts COUNTER... -- CMD...: each counter is higher when the command has succeeded
counts() {
	local names=() before=() n i
	while [ "$1" != -- ]; do names+=("$1"); before+=("$(ended "$1")"); shift; done
	shift
	"$@" || return
	for i in "${!names[@]}"; do
		n=$(ended "${names[i]}")
		[ "$n" -gt "${before[i]}" ] || { echo "${names[i]} is still $n"; return 1; }
	done
}

# clean FILE OPCODE...: decodes, every ICRC is right, and these opcodes are in it
clean() {
	local file=$1 op
	shift
	"$CTL" decode "$file" >"$WORK/decoded" || { tail -3 "$WORK/decoded"; return 1; }
	for op in "$@"; do
		grep -qF -- "$op" "$WORK/decoded" || { echo "no $op"; head -20 "$WORK/decoded"; return 1; }
	done
}

# dissects FILE: Wireshark finds no malformed packet, and RoCE in all of them
dissects() {
	local all roce
	command -v tshark >/dev/null || { echo "no tshark"; return 77; }
	set -- tshark -r "$1" --disable-protocol rpcordma --disable-protocol loop
	"$@" -Y _ws.malformed >"$WORK/malformed" 2>"$WORK/tshark" || { cat "$WORK/tshark"; return 1; }
	lines 0 "$WORK/malformed" || return
	all=$("$@" 2>/dev/null | wc -l)
	roce=$("$@" -Y infiniband.bth.opcode 2>/dev/null | wc -l)
	[ "$all" -gt 0 ] && [ "$all" = "$roce" ] || { echo "$roce of $all are RoCE"; return 1; }
}

# A program that does nothing keeps the board and its counters alive.
next_port
"$RUN" ibv_rc_pingpong -d dpa0 -g 0 -p $port >"$WORK/keeper" 2>&1 </dev/null &
keeper=$!
started+=("$keeper")
until_true json ps "any(p['pid'] == $keeper and p['nqp'] == 1 for p in d)" || { cat "$WORK/keeper"; exit 1; }
