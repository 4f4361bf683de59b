// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

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
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/resource"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/helm/wait"
	"github.com/pintle-dev/pintle/internal/release"
)

// Claimants finds the HelmReleases that ask for the Helm release that an object bears
// the marks of, or have it in their history: those of the cluster that a job works in,
// and not the one that the job is for. It may be called concurrently.
type Claimants func(ctx context.Context, marks release.OwnershipMetadata) ([]release.OwnerCandidate, error)

// adoption finds out whose the objects are that a revision adds to a release, so
// that none is taken from another release that lives. Other than looking whether a
// new object exists, which trying it out has told, it costs requests only for those
// that do.
type adoption struct {
	client *client
	us     release.Target
	origin Origin
	// claimants, if set, knows the HelmReleases of the cluster.
	claimants Claimants
	bearers   *bearers
	// reserved are the objects that jobs are about to have, this one as holder.
	reserved *reservations
	holder   reserver

	mu sync.Mutex
	// met are the objects that were asked about, and what marks they had; busy those
	// that another job is about to have.
	met     map[*resource.Info]adopted
	busy    map[*resource.Info]release.Target
	adopted []string
	// owners are the releases that have objects in the way.
	owners []release.Target
}

// adopted is what was found where an object is going to be.
type adopted struct {
	standing release.Ownership
	marks    release.OwnershipMetadata
}

// verdict is whose an object is, and why.
type verdict struct {
	adopted
	bearer *bearer
}

// claim reserves objects that the job is going to have, unless others have done so.
func (a *adoption) claim(list kube.ResourceList) {
	if a == nil {
		return
	}
	busy := a.reserved.reserve(a.holder, list)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.busy == nil {
		a.busy = map[*resource.Info]release.Target{}
	}
	for info, by := range busy {
		a.busy[info] = by
	}
}

// candidates are the objects of a new revision that another release may own: those
// that the previous revision does not have. If none before it ever worked, it is not known
// which of its objects it had made.
func (r *run) candidates() kube.ResourceList {
	c := r.client
	if r.gate.newest > 0 && !r.gate.worked {
		return c.built
	}
	return c.built.Difference(c.previous)
}

// check refuses objects that other living releases have, all in one error, and says
// which it adopts. Objects that were checked are not checked again.
func (a *adoption) check(list kube.ResourceList, done string) error {
	if a == nil {
		return nil
	}
	list = list.Filter(func(info *resource.Info) bool { return info.Name != "" && !a.has(info) })
	a.claim(list)
	found := make([]runtime.Object, len(list))
	for i, err := range each(list, func(i int, info *resource.Info) (err error) {
		found[i], err = a.client.present(info)
		return err
	}) {
		if err != nil {
			return fmt.Errorf("%s: whose %s is cannot be found out: %w", done, wait.ObjectName(list[i]), err)
		}
	}
	var refused []string
	for i, info := range list {
		v := a.judge(info, found[i])
		if v.standing == release.OwnershipOwned {
			refused = append(refused, a.refusal(info, v))
			continue
		}
		a.admit(info, v)
	}
	if len(refused) > 0 {
		return fmt.Errorf("%s, since these objects are of other Helm releases: [%s]", done, strings.Join(refused, ", "))
	}
	return nil
}

const nothingChanged = "nothing was changed"

func (a *adoption) has(info *resource.Info) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, ok := a.met[info]
	return ok
}

// judge says whose an object is; live is nil if it does not exist.
func (a *adoption) judge(info *resource.Info, live runtime.Object) verdict {
	var v verdict
	exists := live != nil
	if exists {
		v.marks = marksOf(live)
	}
	a.mu.Lock()
	_, busy := a.busy[info]
	a.mu.Unlock()
	found := release.Owner{Busy: busy}
	if !busy && exists && v.marks.NamesRelease() && (v.marks.Name != a.us.Name || v.marks.Namespace != a.us.Namespace) {
		v.bearer = a.bearers.of(a.client.ctx, v.marks, a.claimants)
		found = v.bearer.found(keyOfInfo(info))
	}
	v.standing = release.Classify(exists, v.marks, a.us, found)
	return v
}

