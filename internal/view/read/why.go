// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package read

import (
	"context"
	"fmt"
	"slices"
	"strings"

	kstatus "github.com/fluxcd/cli-utils/pkg/kstatus/status"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/parallel"
	"github.com/pintle-dev/pintle/internal/readiness"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/view"
)

// Examine returns the failure cause of unready objects; nil without any.
type Examine func(ctx context.Context, request release.DiagnosisRequest) *release.Diagnosis

const (
	// maxLive is the number of live objects that are read at once.
	maxLive = 16
	// maxEvents is the number of events that are read.
	maxEvents = 100
)

// Why returns the facts about one HelmRelease. Only its absence is an error, and that it cannot be
// read: other resources that cannot be read are listed in the facts.
func (r *Reader) Why(ctx context.Context, namespace, name string) (view.Facts, error) {
	hr, err := r.Release(ctx, namespace, name)
	if err != nil {
		return view.Facts{}, err
	}
	x := &explanation{Reader: r, facts: view.Facts{Release: hr, Now: r.Now()}}
	x.readDependencies(ctx)
	x.readEvents(ctx)
	switch state := view.StateOf(hr, x.facts.Now); {
	case state == view.Ready || state == view.Suspended:
	case hr.Spec.KubeConfig != nil:
		x.facts.Unread = append(x.facts.Unread, "live objects: they are in another cluster, which only the controller reads")
	default:
		x.examine(ctx)
	}
	return x.facts, nil
}

// explanation collects facts.
type explanation struct {
	*Reader
	facts view.Facts
}

func (x *explanation) unread(what string, err error) {
	x.facts.Unread = append(x.facts.Unread, what+": "+strings.Join(strings.Fields(err.Error()), " "))
}

func (x *explanation) readDependencies(ctx context.Context) {
	hr, known := x.facts.Release, map[client.ObjectKey]*helmv2.HelmRelease{}
	for _, d := range hr.Spec.DependsOn {
		key := client.ObjectKey{Namespace: d.GetNamespace(hr.Namespace), Name: d.Name}
		if d.Kind != "" && d.Kind != helmv2.HelmReleaseKind {
			continue
		}
		switch other, err := x.Release(ctx, key.Namespace, key.Name); {
		case err == nil:
			known[key] = other
		case !apierrors.IsNotFound(err):
			x.unread("dependency "+key.String(), err)
		}
	}
	x.facts.Lookup = func(namespace, name string) *helmv2.HelmRelease {
		return known[client.ObjectKey{Namespace: namespace, Name: name}]
	}
}

func (x *explanation) readEvents(ctx context.Context) {
	list := &corev1.EventList{}
	of := client.MatchingFields{"involvedObject.uid": string(x.facts.Release.UID)}
	if err := x.Client.List(ctx, list, client.InNamespace(x.facts.Release.Namespace), of, client.Limit(maxEvents)); err != nil {
		x.unread("events", err)
		return
	}
	x.facts.Events = list.Items
}

// examine reads the live objects, and the Pods of those that are not ready.
func (x *explanation) examine(ctx context.Context) {
	unready := x.unready(ctx)
	if len(unready) == 0 || x.Examine == nil {
		return
	}
	secrets, err := x.Secrets(ctx, x.facts.Release)
	x.facts.Diagnosis = x.Examine(ctx, release.DiagnosisRequest{
		Objects: unready, Namespace: x.facts.Release.GetReleaseNamespace(), Secrets: secrets,
	})
	if err != nil && x.facts.Diagnosis != nil && len(x.facts.Diagnosis.Logs) > 0 {
		// The log may have the values that cannot be redacted.
		x.facts.Diagnosis.Logs = nil
		x.unread("logs, because of Secrets in spec.valuesFrom", err)
	}
}

// unready returns the objects of the newest revision that are not ready, failed ones first.
func (x *explanation) unready(ctx context.Context) []release.UnreadyObject {
	objects, more, err := x.objects(ctx, x.facts.Release)
	if err != nil {
		x.unread("objects", err)
	}
	found := make([]*release.UnreadyObject, len(objects))
	errs := parallel.Do(ctx, len(objects), maxLive, func(i int) (err error) {
		found[i], err = x.live(ctx, objects[i])
		return err
	})
	var all []release.UnreadyObject
	for i, o := range objects {
		if errs[i] != nil {
			x.unread(o.String(), errs[i])
		} else if found[i] != nil {
			all = append(all, *found[i])
		}
	}
	if more > 0 {
		x.unread("objects", tooMany(more))
	}
	slices.SortFunc(all, func(a, b release.UnreadyObject) int {
		if a.Failed != b.Failed {
			if a.Failed {
				return -1
			}
			return 1
		}
		return strings.Compare(fmt.Sprint(a.Object), fmt.Sprint(b.Object))
	})
	slices.Sort(x.facts.Unread)
	x.setRunning(len(objects)+more, all)
	return all
}

// live reads an object, and returns nil if it is ready.
func (x *explanation) live(ctx context.Context, o view.Object) (*release.UnreadyObject, error) {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(schema.GroupVersionKind{Group: o.Group, Version: o.Version, Kind: o.Kind})
	err := x.Client.Get(ctx, client.ObjectKey{Namespace: o.Namespace, Name: o.Name}, object)
	if apierrors.IsNotFound(err) {
		object = nil
	} else if err != nil {
		return nil, err
	}
	result, err := readiness.ReadyWithJobs(object)
	if err != nil || result.Status == kstatus.CurrentStatus {
		return nil, err
	}
	found := &release.UnreadyObject{
		Object: release.Object{Group: o.Group, Version: o.Version, Kind: o.Kind, Namespace: o.Namespace, Name: o.Name},
		Status: result.Message, Failed: result.Status == kstatus.FailedStatus,
	}
	if object != nil {
		found.UID, found.Content = string(object.GetUID()), object.Object
	}
	return found, nil
}
