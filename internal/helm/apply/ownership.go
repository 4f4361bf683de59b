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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/resource"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/helm/wait"
	"github.com/pintle-dev/pintle/internal/release"
)

// ownership finds the owners of the objects that a revision adds to a release, so that the release
// takes no object of another existing release. It sends requests only about objects that exist,
// besides one read for an object of which neither a lookup nor a dry run showed whether it exists.
type ownership struct {
	ctx    context.Context //nolint:containedctx // it lives as long as one action
	log    func(format string, args ...any)
	us     release.Target
	origin Origin
	owners *owners
	// reservations are shared by all actions, this one is holder.
	reservations *Reservations
	holder       reserver
	lookups      *lookups
	dryRuns      *dryRuns

	mu sync.Mutex
	// checked are the objects that may be applied, and their state at that time.
	checked map[*resource.Info]ownershipState
	// reserved are the objects that another action has reserved.
	reserved map[*resource.Info]release.Target
	// adopted describes the orphans that the release adopts.
	adopted []string
	// conflicts are the releases that own objects.
	conflicts []release.Target
}

// ownershipState is the state of an object in the cluster.
type ownershipState struct {
	ownership release.Ownership
	metadata  release.OwnershipMetadata
}

// finding is the state of an object, with its owner if that is another release.
type finding struct {
	ownershipState
	owner *owner
}

// claim reserves objects for the action, unless another action has reserved them. A dry run that
// succeeded proves that the action may write an object.
func (o *ownership) claim(list kube.ResourceList) {
	others := o.reservations.reserve(o.holder, list, func(info *resource.Info) bool {
		_, succeeded := o.dryRuns.result(info)
		return succeeded
	})
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.reserved == nil {
		o.reserved = map[*resource.Info]release.Target{}
	}
	for info, by := range others {
		o.reserved[info] = by
	}
}

// check returns one error for all objects that other existing releases own, and logs the objects
// that the release adopts. Objects are checked once.
func (o *ownership) check(list kube.ResourceList) error {
	list = list.Filter(func(info *resource.Info) bool { return info.Name != "" && !o.wasChecked(info) })
	o.claim(list)
	live := make([]runtime.Object, len(list))
	for i, err := range each(o.ctx, list, func(i int, info *resource.Info) (err error) {
		live[i], err = o.read(info)
		return err
	}) {
		if err != nil {
			return fmt.Errorf("the owner of %s cannot be found out: %w", wait.ObjectName(list[i]), err)
		}
	}
	var refused []string
	for i, info := range list {
		f := o.find(info, live[i])
		if f.ownership == release.OwnershipOwned {
			refused = append(refused, o.conflict(info, f))
			continue
		}
		o.accept(info, f)
	}
	if len(refused) > 0 {
		return ownedByOthers(refused)
	}
	return nil
}

func ownedByOthers(objects []string) error {
	return fmt.Errorf("these objects are of other Helm releases: [%s]", strings.Join(objects, ", "))
}

func (o *ownership) wasChecked(info *resource.Info) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, ok := o.checked[info]
	return ok
}

// read returns the live object, or its metadata, and nil if it does not exist. It sends a request
// only if neither a lookup nor a dry run showed that.
func (o *ownership) read(info *resource.Info) (runtime.Object, error) {
	if l, ok := o.lookups.found[info]; ok {
		if apierrors.IsNotFound(l.err) {
			return nil, nil //nolint:nilnil // see above
		}
		return l.object, l.err
	}
	if result, ok := o.dryRuns.result(info); ok && result.created {
		return nil, nil //nolint:nilnil // see above
	}
	return readMetadata(o.ctx, info)
}

// find returns the owner of an object; live is nil if the object does not exist.
func (o *ownership) find(info *resource.Info, live runtime.Object) finding {
	var f finding
	if live != nil {
		f.metadata = ownershipMetadataOf(live)
	}
	o.mu.Lock()
	_, reserved := o.reserved[info]
	o.mu.Unlock()
	facts := release.Owner{Busy: reserved}
	if !reserved && live != nil && o.namesOther(f.metadata) {
		f.owner = o.owners.get(o.ctx, f.metadata)
		facts = f.owner.facts(keyOf(info))
	}
	f.ownership = release.Classify(live != nil, f.metadata, o.us, facts)
	return f
}

