// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package hookjob

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
)

// Input is the complete input of a Plan.
type Input struct {
	Operation Operation
	// Parameters of the Operation.
	Parameters opsv1alpha1.Parameters
	// Release is the revision of the hooks: Parameters.Revision, or the deployed one. It is nil
	// if there is no such revision.
	Release *Release
	// Timeout bounds the deadline of each Job; zero for no bound.
	Timeout time.Duration
	// ClusterID is the value of the cluster ID label; empty for no label.
	ClusterID string
	// OtherCluster is true if the release is in another cluster than the Operation.
	OtherCluster bool
}

// elsewhere reports whether owner references cannot lead from the Jobs to the Operation.
func (in Input) elsewhere() bool {
	return in.OtherCluster || in.Release.Namespace != in.Operation.Namespace
}

// Operation is the Operation that the Jobs are made for, and their owner in its own namespace.
type Operation struct{ Namespace, Name, UID string }

// Release is one stored revision.
type Release struct {
	Name string
	// Namespace is the namespace of the release's objects. Its records may be in another namespace.
	Namespace string
	Revision  int
	// Next is true for the hooks of the next upgrade. They have no revision yet.
	Next bool
	// Hooks are the stored hooks, in their stored order.
	Hooks []Hook
	// Selecting are the objects of the revision whose kind Selects pods.
	Selecting []Object
}

// Hook is one stored hook.
type Hook struct {
	Name string
	Kind string
	// Path is the path of the template in the chart.
	Path   string
	Events []string
	Weight int
	// DeletePolicies are ignored: the Operation deletes its objects.
	DeletePolicies []string
	// Manifest is the stored text without any change: its digest is recorded.
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

// Plan is the Jobs that run hooks, and the objects that they need.
type Plan struct {
	Release opsv1alpha1.ReleaseReference
	// Steps are run in order, each after the one before has succeeded. There is at least one.
	Steps []Step
	// Needs are the objects without which a step cannot run, in the order of creation, without
	// duplicates.
	Needs []Need
}

// Step is one Job to run.
type Step struct {
	// Hook is the name of the hook, and Events are its events.
	Hook   string
	Events []string
	// Digest is the digest of its manifest, as sha256:<hex>.
	Digest string
	// Job is the Job to create. It is suspended until its UID is recorded.
	Job *unstructured.Unstructured
	// Deadline is the active deadline of the Job; zero for none.
	Deadline time.Duration
}

// Reference names an object in the namespace of the release, or a cluster-scoped one.
type Reference struct{ APIVersion, Kind, Name string }

// String returns kind and name, for messages.
func (r Reference) String() string { return r.Kind + " " + r.Name }

// Need is an object that must exist.
type Need struct {
	Reference
	// Clone is the object to create if it does not exist; nil if it cannot be cloned.
	Clone  *unstructured.Unstructured
	weight int
}

// Rejection is why the requested hooks cannot be run. It is final.
type Rejection struct {
	// Reason is the reason of the condition.
	Reason  string
	Message string
	// Hooks are the hooks of the revision, if the requested one was not found; nil otherwise.
	Hooks []opsv1alpha1.HookReference
}

// Error implements error.
func (r *Rejection) Error() string { return r.Message }

// Make returns the plan for the requested hooks. The error is always a *Rejection. Equal inputs
// have equal plans.
func Make(in Input) (Plan, error) {
	if in.Release == nil {
		return Plan{}, noRelease(in)
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

// Missing returns the needed objects that are not present: clones to create, in order, and the
// references of objects that cannot be cloned. If there are any such references, the caller must
// create nothing. An object that is being deleted is not present.
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

// byWeight compares hooks in the order of Helm. Equal hooks stay in their stored order.
func byWeight(a, b Hook) int {
	return cmp.Or(cmp.Compare(a.Weight, b.Weight), cmp.Compare(a.Name, b.Name))
}
