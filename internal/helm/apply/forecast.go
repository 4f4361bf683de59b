// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	helmchart "helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/kube"
	helmrelease "helm.sh/helm/v3/pkg/release"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	"github.com/pintle-dev/pintle/internal/bounded"
	"github.com/pintle-dev/pintle/internal/helm/wait"
	"github.com/pintle-dev/pintle/internal/release"
)

// Forecast computes what an action would do to objects. It writes nothing.
type Forecast struct {
	*Client

	// Method defines how the action applies objects.
	Method Method
	// Strict makes unknown fields of client-side apply an error.
	Strict bool
	// TakeOwnership adopts objects without an owner.
	TakeOwnership bool
	// NewNamespace is the namespace that the action creates; empty if it creates none.
	NewNamespace string
	// RefuseDenials is true if denials that may depend on other objects prevent the action.
	RefuseDenials bool
	// Recreates is true if an approval can name objects to be deleted and created anew.
	Recreates bool
	// Redact removes secrets from a text.
	Redact func(text string) string

	expectations *expectations
	// old is the release that is uninstalled before the objects are applied; nil if there is none.
	// deleted are its objects.
	old     *release.Target
	deleted map[objectKey]bool
}

// state is an object in the cluster, and what an action would do to it.
type state struct {
	Info *resource.Info
	// Live is nil if the object does not exist, or could not be read.
	Live *unstructured.Unstructured
	// Exists is true if the object exists.
	Exists bool
	// Answer is the answer to the dry run of the request that would apply the object; nil if there is
	// none.
	Answer *unstructured.Unstructured
	// Refused states why the object would not be applied, and Unknown why there is no answer. Kept states
	// why the object stays as it is.
	Refused, Unknown, Kept string
	// Replacement is set if the API server refuses to change the object, and would create it.
	Replacement *v1alpha1.PlanReplacement
}

// parse returns the objects of the manifest of a new revision. unserved are the objects whose kinds
// the API server will serve because of CRDs, and does not serve yet.
func (f *Forecast) parse(manifest string, crds kube.ResourceList) (list kube.ResourceList, unserved []release.Object, err error) {
	f.expectations = newExpectations()
	for _, info := range crds {
		f.expectations.ship(info.Object)
	}
	if len(f.expectations.shipped) > 0 {
		if manifest, unserved, err = f.withoutUnserved(manifest); err != nil {
			return nil, nil, err
		}
	}
	if list, err = f.builder.parse(strings.NewReader(manifest), wanted); err != nil {
		return nil, nil, fmt.Errorf("unable to build kubernetes objects from release manifest: %w", err)
	}
	for _, info := range list {
		f.expectations.ship(info.Object)
	}
	return list, unserved, nil
}

// withoutUnserved returns a manifest without the objects of kinds that the API server does not serve
// yet, and these objects.
func (f *Forecast) withoutUnserved(manifest string) (rest string, unserved []release.Object, err error) {
	mapper, err := f.builder.getter.ToRESTMapper()
	if err != nil {
		return "", nil, err
	}
	var kept []string
	for _, text := range inOrder(manifest) {
		object := &unstructured.Unstructured{}
		if err := bounded.Manifest().Unmarshal([]byte(text), &object.Object); err != nil || !f.expectations.shipped[object.GroupVersionKind().GroupKind()] {
			kept = append(kept, text)
			continue
		}
		gvk := object.GroupVersionKind()
		if _, err := mapper.RESTMapping(gvk.GroupKind(), gvk.Version); err == nil {
			kept = append(kept, text)
			continue
		} else if !meta.IsNoMatchError(err) {
			return "", nil, err
		}
		unserved = append(unserved, release.Object{
			Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind, Namespace: object.GetNamespace(), Name: object.GetName(),
		})
	}
	return strings.Join(kept, "\n---\n"), unserved, nil
}

// parseStored returns the objects of the manifest of a stored revision.
func (f *Forecast) parseStored(manifest string) (kube.ResourceList, error) {
	return f.builder.parse(strings.NewReader(manifest), stored)
}

// parseCRDs returns the CRDs in the crds folders of a chart.
func (f *Forecast) parseCRDs(files []helmchart.CRD) (kube.ResourceList, error) {
	var crds kube.ResourceList
	for _, file := range files {
		list, err := f.builder.parse(bytes.NewReader(file.File.Data), wanted)
		if err != nil {
			return nil, fmt.Errorf("CRDs in %s: %w", file.Filename, err)
		}
		crds = append(crds, list.Filter(func(info *resource.Info) bool { return info.Mapping.GroupVersionKind.Kind == CRDKind })...)
	}
	return crds, nil
}

// replacedByHooks returns the live objects that hooks which run for some events would replace, and that
// no hook has made. The action deletes those in deleted itself.
func (f *Forecast) replacedByHooks(hooks []*helmrelease.Hook, deleted kube.ResourceList, events ...helmrelease.HookEvent) ([]HookTarget, error) {
	found, err := f.HookTargets.find(hooks, deleted, events...)
	return slices.DeleteFunc(found, func(t HookTarget) bool { return f.deleted[keyOf(t.Info)] }), err
}

