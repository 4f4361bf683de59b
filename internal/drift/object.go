// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package drift

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/pintle-dev/pintle/internal/apiretry"
	"github.com/pintle-dev/pintle/internal/readiness"
	"github.com/pintle-dev/pintle/internal/release"
)

// objectKey identifies an object by its resource, namespace and name.
type objectKey struct {
	resource  schema.GroupVersionResource
	namespace string
	name      string
}

// objectState is the result of the last comparison of one object.
type objectState struct {
	objectKey
	object release.Object
	// uid and version identify the compared object. An empty version means that the object must be
	// compared, unless it is skipped.
	uid, version string
	comparedAt   time.Time
	skipped      bool
	exempt       bool
	ceded        []release.DriftedField
	// scaling is nil if the comparison does not depend on autoscalers.
	scaling *scaling
	// found is the difference; nil if the object is in sync.
	found *finding
	// err is the reason why the object could not be compared; empty if it could. transient is true
	// if repeating the request may succeed.
	err       string
	transient bool
}

// finding is the difference of one object, and its correction.
type finding struct {
	info *resource.Info
	// body is the object to apply.
	body *unstructured.Unstructured
	// patch, unless nil, is sent instead of body and results in it.
	patch []operation
	// disown, unless nil, is written to managedFields before body is applied.
	disown  []metav1.ManagedFieldsEntry
	removed bool
	fields  []release.DriftedField
}

func keyOf(info *resource.Info) objectKey {
	at := objectKey{resource: info.Mapping.Resource, name: info.Name}
	if info.Namespaced() {
		at.namespace = info.Namespace
	}
	return at
}

func objectOf(info *resource.Info) release.Object {
	kind, at := info.Mapping.GroupVersionKind, keyOf(info)
	return release.Object{Group: kind.Group, Version: kind.Version, Kind: kind.Kind, Namespace: at.namespace, Name: at.name}
}

func (k *objectState) stale(request Request, now time.Time) bool {
	switch {
	case k.skipped:
		return false
	case k.version == "" || k.err != "":
		return true
	}
	switch request.Changed(k.resource, k.namespace, k.name, k.uid, k.version) {
	case Unchanged:
		return false
	case Unknown:
		return now.Sub(k.comparedAt) >= assumeUnchanged
	case Changed:
	}
	return true
}

// setPanic sets the result of an object whose comparison panicked.
func (k *objectState) setPanic(err error) {
	*k = objectState{objectKey: k.objectKey, object: k.object, comparedAt: k.comparedAt, err: err.Error()}
}

// refresh compares one object and stores the result.
func (k *objectState) refresh(ctx context.Context, info *resource.Info, request Request, now time.Time) {
	*k = objectState{objectKey: k.objectKey, object: k.object, comparedAt: now}
	desired, ok := info.Object.(*unstructured.Unstructured)
	if !ok {
		k.skipped = true
		return
	}
	desired = Normalize(desired)
	ignored, exempt := request.Rules.For(desired)
	if exempt || Exempt(desired) {
		k.skipped, k.exempt = true, true
		return
	}
	server := server{ctx: ctx, info: info, redact: request.Redact}
	live, err := server.get()
	switch {
	case err != nil:
		k.setError(server, err)
		return
	case live == nil && readiness.Expires(desired):
		// It has ended, and must not run again.
		k.skipped = true
		return
	case live == nil:
		k.found = &finding{info: info, body: desired, removed: true}
		return
	}
	k.uid, k.version = string(live.GetUID()), live.GetResourceVersion()
	switch {
	case Exempt(live):
		k.exempt = true
		return
	case live.GetDeletionTimestamp() != nil:
		// A deletion cannot be corrected. The end of the deletion is detected by its watch event.
		return
	case len(request.Override) == 0 && Contains(live.Object, desired.Object):
		return
	}
	c := Case{Desired: desired, Live: live, Ignore: ignored, Override: request.Override, Redact: request.Redact}
	if c.Autoscaler, err = k.readAutoscaler(ctx, info, live, request); err != nil {
		k.setError(server, err)
		return
	}
	c.DryRun, err = server.apply(desired, true)
	switch {
	case apierrors.IsInvalid(err):
		k.compareAfterRefusal(info, c, server.explain(err))
	case err != nil:
		k.setError(server, err)
	default:
		k.compare(info, c)
	}
}

// setError stores the reason why an object could not be compared. The same requests may succeed
// after a concurrent write, and when the cached discovery is fresh again.
func (k *objectState) setError(s server, err error) {
	k.err, k.transient = s.explain(err), apiretry.IsTransient(err) || apierrors.IsConflict(err) || apiretry.NotServed(err)
}

// compareAfterRefusal compares an object whose dry run the API server rejected. If the comparison
// finds nothing, why is stored as the error.
func (k *objectState) compareAfterRefusal(info *resource.Info, c Case, why string) {
	patch, fields, err := compareRefused(c)
	if err != nil || len(fields) == 0 {
		k.err = why
		return
	}
	k.found = &finding{info: info, body: c.Desired, patch: patch, fields: fields}
}

func (k *objectState) compare(info *resource.Info, c Case) {
	difference, err := Compare(c)
	if err != nil {
		k.err = err.Error()
		return
	}
	k.ceded = difference.Ceded
	if len(difference.Fields) > 0 {
		k.found = &finding{info: info, body: difference.Body, disown: difference.Disown, fields: difference.Fields}
	}
}
