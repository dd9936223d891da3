# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# recipes.sh - sourced by `run`: the recipes of docs/ci, read from their files and carried out, and debian/tests.
# shellcheck shell=bash
CI=$TOP/docs/ci

dockerfile() {
	new_root docker
	"$HERE/recipe.py" dockerfile "$CI/Dockerfile" "$ROOT" "$DEBS" && pingpong bare
	local rc=$?
	drop_root
	return $rc
}

have_yaml() { python3 -c 'import yaml' 2>/dev/null || { echo "no python3-yaml"; return 77; }; }

lint() {
	command -v yamllint >/dev/null || { echo "no yamllint"; return 77; }
	yamllint --strict -d '{extends: default, rules: {document-start: disable, truthy: {check-keys: false}, line-length: {max: 120}}}' "$CI"/*.yml
}

# What the job is checked out into: a project whose tests need the device.
checkout_in() { # FOLDER
	mkdir -p "$1/dpa-packages"
	cp "$DEBS"/{ibverbs-provider-dpa,dpa-tools,libdpa1}_*.deb "$1/dpa-packages/"
	printf 'test:\n\tibv_devices | grep -w dpa0\n\tibv_rc_pingpong -d dpa0 -g 0 >server & p=$$!; until ibv_rc_pingpong -d dpa0 -g 0 127.0.0.1; do kill -0 $$p || exit 1; done; wait $$p\n' >"$1/Makefile"
}

gitlab() {
	have_yaml || return
	new_root gitlab
	checkout_in "$ROOT/builds/project"
	"$HERE/recipe.py" gitlab "$CI/gitlab-ci.yml" rdma >"$ROOT/builds/script" &&
		inside bash -c 'cd /builds/project && set -eo pipefail && . /builds/script'
	local rc=$?
	drop_root
	return $rc
}

github() {
	have_yaml || return
	new_root github
	checkout_in "$ROOT/builds/project"
	"$HERE/recipe.py" github "$CI/github-actions.yml" test >"$ROOT/builds/script" &&
		inside bash -c 'cd /builds/project && set -e && . /builds/script'
	local rc=$?
	drop_root
	return $rc
}

# debian/tests by the distribution's own runner, with the packages of DEBS.
autopkgtests() {
	command -v autopkgtest >/dev/null || { echo "no autopkgtest"; return 77; }
	local src=$WORK/source rc
	mkdir -p "$src" && cp -r "$TOP/debian" "$src/" || return
	new_root autopkgtest
	umount "$ROOT/debs"
	autopkgtest --no-built-binaries "$DEBS"/*.deb "$src/" -- chroot "$ROOT"
	rc=$?
	drop_root
	[ $rc = 0 ]
}

part_recipes() {
	check "docs/ci/Dockerfile" dockerfile
	check "docs/ci: YAML" lint
	check "docs/ci/gitlab-ci.yml" gitlab
	check "docs/ci/github-actions.yml" github
}

part_autopkgtest() { check "debian/tests" autopkgtests; }
