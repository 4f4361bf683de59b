// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package hookjob

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
)

const (
	kindJob = "Job"
	kindPod = "Pod"

	eventPreUpgrade = "pre-upgrade"

	// maxListed bounds the hooks in a message and in status.
	maxListed = 256
)

// noRelease returns the rejection for a revision that does not exist.
func noRelease(in Input) *Rejection {
	if n := in.Parameters.Revision; n > 0 {
		return &Rejection{Reason: opsv1alpha1.ReasonRevisionNotFound, Message: fmt.Sprintf("revision %d of the release is not stored", n)}
	}
	return &Rejection{
		Reason:  opsv1alpha1.ReasonHookRequiresRelease,
		Message: "the release has no deployed revision: only hooks of a stored revision are run",
	}
}

// choose returns the hooks to run, in order.
func choose(in Input) ([]Hook, error) {
	if in.Parameters.Event != "" {
		return chooseByEvent(in)
	}
	return chooseByName(in)
}

// chooseByName returns the one runnable hook with the requested name.
func chooseByName(in Input) ([]Hook, error) {
	name := in.Parameters.HookName
	var found, other []Hook
	for _, h := range in.Release.Hooks {
		switch {
		case h.Name != name || name == "":
		case runs(h):
			found = append(found, h)
		default:
			other = append(other, h)
		}
	}
	switch {
	case len(found) > 1:
		return nil, &Rejection{
			Reason:  opsv1alpha1.ReasonHookAmbiguous,
			Message: fmt.Sprintf("%s has %d hooks named %s: %s", in.Release.title(), len(found), printable(name), describe(found)),
		}
	case len(found) == 0 && len(other) > 0:
		return nil, &Rejection{
			Reason: opsv1alpha1.ReasonHookNotSupported,
			Message: fmt.Sprintf("hook %s of %s is a %s: only hooks of kind Job and Pod can be run; %s",
				printable(name), in.Release.title(), printable(other[0].Kind), list(in.Release.Hooks)),
			Hooks: references(in.Release.Hooks),
		}
	case len(found) == 0:
		return nil, notFound(in, fmt.Sprintf("no hook named %s", strconv.QuoteToASCII(name)))
	}
	return found, checkEvents(in, found[0].Events)
}

// chooseByEvent returns the runnable hooks of the requested event, sorted by weight.
func chooseByEvent(in Input) ([]Hook, error) {
	event := string(in.Parameters.Event)
	var found []Hook
	for _, h := range in.Release.Hooks {
		if runs(h) && slices.Contains(h.Events, event) {
			found = append(found, h)
		}
	}
	if len(found) == 0 {
		return nil, notFound(in, fmt.Sprintf("no hook of kind Job or Pod for event %s", event))
	}
	slices.SortStableFunc(found, byWeight)
	return found, checkEvents(in, []string{event})
}

// runs reports whether a hook is a Job or a Pod.
func runs(h Hook) bool { return h.Kind == kindJob || h.Kind == kindPod }

// checkEvents rejects hooks that Helm runs only before a release is installed or when it is
// deleted, unless the parameters allow that: such a hook may delete data.
//
// Of the next version, only hooks run that the upgrade runs before it changes objects: others need the
// new objects.
func checkEvents(in Input, events []string) error {
	if in.Release.Next {
		if slices.Contains(events, eventPreUpgrade) {
			return nil
		}
		return &Rejection{
			Reason:  opsv1alpha1.ReasonEventMismatch,
			Message: fmt.Sprintf("the hook is of event %s: of the next version, only hooks of pre-upgrade are run", printable(strings.Join(events, ", "))),
		}
	}
	outside := []string{string(opsv1alpha1.EventPreInstall), string(opsv1alpha1.EventPreDelete), string(opsv1alpha1.EventPostDelete)}
	fits := slices.ContainsFunc(events, func(e string) bool { return !slices.Contains(outside, e) })
	if fits || in.Parameters.AllowEventMismatch {
		return nil
	}
	return &Rejection{
		Reason: opsv1alpha1.ReasonEventMismatch,
		Message: fmt.Sprintf("the hook is of event %s, and the release is installed: it runs only with allowEventMismatch",
			printable(strings.Join(events, ", "))),
	}
}

// notFound returns the rejection for a revision that has missing, a noun phrase with "no".
func notFound(in Input, missing string) *Rejection {
	return &Rejection{
		Reason: opsv1alpha1.ReasonHookNotFound,
		Message: fmt.Sprintf("%s of release %s has %s; %s",
			in.Release.title(), printable(in.Release.Name), missing, list(in.Release.Hooks)),
		Hooks: references(in.Release.Hooks),
	}
}

// title names the revision for messages.
func (r *Release) title() string {
	if r.Next {
		return "the next version"
	}
	return fmt.Sprintf("revision %d", r.Revision)
}

// list returns a sentence that lists the runnable hooks.
func list(hooks []Hook) string {
	var runnable []Hook
	for _, h := range hooks {
		if runs(h) {
			runnable = append(runnable, h)
		}
	}
	if len(runnable) == 0 {
		return "it has no hook of kind Job or Pod"
	}
	return "it has these hooks: " + describe(runnable)
}

func describe(hooks []Hook) string {
	var all []string
	for _, h := range hooks[:min(len(hooks), maxListed)] {
		where := ""
		if h.Path != "" {
			where = ", " + printable(h.Path)
		}
		all = append(all, fmt.Sprintf("%s (%s, %s%s)", printable(h.Name), printable(h.Kind), strings.Join(events(h), " "), where))
	}
	return strings.Join(all, ", ")
}

func references(hooks []Hook) []opsv1alpha1.HookReference {
	var all []opsv1alpha1.HookReference
	for _, h := range hooks[:min(len(hooks), maxListed)] {
		all = append(all, opsv1alpha1.HookReference{Name: printable(h.Name), Kind: printable(h.Kind), Events: events(h)})
	}
	return all
}

const (
	// maxPrintable bounds names in messages, in bytes. It is the longest name of an object.
	maxPrintable = 253
	// maxEvents bounds the events of a hook in messages. Helm has fewer.
	maxEvents = 16
)

// printable returns a text of the record for messages. Any client that may write Secrets may have
// written the record, so it is escaped and truncated.
func printable(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		text = strings.Trim(strconv.QuoteToASCII(text), `"`)
	}
	if len(text) > maxPrintable {
		text = strings.ToValidUTF8(text[:maxPrintable], "")
	}
	return text
}

func events(h Hook) []string {
	var all []string
	for _, e := range h.Events[:min(len(h.Events), maxEvents)] {
		all = append(all, printable(e))
	}
	return all
}
