// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package site

import (
	"fmt"
	"html/template"
	"net/url"
	"regexp"
	"strings"
	"time"

	plans "github.com/pintle-dev/pintle/internal/plan"
	"github.com/pintle-dev/pintle/internal/view"
	"github.com/pintle-dev/pintle/internal/view/list"
)

// functions are the functions that templates call.
func functions() template.FuncMap {
	return template.FuncMap{
		"utc": utc, "tone": tone, "address": address, "lineClass": lineClass, "document": document, "short": short, "prose": prose, "message": messageOf,
		"sourceOf": plans.SourceOf,
	}
}

// utc returns a time as text, also for the attribute datetime.
func utc(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05Z") }

// longDigest matches a digest, with the part that is shown as its first group.
var longDigest = regexp.MustCompile(`\b(sha(?:256|384|512):[0-9a-f]{12})[0-9a-f]{20,}`)

// short returns a text with short digests.
func short(text string) string { return longDigest.ReplaceAllString(text, "${1}…") }

// message is a message with its details.
type message struct {
	Head    string
	Details []string
}

func messageOf(text string) message {
	head, details := view.Message(text)
	return message{Head: head, Details: details}
}

// command matches a command in a sentence. It ends with the sentence or clause.
var command = regexp.MustCompile(`\bkubectl [^\n;,()]*?[^\s;,().:?!]+(?:[.:?!]?\s*$|[.:?!]\s|[;,()\n])`)

// part is a part of a text.
type part struct {
	Text string
	// Command is true for a command.
	Command bool
}

// prose returns the parts of a text of sentences, with short digests.
func prose(text string) []part {
	var all []part
	text = short(text)
	for text != "" {
		at := command.FindStringIndex(text)
		if at == nil {
			return append(all, part{Text: text})
		}
		found := strings.TrimRight(text[at[0]:at[1]], " \n\t;,().:?!")
		if at[0] > 0 {
			all = append(all, part{Text: text[:at[0]]})
		}
		all = append(all, part{Text: found, Command: true})
		text = text[at[0]+len(found):]
	}
	return all
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

// tone returns the suffix of the class .state-* for the state of a release, an object, an Operation,
// a plan or a revision. The stylesheet has a shape and a colour for each tone.
func tone(state any) string {
	switch fmt.Sprint(state) {
	case "Ready", "Succeeded", "Applied", "Approved", "Done", "NotRequired", "deployed":
		return "good"
	case "Stalled", "Failing", "Failed", "Missing", "Refused", "Rejected", "ApplyFailed", "Halted", "failed":
		return "bad"
	case "Waiting", "Held", "AwaitingApproval", "Drifted", "NotReady", "Passed":
		return "warn"
	case "Progressing", "Baking", "Deleting", "Terminating", "Running", "Pending", "Computing", "Computed",
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
