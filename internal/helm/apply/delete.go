// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"helm.sh/helm/v3/pkg/kube"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/util/retry"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	"github.com/pintle-dev/pintle/internal/apiretry"
	"github.com/pintle-dev/pintle/internal/helm/wait"
	"github.com/pintle-dev/pintle/internal/release"
)

// Keeps returns why an object of a kind must not be deleted, or not be replaced; empty if it may be.
type Keeps func(kind apischema.GroupKind, name string, change v1alpha1.ChangeKind) string

// deletion deletes objects.
type deletion struct {
	helm      *kube.Client
	log       func(format string, args ...any)
	waiter    *wait.Waiter
	changes   *ChangeLog
	ownership *ownership
	// keeps, if set, returns why an object must stay.
	keeps Keeps
	// remap maps an object whose kind is no longer served in its version.
	remap func(info *resource.Info) error
	// unproven reports whether the revision that Helm compares with may come from another client:
	// any client that may write Secrets.
	unproven func() bool

	mu sync.Mutex
	// errs are the errors of an uninstall.
	errs []error
	// unread are the objects of an uninstall that could not be read, with the errors.
	unread map[*resource.Info]error
	// kept describes the objects that stay although the revision demands their deletion.
	kept []string
	// undefined are the kinds and APIs whose CRDs and APIServices the action deletes.
	undefined map[string]bool
}

// uninstall deletes objects and keeps the errors. Helm replaces them by the name of the release. An
// object that could not be read is an error, and the others are deleted.
func (d *deletion) uninstall(list kube.ResourceList, policy metav1.DeletionPropagation) (*kube.Result, []error) {
	var unread []error
	list = list.Filter(func(info *resource.Info) bool {
		err := d.unread[info]
		if err != nil {
			unread = append(unread, fmt.Errorf("%s is not deleted, because its owner is not known: %w", wait.ObjectName(info), err))
		}
		return err == nil
	})
	var result *kube.Result
	var missing int
	var errs []error
	if len(list) > 0 || len(unread) == 0 {
		result, missing, errs = d.deleteEach(list, policy)
	}
	if errs = append(errs, unread...); len(errs) == 0 {
		d.changes.Count(release.ObjectCounts{Deleted: len(list) - missing})
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.errs = append(d.errs, errs...)
	return result, errs
}

func (d *deletion) err() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return errors.Join(d.errs...)
}

// deleteAll deletes objects, kind after kind, and stores the answers. As with Helm, objects that do
// not exist count as deleted, and there is no result if there was any error.
func (d *deletion) deleteAll(list kube.ResourceList, policy metav1.DeletionPropagation) (*kube.Result, []error) {
	result, _, errs := d.deleteEach(list, policy)
	return result, errs
}

// deleteEach is deleteAll, and returns the number of objects that did not exist.
func (d *deletion) deleteEach(list kube.ResourceList, policy metav1.DeletionPropagation) (result *kube.Result, missing int, failures []error) {
	if len(list) == 0 {
		result, failures = d.helm.DeleteWithPropagationPolicy(list, policy)
		return result, 0, failures
	}
	result = &kube.Result{}
	for _, batch := range byKind(list) {
		found := make([]bool, len(batch))
		errs := each(d.ownership.ctx, batch, func(i int, info *resource.Info) (err error) {
			found[i], err = d.delete(info, policy, "")
			return err
		})
		for i, err := range errs {
			if err != nil {
				failures = append(failures, err)
				continue
			}
			if !found[i] {
				missing++
			}
			result.Deleted.Append(batch[i])
		}
	}
	if len(failures) > 0 {
		return nil, missing, failures
	}
	return result, missing, nil
}

