// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"fmt"
	"strings"
	"time"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

const (
	// dependentsGrace is how long a deletion waits for dependents that are not being deleted yet.
	// Objects that are deleted together arrive one by one.
	dependentsGrace = 3 * time.Second
	// dependentsLimit is how long a deletion waits for dependents that are being deleted. A
	// dependent that cannot be deleted must not block the deletion for ever.
	dependentsLimit = 10 * time.Minute
)

// Dependent is another HelmRelease that depends on a HelmRelease that is being deleted.
type Dependent struct {
	// Name is "<namespace>/<name>".
	Name string
	// Deleted is true if it is being deleted too.
	Deleted bool
	// Cycle is the path by which the deleted HelmRelease depends on this one in turn, from itself
	// to itself. It is empty if there is no cycle. Members of a cycle do not wait for each other.
	Cycle string
}

// DeletionOf reads the annotations that control a deletion. They can still be set after the applier
// has stopped managing the spec.
func DeletionOf(annotations map[string]string) Deletion {
	is := func(key string) bool {
		value, set := annotations[key]
		return set && value != "false"
	}
	return Deletion{Orphan: is(helmv2.AnnotationOrphan), NoHooks: is(helmv2.AnnotationUninstallDisableHooks)}
}

// Deletion states how a release is removed with its HelmRelease.
type Deletion struct {
	// Orphan is true if the release stays installed.
	Orphan bool
	// NoHooks is true if its hooks are not run, regardless of the spec.
	NoHooks bool
}

// obsolete reports whether the running action is useless for a HelmRelease that is being deleted.
func (d Deletion) obsolete(running *Running) bool {
	return running.Action != helmv2.ActionUninstall || d.Orphan || d.NoHooks && !running.Desired.Deletion.NoHooks
}

// awaitDependents delays an uninstall until the dependents are gone. Without it, an operator could
// be uninstalled before the custom resources whose finalizers it removes.
func awaitDependents(in Input) *Decision {
	if !in.Desired.Deleted {
		return nil
	}
	waited := in.Now.Sub(in.Desired.DeletedAt)
	var deleting, others []string
	for _, d := range in.Observed.Dependents {
		switch {
		case d.Cycle != "":
		case d.Deleted:
			deleting = append(deleting, d.Name)
		default:
			others = append(others, d.Name)
		}
	}
	switch {
	case len(deleting) > 0 && waited < dependentsLimit:
		return &Decision{
			Action: Wait{After: dependentsLimit - waited},
			Why:    "the release is uninstalled after its dependents, which are being deleted: HelmRelease " + strings.Join(deleting, ", "),
		}
	case len(others) > 0 && waited < dependentsGrace:
		return &Decision{Action: Wait{After: dependentsGrace - waited, Brief: true}, Why: "the dependents of the release may be deleted too"}
	}
	return nil
}

// DeletionWithout decides about a deleted HelmRelease if an object that gives access to its release
// does not exist: its ServiceAccount, or the Secret or ConfigMap of a cluster. In a namespace that
// is gone or being deleted, that object cannot return. The release is given up then, and
// unreachable is the reason. In any other namespace the deletion waits for the object, so that no
// release is left behind only because both were deleted together.
func DeletionWithout(missing error, namespaceGone bool) (unreachable string, blocked *Blocked) {
	if namespaceGone {
		return missing.Error(), nil
	}
	b := BlockedBy(helmv2.ReasonUninstallFailed, missing, "The release cannot be uninstalled")
	b.Message += "; restore that, or set annotation " + helmv2.AnnotationOrphan + " to leave the release installed"
	return "", b
}

// MustFindDependents reports whether the decision depends on the HelmReleases that depend on this
// one.
func MustFindDependents(in Input) bool {
	return in.Desired.Deleted && in.Observed.Running == nil && !in.Desired.Suspension.Active
}

// DependentsMessage returns a message that lists the dependents of a release that is uninstalled
// before them. It is empty if there are none.
func DependentsMessage(in Input) string {
	var dependents []string
	for _, d := range in.Observed.Dependents {
		switch {
		case d.Cycle != "":
			dependents = append(dependents, fmt.Sprintf("HelmRelease %s, in the dependency cycle %s", d.Name, d.Cycle))
		case d.Deleted:
			dependents = append(dependents, fmt.Sprintf("HelmRelease %s, whose deletion has taken more than %s", d.Name, dependentsLimit))
		default:
			dependents = append(dependents, fmt.Sprintf("HelmRelease %s, which is not being deleted", d.Name))
		}
	}
	if len(dependents) == 0 {
		return ""
	}
	return "Uninstalled before its dependents: " + strings.Join(dependents, "; ")
}
