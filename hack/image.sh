#!/bin/sh
# Copyright 2026 The Pintle Authors
# SPDX-License-Identifier: Apache-2.0
#
# Builds the image of the Dockerfile as the file ARCHIVE, with Debian's buildah and
# as root, without a daemon or a registry. The base image is replaced by one from
# files of this machine: Go with its caches, a shell and the CA certificates.
# usage: image.sh ARCHIVE
set -eu
cd "$(dirname "$0")/.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
buildah() { command buildah --root "$scratch/storage" --runroot "$scratch/run" --storage-driver vfs "$@"; }

base=$scratch/base
mkdir -p "$base/bin" "$base/etc/ssl/certs" "$base/root" "$base/usr/local/go" "$(go env GOMODCACHE)" "$(go env GOCACHE)"
mkdir -m 1777 "$base/tmp"
for name in sh mkdir cp chmod; do cp "$(command -v busybox)" "$base/bin/$name"; done
cp /etc/ssl/certs/ca-certificates.crt "$base/etc/ssl/certs/"
printf 'FROM scratch\nCOPY . /\nENV PATH=/usr/local/go/bin:/bin HOME=/root GOMODCACHE=/modules GOCACHE=/builds GOPROXY=%s GOSUMDB=%s\n' \
	"$(go env GOPROXY)" "$(go env GOSUMDB)" >"$base.file"
buildah build --quiet --tag "docker.io/library/golang:$(sed -n 's/^ARG GO_VERSION=//p' Dockerfile)" --file "$base.file" "$base"
buildah build --isolation chroot --network host --pull-never --platform "linux/$(go env GOARCH)" --volume "$(go env GOROOT):/usr/local/go:ro" \
	--volume "$(go env GOMODCACHE):/modules" --volume "$(go env GOCACHE):/builds" --build-arg VERSION="$(git describe --tags --always --dirty 2>/dev/null || echo unknown)" --build-arg REVISION="$(git rev-parse HEAD 2>/dev/null || echo unknown)" \
	--tag docker.io/library/pintle:latest .
rm -f "$1"
buildah push --quiet docker.io/library/pintle:latest "oci-archive:$1:docker.io/library/pintle:latest"
