// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package read

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	kstatus "github.com/fluxcd/cli-utils/pkg/kstatus/status"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/drift"
	"github.com/pintle-dev/pintle/internal/parallel"
	"github.com/pintle-dev/pintle/internal/readiness"
	"github.com/pintle-dev/pintle/internal/redaction"
	"github.com/pintle-dev/pintle/internal/view"
	"github.com/pintle-dev/pintle/internal/view/manifest"
)

// Tree returns the objects of a release, and the ReplicaSets, Jobs and Pods that they own.
func (r *Reader) Tree(ctx context.Context, hr *helmv2.HelmRelease) (view.Tree, error) {
	if err := Here(hr); err != nil {
		return view.Tree{}, err
	}
	t := &treeReader{Reader: r, hr: hr}
	t.readDesired(ctx)
	objects, more, err := t.objects(ctx, hr)
	if err != nil {
		t.addUnread("objects", err)
	}
	t.readRoots(ctx, objects)
	if more > 0 {
		t.addUnread("objects", tooMany(more))
	}
	t.readOwned(ctx)
	slices.Sort(t.unread)
	return view.TreeOf(hr.Namespace, hr.Name, t.roots, t.owned, t.unread).OwnedBy(hr), nil
}

// maxReadiness is the number of objects that Readiness reads at once.
const maxReadiness = 4

// Readiness returns the names and the readiness of the objects of a release, and nothing else of
// them. The client reads the cluster of the release. An object that cannot be read is Unknown. The
// error is the error of the context: not all objects were read.
func (r *Reader) Readiness(ctx context.Context, hr *helmv2.HelmRelease) (view.Tree, error) {
	objects, more := r.limited(view.Inventory(&hr.Status))
	roots := make([]view.Live, len(objects))
	parallel.Do(ctx, len(objects), maxReadiness, func(i int) error {
		roots[i] = view.Live{Node: view.Node{Object: objects[i], Status: "Unknown"}}
		roots[i].Status = r.readiness(ctx, objects[i])
		return nil
	})
	var unread []string
	if more > 0 {
		unread = []string{"objects: " + tooMany(more).Error()}
	}
	return view.TreeOf(hr.Namespace, hr.Name, roots, nil, unread), ctx.Err()
}

// readiness returns the readiness of one object.
func (r *Reader) readiness(ctx context.Context, o view.Object) string {
	if ctx.Err() != nil {
		return "Unknown"
	}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(schema.GroupVersionKind{Group: o.Group, Version: o.Version, Kind: o.Kind})
	switch err := r.Client.Get(ctx, client.ObjectKey{Namespace: o.Namespace, Name: o.Name}, object); {
	case apierrors.IsNotFound(err):
		return "Missing"
	case err != nil:
		return "Unknown"
	}
	return liveOf(object).Status
}

// treeReader collects objects.
type treeReader struct {
	*Reader
	hr *helmv2.HelmRelease
	// desired are the objects of the newest revision; nil if they are not known or not needed.
	desired []map[string]any
	// redact removes secrets from paths; nil if the secrets are not known, and paths are not shown.
	redact func(path string) string

	// mu guards the fields below.
	mu           sync.Mutex
	roots, owned []view.Live
	// workloads are the namespaces of objects that own Pods.
	workloads []string
	unread    []string
}

func (t *treeReader) addUnread(what string, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.unread = append(t.unread, what+": "+strings.Join(strings.Fields(err.Error()), " "))
}

// driftStatus returns the status of condition Drifted; empty if there is none.
func (t *treeReader) driftStatus() metav1.ConditionStatus {
	if c := apimeta.FindStatusCondition(t.hr.Status.Conditions, helmv2.ConditionDrifted); c != nil {
		return c.Status
	}
	return ""
}

// readDesired reads the newest revision if an object differs, to find out which one.
func (t *treeReader) readDesired(ctx context.Context) {
	if t.driftStatus() != metav1.ConditionTrue || len(t.hr.Status.History) == 0 || t.Stored == nil {
		return
	}
	record, err := t.Stored(ctx, t.target(t.hr), t.hr.Status.History[0].Version)
	switch {
	case err != nil:
		t.addUnread("newest revision, which drift is relative to", err)
	case record != nil:
		t.desired = manifest.Objects(record.Manifest)
		want, err := t.redactingResolver().Values(ctx, t.hr)
		if err != nil {
			t.addUnread("paths of fields that differ, because of spec.valuesFrom", err)
			return
		}
		t.redact = redaction.New(record.AllSecrets(want.Secrets, want.Layers())).Text
	}
}

// readRoots reads the objects of the release. One that cannot be read is Unknown.
func (t *treeReader) readRoots(ctx context.Context, objects []view.Object) {
	t.roots = make([]view.Live, len(objects))
	for i, err := range parallel.Do(ctx, len(objects), maxLive, func(i int) error {
		t.roots[i] = view.Live{Node: view.Node{Object: objects[i], Status: "Unknown"}}
		return t.readRoot(ctx, objects[i], &t.roots[i])
	}) {
		o := objects[i]
		if err != nil {
			t.addUnread(o.String(), err)
		}
		if (o.Group == "apps" || o.Group == "batch") && t.roots[i].UID != "" {
			t.workloads = append(t.workloads, o.Namespace)
		}
	}
}

