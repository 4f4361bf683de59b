#!/bin/sh
# Copyright 2026 The Pintle Authors
# SPDX-License-Identifier: Apache-2.0
#
# Builds the controller with a defect: the reconciliation of a HelmRelease called "panics" panics. No
# input of the controller without it is known to do that. The defect is in no file of the repository,
# so that it is in no other executable.
# usage: faulty.sh EXECUTABLE
set -eu
cd "$(dirname "$0")/.."
file=internal/controller/helmrelease/reconcile.go
overlay=$(mktemp -d)
trap 'rm -rf "$overlay"' EXIT
sed 's/^\tdefer r\.observeDuration(req\.NamespacedName, r\.now())$/&\n\tif hr.Name == "panics" {\n\t\tvar missing map[string]string\n\t\tmissing[hr.Name] = ""\n\t}/' "$file" >"$overlay/faulty.go"
if cmp -s "$file" "$overlay/faulty.go"; then
	echo "faulty.sh: $file does not have the line before the defect" >&2
	exit 1
fi
printf '{"Replace": {"%s": "%s"}}\n' "$PWD/$file" "$overlay/faulty.go" >"$overlay/overlay.json"
go build -overlay="$overlay/overlay.json" -ldflags='-s -w' -o "$1" .
