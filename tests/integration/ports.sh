# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# ports.sh - sourced by the tests' lib.sh: TCP ports that nobody else uses, and patience.
# shellcheck shell=bash
port=$((20000 + $$ % 12000)) # below the ephemeral range; each script begins elsewhere

in_tables() { # PATTERN: a line of the namespace's TCP sockets
	grep -qiE "$1" /proc/net/tcp /proc/net/tcp6 2>/dev/null
}

# next_port: $port is one that no socket has, never the same one twice
next_port() {
	port=$((20000 + (port - 19999) % 12000))
	while in_tables "^ *[0-9]+: [0-9A-F]+:$(printf %04X $port) "; do
		port=$((20000 + (port - 19999) % 12000))
	done
}

listens() { # PORT
	in_tables ":$(printf %04X "$1") [0-9A-F]*:0000 0A "
}

# until_true CMD...: asks again and again, each time a new process, until it is so; a minute at most. The pause
# leaves the processors to what is waited for.
until_true() {
	local end=$((SECONDS + 60))
	while ((SECONDS < end)); do
		"$@" >/dev/null 2>&1 && return
		sleep 0.03
	done
	echo "never so: $*"
	"$@"
	return 1
}
