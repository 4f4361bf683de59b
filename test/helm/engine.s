// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Functions without a body, as in render_test.go, need a file of assembly in their package.
