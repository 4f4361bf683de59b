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

	// maxListed is how many hooks a message and status name.
	maxListed = 256
)

func noRelease(in Input) *Rejection {
	if n := in.Parameters.Revision; n > 0 {
		return &Rejection{Reason: opsv1alpha1.ReasonRevisionNotFound, Message: fmt.Sprintf("revision %d of the release is not stored", n)}
	}
	return &Rejection{
		Reason:  opsv1alpha1.ReasonHookRequiresRelease,
		Message: "the release has no deployed revision: hooks are taken only from what was released",
	}
}

// checkNamespace: the Operation owns its Jobs, and owners do not reach into other
// namespaces. It is also what keeps those who may write Operations in one
// namespace from running things in another one.
func checkNamespace(in Input) error {
	if in.Release.Namespace == in.Operation.Namespace {
		return nil
	}
	return &Rejection{
		Reason: opsv1alpha1.ReasonNamespaceMismatch,
		Message: fmt.Sprintf("release %s is installed into namespace %s: hooks are run only in the namespace of the Operation, which is %s",
			shown(in.Release.Name), shown(in.Release.Namespace), in.Operation.Namespace),
	}
}

// choose returns the hooks to run, in order.
func choose(in Input) ([]Hook, error) {
	if in.Parameters.Event != "" {
		return chooseByEvent(in)
	}
	return chooseByName(in)
}

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
			Message: fmt.Sprintf("revision %d has %d hooks named %s: %s", in.Release.Revision, len(found), shown(name), describe(found)),
		}
	case len(found) == 0 && len(other) > 0:
		return nil, &Rejection{
			Reason: opsv1alpha1.ReasonHookNotSupported,
			Message: fmt.Sprintf("hook %s of revision %d is a %s: only hooks of kind Job and Pod can be run; %s",
				shown(name), in.Release.Revision, shown(other[0].Kind), list(in.Release.Hooks)),
			Hooks: references(in.Release.Hooks),
		}
	case len(found) == 0:
		return nil, notFound(in, fmt.Sprintf("no hook named %s", strconv.QuoteToASCII(name)))
	}
	return found, checkEvents(in, found[0].Events)
}

func chooseByEvent(in Input) ([]Hook, error) {
	event := string(in.Parameters.Event)
	var found []Hook
	for _, h := range in.Release.Hooks {
		if runs(h) && slices.Contains(h.Events, event) {
			found = append(found, h)
		}
	}
	if len(found) == 0 {
		return nil, notFound(in, fmt.Sprintf("no Job or Pod as a hook of event %s", event))
	}
	slices.SortStableFunc(found, byWeight)
	return found, checkEvents(in, []string{event})
}

// runs reports whether a hook is of a kind that does something.
func runs(h Hook) bool { return h.Kind == kindJob || h.Kind == kindPod }

// checkEvents: what a chart does only before there is a release, or on its way
// out, is nothing to do to one that is there: it may begin with empty data.
func checkEvents(in Input, events []string) error {
	elsewhere := []string{string(opsv1alpha1.EventPreInstall), string(opsv1alpha1.EventPreDelete), string(opsv1alpha1.EventPostDelete)}
	fits := slices.ContainsFunc(events, func(e string) bool { return !slices.Contains(elsewhere, e) })
	if fits || in.Parameters.AllowEventMismatch {
		return nil
	}
	return &Rejection{
		Reason: opsv1alpha1.ReasonEventMismatch,
		Message: fmt.Sprintf("the hook is of event %s, and the release is installed: it runs only with allowEventMismatch",
			shown(strings.Join(events, ", "))),
	}
}

func notFound(in Input, what string) *Rejection {
	return &Rejection{
		Reason: opsv1alpha1.ReasonHookNotFound,
		Message: fmt.Sprintf("revision %d of release %s has %s; %s",
			in.Release.Revision, shown(in.Release.Name), what, list(in.Release.Hooks)),
		Hooks: references(in.Release.Hooks),
	}
}

// list says which hooks there are.
func list(hooks []Hook) string {
	var able []Hook
	for _, h := range hooks {
		if runs(h) {
			able = append(able, h)
		}
	}
	if len(able) == 0 {
		return "it has no Job or Pod as a hook at all"
	}
	return "it has these hooks: " + describe(able)
}

func describe(hooks []Hook) string {
	var all []string
	for _, h := range hooks[:min(len(hooks), maxListed)] {
		where := ""
		if h.Path != "" {
			where = ", " + shown(h.Path)
		}
		all = append(all, fmt.Sprintf("%s (%s, %s%s)", shown(h.Name), shown(h.Kind), strings.Join(events(h), " "), where))
	}
	return strings.Join(all, ", ")
}

func references(hooks []Hook) []opsv1alpha1.HookReference {
	var all []opsv1alpha1.HookReference
	for _, h := range hooks[:min(len(hooks), maxListed)] {
		all = append(all, opsv1alpha1.HookReference{Name: shown(h.Name), Kind: shown(h.Kind), Events: events(h)})
	}
	return all
}

const (
	// maxShown is how many bytes of a name are told, the longest that an object has.
	maxShown = 253
	// maxEvents is how many events of a hook are told: there are fewer.
	maxEvents = 16
)

// shown returns a text of the record as it may be told. Whoever may write Secrets may
// have written the record: it may be long, and of several lines.
func shown(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		text = strings.Trim(strconv.QuoteToASCII(text), `"`)
	}
	if len(text) > maxShown {
		text = strings.ToValidUTF8(text[:maxShown], "")
	}
	return text
}

func events(h Hook) []string {
	var all []string
	for _, e := range h.Events[:min(len(h.Events), maxEvents)] {
		all = append(all, shown(e))
	}
	return all
}
