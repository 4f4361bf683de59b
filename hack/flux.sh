#!/bin/sh
# Copyright 2026 The Pintle Authors
# SPDX-License-Identifier: Apache-2.0
#
# Builds the flux CLI in the version of test/flux/go.mod. The manifests for
# `flux install` are generated at its release and are not in its module. This build
# has no manifests, so all commands but `flux install` work.
# usage: flux.sh BINARY
set -eu
cd "$(dirname "$0")/../test/flux"
module=github.com/fluxcd/flux2/v2
GOWORK=off go mod download "$module"
source=$(GOWORK=off go list -m -f '{{.Dir}}' "$module")
version=$(GOWORK=off go list -m -f '{{.Version}}' "$module")
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cp -R "$source/." "$copy"
chmod -R u+w "$copy"
mkdir "$copy/cmd/flux/manifests"
echo '# None.' >"$copy/cmd/flux/manifests/none.yaml"
cd "$copy"
CGO_ENABLED=0 GOWORK=off go build -trimpath -buildvcs=false -ldflags="-s -w -X main.VERSION=${version#v}" -o "$1" ./cmd/flux