// namesOther reports whether metadata names another release.
func (o *ownership) namesOther(m release.OwnershipMetadata) bool {
	return m.NamesRelease() && (m.Name != o.us.Name || m.Namespace != o.us.Namespace)
}

// accept stores the state of an object that may be applied, and logs an adoption.
func (o *ownership) accept(info *resource.Info, f finding) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.checked == nil {
		o.checked = map[*resource.Info]ownershipState{}
	}
	o.checked[info] = f.ownershipState
	if f.ownership != release.OwnershipOrphan {
		return
	}
	text := fmt.Sprintf("%s: %s", wait.ObjectName(info), orphanReason(f))
	o.adopted = append(o.adopted, text)
	o.log("adopting %s", text)
}

// orphanReason returns the reason why an object has no owner.
func orphanReason(f finding) string {
	switch {
	case !f.metadata.NamesRelease():
		return "it has no metadata of a Helm release"
	case f.owner.stored:
		return fmt.Sprintf("Helm release %s/%s, whose metadata it has, has it no more", f.metadata.Namespace, f.metadata.Name)
	}
	return fmt.Sprintf("Helm release %s/%s, whose metadata it has, is not there", f.metadata.Namespace, f.metadata.Name)
}

// conflict stores the owner of an object and returns a message about it. The message contains a
// HelmRelease only if the labels of the object name it, or if it is in the namespace of the
// HelmRelease of the action. It then shows no more than the object itself does.
func (o *ownership) conflict(info *resource.Info, f finding) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if by, reserved := o.reserved[info]; reserved {
		o.conflicts = append(o.conflicts, by)
		return wait.ObjectName(info) + " is about to be made or adopted by another release"
	}
	o.conflicts = append(o.conflicts, release.Target{Name: f.metadata.Name, Namespace: f.metadata.Namespace})
	return o.describeConflict(info, f)
}

// describeConflict returns the message about an object that another release owns.
func (o *ownership) describeConflict(info *resource.Info, f finding) string {
	text := fmt.Sprintf("%s is owned by Helm release %s/%s", wait.ObjectName(info), f.metadata.Namespace, f.metadata.Name)
	for _, c := range f.owner.candidates {
		if c.Namespace == o.origin.Namespace || c.Namespace == f.metadata.OriginNamespace && c.Name == f.metadata.OriginName {
			text += fmt.Sprintf(" of HelmRelease '%s/%s'", c.Namespace, c.Name)
		}
	}
	return text + f.doubt(info)
}

// doubt returns the end of a message about an owner that may be none, because its records cannot be
// read; else it is empty.
func (f finding) doubt(info *resource.Info) string {
	if f.owner == nil || f.owner.unread == "" || f.owner.objects[keyOf(info)] {
		return ""
	}
	return ", as far as is known: " + f.owner.unread
}

// recheck checks an object again right before it is applied: an orphan, and with changed any object
// that another client seems to have created or labelled since the check.
func (o *ownership) recheck(info *resource.Info, changed bool) error {
	o.mu.Lock()
	was, checked := o.checked[info]
	o.mu.Unlock()
	if !checked || !changed && was.ownership != release.OwnershipOrphan {
		return nil
	}
	live, err := readMetadata(o.ctx, info)
	if err != nil {
		return err
	}
	if live == nil || ownershipMetadataOf(live) == was.metadata {
		return nil
	}
	if f := o.find(info, live); f.ownership == release.OwnershipOwned {
		return errors.New(o.conflict(info, f))
	}
	return nil
}

