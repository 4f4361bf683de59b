#!/bin/sh
# Copyright 2026 The Pintle Authors
# SPDX-License-Identifier: Apache-2.0
#
# Prints the path of axe-core, which npm installs into a folder. If there is no npm, it installs
# Debian's. If axe-core is not available, it prints only the reason, on stderr, and succeeds.
# usage: axe.sh FOLDER
set -eu
none() { printf 'no axe-core, so the web page is not tested with it: %s\n' "$1" >&2 && exit 0; }
script=$1/node_modules/axe-core/axe.min.js
locked=$(dirname "$0")/tools/axe
cmp -s "$locked/package-lock.json" "$1/package-lock.json" && [ -e "$script" ] && echo "$script" && exit 0
if ! command -v npm >/dev/null; then
	[ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || none 'there is no npm'
	export DEBIAN_FRONTEND=noninteractive
	{ apt-get update -q && apt-get install -qy --no-install-recommends npm; } >&2 || none "Debian's package npm cannot be installed"
fi
mkdir -p "$1" && cp "$locked/package.json" "$locked/package-lock.json" "$1"
npm ci --prefix "$1" --ignore-scripts --no-audit --no-fund >&2 || none 'npm cannot fetch it'
echo "$script"
