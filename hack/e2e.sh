#!/bin/sh
# Copyright 2026 The Pintle Authors
# SPDX-License-Identifier: Apache-2.0
#
# Runs `go test -v` and prints the numbers of passed and failed tests, without tests
# that have subtests. A test that did not end counts as failed.
# usage: e2e.sh COMMAND [ARGUMENT]...
log=$(mktemp) || exit 1
trap 'rm -f "$log" "$log.status"' EXIT
{
	"$@" 2>&1
	echo $? >"$log.status"
} | tee "$log"
awk '
	$1 == "===" && $2 == "RUN" { result[$3] = "FAIL:" }
	$1 == "---" && $2 ~ /^(PASS|FAIL|SKIP):$/ { result[$3] = $2 }
	END {
		for (name in result)
			while (sub(/\/[^\/]*$/, "", name)) parent[name]
		for (name in result)
			if (!(name in parent)) count[result[name]]++
		printf "%d passed, %d failed\n", count["PASS:"], count["FAIL:"]
	}' "$log"
exit "$(cat "$log.status")"
