// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"helm.sh/helm/v3/pkg/kube"
	helmrelease "helm.sh/helm/v3/pkg/release"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/pintle-dev/pintle/internal/helm/wait"
	"github.com/pintle-dev/pintle/internal/release"
)

// HookTargets decides about the live objects that hooks of a release would replace. Before Helm
// creates a hook, it deletes the object with the identity of the hook (before-hook-creation, the
// default), regardless of who created it.
type HookTargets struct {
	ctx       context.Context //nolint:containedctx // it lives as long as one action
	builder   *builder
	ownership *ownership
	deletion  *deletion

	mu sync.Mutex
	// looked are the objects that were looked at before the action. Each counts for one deletion.
	// created are the objects that hooks of the action have created.
	looked  map[objectKey]seen
	created map[objectKey]bool
}

// seen is an object that was looked at.
type seen struct {
	exists bool
	uid    types.UID
}

// HookTarget is a live object that a hook would replace, and that no hook has made.
type HookTarget struct {
	Info *resource.Info
	// Hook names the hook.
	Hook string
	// Refused states why it must not be replaced; empty if it may be.
	Refused string
}

// Check returns an error if hooks that run for some events would replace objects that they must not.
// It must be called before the action writes anything.
func (r *HookTargets) Check(hooks []*helmrelease.Hook, deleted kube.ResourceList, events ...helmrelease.HookEvent) error {
	found, err := r.find(hooks, deleted, events...)
	if err != nil {
		return err
	}
	var refused []string
	for _, t := range found {
		if t.Refused != "" {
			refused = append(refused, t.Refused)
		}
	}
	if len(refused) > 0 {
		return fmt.Errorf("hooks of the chart would delete live objects: [%s]", strings.Join(refused, ", "))
	}
	return nil
}

// find returns the live objects that hooks which run for some events would replace, and that no hook
// has made. The action deletes those in deleted itself. It sends one read for each hook.
func (r *HookTargets) find(hooks []*helmrelease.Hook, deleted kube.ResourceList, events ...helmrelease.HookEvent) ([]HookTarget, error) {
	var list kube.ResourceList
	of := map[*resource.Info]string{}
	goes := keysOf(deleted)
	for _, h := range hooks {
		if !replaces(h) || !slices.ContainsFunc(h.Events, func(e helmrelease.HookEvent) bool { return slices.Contains(events, e) }) {
			continue
		}
		// Helm itself reports a hook that cannot be built, before it deletes its object.
		objects, _ := r.builder.build(strings.NewReader(h.Manifest), wanted)
		for _, info := range objects {
			if info.Name != "" && !goes[keyOf(info)] {
				list.Append(info)
				of[info] = h.Path
			}
		}
	}
	found := make([]HookTarget, len(list))
	for i, err := range each(r.ctx, list, func(i int, info *resource.Info) (err error) {
		found[i], err = r.look(info, of[info])
		return err
	}) {
		if err != nil {
			return nil, fmt.Errorf("the object that hook %s replaces cannot be read: %s: %w", of[list[i]], wait.ObjectName(list[i]), err)
		}
	}
	return slices.DeleteFunc(found, func(t HookTarget) bool { return t.Info == nil }), nil
}

// replaces reports whether Helm deletes an object before it creates a hook. It never deletes CRDs.
func replaces(h *helmrelease.Hook) bool {
	return h.Kind != CRDKind && (len(h.DeletePolicies) == 0 || slices.Contains(h.DeletePolicies, helmrelease.HookBeforeHookCreation))
}

// look reads the object that a hook replaces, and stores its UID for the deletion.
func (r *HookTargets) look(info *resource.Info, hook string) (HookTarget, error) {
	live, err := r.deletion.live(info)
	if err != nil {
		return HookTarget{}, err
	}
	r.mu.Lock()
	if r.looked == nil {
		r.looked = map[objectKey]seen{}
	}
	r.looked[keyOf(info)] = seen{exists: live != nil, uid: uidOf(live)}
	r.mu.Unlock()
	return r.judge(info, live, hook), nil
}

// judge decides about the live object of a hook; nil if there is none.
func (r *HookTargets) judge(info *resource.Info, live runtime.Object, hook string) HookTarget {
	if live == nil || r.madeByHook(live) {
		return HookTarget{}
	}
	t := HookTarget{Info: info, Hook: hook}
	object := fmt.Sprintf("hook %s would replace %s, which no hook of the release has made", hook, wait.ObjectName(info))
	kind := info.Mapping.GroupVersionKind.GroupKind()
	switch f := r.ownership.find(info, live); {
	case f.ownership == release.OwnershipOwned:
		t.Refused = object + ": " + r.ownership.describeConflict(info, f)
	case release.HoldsData(kind.Group, kind.Kind):
		t.Refused = fmt.Sprintf("%s, and a %s holds data: give the hook another name, or delete the object yourself", object, kind.Kind)
	case r.deletion.whyProtected(info) != "":
		t.Refused = object + ": " + r.deletion.whyProtected(info)
	}
	return t
}