// admit takes note of an object that may be had, and says if it is adopted.
func (a *adoption) admit(info *resource.Info, v verdict) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.met == nil {
		a.met = map[*resource.Info]adopted{}
	}
	a.met[info] = v.adopted
	if v.standing != release.OwnershipOrphan {
		return
	}
	said := fmt.Sprintf("%s: %s", wait.ObjectName(info), orphaned(v))
	a.adopted = append(a.adopted, said)
	a.client.Log("adopting %s", said)
}

// orphaned returns the reason why an object has no owner.
func orphaned(v verdict) string {
	switch {
	case !v.marks.NamesRelease():
		return "it has no metadata of a Helm release"
	case v.bearer.stored:
		return fmt.Sprintf("Helm release %s/%s, whose metadata it has, has it no more", v.marks.Namespace, v.marks.Name)
	}
	return fmt.Sprintf("Helm release %s/%s, whose metadata it has, is not there", v.marks.Namespace, v.marks.Name)
}

// refusal says why an object is not taken, and takes note of the owner. It tells no
// more than the object itself does: a HelmRelease is named if the object's labels
// name it, or if it lives beside the one that asks.
func (a *adoption) refusal(info *resource.Info, v verdict) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if by, busy := a.busy[info]; busy {
		a.owners = append(a.owners, by)
		return wait.ObjectName(info) + " is about to be made or adopted by another release"
	}
	a.owners = append(a.owners, release.Target{Name: v.marks.Name, Namespace: v.marks.Namespace})
	text := fmt.Sprintf("%s is owned by Helm release %s/%s", wait.ObjectName(info), v.marks.Namespace, v.marks.Name)
	for _, c := range v.bearer.claimants {
		if c.Namespace == a.origin.Namespace || c.Namespace == v.marks.OriginNamespace && c.Name == v.marks.OriginName {
			text += fmt.Sprintf(" of HelmRelease '%s/%s'", c.Namespace, c.Name)
		}
	}
	if v.bearer.unread != "" && !v.bearer.holds[keyOfInfo(info)] {
		text += ", as far as is known: " + v.bearer.unread
	}
	return text
}

// recheck reads an object again that exists and is about to be adopted, or that another
// client seems to have created or labelled since the check.
func (a *adoption) recheck(info *resource.Info, changed bool) error {
	if a == nil {
		return nil
	}
	a.mu.Lock()
	was, checked := a.met[info]
	a.mu.Unlock()
	if !checked || !changed && was.standing != release.OwnershipOrphan {
		return nil
	}
	live, err := metadataOf(a.client.ctx, info)
	if err != nil {
		return err
	}
	if live == nil || marksOf(live) == was.marks {
		return nil
	}
	if v := a.judge(info, live); v.standing == release.OwnershipOwned {
		return errors.New(a.refusal(info, v))
	}
	return nil
}

// explain says whose the objects are that Helm has refused to take, since it must
// not take any. Objects of other living releases come first, and alone.
func (a *adoption) explain(cause error) (owned bool, err error) {
	if a == nil || a.client.looks == nil || !strings.Contains(cause.Error(), "invalid ownership metadata") {
		return false, cause
	}
	var refused, orphans []string
	for _, info := range a.client.built {
		f, ok := a.client.looks.found[info]
		if !ok || f.err != nil {
			continue
		}
		switch v := a.judge(info, f.object); v.standing {
		case release.OwnershipOwned:
			refused = append(refused, a.refusal(info, v))
		case release.OwnershipOrphan:
			orphans = append(orphans, wait.ObjectName(info)+" is an orphan: "+orphaned(v))
		case release.OwnershipFree, release.OwnershipOurs:
		}
	}
	switch {
	case len(refused) > 0:
		return true, fmt.Errorf("%s, since these objects are of other Helm releases: [%s]", nothingChanged, strings.Join(refused, ", "))
	case len(orphans) > 0:
		return false, fmt.Errorf("%w; %s", cause, strings.Join(orphans, ", "))
	}
	return false, cause
}

