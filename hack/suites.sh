#!/bin/sh
# Copyright 2026 The Pintle Authors
# SPDX-License-Identifier: Apache-2.0
#
# Runs test suites one after the other, also after a failure, and prints the result
# and duration of each.
# usage: suites.sh NAME COMMAND [NAME COMMAND]...
failed=0
summary=
while [ $# -ge 2 ]; do
	echo "=== $1: $2"
	began=$(date +%s)
	if sh -c "$2"; then result=ok; else result=FAILED failed=1; fi
	summary="$summary$(printf '%-12s %-7s %4d s' "$1" "$result" $(($(date +%s) - began)))
"
	shift 2
done
printf '\nsuites:\n%s' "$summary"
exit $failed
