// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package crds pins the API package that source-controller's CRDs are generated
// from, together with the generator. It is a module apart from the controller's
// because the generator needs a newer apimachinery than the controller is built
// with; nothing may import it.
package crds

import _ "github.com/fluxcd/source-controller/api/v1"