// explain adds the owners of objects to an error of Helm, which takes no existing object if
// spec.install.disableTakeOwnership is set. Objects of other existing releases replace the error,
// and owned is true.
func (o *ownership) explain(list kube.ResourceList, cause error) (owned bool, err error) {
	if !strings.Contains(cause.Error(), "invalid ownership metadata") {
		return false, cause
	}
	var refused, orphans []string
	for _, info := range list {
		l, ok := o.lookups.found[info]
		if !ok || l.err != nil {
			continue
		}
		switch f := o.find(info, l.object); f.ownership {
		case release.OwnershipOwned:
			refused = append(refused, o.conflict(info, f))
		case release.OwnershipOrphan:
			orphans = append(orphans, wait.ObjectName(info)+" is an orphan: "+orphanReason(f))
		case release.OwnershipFree, release.OwnershipOurs:
		}
	}
	switch {
	case len(refused) > 0:
		return true, ownedByOthers(refused)
	case len(orphans) > 0:
		return false, fmt.Errorf("%w; %s", cause, strings.Join(orphans, ", "))
	}
	return false, cause
}

// ofOther reports whether the metadata of an object names another release. If a release drops an
// object that another one has adopted, the object must not be deleted.
func (o *ownership) ofOther(live runtime.Object) (release.OwnershipMetadata, bool) {
	metadata := ownershipMetadataOf(live)
	return metadata, o.namesOther(metadata)
}

// hasOwnershipConflict reports whether another field manager owns the ownership metadata of an
// object with other values. The object is an orphan, or was created or adopted since the check.
func hasOwnershipConflict(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	return slices.ContainsFunc(status.Status().Details.Causes, func(c metav1.StatusCause) bool {
		return strings.Contains(c.Field, helmv2.AnnotationHelmReleaseName) || strings.Contains(c.Field, helmv2.AnnotationHelmReleaseNamespace)
	})
}

// Reservations are the objects that running actions are about to create or adopt. If two actions
// find the same object free, only one of them may create it. The API server cannot distinguish
// them, since both apply with the same field manager. Between HelmReleases of different namespaces,
// a reservation counts once the action has proven that it may write the object: otherwise any
// HelmRelease could keep any object from others. It may be used concurrently.
type Reservations struct {
	mu sync.Mutex
	by map[reservedObject][]reservation
}

// reservedObject identifies an object and its cluster.
type reservedObject struct {
	host string
	objectKey
}

// reserver is an action. namespace is the namespace of its HelmRelease.
type reserver struct {
	host, uid, namespace string
	target               release.Target
}

// reservation is a reservation of one object.
type reservation struct {
	reserver
	// proven is true if the action may write the object.
	proven bool
	// lost is true if another action has had a proven reservation since this one started: what is
	// known about the object may be out of date. to is its release.
	lost bool
	to   release.Target
}

// reserve reserves the objects of a list for an action. It returns the objects that another action
// has reserved, with the release of that action.
func (r *Reservations) reserve(holder reserver, list kube.ResourceList, proven func(*resource.Info) bool) (others map[*resource.Info]release.Target) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.by == nil {
		r.by = map[reservedObject][]reservation{}
	}
	others = map[*resource.Info]release.Target{}
	for _, info := range list {
		at := reservedObject{holder.host, keyOf(info)}
		mine := reservation{reserver: holder}
		var rest []reservation
		for _, other := range r.by[at] {
			switch {
			case other.reserver == holder:
				mine = other
			case other.proven, other.namespace == holder.namespace:
				others[info] = other.target
				rest = append(rest, other)
			default:
				rest = append(rest, other)
			}
		}
		if mine.lost {
			others[info] = mine.to
		}
		if _, taken := others[info]; taken {
			continue
		}
		mine.proven = mine.proven || proven(info)
		r.by[at] = append(rest, mine)
	}
	return others
}

// release ends all reservations of an action.
func (r *Reservations) release(holder reserver) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for at, all := range r.by {
		i := slices.IndexFunc(all, func(by reservation) bool { return by.reserver == holder })
		if i < 0 {
			continue
		}
		ended := all[i]
		all = slices.Delete(all, i, i+1)
		for j := range all {
			if ended.proven {
				all[j].lost, all[j].to = true, holder.target
			}
		}
		if r.by[at] = all; len(all) == 0 {
			delete(r.by, at)
		}
	}
}
