// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/kube"
	"helm.sh/helm/v3/pkg/releaseutil"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/pintle-dev/pintle/internal/helm/storage"
	"github.com/pintle-dev/pintle/internal/helm/wait"
	"github.com/pintle-dev/pintle/internal/release"
)

// FailedSince returns the deployed revision and those that failed after it, oldest first. Revisions
// from number before on are ignored, and 0 ignores none.
type FailedSince func(before int) (deployed storage.Manifest, failed []storage.FailedRevision, err error)

// Leftovers deletes the objects that only failed revisions have created: Helm compares a new
// revision with one previous revision only, and uninstalls only the newest one. It also prevents
// that Helm deletes an object that a failed revision has only adopted. Without failed revisions
// after the deployed one, it does nothing and sends no requests.
//
// It is not safe for concurrent use.
type Leftovers struct {
	log         func(format string, args ...any)
	us          release.Target
	failedSince FailedSince
	builder     *builder
	deletion    *deletion

	// deployed is the manifest of the deployed revision. failed are the later ones, oldest first.
	deployed string
	failed   []storage.FailedRevision
	// uninstalls is true if the release is uninstalled.
	uninstalls bool
}

// BeforeRevision reads the revisions that failed before a new one. It must be called before the new
// revision is stored, because old records are deleted then.
func (l *Leftovers) BeforeRevision(version int) { l.read(version) }

// BeforeUninstall reads the revisions that failed, and makes Build return the objects of the
// release that the uninstall deletes and awaits. It must be called before the uninstall starts.
func (l *Leftovers) BeforeUninstall() {
	l.uninstalls = true
	l.read(0)
}

// read reads the failed revisions. An error does not fail the action, which leaves objects then.
func (l *Leftovers) read(before int) {
	deployed, failed, err := l.failedSince(before)
	if err != nil {
		l.log("objects of failed revisions are not deleted: the revisions cannot be read: %s", err)
		return
	}
	// Records of the same name may be of a release in another namespace.
	l.failed = slices.DeleteFunc(failed, func(f storage.FailedRevision) bool { return f.Namespace != l.us.Namespace && !f.Unproven })
	if l.deployed = ""; deployed.Namespace == l.us.Namespace {
		l.deployed = deployed.Text
	}
}

// live returns the manifest that was applied last, if a failed revision has applied all of its objects.
// Helm compares a new revision with the deployed one.
func (l *Leftovers) live() (manifest string, ok bool) {
	for _, f := range slices.Backward(l.failed) {
		if f.Applied && !f.Unproven {
			return f.Text, true
		}
	}
	return "", false
}

// DeleteHook deletes the objects of a hook that an attempt has created whose ID has the prefix.
// Others stay, and so do objects with generated names, which are in the way of none.
func (l *Leftovers) DeleteHook(manifest, prefix string) error {
	for _, info := range l.build(storage.Manifest{Text: manifest}) {
		if info.Name == "" {
			continue
		}
		live, err := l.deletion.live(info)
		if err != nil {
			return err
		}
		if live == nil || !strings.HasPrefix(attemptOf(live), prefix) {
			continue
		}
		if _, err := l.deletion.delete(info, metav1.DeletePropagationBackground, ""); err != nil {
			return err
		}
	}
	return nil
}

// leftover is an object that may have been created by a failed revision.
type leftover struct {
	info *resource.Info
	release.Leftover
	// current is true for an object of an uninstall that is no leftover.
	current bool
}

// infosOf returns the objects of leftovers.
func infosOf(leftovers []*leftover) kube.ResourceList {
	list := make(kube.ResourceList, len(leftovers))
	for i, o := range leftovers {
		list[i] = o.info
	}
	return list
}