// delete deletes an object, and returns false if it does not exist. If the API server no longer
// serves its kind in the known version, the object is deleted in the served version. With a UID,
// another object of the same name is a conflict.
func (d *deletion) delete(info *resource.Info, policy metav1.DeletionPropagation, uid types.UID) (found bool, err error) {
	d.log("Starting delete for %q %s", info.Name, info.Mapping.GroupVersionKind.Kind)
	d.undefine(info)
	err = d.sendRemapped(info, func() error { return d.send(info, policy, uid) })
	if apierrors.IsNotFound(err) || errors.Is(err, errGone) {
		d.log("Ignoring delete failure for %q %s: %v", info.Name, info.Mapping.GroupVersionKind, err)
		d.waiter.Deleted(info, &metav1.Status{})
		return false, nil
	}
	return err == nil, err
}

// sendRemapped sends a request for an object. If the API server no longer serves its kind in the
// known version, it sends the request once more in the served version.
func (d *deletion) sendRemapped(info *resource.Info, send func() error) error {
	err := send()
	if !apiretry.NotServed(err) || d.isUndefined(info) {
		return err
	}
	if err = d.remap(info); err == nil {
		err = send()
	}
	if apiretry.NotServed(err) {
		return fmt.Errorf("%s: its kind is served, but its path is not: %s", wait.ObjectName(info), err) //nolint:errorlint // it must not look like a missing object
	}
	return err
}

// undefine records that an object which defines kinds is deleted. The cluster deletes their objects.
func (d *deletion) undefine(info *resource.Info) {
	var names []string
	if kind, defines := kindDefinedBy(info); defines {
		names = append(names, kind.String())
	}
	names = append(names, apisIn(kube.ResourceList{info})...)
	if len(names) == 0 {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.undefined == nil {
		d.undefined = map[string]bool{}
	}
	for _, name := range names {
		d.undefined[name] = true
	}
}

// isUndefined reports whether the action itself has deleted the definition of an object's kind.
func (d *deletion) isUndefined(info *resource.Info) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	gvk := info.Mapping.GroupVersionKind
	return d.undefined[gvk.GroupKind().String()] || d.undefined[gvk.GroupVersion().String()]
}

// send sends the request that deletes an object.
func (d *deletion) send(info *resource.Info, policy metav1.DeletionPropagation, uid types.UID) error {
	options := &metav1.DeleteOptions{PropagationPolicy: &policy}
	if uid != "" {
		options.Preconditions = &metav1.Preconditions{UID: &uid}
	}
	send := func() error {
		answer, err := resource.NewHelper(info.Client, info.Mapping).
			DeleteWithOptions(info.Namespace, info.Name, options)
		if err == nil {
			d.waiter.Deleted(info, answer)
		}
		return err
	}
	if uid != "" {
		// Another object stays another one.
		return send()
	}
	return retry.RetryOnConflict(retry.DefaultRetry, send)
}

// live reads the metadata of an object that may be deleted, or returns nil if it does not exist.
func (d *deletion) live(info *resource.Info) (live runtime.Object, err error) {
	err = d.sendRemapped(info, func() (err error) {
		live, err = readMetadata(d.ownership.ctx, info)
		return err
	})
	if apierrors.IsNotFound(err) || errors.Is(err, errGone) {
		return nil, nil //nolint:nilnil // see above
	}
	return live, err
}

// readAll reads the metadata of objects that may be deleted.
func (d *deletion) readAll(list kube.ResourceList) []lookup {
	results := make([]lookup, len(list))
	for i, err := range each(d.ownership.ctx, list, func(i int, info *resource.Info) (err error) {
		results[i].object, err = d.live(info)
		return err
	}) {
		results[i].err = err
	}
	return results
}

// whyForeign returns why a live object of an unproven revision is not deleted; empty if its own
// metadata names the release, or the revision is proven.
func (d *deletion) whyForeign(live runtime.Object) string {
	metadata, us := ownershipMetadataOf(live), d.ownership.us
	if !d.unproven() || metadata.Name == us.Name && metadata.Namespace == us.Namespace {
		return ""
	}
	return "another client wrote the record of the revision, and the metadata of the object does not name the release"
}