func (t *treeReader) readRoot(ctx context.Context, o view.Object, root *view.Live) error {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(schema.GroupVersionKind{Group: o.Group, Version: o.Version, Kind: o.Kind})
	err := t.Client.Get(ctx, client.ObjectKey{Namespace: o.Namespace, Name: o.Name}, object)
	switch {
	case apierrors.IsNotFound(err):
		root.Status, root.Message = "Missing", "does not exist"
		root.Drifted, _ = t.driftOf(o, nil)
	case err != nil:
		return err
	default:
		*root = liveOf(object)
		root.Object, root.Owners = o, nil
		root.Drifted, root.Fields = t.driftOf(o, object)
	}
	return nil
}

// driftOf returns whether a live object differs, and the fields that do. If the condition lists
// drifted objects, the object is compared without a dry run: "yes" may be a difference that the API
// server makes.
func (t *treeReader) driftOf(o view.Object, live *unstructured.Unstructured) (drifted string, fields []string) {
	switch t.driftStatus() {
	case metav1.ConditionFalse:
		return "no", nil
	case metav1.ConditionTrue:
	case metav1.ConditionUnknown:
		return "unknown", nil
	default:
		return "", nil
	}
	for _, desired := range t.desired {
		d := unstructured.Unstructured{Object: desired}
		if d.GetKind() != o.Kind || d.GetName() != o.Name || d.GroupVersionKind().Group != o.Group || d.GetNamespace() != "" && d.GetNamespace() != o.Namespace {
			continue
		}
		switch {
		case live == nil && readiness.Expires(&d):
			return "no", nil
		case live == nil:
			return "yes", nil
		}
		if fields = drift.Differing(live.Object, drift.Normalize(&d).Object); len(fields) == 0 {
			return "no", nil
		}
		if t.redact == nil {
			return "yes", nil
		}
		// The key of a map can be the value of a Secret.
		for i := range fields {
			fields[i] = t.redact(fields[i])
		}
		return "yes", fields
	}
	return "unknown", nil
}

// ownedKinds are the kinds of objects that are listed to find those that others own.
func ownedKinds() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{
		{Group: "apps", Version: "v1", Kind: "ReplicaSet"}, {Group: "batch", Version: "v1", Kind: "Job"}, {Version: "v1", Kind: "Pod"},
	}
}

// readOwned reads the objects in the namespaces of workloads.
func (t *treeReader) readOwned(ctx context.Context) {
	slices.Sort(t.workloads)
	namespaces := slices.Compact(t.workloads)
	if limit := t.Limits.Namespaces; limit > 0 && len(namespaces) > limit {
		t.addUnread("namespaces of Pods", tooMany(len(namespaces)-limit))
		namespaces = namespaces[:limit]
	}
	for _, namespace := range namespaces {
		for _, kind := range ownedKinds() {
			if err := t.readKind(ctx, namespace, kind); err != nil {
				t.addUnread(kind.Kind+"s in "+namespace, err)
			}
		}
	}
}

// errFirstPage is the error for a list of which only the first page is read.
var errFirstPage = fmt.Errorf("only the first %d are read", pageSize)

// readKind reads the objects of a kind that have owners.
func (t *treeReader) readKind(ctx context.Context, namespace string, kind schema.GroupVersionKind) error {
	options := &client.ListOptions{Namespace: namespace, Limit: pageSize}
	for {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		if err := t.Client.List(ctx, list, options); err != nil {
			return err
		}
		for i := range list.Items {
			list.Items[i].SetGroupVersionKind(kind)
			if o := liveOf(&list.Items[i]); len(o.Owners) > 0 {
				t.owned = append(t.owned, o)
			}
		}
		if options.Continue = list.GetContinue(); options.Continue == "" {
			return nil
		}
		if t.Limits.Namespaces > 0 {
			return errFirstPage
		}
	}
}

// liveOf returns what is known of a live object.
func liveOf(object *unstructured.Unstructured) view.Live {
	kind := object.GroupVersionKind()
	live := view.Live{UID: string(object.GetUID()), Node: view.Node{Object: view.Object{
		Group: kind.Group, Version: kind.Version, Kind: kind.Kind, Namespace: object.GetNamespace(), Name: object.GetName(),
	}}}
	for _, owner := range object.GetOwnerReferences() {
		live.Owners = append(live.Owners, string(owner.UID))
	}
	if replicas, found, _ := unstructured.NestedInt64(object.Object, "spec", "replicas"); found && replicas == 0 && kind.Kind == "ReplicaSet" {
		live.Idle = true
	}
	result, err := readiness.Ready(object)
	if err != nil {
		live.Status, live.Message = "Unknown", err.Error()
		return live
	}
	switch result.Status {
	case kstatus.CurrentStatus:
		live.Status = "Ready"
		return live
	case kstatus.FailedStatus:
		live.Status = "Failed"
	case kstatus.TerminatingStatus:
		live.Status = "Terminating"
	case kstatus.NotFoundStatus:
		live.Status = "Missing"
	case kstatus.InProgressStatus:
		live.Status = "Progressing"
	case kstatus.UnknownStatus:
		live.Status = "Unknown"
	}
	live.Message = result.Message
	return live
}
