// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package site

import (
	"fmt"
	"html/template"
	"net/url"
	"strings"
	"time"

	"github.com/pintle-dev/pintle/internal/view"
	"github.com/pintle-dev/pintle/internal/view/list"
)

// functions are the functions that templates call.
func functions() template.FuncMap {
	return template.FuncMap{"time": rfc3339, "tone": tone, "address": address, "lineClass": lineClass, "document": document}
}

// address returns the address of the list that a query selects.
func address(q list.Query) string {
	path := "/"
	if q.Operations {
		path = "/operations"
	}
	if parameters := q.Parameters(); len(parameters) > 0 {
		return path + "?" + url.Values(parameters).Encode()
	}
	return path
}

// rfc3339 returns a time as text; empty without one.
func rfc3339(t *time.Time) string {
	if t == nil || t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// tone returns the suffix of the class .state-* for the state of a release, an object, an Operation,
// a plan or a revision. The stylesheet has a shape and a colour for each tone.
func tone(state any) string {
	switch fmt.Sprint(state) {
	case "Ready", "Succeeded", "Applied", "Approved", "NotRequired", "deployed":
		return "good"
	case "Stalled", "Failing", "Failed", "Missing", "Refused", "Rejected", "ApplyFailed", "failed":
		return "bad"
	case "Waiting", "Held", "AwaitingApproval", "Drifted", "NotReady":
		return "warn"
	case "Progressing", "Deleting", "Terminating", "Running", "Pending", "Computing", "Computed",
		"uninstalling", "pending-install", "pending-upgrade", "pending-rollback":
		return "busy"
	}
	return "off"
}

// document returns an address of the documentation; empty for any other address.
func document(address string) string {
	if !strings.HasPrefix(address, view.Documentation) {
		return ""
	}
	return address
}
