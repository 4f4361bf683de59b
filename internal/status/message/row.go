// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package message

import (
	"slices"
	"strings"
)

// Kind is the name of a row.
type Kind string

// Object is the kind of the object that a message is about.
type Object string

// Objects with messages.
const (
	HelmRelease Object = "HelmRelease"
	Operation   Object = "Operation"
	ReleasePlan Object = "ReleasePlan"
)

// Row is a message with placeholders for facts, such as {cause}.
type Row struct {
	Kind Kind
	// About is the object of the message, and Reasons are the reasons of its conditions.
	About   Object
	Reasons []string
	// Waits is true for a regular wait, which is no fault. It is logged at level info.
	Waits bool

	Parts
}

// Facts fill the placeholders of a row.
type Facts struct {
	// What replaces the first part, if an earlier step has already made it.
	What string
	// Details follow below the sentences.
	Details string
	// Subject is the action as a noun phrase; see Subject.
	Subject string
	// Cause is the error, and Remedy the sentence that Remedy returns, or empty.
	Cause, Remedy string
	// Tested is true if the tests of the revision have failed, and not its install or upgrade.
	Tested bool
	// Runs says which revision runs after a rollback.
	Runs string
	// Action is the action of Helm: install, upgrade, rollback, uninstall, test.
	Action string
	// Release is "<namespace>/<name>", and Chart "<name>@<version>".
	Release, Chart string
	// Attempts is the number of failed attempts.
	Attempts string
	// Revision is the number of a revision of the release.
	Revision string
	// Interval is the time between two attempts, or the limit of a wait.
	Interval string
	// Again is the sentence about the next try; see function Again.
	Again string
	// Until is the time, in RFC 3339, at which a suspension ends or has ended.
	Until string
	// Object is the object as arguments of a command, "<name> -n <namespace>".
	Object string
}

// placeholders returns the placeholders and their replacements, in pairs.
func (f Facts) placeholders() []string {
	remedy := f.Remedy
	if remedy != "" {
		remedy += ". "
	}
	outcome := "failed"
	if f.Tested {
		outcome = "tested"
	}
	return []string{
		"{subject}", f.Subject, "{outcome}", outcome, "{remedy}", remedy, "{runs}", f.Runs,
		"{cause}", f.Cause, "{action}", f.Action, "{release}", f.Release, "{chart}", f.Chart,
		"{attempts}", f.Attempts, "{revision}", f.Revision, "{interval}", f.Interval, "{again}", f.Again,
		"{until}", f.Until, "{object}", f.Object,
	}
}

// Of returns the three parts of the message of a kind.
func Of(kind Kind, f Facts) Parts {
	p := rowOf(kind).Parts
	// One replacement: facts from charts may contain braces, too.
	fill := strings.NewReplacer(f.placeholders()...).Replace
	p = Parts{What: fill(p.What), Left: fill(p.Left), Next: strings.TrimSuffix(fill(p.Next), ". "), Details: f.Details}
	if f.What != "" {
		p.What = f.What
	}
	return p
}

// What returns only the first part: the result of an action without its consequences.
func What(kind Kind, f Facts) string { return Of(kind, f).What }

func rowOf(kind Kind) Row {
	all := Rows()
	if i := slices.IndexFunc(all, func(r Row) bool { return r.Kind == kind }); i >= 0 {
		return all[i]
	}
	return Row{Kind: kind}
}

// Waits reports whether the reason of a condition means a regular wait.
func Waits(about Object, reason string) bool {
	return slices.ContainsFunc(Rows(), func(r Row) bool {
		return r.About == about && r.Waits && slices.Contains(r.Reasons, reason)
	})
}

// hasRow reports whether a row has the reason.
func hasRow(about Object, reason string) bool {
	return slices.ContainsFunc(Rows(), func(r Row) bool { return r.About == about && slices.Contains(r.Reasons, reason) })
}
