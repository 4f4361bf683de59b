#!/bin/sh
# Copyright 2026 The Pintle Authors
# SPDX-License-Identifier: Apache-2.0
#
# Runs test suites one after the other, also after a failure, and prints the result and duration of
# each. `--` begins a list that runs beside the first one. Its output is printed at the end.
# usage: suites.sh NAME COMMAND [NAME COMMAND]... [-- NAME COMMAND [NAME COMMAND]...]...
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'trap - TERM; kill 0' INT TERM # A shell in the background ignores Ctrl-C.
lane() {
	while [ $# -ge 2 ] && [ "$1" != -- ]; do
		echo "=== $1: $2"
		began=$(date +%s)
		if sh -c "$2" 2>&1; then result=ok; else result=FAILED && : >"$dir/failed"; fi
		printf '%-14s %-7s %4d s\n' "$1" "$result" $(($(date +%s) - began)) >>"$dir/summary"
		shift 2
	done
}
lane "$@" &
while [ $# -gt 0 ]; do
	if [ "$1" = -- ]; then shift; lane "$@" >"$dir/$#.log" & else shift; fi
done
wait
cat "$dir"/*.log 2>/dev/null
printf '\nsuites:\n' && cat "$dir/summary"
[ ! -e "$dir/failed" ]
