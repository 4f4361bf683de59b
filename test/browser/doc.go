// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package browser drives a headless Chromium by its DevTools protocol. It needs no network: the
// commands are sent through a pipe. Its files, from the top:
//
//	browser.go   Browser: the process, and its sessions
//	page.go      Page: opens addresses, evaluates scripts, types
//	look.go      theme, size, pictures
//	axe.go       accessibility checks
//	problems.go  what went wrong on a page: errors in its console, and its requests
//	protocol.go  commands, answers and events
package browser
