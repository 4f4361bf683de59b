#!/bin/sh
# Copyright 2026 The Pintle Authors
# SPDX-License-Identifier: Apache-2.0
#
# Runs `go test -v` and says at the end how many tests passed and failed, those
# that have subtests excepted. What began and did not end has failed.
# usage: e2e.sh COMMAND [ARGUMENT]...
log=$(mktemp) || exit 1
trap 'rm -f "$log" "$log.status"' EXIT
{
	"$@" 2>&1
	echo $? >"$log.status"
} | tee "$log"
awk '
	$1 == "===" && $2 == "RUN" { verdict[$3] = "FAIL:" }
	$1 == "---" && $2 ~ /^(PASS|FAIL|SKIP):$/ { verdict[$3] = $2 }
	END {
		for (name in verdict)
			while (sub(/\/[^\/]*$/, "", name)) parent[name]
		for (name in verdict)
			if (!(name in parent)) count[verdict[name]]++
		printf "%d passed, %d failed\n", count["PASS:"], count["FAIL:"]
	}' "$log"
exit "$(cat "$log.status")"
