// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package redaction decides which parts of a Secret are secret, and removes them from texts. It also
// decides which values look like credentials that should be in a Secret. It is the only place that does.
// It performs no I/O.
//
// Files, top-down:
//
//	redactor.go  Redactor, which removes secrets from texts
//	parts.go     the parts of a value: documents, lines, URLs, encoded texts
//	urls.go      the parts of URLs
//	matcher.go   finds secrets in a text, in linear time
//	forms.go     the forms in which texts quote a secret
//	words.go     texts that are too short or too common to be secret
//
// Of values that are no Secrets:
//
//	credentials.go      Credentials: the values in a tree that look like credentials
//	names.go            the names of credentials and of references to them
//	credentialforms.go  the forms of credentials
package redaction
