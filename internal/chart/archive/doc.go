// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package archive parses the archives of charts. It runs in workers: its limits protect them from
// most hostile archives, and the limits of the worker protect the controller from all.
//
//	load.go       Load: an archive as a chart
//	check.go      archives that must not be unpacked
//	checkout.go   SelectIn: the files of a directory, for the plugin
//	package.go    Package: the archive of a chart in a directory, for the plugin
//	shifttime.go  templates at another time
//	reads.go      lookups and capabilities in templates
//	size.go       estimates of the memory of parsed charts
//	copy.go       deep copies of parsed charts, and walks over them
//	limits.go     limits of sizes and counts
package archive
