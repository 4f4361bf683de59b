// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0
