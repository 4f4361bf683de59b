// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package helmcharts reconciles the HelmCharts of k3s: it makes and keeps the HelmRelease, the source
// and the Secret that package helmchart translates each one into, and mirrors the state of the
// HelmRelease. Its files, from the top:
//
//	start.go      starts the controller once HelmCharts can be watched, and its watches
//	reconcile.go  Reconcile: read, translate, apply, mirror
//	gather.go     what exists in the cluster
//	archives.go   archives at URLs: downloaded once, and again when that is due
//	takeover.go   releases that k3s' controller has made
//	objects.go    applies and deletes the objects that are made
package helmcharts
