// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"sync"

	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/resource"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/apiretry"
	"github.com/pintle-dev/pintle/internal/helm/wait"
)

const fieldManager = helmv2.FieldManager

// Options as the spec gives them, or empty.
type (
	installSpec   = helmv2.Install
	upgradeSpec   = helmv2.Upgrade
	uninstallSpec = helmv2.Uninstall
)

// client is Helm's client for objects, except for what this controller does
// better: labelling where objects come from, and waiting.
type client struct {
	*kube.Client
	// ctx ends waits. Helm's interfaces have no room for one, and a client lives
	// exactly as long as one action.
	ctx    context.Context //nolint:containedctx // see above
	origin Origin
	// retrier repeats the requests of the action; nil if each is sent once.
	retrier *apiretry.Retrier
	// attempt returns the ID of the attempt that hooks are annotated with.
	attempt func() string
	// told, if set, is told what was applied.
	told func(info *resource.Info, sent, answer *unstructured.Unstructured)
	// waiter waits for objects, and keeps the answers to writes.
	waiter *wait.Waiter
	// setApplied is called when all objects have been applied: later updates of the revision
	// have the label. storeApplied stores the label at once.
	setApplied   func()
	storeApplied func() error
	// objects makes objects of manifests, which are not labelled yet.
	objects *builder

	applying applying
	// built is what Build returned last, previous what it returned before, and
	// changed what built has and previous has not, or has otherwise.
	built, previous, changed kube.ResourceList
	// parsed is what Build made of each manifest: the names in it stay, whatever Helm
	// does to the rest.
	parsed map[string]kube.ResourceList

	// adoption, if set, knows whose objects are that are new to the release.
	adoption *adoption
	// looks, if set, answers what Helm asks about objects before they are applied.
	looks *looks
	// inquest finds out why waits fail.
	inquest *inquest

	mu       sync.Mutex
	deletion []error
	// tried is what trying out showed, by object.
	tried map[*resource.Info]trial
}

var (
	_ kube.Interface                    = (*client)(nil)
	_ kube.InterfaceExt                 = (*client)(nil)
	_ kube.InterfaceThreeWayMerge       = (*client)(nil)
	_ kube.InterfaceDeletionPropagation = (*client)(nil)
)

// IsReachable asks nothing: the requests that follow will tell.
func (c *client) IsReachable() error { return nil }

// Build parses manifests and labels every object with its HelmRelease. It does
// not validate: the API server does, when a new revision is checked.
func (c *client) Build(reader io.Reader, _ bool) (kube.ResourceList, error) {
	text, err := io.ReadAll(reader)
	if err != nil {
		return nil, err
	}
	list, err := c.parse(bytes.NewReader(text))
	if err != nil {
		return list, err
	}
	if c.parsed == nil {
		c.parsed = map[string]kube.ResourceList{}
	}
	c.parsed[string(text)] = list
	c.looks.prepare(list)
	// Helm goes on to write into what it is given, so this is the time to compare.
	c.previous, c.built, c.changed = c.built, list, changed(list, c.built)
	return list, nil
}

// parse reads manifests. The labels are added to the parsed objects, so that
// manifests keep their bytes: what Helm accepts is never refused for them.
func (c *client) parse(reader io.Reader) (kube.ResourceList, error) {
	list, err := c.objects.build(reader)
	if err != nil {
		return list, err
	}
	return list, list.Visit(func(info *resource.Info, err error) error {
		if err != nil {
			return err
		}
		return c.label(info)
	})
}

// changed returns what list has and previous has not, or has otherwise.
func changed(list, previous kube.ResourceList) kube.ResourceList {
	was := make(map[objectKey]runtime.Object, len(previous))
	for _, info := range previous {
		if _, twice := was[keyOfInfo(info)]; !twice {
			was[keyOfInfo(info)] = info.Object
		}
	}
	return list.Filter(func(info *resource.Info) bool {
		before, ok := was[keyOfInfo(info)]
		return !ok || !sameObject(before, info.Object)
	})
}

func sameObject(a, b runtime.Object) bool {
	before, isParsed := a.(*unstructured.Unstructured)
	after, areParsed := b.(*unstructured.Unstructured)
	if !isParsed || !areParsed {
		return equality.Semantic.DeepEqual(a, b)
	}
	return sameValue(before.Object, after.Object)
}

// sameValue compares what was parsed from JSON, without reflection.
func sameValue(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for key, value := range a {
			other, ok := b[key]
			if !ok || !sameValue(value, other) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, sameValue)
	}
	return a == b
}

func (c *client) label(info *resource.Info) error {
	object, err := meta.Accessor(info.Object)
	if err != nil {
		return fmt.Errorf("%s %s: %w", info.Mapping.GroupVersionKind.Kind, info.ObjectName(), err)
	}
	labels := object.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[helmv2.LabelName] = c.origin.Name
	labels[helmv2.LabelNamespace] = c.origin.Namespace
	object.SetLabels(labels)
	return nil
}

func alreadyExists(err error) bool { return apierrors.IsAlreadyExists(err) }