// find returns the objects of failed revisions that are neither in the deployed revision nor in
// next. The objects of original are those that Helm deletes itself, if they are not in next.
func (l *Leftovers) find(original, next kube.ResourceList) []*leftover {
	if len(l.failed) == 0 {
		return nil
	}
	deployed, err := l.builder.build(strings.NewReader(l.deployed), stored)
	if err != nil {
		l.log("objects of failed revisions are not deleted: the objects of the deployed revision are unknown: %s", err)
		return nil
	}
	done, deletes := keysOf(slices.Concat(deployed, next)), keysOf(original)
	var all []*leftover
	if !l.uninstalls && slices.ContainsFunc(l.failed, func(f storage.FailedRevision) bool { return f.Deployed }) {
		// Helm compares with a deployed revision that is not proven, and that may lack objects of the
		// proven one before it.
		for _, info := range deployed.Difference(slices.Concat(original, next)) {
			all = append(all, &leftover{info: info, Leftover: release.Leftover{Deployed: true}})
		}
	}
	for _, f := range l.failed {
		for _, info := range l.build(f.Manifest) {
			key := keyOf(info)
			if info.Name == "" || done[key] {
				continue
			}
			done[key] = true
			all = append(all, &leftover{info: info, Leftover: release.Leftover{
				Deletes: deletes[key], Recorded: f.Created, Version: f.Version, Preceded: f.Preceded,
				Deployed: f.Deployed, Unproven: f.Unproven,
			}})
		}
	}
	return all
}

// build returns the objects of a failed revision.
func (l *Leftovers) build(m storage.Manifest) kube.ResourceList {
	list, err := l.builder.build(strings.NewReader(m.Text), stored)
	if err != nil {
		l.log("some objects of failed revision %d are not deleted: %s", m.Version, err)
	}
	return list
}

// excluding returns the objects of list that are not among leftovers.
func excluding(list kube.ResourceList, leftovers []*leftover) kube.ResourceList {
	if len(leftovers) == 0 {
		return list
	}
	keys := map[objectKey]bool{}
	for _, o := range leftovers {
		keys[keyOf(o.info)] = true
	}
	return list.Filter(func(info *resource.Info) bool { return !keys[keyOf(info)] })
}

// prune deletes leftovers when the objects of a new revision have been applied, and returns the
// deleted ones. An object that cannot be deleted is logged and stays.
func (l *Leftovers) prune(leftovers []*leftover) kube.ResourceList {
	var deleted kube.ResourceList
	for i, live := range l.deletion.readAll(infosOf(leftovers)) {
		o := leftovers[i]
		if live.err != nil {
			l.log("%s is not deleted: %s", wait.ObjectName(o.info), live.err)
		}
		if live.object == nil || !l.mayDelete(o, live) {
			continue
		}
		if _, errs := l.deletion.deleteAll(kube.ResourceList{o.info}, metav1.DeletePropagationBackground); len(errs) > 0 {
			l.log("%s is not deleted: %s", wait.ObjectName(o.info), errors.Join(errs...))
			continue
		}
		deleted.Append(o.info)
	}
	return deleted
}

// uninstall returns the objects that the uninstall deletes and awaits, in Helm's order. Helm calls
// Build with the manifest of the newest revision, without the objects that it keeps. The other
// calls are for hooks.
func (l *Leftovers) uninstall(manifest string, list kube.ResourceList) kube.ResourceList {
	if !l.uninstalls || len(list) > 0 && isHook(list[0]) {
		return list
	}
	var rest kube.ResourceList
	l.deletion.unread = map[*resource.Info]error{}
	for _, r := range l.removals(manifest, list) {
		rest.Append(r.info)
		if r.live.err != nil {
			l.deletion.unread[r.info] = r.live.err
		}
	}
	return rest
}

// removal is an object that an uninstall deletes, if it exists. If it could not be read, its owner is
// not known, and it must not be deleted: even what a proven revision contains may have been deleted by
// hand and created by another release since.
type removal struct {
	info *resource.Info
	live lookup
}

