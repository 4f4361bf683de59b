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
	// dependentsGrace is how long a deletion waits for those to be deleted too that
	// depend on the release: what is deleted in one stroke arrives one by one.
	dependentsGrace = 3 * time.Second
	// dependentsBound is how long it waits for those that are being deleted. Its own
	// release is not to stay for ever because theirs cannot go.
	dependentsLimit = 10 * time.Minute
)

// Dependent is another HelmRelease that depends on this one, which is being deleted.
type Dependent struct {
	// Name is "<namespace>/<name>".
	Name string
	// Deleted is true if it is being deleted too.
	Deleted bool
	// Cycle is how this one depends on it in turn, from this one to this one; empty if
	// it does not. Nobody in a cycle can wait for the others.
	Cycle string
}

// DeletionOf reads how a HelmRelease that is deleted, or will be, is to go. These
// annotations can be set when the spec no longer can: whoever applies it has let it go.
func DeletionOf(annotations map[string]string) Deletion {
	is := func(key string) bool {
		value, set := annotations[key]
		return set && value != "false"
	}
	return Deletion{Orphan: is(helmv2.AnnotationOrphan), NoHooks: is(helmv2.AnnotationUninstallDisableHooks)}
}

// Deletion says how a release goes with its HelmRelease.
type Deletion struct {
	// Orphan is true if it stays.
	Orphan bool
	// NoHooks is true if its hooks are not run, whatever the spec says.
	NoHooks bool
}

// outlived reports whether what runs for a HelmRelease that is being deleted is of no
// use any more.
func (d Deletion) obsolete(running *Running) bool {
	return running.Action != helmv2.ActionUninstall || d.Orphan || d.NoHooks && !running.Desired.Deletion.NoHooks
}

// awaitDependents: who depends on the release needs it until it is gone itself. An
// operator that goes first leaves custom resources whose finalizers nobody removes.
func awaitDependents(in Input) *Decision {
	if !in.Desired.Deleted {
		return nil
	}
	waited := in.Now.Sub(in.Desired.DeletedAt)
	var going, living []string
	for _, d := range in.Observed.Dependents {
		switch {
		case d.Cycle != "":
		case d.Deleted:
			going = append(going, d.Name)
		default:
			living = append(living, d.Name)
		}
	}
	switch {
	case len(going) > 0 && waited < dependentsLimit:
		return &Decision{
			Action: Wait{After: dependentsLimit - waited},
			Why:    "the release is uninstalled when those are gone that depend on it and are being deleted too: HelmRelease " + strings.Join(going, ", "),
		}
	case len(living) > 0 && waited < dependentsGrace:
		return &Decision{Action: Wait{After: dependentsGrace - waited, Brief: true}, Why: "those that depend on the release may be about to be deleted too"}
	}
	return nil
}

// DeletionWithout decides about a HelmRelease that is being deleted while an object does
// not exist that leads to its release: its ServiceAccount, or the Secret or ConfigMap of a
// cluster. In a namespace that is gone, or being deleted, that object never returns, and the
// release is given up: unreachable says why. In any other namespace the deletion waits for
// the object. It never leaves a release behind only because both were deleted together.
func DeletionWithout(missing error, namespaceGone bool) (unreachable string, blocked *Blocked) {
	if namespaceGone {
		return missing.Error(), nil
	}
	b := BlockedBy(helmv2.ReasonUninstallFailed, missing, "The release cannot be uninstalled")
	b.Message += "; restore that, or set annotation " + helmv2.AnnotationOrphan + " to leave the release installed"
	return "", b
}

// Left returns what is to be said of those that depended on a release that is
// uninstalled before them; empty if there are none.
func DependentsMessage(in Input) string {
	var said []string
	for _, d := range in.Observed.Dependents {
		switch {
		case d.Cycle != "":
			said = append(said, fmt.Sprintf("HelmRelease %s, in the dependency cycle %s", d.Name, d.Cycle))
		case d.Deleted:
			said = append(said, fmt.Sprintf("HelmRelease %s, which is being deleted for longer than %s", d.Name, dependentsLimit))
		default:
			said = append(said, fmt.Sprintf("HelmRelease %s, which is not being deleted", d.Name))
		}
	}
	if len(said) == 0 {
		return ""
	}
	return "Uninstalled before what depends on it: " + strings.Join(said, "; ")
}
