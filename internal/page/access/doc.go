// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package access decides what the users of the page see. Kubernetes decides: a token is checked by a
// TokenReview, and each right by a SubjectAccessReview. Its files, from the top:
//
//	checked.go        Viewer.Reader: reads as a release after checks of the user's rights
//	drift.go          Viewer.Drift: how live objects differ from the newest revision
//	elsewhere.go      Viewer.Elsewhere: the readiness of objects in another cluster
//	operations.go     the Operations that one user may get, and their Pods
//	related.go        the plan of a release, and the HelmReleases that depend on it
//	viewer.go         Viewer: the HelmReleases that one user may get
//	errors.go         the errors that users see
//	identity.go       AsRelease: a reader with the identity of a release
//	rights.go         Rights: checks rights
//	authenticator.go  Authenticator: the user of a token
//	answers.go        caches the answers of the API server
package access