// changedObjects returns the objects of next that previous does not contain in the same form, or
// all, each with the object of previous; nil if there is none. The objects of both must be in the
// form in which parse and parseStored returned them.
func (f *Forecast) changedObjects(previous, next kube.ResourceList, all bool) (list kube.ResourceList, original map[*resource.Info]runtime.Object) {
	align(previous, next)
	list, original = next, map[*resource.Info]runtime.Object{}
	if !all {
		list = changedObjects(next, previous)
	}
	for _, info := range list {
		if was := previous.Get(info); was != nil {
			original[info] = was.Object
		}
	}
	return list, original
}

// applyAll returns the states of objects of a new revision: one read and one dry run for each. Objects
// are checked for other owners if original does not contain them, or if all is true. An error means
// that a server did not decide.
func (f *Forecast) applyAll(list kube.ResourceList, original map[*resource.Info]runtime.Object, all bool) ([]state, error) {
	return f.each(list, func(info *resource.Info) (state, error) {
		setOwner(info, f.ownership.us.Name, f.ownership.us.Namespace)
		was := original[info]
		return f.apply(info, was, was == nil || all)
	})
}

// crdStates returns the states of CRDs that are created and, if replaced is true, replaced. CRDs that are
// not changed have no state.
func (f *Forecast) crdStates(list kube.ResourceList, replaced bool) ([]state, error) {
	states, err := f.each(list, func(info *resource.Info) (state, error) {
		if !replaced {
			live, err := readMetadata(f.ctx, info)
			if err != nil || live != nil {
				return state{}, err
			}
		}
		return f.apply(info, nil, false)
	})
	return slices.DeleteFunc(states, func(s state) bool { return s.Info == nil }), err
}

// each calls do for every object, several at a time.
func (f *Forecast) each(list kube.ResourceList, do func(info *resource.Info) (state, error)) ([]state, error) {
	states := make([]state, len(list))
	errs := each(f.ctx, list, func(i int, info *resource.Info) (err error) {
		if err := f.ctx.Err(); err != nil {
			return err
		}
		states[i], err = do(info)
		if err != nil {
			return fmt.Errorf("%s: %w", wait.ObjectName(info), err)
		}
		return nil
	})
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return states, nil
}

// maxRaces is how often an object is read and applied again that another client has created, changed
// or deleted in between.
const maxRaces = 3

func (f *Forecast) apply(info *resource.Info, original runtime.Object, checkOwner bool) (s state, err error) {
	for range maxRaces {
		if s, err = f.try(info, original, checkOwner); !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) {
			return s, err
		}
	}
	return s, err
}

// try returns the state of one object. It is an error if the server did not decide, or if another
// client was faster.
func (f *Forecast) try(info *resource.Info, original runtime.Object, checkOwner bool) (state, error) {
	s := state{Info: info}
	if info.Name == "" || f.NewNamespace != "" && info.Namespace == f.NewNamespace {
		return s, nil
	}
	live, err := resource.NewHelper(info.Client, info.Mapping).Get(info.Namespace, info.Name)
	switch {
	case apierrors.IsNotFound(err):
		live = nil
	case err != nil && undecided(err):
		return s, err
	case err != nil:
		s.Unknown = "it cannot be read: " + err.Error()
		return s, nil //nolint:nilerr // the reason is part of the state
	default:
		s.Exists = true
		s.Live, _ = live.(*unstructured.Unstructured)
	}
	if live != nil && f.Method.Force && !f.Method.ServerSide {
		if s.Kept = f.deletion.whyNotReplaced(info); s.Kept != "" {
			return s, nil
		}
	}
	if f.deleted[keyOf(info)] {
		s.Exists, s.Live = false, nil
		return s, f.decide(&s, createDryRun(info))
	}
	if live != nil && checkOwner {
		if s.Refused = f.whyNotTaken(info, live); s.Refused != "" {
			return s, nil
		}
	}
	ships := f.expectations != nil && f.expectations.shipped[info.Mapping.GroupVersionKind.GroupKind()]
	if ships && live == nil {
		return s, nil
	}
	s.Answer, err = f.dryRuns.answer(info, original, live, f.Method, f.Strict)
	if live != nil && apierrors.IsNotFound(err) {
		return s, apierrors.NewConflict(info.Mapping.Resource.GroupResource(), info.Name, err)
	}
	var failed error
	if s.Replacement, failed = f.recreation(info, original, live, err); failed != nil {
		return s, failed
	}
	if err = f.decide(&s, err); err == nil && ships && s.Refused != "" {
		// The CRD may allow the object when the action has applied it.
		s.Refused, s.Unknown = "", s.Refused
	}
	return s, err
}