// removals returns the objects that an uninstall deletes. It reads each of them once. Objects that
// cannot be read are among them if the newest revision contains them.
func (l *Leftovers) removals(manifest string, list kube.ResourceList) []removal {
	all := l.withLeftovers(manifest, l.deletion.deletable(list))
	var rest []removal
	for i, live := range l.deletion.readAll(infosOf(all)) {
		o := all[i]
		newest := o.current || o.Deletes
		switch {
		case live.err != nil && !newest:
			why := fmt.Sprintf("its owner is not known: %s", live.err)
			l.log("%s is not deleted: %s", wait.ObjectName(o.info), why)
			l.deletion.keep(o.info, why)
			continue
		case live.err == nil && live.object == nil && !newest, live.object != nil && !l.mayDelete(o, live):
			continue
		}
		rest = append(rest, removal{o.info, live})
	}
	return rest
}

// withLeftovers returns the objects of the newest revision, and those that failed revisions may have
// created.
func (l *Leftovers) withLeftovers(manifest string, list kube.ResourceList) []*leftover {
	if len(l.failed) == 0 {
		return currentOf(list)
	}
	newest := l.failed[len(l.failed)-1]
	if slices.Contains(newest.Hooks, manifest) {
		return currentOf(list)
	}
	all := l.find(list, nil)
	kept := keysOf(l.build(newest.Manifest).Difference(list))
	for _, info := range l.build(storage.Manifest{Text: l.deployed}).Difference(list) {
		all = append(all, &leftover{info: info, Leftover: release.Leftover{Deployed: true}})
	}
	all = slices.DeleteFunc(all, func(o *leftover) bool { return kept[keyOf(o.info)] })
	all = append(currentOf(excluding(list, all)), all...)
	order := func(o *leftover) int {
		if i := slices.Index(releaseutil.UninstallOrder, o.info.Mapping.GroupVersionKind.Kind); i >= 0 {
			return i
		}
		return len(releaseutil.UninstallOrder)
	}
	slices.SortStableFunc(all, func(a, b *leftover) int { return order(a) - order(b) })
	return all
}

// currentOf returns the objects of an uninstall that are no leftovers.
func currentOf(list kube.ResourceList) []*leftover {
	all := make([]*leftover, len(list))
	for i, info := range list {
		all[i] = &leftover{info: info, current: true}
	}
	return all
}

// mayDelete reports whether a live object is deleted, and logs the reason.
func (l *Leftovers) mayDelete(o *leftover, live lookup) bool {
	why, kept := l.whyKept(o, live.object)
	if why != "" {
		l.log("%s is not deleted: %s", wait.ObjectName(o.info), why)
		if kept {
			l.deletion.keep(o.info, why)
		}
		return false
	}
	if !o.current && !o.Deletes {
		l.log("%s is deleted: the release no longer contains it, and a failed revision left it", wait.ObjectName(o.info))
	}
	return true
}

// whyKept returns why a live object is not deleted; empty if it is. kept is true if the action reports
// it.
func (l *Leftovers) whyKept(o *leftover, live runtime.Object) (why string, kept bool) {
	if o.current {
		why = l.deletion.whyOwned(o.info, live)
	} else if why = o.describe(live).WhyKept(l.us); why != "" {
		_, kept = l.deletion.ownership.ofOther(live)
		return why, kept
	}
	if why == "" && l.uninstalls {
		why = l.deletion.whyForeign(live)
	}
	if why == "" {
		why = l.deletion.whyProtected(o.info)
	}
	return why, why != ""
}

// describe returns the leftover with the fields of the live object.
func (o *leftover) describe(live runtime.Object) release.Leftover {
	d := o.Leftover
	d.Metadata, d.Keep = ownershipMetadataOf(live), keeps(live)
	if object, err := meta.Accessor(live); err == nil {
		d.Created = object.GetCreationTimestamp().Time
	}
	return d
}

// keysOf returns the set of the keys of objects.
func keysOf(list kube.ResourceList) map[objectKey]bool {
	keys := make(map[objectKey]bool, len(list))
	for _, info := range list {
		keys[keyOf(info)] = true
	}
	return keys
}
