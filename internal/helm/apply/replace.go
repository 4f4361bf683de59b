// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"errors"
	"fmt"
	"time"

	"helm.sh/helm/v3/pkg/kube"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	"github.com/pintle-dev/pintle/internal/helm/kinds"
	"github.com/pintle-dev/pintle/internal/helm/wait"
	"github.com/pintle-dev/pintle/internal/release"
)

// replacements deletes the objects that an approval names before the action applies them, each in its
// place in the order. The zero value has none.
type replacements struct {
	deletion *deletion

	// timeout is the maximum time until a deleted object is gone.
	timeout time.Duration
	uids    map[objectKey]types.UID
}

// Replace makes the action delete objects before it applies them. It must be called before the action
// checks the new revision. timeout is the maximum time until a deleted object is gone.
func (c *Client) Replace(list []release.Replaced, timeout time.Duration) {
	c.replacements.timeout, c.replacements.uids = timeout, map[objectKey]types.UID{}
	for _, o := range list {
		kind := kinds.Canonical(apischema.GroupKind{Group: o.Group, Kind: o.Kind})
		c.replacements.uids[objectKey{kind: kind, namespace: o.Namespace, name: o.Name}] = types.UID(o.UID)
	}
}

// has reports whether an object is named.
func (r *replacements) has(info *resource.Info) bool {
	_, named := r.uids[keyOf(info)]
	return named
}

// delete deletes a named object, and waits until it is gone. Its Pods are deleted in the background. It
// returns false if the object is not named, if an earlier process of the action has deleted it, and if
// another object of its name exists: an earlier process has created it, or nobody has approved its
// deletion.
func (r *replacements) delete(info *resource.Info) (deleted bool, err error) {
	uid, named := r.uids[keyOf(info)]
	if !named {
		return false, nil
	}
	live, err := r.deletion.live(info)
	if err != nil || live == nil || uidOf(live) != uid {
		return false, err
	}
	if why := r.deletion.whyNotRecreated(info, live); why != "" {
		return false, fmt.Errorf("%s is not replaced: %s", wait.ObjectName(info), why)
	}
	r.deletion.log("%s is deleted and created anew, as its approval demands", wait.ObjectName(info))
	if _, err := r.deletion.delete(info, metav1.DeletePropagationBackground, uid); err != nil {
		return false, err
	}
	return true, r.deletion.waiter.UntilDeleted(kube.ResourceList{info}, r.timeout)
}

// parts splits a list before each named object.
func (r *replacements) parts(list kube.ResourceList) []kube.ResourceList {
	parts := []kube.ResourceList{nil}
	for i, info := range list {
		if i > 0 && r.has(info) {
			parts = append(parts, nil)
		}
		parts[len(parts)-1].Append(info)
	}
	return parts
}

// applyParts applies the parts of a list one after the other by apply, and deletes the named object that
// a part starts with beforehand.
func (r *replacements) applyParts(list kube.ResourceList, apply func(part kube.ResourceList) (*kube.Result, error)) (*kube.Result, error) {
	all := &kube.Result{}
	for _, part := range r.parts(list) {
		if len(part) > 0 {
			if _, err := r.delete(part[0]); err != nil {
				return all, fmt.Errorf("cannot replace %s: %w", wait.ObjectName(part[0]), err)
			}
		}
		result, err := apply(part)
		if result != nil {
			all.Created, all.Updated, all.Deleted = append(all.Created, result.Created...), append(all.Updated, result.Updated...), append(all.Deleted, result.Deleted...)
		}
		if err != nil {
			return all, err
		}
	}
	return all, nil
}

// errAfterFailures is the error of an object that is not deleted, since the action fails anyway.
var errAfterFailures = errors.New("it is not replaced, because other objects could not be applied before")

// whyNotRecreated returns why a live object of the release must not be deleted and created anew; empty if
// it may be.
func (d *deletion) whyNotRecreated(info *resource.Info, live runtime.Object) string {
	kind := info.Mapping.GroupVersionKind.GroupKind()
	_, defines := kindDefinedBy(info)
	switch {
	case release.HoldsData(kind.Group, kind.Kind):
		return fmt.Sprintf("a %s holds data: delete it yourself", kind.Kind)
	case defines, len(apisIn(kube.ResourceList{info})) > 0:
		return "with it, the cluster deletes all objects of the kinds that it defines"
	case d.ownership.find(info, live).ownership != release.OwnershipOurs:
		return "its metadata does not name the release"
	}
	if why, _ := d.whyKept(info, live); why != "" {
		return why
	}
	return d.whyNotReplaced(info)
}

// recreation returns the replacement of a live object that the API server refuses to change, with the
// answer to the dry run of the change; nil if the API server would not create the new form either, or the
// former revision does not contain the object.
func (f *Forecast) recreation(info *resource.Info, original, live runtime.Object, refusal error) (*v1alpha1.PlanReplacement, error) {
	if !f.Recreates || original == nil || live == nil || !apierrors.IsInvalid(refusal) {
		return nil, nil //nolint:nilnil // see above
	}
	switch err := recreationDryRun(info); {
	case err != nil && undecided(err):
		return nil, err
	case err != nil:
		return nil, nil //nolint:nilerr,nilnil // see above
	}
	found := &v1alpha1.PlanReplacement{UID: string(uidOf(live)), Refused: f.deletion.whyNotRecreated(info, live)}
	if object, ok := live.(*unstructured.Unstructured); ok && info.Mapping.GroupVersionKind.GroupKind() == (apischema.GroupKind{Group: "apps", Kind: "StatefulSet"}) {
		claims, _, _ := unstructured.NestedSlice(object.Object, "spec", "volumeClaimTemplates")
		policy, _, _ := unstructured.NestedString(object.Object, "spec", "persistentVolumeClaimRetentionPolicy", "whenDeleted")
		found.DeletesClaims = len(claims) > 0 && policy == "Delete"
	}
	return found, nil
}

// recreationDryRun sends a dry run of the creation of an object that exists and is deleted first. The
// API server validates and admits the object before it finds the other one.
func recreationDryRun(info *resource.Info) error {
	if err := createDryRun(info); !apierrors.IsAlreadyExists(err) {
		return err
	}
	return nil
}
