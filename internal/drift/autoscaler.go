// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package drift

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

const (
	// kubectl is the field manager of `kubectl scale`. Other commands have it as a prefix, such as
	// kubectl-edit and kubectl-patch.
	kubectl = "kubectl"
	// listAgain is how long the autoscalers of a namespace count as unchanged for an object that
	// has not changed.
	listAgain = time.Minute
)

// Autoscaler is the HorizontalPodAutoscaler that targets an object. It may belong to another
// autoscaler, such as KEDA. The zero value means that none targets the object.
type Autoscaler struct {
	// Name is the name of the HorizontalPodAutoscaler.
	Name string
	// ScalesToZero is true if the autoscaler may set 0 replicas, and sets another number later. A
	// HorizontalPodAutoscaler does nothing for an object with 0 replicas unless its minimum is 0.
	ScalesToZero bool
	// Unreadable is true if the release may not list the autoscalers.
	Unreadable bool
}

// scaling is what a comparison has read about the autoscaler of an object.
type scaling struct {
	autoscaler Autoscaler
	listed     time.Time
	// info is the object, with the client that lists its autoscalers again.
	info *resource.Info
}

// byHand reports whether the entry comes from a command of kubectl.
func (e entry) byHand() bool {
	return e.manager == kubectl || strings.HasPrefix(e.manager, kubectl+"-")
}

// scaled reports whether the entry comes from a request to the scale subresource, by a client that
// may be an autoscaler.
func (e entry) scaled() bool { return e.subresource == scale && !e.byHand() }

// replicas is the field that the scale subresource sets.
var replicas = fieldpath.MakePathOrDie("spec", "replicas") //nolint:gochecknoglobals // a constant, if paths could be

// cede reports whether a field is left to the autoscaler of its object, and returns the entry of the
// manager that has set it. have is its live value.
//
// The scale subresource omits a number of 0 from managedFields, so that no manager owns it. It is
// left only to an autoscaler that sets 0 and later another number.
func cede(all []entry, a Autoscaler, path fieldpath.Path, have any) (by entry, ok bool) {
	if (a == Autoscaler{}) {
		return entry{}, false
	}
	if path.Equals(replicas) && same(have, int64(0)) {
		return entry{}, a.ScalesToZero && !isOwned(all, path)
	}
	return newest(all, func(e entry) bool { return e.scaled() && e.owns(path) })
}

func isOwned(all []entry, path fieldpath.Path) bool {
	return slices.ContainsFunc(all, func(e entry) bool { return e.owns(path) })
}

// hasScaled reports whether an object has fields that an autoscaler may have set. An object whose
// managedFields cannot be read has none; its comparison returns the error.
func hasScaled(live *unstructured.Unstructured) bool {
	all, err := owners(live)
	if err != nil {
		return false
	}
	n, _, found := find(live.Object, replicas)
	return slices.ContainsFunc(all, entry.scaled) || found && same(n, int64(0)) && !isOwned(all, replicas)
}

// autoscalers lists the HorizontalPodAutoscalers of each namespace at most once. It is safe for
// concurrent use.
type autoscalers struct {
	mu         sync.Mutex
	namespaces map[string]func() ([]autoscalerItem, error)
}

// autoscalerItem is the part of a HorizontalPodAutoscaler that targets depend on.
type autoscalerItem struct {
	Metadata struct {
		Name            string                  `json:"name"`
		OwnerReferences []metav1.OwnerReference `json:"ownerReferences"`
	} `json:"metadata"`
	Spec struct {
		ScaleTargetRef struct {
			APIVersion string `json:"apiVersion"`
			Kind       string `json:"kind"`
			Name       string `json:"name"`
		} `json:"scaleTargetRef"`
		MinReplicas *int32 `json:"minReplicas"`
	} `json:"spec"`
}

// of returns the autoscaler that targets an object, by the identity that reads the object.
func (a *autoscalers) of(ctx context.Context, info *resource.Info) (Autoscaler, error) {
	if !info.Namespaced() {
		return Autoscaler{}, nil
	}
	a.mu.Lock()
	list := a.namespaces[info.Namespace]
	if list == nil {
		list = sync.OnceValues(func() ([]autoscalerItem, error) { return listAutoscalers(ctx, info) })
		if a.namespaces == nil {
			a.namespaces = map[string]func() ([]autoscalerItem, error){}
		}
		a.namespaces[info.Namespace] = list
	}
	a.mu.Unlock()
	all, err := list()
	switch {
	case apierrors.IsForbidden(err):
		return Autoscaler{Unreadable: true}, nil
	case apierrors.IsNotFound(err):
		// The API server has no autoscaling.
		return Autoscaler{}, nil
	case err != nil:
		return Autoscaler{}, err
	}
	return targeting(all, info.Mapping.GroupVersionKind.GroupKind(), info.Name), nil
}

func listAutoscalers(ctx context.Context, info *resource.Info) ([]autoscalerItem, error) {
	raw, err := info.Client.Get().
		AbsPath("apis", "autoscaling", "v2", "namespaces", info.Namespace, "horizontalpodautoscalers").
		SetHeader("Accept", "application/json").
		Do(ctx).Raw()
	if err != nil {
		return nil, err
	}
	return parseAutoscalers(raw)
}

func parseAutoscalers(raw []byte) ([]autoscalerItem, error) {
	var list struct {
		Items []autoscalerItem `json:"items"`
	}
	err := json.Unmarshal(raw, &list)
	return list.Items, err
}

// targeting returns the autoscaler that targets an object. Versions of the kind are not compared.
func targeting(all []autoscalerItem, kind schema.GroupKind, name string) Autoscaler {
	for _, item := range all {
		ref := item.Spec.ScaleTargetRef
		group, err := schema.ParseGroupVersion(ref.APIVersion)
		if err != nil || ref.Kind != kind.Kind || group.Group != kind.Group || ref.Name != name {
			continue
		}
		// The controller of the autoscaler, such as KEDA, scales to zero by itself.
		owned := false
		for _, o := range item.Metadata.OwnerReferences {
			owned = owned || o.Controller != nil && *o.Controller
		}
		return Autoscaler{
			Name:         item.Metadata.Name,
			ScalesToZero: owned || item.Spec.MinReplicas != nil && *item.Spec.MinReplicas == 0,
		}
	}
	return Autoscaler{}
}

// forgetMoved has objects compared again whose autoscaler is another one than at their last
// comparison. Changes of autoscalers trigger nothing, so this happens at the interval.
func (m *releaseState) forgetMoved(ctx context.Context, request Request, now time.Time) {
	for _, k := range m.objects {
		if k.scaling == nil || now.Sub(k.scaling.listed) < listAgain {
			continue
		}
		if a, err := request.autoscalers.of(ctx, k.scaling.info); err != nil || a != k.scaling.autoscaler {
			k.version = ""
			continue
		}
		k.scaling.listed = now
	}
}

// readAutoscaler returns the autoscaler of a live object that may have one, and stores what the
// comparison depends on.
func (k *objectState) readAutoscaler(ctx context.Context, info *resource.Info, live *unstructured.Unstructured, request Request) (Autoscaler, error) {
	if !hasScaled(live) {
		return Autoscaler{}, nil
	}
	a, err := request.autoscalers.of(ctx, info)
	k.scaling = &scaling{autoscaler: a, listed: k.comparedAt, info: info}
	return a, err
}
