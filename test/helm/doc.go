// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package helm runs Helm 4 beside Pintle, which uses the SDK of Helm 3. Its tests compare Helm 4 with
// the files in testdata folders of Pintle, and with -args -rewrite they write these files. The module
// also pins the helm commands of `make test-helm`.
package helm
