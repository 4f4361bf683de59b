// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

func (t *Tampering) watchReleases(ctx context.Context) error {
	list := &helmv2.HelmReleaseList{}
	if err := t.client.List(ctx, list, client.InNamespace(t.namespace)); err != nil {
		return err
	}
	for i := range list.Items {
		if t.watched[objectKey{helmv2.HelmReleaseKind, list.Items[i].Name}] != nil && isDrifted(&list.Items[i]) {
			return fmt.Errorf("HelmRelease %s says before anything was done that its objects have drifted:\n%s", list.Items[i].Name, Summary(&list.Items[i]))
		}
	}
	return t.watch(ctx, &helmv2.HelmReleaseList{}, list.ResourceVersion, func(_ objectKey, o client.Object) bool { return isDrifted(o) })
}

func isDrifted(o client.Object) bool {
	hr, ok := o.(*helmv2.HelmRelease)
	return ok && apimeta.IsStatusConditionTrue(hr.Status.Conditions, helmv2.ConditionDrifted)
}

// isRestored reports whether an object is in its former state. A nil object is not.
func (t *Tampering) isRestored(key objectKey, o client.Object) bool {
	live, ok := o.(*unstructured.Unstructured)
	return ok && equality.Semantic.DeepEqual(substance(live), substance(t.before[key]))
}

// substance returns the part of an object that stays equal when it is deleted and created again. It
// excludes fields that the cluster sets.
func substance(o *unstructured.Unstructured) map[string]any {
	c := o.DeepCopy().Object
	labels, annotations := o.GetLabels(), o.GetAnnotations()
	delete(annotations, "deployment.kubernetes.io/revision")
	unstructured.RemoveNestedField(c, "spec", "clusterIP")
	unstructured.RemoveNestedField(c, "spec", "clusterIPs")
	delete(c, "status")
	c["metadata"] = []map[string]string{labels, annotations}
	return c
}

// watch handles every event after a version, until ctx ends.
func (t *Tampering) watch(ctx context.Context, list client.ObjectList, version string, met func(objectKey, client.Object) bool) error {
	events, err := t.client.Watch(ctx, list, &client.ListOptions{Namespace: t.namespace, Raw: &metav1.ListOptions{ResourceVersion: version}})
	if err != nil {
		return err
	}
	go func() {
		defer events.Stop()
		for e := range events.ResultChan() {
			now := time.Now()
			o, ok := e.Object.(client.Object)
			if !ok || e.Type == watch.Error {
				t.fail(fmt.Errorf("a watch of %T ended: %v", list, e.Object))
				return
			}
			kind := helmv2.HelmReleaseKind
			if u, ok := o.(*unstructured.Unstructured); ok {
				kind = u.GetKind()
			}
			key := objectKey{kind, o.GetName()}
			t.note(key, func() bool { return e.Type != watch.Deleted && met(key, o) }, now)
		}
		if ctx.Err() == nil {
			t.fail(fmt.Errorf("a watch of %T ended", list))
		}
	}()
	return nil
}

// note records whether an object is in the expected state.
func (t *Tampering) note(key objectKey, met func() bool, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	o := t.watched[key]
	if o == nil {
		return
	}
	switch is := met(); {
	case !is:
		o.wrong, o.met = true, time.Time{}
	case o.wrong && o.met.IsZero():
		o.met = now
	}
	t.signal()
}

func (t *Tampering) fail(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.err = errors.Join(t.err, err)
	t.signal()
}

// signal signals progress to Wait.
func (t *Tampering) signal() {
	select {
	case t.progress <- struct{}{}:
	default:
	}
}
