#!/bin/sh
# Copyright 2026 The Pintle Authors
# SPDX-License-Identifier: Apache-2.0
#
# Prints the path of a promtool: the one on PATH, or else Debian's, which it extracts
# from its package without installing it. If neither is available, it prints only the
# reason, on stderr, and succeeds.
# usage: promtool.sh BINARY
set -eu
command -v promtool && exit 0
[ -x "$1" ] && echo "$1" && exit 0
none() {
	printf 'no promtool, so metrics and rules are not checked with it: %s\n' "$1" >&2
	exit 0
}
command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || none 'there is no apt-get'
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
fetch() { apt-get download -q prometheus >&2; }
fetch || { [ "$(id -u)" = 0 ] && apt-get update -q >&2 && fetch; } || none "Debian's package prometheus cannot be fetched"
dpkg-deb -x prometheus_*.deb . || none "Debian's package prometheus cannot be read"
mkdir -p "$(dirname "$1")"
install -m 755 usr/bin/promtool "$1"
echo "$1"
