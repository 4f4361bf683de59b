#!/bin/sh
# Copyright 2026 The Pintle Authors
# SPDX-License-Identifier: Apache-2.0
#
# Builds the programs of test/neighbours, and copies the CRDs of the controllers. The flux command
# embeds the manifests for `flux install`, which are generated at its release and are not in its
# module. It is built from a copy with an empty manifest, so all commands but `flux install` work.
# usage: neighbours.sh FOLDER
set -eu
cd "$(dirname "$0")/../test/neighbours"
export CGO_ENABLED=0 GOWORK=off
mkdir -p "$1/crds"
build() { go build -buildvcs=false -o "$folder/" "$@"; }
folder=$1
for module in github.com/fluxcd/kustomize-controller github.com/fluxcd/notification-controller; do
	build -ldflags='-s -w' "$module"
	install -m 644 "$(go list -m -f '{{.Dir}}' "$module")"/config/crd/bases/*.yaml "$folder/crds"
done
build -ldflags='-s -w' github.com/k3s-io/helm-controller

copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
flux=github.com/fluxcd/flux2/v2
version=$(go list -m -f '{{.Version}}' "$flux")
go mod download "$flux"
cp go.mod go.sum "$copy"
cp -R "$(go list -m -f '{{.Dir}}' "$flux")" "$copy/flux"
chmod -R u+w "$copy"
mkdir "$copy/flux/cmd/flux/manifests"
echo '# None.' >"$copy/flux/cmd/flux/manifests/none.yaml"
go mod edit -replace="$flux=$copy/flux" "$copy/go.mod"
build -modfile="$copy/go.mod" -ldflags="-s -w -X main.VERSION=${version#v}" "$flux/cmd/flux"
