#!/bin/sh
# Copyright 2026 The Pintle Authors
# SPDX-License-Identifier: Apache-2.0
#
# Runs test suites one after the other, the later ones also if one fails, and
# says at the end how each ended and how long it took.
# usage: suites.sh NAME COMMAND [NAME COMMAND]...
failed=0
summary=
while [ $# -ge 2 ]; do
	echo "=== $1: $2"
	began=$(date +%s)
	if sh -c "$2"; then verdict=ok; else verdict=FAILED failed=1; fi
	summary="$summary$(printf '%-12s %-7s %4d s' "$1" "$verdict" $(($(date +%s) - began)))
"
	shift 2
done
printf '\nsuites:\n%s' "$summary"
exit $failed