// whyNotTaken returns why the action would not take a live object; empty if it would.
func (f *Forecast) whyNotTaken(info *resource.Info, live runtime.Object) string {
	found := f.ownership.find(info, live)
	if f.old != nil && found.metadata.Name == f.old.Name && found.metadata.Namespace == f.old.Namespace {
		// The uninstall keeps the object, which has no owner then.
		found.ownership = release.OwnershipOrphan
	}
	switch found.ownership {
	case release.OwnershipOwned:
		return f.ownership.describeConflict(info, found)
	case release.OwnershipOrphan:
		if !f.TakeOwnership {
			return "it exists, does not belong to the release, and disableTakeOwnership is set"
		}
	case release.OwnershipFree, release.OwnershipOurs:
	}
	return ""
}

// decide sets the state of an object by the error of its dry run.
func (f *Forecast) decide(s *state, err error) error {
	e := f.expectations
	if e == nil {
		e = newExpectations()
	}
	switch {
	case err == nil:
	case f.deleted[keyOf(s.Info)] && apierrors.IsAlreadyExists(err):
		// The API server has validated the object before.
	case undecided(err):
		return err
	case f.old != nil && endsWithOld(err), !f.RefuseDenials && mayDepend(err), !e.block(s.Info, err):
		s.Unknown = describeError(s.Info, err)
	default:
		s.Refused = describeError(s.Info, err)
	}
	return nil
}

// describeError returns the message of an error about an object. The API server quotes the values
// of a Secret that it refuses, so about Secrets the message has only the names of fields.
func describeError(info *resource.Info, err error) string {
	var answer apierrors.APIStatus
	if info.Mapping.GroupVersionKind.GroupKind() != (apischema.GroupKind{Kind: "Secret"}) || !errors.As(err, &answer) {
		return err.Error()
	}
	text := fmt.Sprintf("the API server refuses the Secret: %s", answer.Status().Reason)
	if answer.Status().Details == nil {
		return text
	}
	for _, cause := range answer.Status().Details.Causes {
		text += " " + cause.Field
	}
	return text
}

// prunedObjects returns the objects of previous, and of failed revisions, that an upgrade to next
// would delete. kept describes the objects that exist and stay.
func (f *Forecast) prunedObjects(previous, next kube.ResourceList) (deleted kube.ResourceList, kept []string, err error) {
	leftovers := f.Leftovers.find(previous, next)
	list := excluding(previous, leftovers).Difference(next)
	for i, live := range f.deletion.readAll(list) {
		why := ""
		switch {
		case live.err != nil && undecided(live.err):
			return nil, nil, fmt.Errorf("%s: %w", wait.ObjectName(list[i]), live.err)
		case live.err != nil:
			why = live.err.Error()
		case live.object == nil:
			continue
		default:
			why, _ = f.deletion.whyKept(list[i], live.object)
		}
		if why != "" {
			kept = append(kept, wait.ObjectName(list[i])+" is not deleted: "+why)
			continue
		}
		deleted.Append(list[i])
	}
	for i, live := range f.deletion.readAll(infosOf(leftovers)) {
		o := leftovers[i]
		if live.err != nil && undecided(live.err) {
			return nil, nil, fmt.Errorf("%s: %w", wait.ObjectName(o.info), live.err)
		}
		if live.object == nil || o.describe(live.object).WhyKept(f.ownership.us) != "" {
			continue
		}
		if why := f.deletion.whyProtected(o.info); why != "" {
			kept = append(kept, wait.ObjectName(o.info)+" is not deleted: "+why)
			continue
		}
		deleted.Append(o.info)
	}
	return deleted, kept, nil
}

// uninstalledObjects returns the objects that the uninstall of a release would delete: existing
// objects of the newest revision and of failed revisions. kept describes the objects that stay.
func (f *Forecast) uninstalledObjects(manifest string) (deleted kube.ResourceList, kept []string, err error) {
	f.Leftovers.BeforeUninstall()
	list, err := f.parseStored(manifest)
	if err != nil {
		return nil, nil, fmt.Errorf("unable to build kubernetes objects for delete: %w", err)
	}
	list = list.Filter(func(info *resource.Info) bool {
		// Helm decides by the manifest, not by the live object.
		if keeps(info.Object) {
			kept = append(kept, fmt.Sprintf("%s is kept, as its annotation %s asks", wait.ObjectName(info), kube.ResourcePolicyAnno))
			return false
		}
		if why := f.deletion.whyProtected(info); why != "" {
			kept = append(kept, fmt.Sprintf("%s is not deleted: %s", wait.ObjectName(info), why))
			return false
		}
		return true
	})
	for _, o := range f.Leftovers.removals(manifest, list) {
		switch name, err := wait.ObjectName(o.info), o.live.err; {
		case err != nil && undecided(err):
			return nil, nil, fmt.Errorf("%s: %w", name, err)
		case err != nil:
			kept = append(kept, fmt.Sprintf("%s is not deleted: %s", name, err))
		case o.live.object != nil:
			deleted.Append(o.info)
		}
	}
	kept = append(kept, f.deletion.keptObjects()...)
	return deleted, kept, nil
}

// After sets the release that is uninstalled before, and its objects.
func (f *Forecast) After(old release.Target, deleted kube.ResourceList) {
	f.old, f.deleted = &old, keysOf(deleted)
}