// madeByHook reports whether a hook of the release has made an object. Helm writes no ownership
// metadata into hooks, so that an object with such metadata is one of a manifest, whatever its
// annotations are: a post-renderer may have set them.
func (r *HookTargets) madeByHook(live runtime.Object) bool {
	object, err := meta.Accessor(live)
	if err != nil || object.GetAnnotations()[helmrelease.HookAnnotation] == "" {
		return false
	}
	m := ownershipMetadataOf(live)
	ours := m.OriginName == r.ownership.origin.Name && m.OriginNamespace == r.ownership.origin.Namespace
	return !m.NamesRelease() && (ours || m.OriginName == "")
}

// wasCreated records the objects of a hook that the action has created.
func (r *HookTargets) wasCreated(list kube.ResourceList) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.created == nil {
		r.created = map[objectKey]bool{}
	}
	for _, info := range list {
		r.created[keyOf(info)] = true
	}
}

// taken returns what was seen of the object of a hook. known is false if it was not looked at, and own
// is true if a hook of the action has created it.
func (r *HookTargets) taken(info *resource.Info) (was seen, known, own bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := keyOf(info)
	own = r.created[key]
	was, known = r.looked[key]
	delete(r.created, key)
	delete(r.looked, key)
	return was, known, own
}

// delete deletes the objects of a hook, before or after it has run. An object that the hook must not
// replace is an error.
func (r *HookTargets) delete(list kube.ResourceList) (*kube.Result, []error) {
	result := &kube.Result{}
	var failures []error
	for i, err := range each(r.ctx, list, func(_ int, info *resource.Info) error { return r.deleteOne(info) }) {
		if err != nil {
			failures = append(failures, err)
			continue
		}
		result.Deleted.Append(list[i])
	}
	if len(failures) > 0 {
		return nil, failures
	}
	return result, nil
}

func (r *HookTargets) deleteOne(info *resource.Info) error {
	was, known, own := r.taken(info)
	if own {
		_, err := r.deletion.delete(info, metav1.DeletePropagationBackground, "")
		return err
	}
	for range maxRaces {
		if !known {
			t, err := r.look(info, info.Name)
			if err != nil {
				return err
			}
			if t.Refused != "" {
				return errors.New(t.Refused)
			}
			was, _, _ = r.taken(info)
		}
		if !was.exists {
			// Another object of that name is not deleted: the hook cannot be created then.
			r.deletion.waiter.Deleted(info, &metav1.Status{})
			return nil
		}
		_, err := r.deletion.delete(info, metav1.DeletePropagationBackground, was.uid)
		if !apierrors.IsConflict(err) {
			return err
		}
		known = false
	}
	return fmt.Errorf("%s: other clients replace it again and again", wait.ObjectName(info))
}

// isHook reports whether an object has the annotation of hooks.
func isHook(info *resource.Info) bool {
	object, err := meta.Accessor(info.Object)
	return err == nil && object.GetAnnotations()[helmrelease.HookAnnotation] != ""
}

// uidOf returns the UID of an object; empty for nil.
func uidOf(live runtime.Object) types.UID {
	if live == nil {
		return ""
	}
	object, err := meta.Accessor(live)
	if err != nil {
		return ""
	}
	return object.GetUID()
}

// CheckRemovalHooks returns an error if hooks of an uninstall would replace objects that they must not,
// and that the uninstall does not delete itself.
func (c *Client) CheckRemovalHooks(newest *helmrelease.Release) error {
	if !slices.ContainsFunc(newest.Hooks, func(h *helmrelease.Hook) bool {
		return slices.Contains(h.Events, helmrelease.HookPreDelete) || slices.Contains(h.Events, helmrelease.HookPostDelete)
	}) {
		return nil
	}
	objects, err := c.builder.build(strings.NewReader(newest.Manifest), stored)
	if err != nil {
		return fmt.Errorf("unable to build kubernetes objects for delete: %w", err)
	}
	goes := objects.Filter(func(info *resource.Info) bool { return !keeps(info.Object) && c.deletion.whyProtected(info) == "" })
	return c.HookTargets.Check(newest.Hooks, goes, helmrelease.HookPreDelete, helmrelease.HookPostDelete)
}