// whyProtected returns why an object must not be deleted; empty if it may be. With a CRD, the cluster
// deletes all objects of the kind that it defines.
func (d *deletion) whyProtected(info *resource.Info) string {
	if d.keeps == nil {
		return ""
	}
	why := d.keeps(info.Mapping.GroupVersionKind.GroupKind(), info.Name, v1alpha1.ChangeDelete)
	if kind, defines := kindDefinedBy(info); defines && why == "" {
		why = d.keeps(kind, "", v1alpha1.ChangeDelete)
	}
	return why
}

// keep records that an object stays.
func (d *deletion) keep(info *resource.Info, why string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if text := fmt.Sprintf("%s: %s", wait.ObjectName(info), why); !slices.Contains(d.kept, text) {
		d.kept = append(d.kept, text)
	}
}

func (d *deletion) keptObjects() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.kept)
}

// deletable returns the objects of a list that may be deleted. The others are kept.
func (d *deletion) deletable(list kube.ResourceList) kube.ResourceList {
	return list.Filter(func(info *resource.Info) bool {
		why := d.whyProtected(info)
		if why != "" {
			d.log("%s is not deleted: %s", wait.ObjectName(info), why)
			d.keep(info, why)
		}
		return why == ""
	})
}

// whyNotReplaced returns why an object that exists must not be replaced; empty if it may be.
func (d *deletion) whyNotReplaced(info *resource.Info) string {
	if d.keeps == nil {
		return ""
	}
	return d.keeps(info.Mapping.GroupVersionKind.GroupKind(), info.Name, v1alpha1.ChangeReplace)
}

// replaceable returns the objects of a list that may be replaced, or do not exist. The others are kept.
func (d *deletion) replaceable(list kube.ResourceList) kube.ResourceList {
	return list.Filter(func(info *resource.Info) bool {
		why := d.whyNotReplaced(info)
		if why == "" {
			return true
		}
		if live, err := d.live(info); err == nil && live == nil {
			return true
		}
		d.log("%s is not replaced: %s", wait.ObjectName(info), why)
		d.keep(info, why)
		return false
	})
}

// whyKept returns why a live object is not deleted that a new revision does not contain; empty if it
// is. kept is true if the chart did not ask for it.
func (d *deletion) whyKept(info *resource.Info, live runtime.Object) (why string, kept bool) {
	if keeps(live) {
		return "its annotation " + kube.ResourcePolicyAnno + " asks to keep it", false
	}
	if metadata, other := d.ownership.ofOther(live); other {
		return fmt.Sprintf("it is of Helm release %s/%s by now", metadata.Namespace, metadata.Name), true
	}
	if why = d.whyForeign(live); why == "" {
		why = d.whyProtected(info)
	}
	return why, why != ""
}

// whyOwned returns why a live object is not deleted that another existing release owns; empty if none
// does. An object that only names another release in its metadata is not owned by it. If the records of
// that release cannot be read, it counts as the owner.
func (d *deletion) whyOwned(info *resource.Info, live runtime.Object) string {
	metadata, other := d.ownership.ofOther(live)
	if !other {
		return ""
	}
	f := d.ownership.find(info, live)
	if f.ownership != release.OwnershipOwned {
		return ""
	}
	return fmt.Sprintf("it is of Helm release %s/%s by now", metadata.Namespace, metadata.Name) + f.doubt(info)
}

// prune deletes objects that the new revision does not contain, and returns the deleted ones. As
// with Helm, an object that cannot be deleted is logged and stays.
func (d *deletion) prune(list kube.ResourceList) kube.ResourceList {
	var deleted kube.ResourceList
	for _, info := range list {
		live, err := d.live(info)
		if err != nil {
			d.log("%s is not deleted: %s", wait.ObjectName(info), err)
		}
		if live == nil {
			continue
		}
		if why, kept := d.whyKept(info, live); why != "" {
			d.log("%s is not deleted: %s", wait.ObjectName(info), why)
			if kept {
				d.keep(info, why)
			}
			continue
		}
		if _, errs := d.deleteAll(kube.ResourceList{info}, metav1.DeletePropagationBackground); len(errs) > 0 {
			d.log("%s is not deleted: %s", wait.ObjectName(info), errors.Join(errs...))
			continue
		}
		deleted.Append(info)
	}
	return deleted
}
