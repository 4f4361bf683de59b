// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package trigger enqueues HelmReleases when an object changes that they use. The handlers decide
// nothing about a release: they only name the HelmRelease to reconcile. Its files, from the top:
//
//	sources.go       sources of charts
//	values.go        ConfigMaps and Secrets
//	dependencies.go  HelmReleases that others depend on
//	owners.go        HelmReleases that own a Helm release or an object of another
//	predicates.go    which events are passed to the handlers
//	queue.go         triggers from outside of watches
//	handlers.go      functions of all handlers
package trigger
