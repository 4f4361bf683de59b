#!/bin/sh
# Copyright 2026 The Pintle Authors
# SPDX-License-Identifier: Apache-2.0
#
# Installs Debian's packages for a real node if programs are missing, and makes a
# target. If no such node can run, it prints the reason and succeeds.
# usage: node.sh LAUNCHER TARGET
skip() {
	printf 'make test-node: SKIPPED, nothing was tested on a real node: %s\n' "$1"
	exit 0
}
[ "$(uname -s)" = Linux ] || skip 'it needs Linux'
[ "$(id -u)" = 0 ] || skip "a kubelet and containers need root, and this is user $(id -un)"
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
packages=
for pair in containerd:containerd ctr:containerd runc:runc busybox:busybox-static ip:iproute2 \
	/usr/lib/cni/ptp:containernetworking-plugins; do
	command -v "${pair%%:*}" >/dev/null || packages="$packages ${pair##*:}"
done
if [ -n "$packages" ]; then
	command -v apt-get >/dev/null || skip "these packages are missing, and there is no apt-get:$packages"
	echo "installing$packages"
	export DEBIAN_FRONTEND=noninteractive
	# shellcheck disable=SC2086 # a list of words
	{ apt-get update -q && apt-get install -qy --no-install-recommends $packages; } >&2 || skip "cannot install$packages"
fi
why=$(sh -c "$1 check-node" 2>&1) || skip "$why"
exec make "$2"
