// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

// Package corpus has attacks of tenants, of authors of charts and of clients of the web page:
// archives, templates, values, schemas, post-renderers, expressions and kubeconfigs that would take
// all memory, stack or time of a process that reads them without limits; release records that a
// controller would apply which believes them; values, sources and rollbacks that would get past a
// policy; and connections to the page. Only the attacks on the page send requests.
//
//	corpus.go         All: the attacks of all groups
//	archives.go       archives that are no charts, or unpack to too much
//	templates.go      templates, with those of internal/render/handler/testdata/attacks
//	schemas.go        schemas of values
//	values.go         values of ConfigMaps, Secrets and the spec
//	files.go          files of sources that values come from
//	postrenderers.go  patches and images
//	expressions.go    CEL expressions, and targets of drift rules
//	kubeconfigs.go    kubeconfigs, and those of hostile API servers
//	servers.go        hostile API servers
//	records.go        forged release records
//	hooks.go          hooks that would delete live objects
//	policies.go       releases that would get past a ReleasePolicy
//	page.go           clients of the web page
//	texts.go          parts of charts, and texts that are larger than they look
//	attack.go         Attack, Setting, Step and Outcome
package corpus

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// Attack is a release that would harm a controller without limits.
type Attack struct {
	// Name is the group and a name in it.
	Name string
	// Worst is true for the attacks of the short form.
	Worst bool
	// Archive returns the archive of the chart. Without it, the chart is harmless.
	Archive func() []byte
	// ConfigMap and Secret are the data of objects, each with the name of the release.
	ConfigMap, Secret map[string]string
	// Setting returns further objects.
	Setting func(Place) Setting
	// Policy is a ReleasePolicy that selects this release only. It is deleted before the release.
	Policy *v1alpha1.ReleasePolicySpec
	// Server handles the requests to a hostile API server, if there is one. next forwards a request
	// to the real one. The Secret then has a kubeconfig for it, and the release uses it.
	Server func(next http.Handler) http.Handler
	// Edit changes the HelmRelease.
	Edit func(*helmv2.HelmRelease)
	// Dwell is the time during which the attack goes on after its condition.
	Dwell time.Duration
	// Outcome is the condition that the release must get, and Later are changes after it.
	Outcome Outcome
	Later   []Step
	// Page attacks the web page once the release has its conditions. The error is the promise that the
	// page has broken.
	Page func(context.Context, Page) error
}

// Place is where an attack runs: the names of its release and of the OCI registry.
type Place struct{ Namespace, Name, Registry string }

// Setting has the objects around a release.
type Setting struct {
	// Before are created before the release, and deleted after it.
	Before []client.Object
	// Bystanders are created before the release and belong to others. They must stay even after the
	// deletion of the release.
	Bystanders []client.Object
	// Kept are objects of the release that must exist until the release is deleted.
	Kept []client.Object
	// Never are objects that must never exist.
	Never []client.Object
}

// Step changes the policy, the release, or both in this order.
type Step struct {
	Policy  func(*v1alpha1.ReleasePolicySpec)
	Edit    func(*helmv2.HelmRelease)
	Outcome Outcome
}

// ID returns the name in a form that names of objects may have.
func (a Attack) ID() string {
	return strings.ToLower(strings.ReplaceAll(a.Name, "/", "-"))
}

// Objects returns the ConfigMap and the Secret of an attack, if it has them.
func (a Attack) Objects(namespace, name string) []client.Object {
	meta := metav1.ObjectMeta{Namespace: namespace, Name: name}
	var all []client.Object
	if a.ConfigMap != nil {
		all = append(all, &corev1.ConfigMap{ObjectMeta: meta, Data: a.ConfigMap})
	}
	if a.Secret != nil {
		all = append(all, &corev1.Secret{ObjectMeta: meta, StringData: a.Secret})
	}
	return all
}

// Outcome is an expected condition.
type Outcome struct {
	// Type is the type of the condition; empty for Ready.
	Type string
	// Status is its status. If it is empty, the status is False with a reason, and True without one.
	Status metav1.ConditionStatus
	// Reason is the reason of the condition. If it is empty, the attack is within all limits, and the
	// release becomes ready.
	Reason string
	// Says are parts of the message. They name the field, file or chart.
	Says []string
	// Limits are parts of the message that name the exceeded limit. The message has one of them.
	Limits []string
}

// Kind returns the type of the condition.
func (o Outcome) Kind() string { return cmp.Or(o.Type, helmv2.ConditionReady) }

func (o Outcome) status() metav1.ConditionStatus {
	switch {
	case o.Status != "":
		return o.Status
	case o.Reason == "":
		return metav1.ConditionTrue
	}
	return metav1.ConditionFalse
}

// Met reports whether a condition of the type is as expected.
func (o Outcome) Met(got metav1.Condition) bool {
	if got.Status != o.status() || o.Reason != "" && got.Reason != o.Reason {
		return false
	}
	for _, part := range o.Says {
		if !strings.Contains(got.Message, part) {
			return false
		}
	}
	limits := o.Limits
	if slices.Contains(limits, memory) {
		// A slow machine reaches the limit of time before that of memory.
		limits = append(slices.Clone(limits), overtime)
	}
	for _, limit := range limits {
		if strings.Contains(got.Message, limit) {
			return true
		}
	}
	return len(limits) == 0
}

// String describes the condition.
func (o Outcome) String() string {
	text := o.Kind() + "=" + string(o.status())
	if o.Reason != "" {
		text += "/" + o.Reason
	}
	if len(o.Says) > 0 {
		text += " with \"" + strings.Join(o.Says, "\", \"") + "\""
	}
	if len(o.Limits) > 0 {
		text += " and one of \"" + strings.Join(o.Limits, "\", \"") + "\""
	}
	return text
}

// The limits of a worker, as messages name them.
const (
	memory = "MiB of memory"
	stack  = "MiB of stack"
	// overtime is the timeout of a call whose action has a shorter one.
	overtime = "has not ended in time, which is 5s"
	output   = "renders more than 33554432 bytes"
)

// died returns the outcome of an attack that ends its worker for one of some limits.
func died(limits ...string) Outcome {
	return Outcome{Reason: helmv2.ReasonInstallFailed, Says: []string{"rendering chart evil 1.0.0"}, Limits: limits}
}

// failed returns the outcome of an attack that Helm or a limit rejects while it renders.
func failed(says ...string) Outcome { return rejected(helmv2.ReasonInstallFailed, says...) }

// rejected returns the outcome of an attack whose message has all parts.
func rejected(reason string, says ...string) Outcome { return Outcome{Reason: reason, Says: says} }

// harmless returns the outcome of an attack that is within all limits.
func harmless() Outcome { return Outcome{} }
