// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package hookjob makes Jobs from the hooks that are stored with a revision of a
// Helm release: which hooks are meant, what of them is kept and stripped, what
// they need, and what of that can be brought along.
//
// It is pure. Manifests come in as text and go out as objects, and nothing that
// it says quotes them: they may be Secrets.
package hookjob

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
)

// Input is all that a Plan depends on.
type Input struct {
	Operation Operation
	// Parameters of the Operation.
	Parameters opsv1alpha1.Parameters
	// Release is the revision that hooks are taken from: Parameters.Revision, or the
	// deployed one. Nil if there is no such revision.
	Release *Release
	// Timeout is the longest that any Job may take; zero sets no limit.
	Timeout time.Duration
	// ClusterID is the value of a label; empty for none.
	ClusterID string
}

// Operation says for whom Jobs are made.
type Operation struct{ Namespace, Name, UID string }

// Release is one stored revision.
type Release struct {
	Name string
	// Namespace of the release's objects, which need not be that of its records.
	Namespace string
	Revision  int
	// Hooks as they are stored, in the order in which they are stored.
	Hooks []Hook
	// Selecting are the objects of the revision that select pods: those of a kind
	// that Selects.
	Selecting []Object
}

// Hook is one stored hook.
type Hook struct {
	Name string
	Kind string
	// Path of the template in the chart.
	Path   string
	Events []string
	Weight int
	// DeletePolicies are not obeyed: what is made for an Operation has an end of its
	// own. They are here for messages.
	DeletePolicies []string
	// Manifest is the stored text, to the byte: its digest is recorded.
	Manifest string
}

// Object is one object of the stored manifest.
type Object struct {
	Kind      string
	Namespace string
	Name      string
	// Manifest is the object's own document.
	Manifest string
}

// Plan is what it takes to run hooks.
type Plan struct {
	Release opsv1alpha1.ReleaseReference
	// Steps are run one after the other, the next only when the one before
	// succeeded. There is at least one.
	Steps []Step
	// Needs are all objects without which some step cannot run, in the order in
	// which they are to be created, each once.
	Needs []Need
}

// Step is one Job to run.
type Step struct {
	// Hook is the name of the hook.
	Hook string
	// Digest of its manifest, as sha256:<hex>.
	Digest string
	// Job to create. It is suspended: it may run only once its UID is recorded.
	Job *unstructured.Unstructured
	// Deadline of the Job; zero if there is none.
	Deadline time.Duration
}

// Reference names an object in the namespace of the release, or one that has no
// namespace.
type Reference struct{ APIVersion, Kind, Name string }

// String is for messages.
func (r Reference) String() string { return r.Kind + " " + r.Name }

// Need is an object that has to be there.
type Need struct {
	Reference
	// Clone is what to create if it is not there; nil if it cannot be cloned.
	Clone  *unstructured.Unstructured
	weight int
}

// Rejection says why the hooks asked for cannot be run, for good.
type Rejection struct {
	// Reason of the condition.
	Reason  string
	Message string
	// Hooks that there are; nil unless it helps.
	Hooks []opsv1alpha1.HookReference
}

func (r *Rejection) Error() string { return r.Message }

// Make returns what it takes to run the hooks that the parameters ask for. The
// error is a *Rejection always. The same input makes the same plan.
func Make(in Input) (Plan, error) {
	if in.Release == nil {
		return Plan{}, noRelease(in)
	}
	if err := checkNamespace(in); err != nil {
		return Plan{}, err
	}
	chosen, err := choose(in)
	if err != nil {
		return Plan{}, err
	}
	p := Plan{Release: opsv1alpha1.ReleaseReference{
		Name: in.Release.Name, Namespace: in.Release.Namespace, Revision: in.Release.Revision, HookDigest: digest(chosen...),
	}}
	selectors := selectorsOf(in.Release.Selecting)
	for i, h := range chosen {
		s, err := makeStep(in, h, i, selectors)
		if err != nil {
			return Plan{}, err
		}
		p.Steps = append(p.Steps, s)
	}
	p.Needs = needsOf(in, chosen, p.Steps)
	return p, nil
}

// Missing compares what is needed with what is there. It returns what is to be
// created, in order, and what cannot be; if that is not empty, nothing should be
// created at all. An object that is being deleted is not there.
func (p Plan) Missing(present []Reference) (clones []*unstructured.Unstructured, missing []Reference) {
	for _, n := range p.Needs {
		switch {
		case slices.Contains(present, n.Reference):
		case n.Clone != nil:
			clones = append(clones, n.Clone)
		default:
			missing = append(missing, n.Reference)
		}
	}
	return clones, missing
}

// byWeight compares hooks in the order in which Helm runs those of one event.
// What it calls equal stays in the order of storage.
func byWeight(a, b Hook) int {
	return cmp.Or(cmp.Compare(a.Weight, b.Weight), cmp.Compare(a.Name, b.Name))
}
