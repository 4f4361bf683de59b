// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package drift compares the live objects of a release with its newest revision,
// and corrects them. It tells what differs and who changed it; it does not decide
// whether to look or to correct, knows nothing of Helm, and wakes nobody.
//
// An object is compared three-fold: D is what the release has, L is live, and R is
// the API server's answer to D, applied by dry run as our field manager. R says in
// its managedFields which fields D sets, in the API server's own words and with
// what it defaults and normalises; so R, never D, is what L is compared with. Who
// owns a field in L tells why it differs: whoever changes a field by a request
// takes it from us, while admission does not.
//
// Comparing is pure: [Normalize] and [Contains] before the API server is asked,
// [Compare] after. None of it keeps anything or changes its arguments, so all of
// it may be called at the same time.
package drift