// disputes reports whether another manager owns the ownership metadata of an object,
// with other values: it has been made or adopted since it was checked, or is an
// orphan.
func disputes(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	return slices.ContainsFunc(status.Status().Details.Causes, func(c metav1.StatusCause) bool {
		return strings.Contains(c.Field, nameAnnotation) || strings.Contains(c.Field, namespaceAnnotation)
	})
}

// others reports whether an object is another release's by its marks. What a release
// drops and another one has by now is not to be deleted.
func (a *adoption) others(live runtime.Object) (release.OwnershipMetadata, bool) {
	if a == nil {
		return release.OwnershipMetadata{}, false
	}
	marks := marksOf(live)
	return marks, marks.NamesRelease() && (marks.Name != a.us.Name || marks.Namespace != a.us.Namespace)
}

// present returns what is in the place of an object, nil if nothing is. It asks only
// if neither Helm has nor trying out has told.
func (c *client) present(info *resource.Info) (runtime.Object, error) {
	if c.looks != nil {
		if f, ok := c.looks.found[info]; ok {
			if apierrors.IsNotFound(f.err) {
				return nil, nil //nolint:nilnil // see above
			}
			return f.object, f.err
		}
	}
	if t, ok := c.trial(info); ok && t.created {
		return nil, nil //nolint:nilnil // see above
	}
	return metadataOf(c.ctx, info)
}

// acceptMetadata is the Accept header of requests whose answer is only the metadata of an
// object. An API server without partial objects sends the whole object.
const acceptMetadata = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"

// metadataOf reads the metadata of an object, nil if it does not exist.
func metadataOf(ctx context.Context, info *resource.Info) (runtime.Object, error) {
	live, err := direct(info.Client).Get().
		NamespaceIfScoped(info.Namespace, info.Namespaced()).
		Resource(info.Mapping.Resource.Resource).
		Name(info.Name).
		SetHeader("Accept", acceptMetadata).
		Do(ctx).Get()
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // see above
	}
	return live, err
}

// marksOf reads the marks of an object.
func marksOf(live runtime.Object) release.OwnershipMetadata {
	object, err := meta.Accessor(live)
	if err != nil {
		return release.OwnershipMetadata{}
	}
	annotations, labels := object.GetAnnotations(), object.GetLabels()
	return release.OwnershipMetadata{
		Name: annotations[nameAnnotation], Namespace: annotations[namespaceAnnotation],
		OriginName: labels[helmv2.LabelName], OriginNamespace: labels[helmv2.LabelNamespace],
	}
}

// adoption returns what finds out whose the objects are that a job adds.
func (r *Runner) adoption(getter genericclioptions.RESTClientGetter, job Job, c *client) (*adoption, error) {
	config, err := getter.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	return &adoption{
		client: c, us: job.target(), origin: job.Origin, claimants: job.Claimants, bearers: &bearers{getter: getter},
		reserved: &r.reserved, holder: reserver{host: config.Host, uid: job.Desired.UID, target: job.target()},
	}, nil
}

// end lets others have what the job did not get.
func (a *adoption) end() { a.reserved.release(a.holder) }

// leaveOthers makes the job refuse objects that other living releases have, before
// it stores a new revision.
func (r *run) leaveOthers() {
	r.gate.check = func(*helmrelease.Release) error { return r.adoption.check(r.candidates(), nothingChanged) }
}

// ownership returns whose objects were in the way, if that is why nothing was stored,
// and what was adopted.
func (r *run) ownership() (owners []release.Target, adopted []string) {
	r.adoption.mu.Lock()
	defer r.adoption.mu.Unlock()
	if len(r.store.Revisions()) > 0 {
		return nil, r.adoption.adopted
	}
	return r.adoption.owners, nil
}
