#!/bin/sh
# Copyright 2026 The Pintle Authors
# SPDX-License-Identifier: Apache-2.0
#
# Checks that files are short: at most 400 lines for Go files, 800 for tests, 30 for
# scripts. Generated files are exempt.
limit() {
	case $1 in
	hack/*.sh) echo 30 ;;
	*/zz_generated.*) echo 1000000 ;;
	*_test.go) echo 800 ;;
	*.go) echo 400 ;;
	*) echo 1000000 ;;
	esac
}
status=0
for file in $(git ls-files --cached --others --exclude-standard -- '*.go' 'hack/*.sh'); do
	[ -f "$file" ] || continue
	lines=$(wc -l <"$file")
	if [ "$lines" -gt "$(limit "$file")" ]; then
		echo "$file has $lines lines, more than $(limit "$file")" >&2
		status=1
	fi
done
exit $status
