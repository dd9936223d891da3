# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# files.sh - sourced by `run`: what is in the packages, without installing them.
# shellcheck shell=bash
programs() { find "$WORK/files" -type f \( -path '*/bin/*' -o -name '*.so*' \) -exec sh -c 'head -c4 "$1" | grep -q ELF && echo "$1"' - {} \;; }

# What hardening=+all of the distribution leaves in each program and library.
hardening() {
	local f n=0 fortified=0 guarded=0 bad=0 e
	for f in "$DEBS"/*.deb; do dpkg-deb -x "$f" "$WORK/files" || return; done
	for f in $(programs); do
		n=$((n + 1)) e=
		readelf -hW "$f" | grep -q 'Type: *DYN' || e="$e PIE"
		readelf -lW "$f" | grep -q GNU_RELRO || e="$e RELRO"
		readelf -dW "$f" | grep -qE 'BIND_NOW|FLAGS.*NOW' || e="$e BIND_NOW"
		readelf -lW "$f" | grep GNU_STACK | grep -q RWE && e="$e stack"
		readelf -dW "$f" | grep -qE 'R(UN)?PATH' && readelf -dW "$f" | grep -E 'R(UN)?PATH' | grep -qv 'ORIGIN' && e="$e rpath"
		readelf --dyn-syms -W "$f" | grep -q __stack_chk_fail && guarded=$((guarded + 1))
		readelf --dyn-syms -W "$f" | grep -qE '__[a-z]+_chk@' && fortified=$((fortified + 1))
		[ -z "$e" ] || { echo "${f#"$WORK/files"}: no$e"; bad=1; }
	done
	echo "$n files, $guarded with a stack protector, $fortified fortified"
	# small libraries can have nothing to guard: libdpadv.so.1 has no buffer
	[ $bad = 0 ] && [ $n -ge 12 ] && [ $guarded -ge $((n - 1)) ] && [ $fortified -ge $((n - 1)) ]
}

# Every compiler's line of the build, but those of device code, which is linked into images where nothing is
# that the flags ask for, and of the preload, which defines the functions that FORTIFY would put others in place of.
build_flags() {
	command -v blhc >/dev/null || { echo "no blhc"; return 77; }
	[ -f "$DEBS/build.log" ] || { echo "no log of the build"; return 77; }
	! grep -q '^\[[0-9/]*\] [^ ]*clang ' "$DEBS/build.log" || { echo "blhc does not know clang"; return 77; }
	blhc --all --ignore-line '.*doca_dpa_dev\.dir/.*' --ignore-line '.*flexio_static\.dir/.*' \
		--ignore-line '.*-c .*/preload/.*' --ignore-line '.*dpa-preload\.dir.* -c .*' "$DEBS/build.log"
}

policy() {
	command -v lintian >/dev/null || { echo "no lintian"; return 77; }
	lintian --fail-on error,warning "$DEBS"/*.changes
}

# The releases of libibverbs that there are providers for, and parts of one build that belong together.
depends() {
	local of p
	of=$(dpkg-deb -f "$DEBS"/ibverbs-provider-dpa_*.deb Depends) && echo "$of" || return
	grep -qE '(^|, )libibverbs1 \(>= (4[4-9]|5[0-9]|6[0-5])[^,]*\)(,|$)' <<<"$of" || { echo "from which on?"; return 1; }
	grep -qF 'libibverbs1 (<< 66~)' <<<"$of" || { echo "up to which?"; return 1; }
	for p in libdpa1:ibverbs-provider-dpa dpa-tools:ibverbs-provider-dpa libdpa-dev:libdpa1; do
		of=$(dpkg-deb -f "$DEBS"/"${p%:*}"_*.deb Depends Version) || return
		grep -qF "${p#*:} (= $(sed -n 's/^Version: //p' <<<"$of"))" <<<"$of" || { echo "${p%:*}: $of"; return 1; }
	done
}

part_files() {
	check "hardening of programs and libraries" hardening
	check "dependencies" depends
	check "links of the pages" "$HERE/links" "$WORK/files"
	check "hardening in the compiler's lines" build_flags
	check "lintian" policy
}
