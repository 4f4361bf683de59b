#!/bin/sh
# Copyright 2026 The Pintle Authors
# SPDX-License-Identifier: Apache-2.0
#
# Prints the path of a Chromium: the one on PATH, or else Debian's, which it extracts from its
# packages without installing them. It also extracts the fonts of the pictures. If one is not
# available, it prints only the reason, on stderr, and succeeds.
# usage: browser.sh FOLDER
set -eu
none() { printf 'no browser, so the web page is not tested with it: %s\n' "$1" >&2 && exit 0; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fetch() { # FOLDER COMMAND: extracts the packages that the command prints
	[ ! -d "$1" ] || return 0
	(cd "$scratch" && rm -f ./*.deb && list=$($2) && [ -n "$list" ] && apt-get download -q $list >&2) || return 1
	mkdir -p "$1.new"
	for package in "$scratch"/*.deb; do dpkg-deb -x "$package" "$1.new" || return 1; done
	mv "$1.new" "$1"
}
again() { fetch "$@" || { [ "$(id -u)" = 0 ] && apt-get update -q >&2 && fetch "$@"; }; }
missing() { echo chromium-common && apt-get install -s --no-install-recommends chromium-headless-shell | sed -n 's/^Inst \([^ ]*\).*/\1/p'; }
[ -d "$1/fonts" ] || command -v apt-get >/dev/null || none 'there is no apt-get'
again "$1/fonts" 'echo fonts-inter-variable fonts-jetbrains-mono' || none "Debian's fonts cannot be fetched"
command -v chromium-headless-shell || command -v chromium && exit 0
again "$1/root" missing || none "Debian's package chromium-headless-shell cannot be fetched"
printf '#!/bin/sh\nroot=%s/root\nLD_LIBRARY_PATH="$(echo "$root"/usr/lib/*-linux-gnu):$(echo "$root"/usr/lib/*-linux-gnu/pulseaudio)" exec "$root/usr/lib/chromium/chromium-headless-shell" "$@"\n' \
	"$(cd "$1" && pwd)" >"$1/chromium" && chmod 755 "$1/chromium" && echo "$1/chromium"
