// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/kube"
	helmrelease "helm.sh/helm/v3/pkg/release"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/pintle-dev/pintle/internal/apiretry"
	"github.com/pintle-dev/pintle/internal/bounded"
	"github.com/pintle-dev/pintle/internal/helm/wait"
)

// Preflight checks a new revision before it is stored: whether other releases own its objects, and
// whether the API server accepts them.
type Preflight struct {
	ctx       context.Context //nolint:containedctx // it lives as long as one action
	log       func(format string, args ...any)
	builds    *builds
	crds      *CRDs
	lookups   *lookups
	dryRuns   *dryRuns
	ownership *ownership
	// refused is called with each object that the API server refused.
	refused func(info *resource.Info, err error)
}

// SkipLookups answers Helm's questions about existing objects without one request for each. It
// sends no request at all if needless returns true.
func (p *Preflight) SkipLookups(needless func() bool) {
	p.lookups.needless, p.lookups.before = needless, p.ownership.claim
}

// EndLookups sends all later reads to the API server. It is called when a revision is stored.
func (p *Preflight) EndLookups() { p.lookups.end() }

// Ownership returns an error if other existing releases own objects of the new revision. It checks
// the objects that the previous revision does not contain, or all of them.
func (p *Preflight) Ownership(all bool) error {
	list := p.builds.last
	if !all {
		list = p.builds.added()
	}
	return p.ownership.check(list)
}

// Explain adds the owners of objects to an error of Helm about them; see ownership.explain.
func (p *Preflight) Explain(cause error) (owned bool, err error) {
	return p.ownership.explain(p.builds.last, cause)
}

// DryRuns sends dry runs of the objects that a new revision changes. It returns one error for all
// objects that the API server would refuse. The error is a Denial if all of them may be allowed
// later in the action. Hooks, if enabled, run for event beforehand. With insist, denials are logged
// only.
func (p *Preflight) DryRuns(next *helmrelease.Release, event helmrelease.HookEvent, hooks, insist bool) error {
	e := newExpectations()
	for _, info := range slices.Concat(p.builds.last, p.crds.list) {
		e.ship(info.Object)
	}
	if hooks {
		e.expectHooks(next.Hooks, event)
	}
	return p.run(p.builds.changed, e, insist)
}

// Denial is the error of dry runs of objects that the API server denies for reasons that may depend
// on other objects of the action. A dry run judges each object alone, and the cluster as it is
// before the action.
type Denial struct{ error }

func (p *Preflight) run(list kube.ResourceList, e *expectations, insist bool) error {
	list = list.Filter(func(info *resource.Info) bool { return !e.shipped[info.Mapping.GroupVersionKind.GroupKind()] })
	errs := each(p.ctx, list, func(_ int, info *resource.Info) error {
		if err := p.ctx.Err(); err != nil {
			return err
		}
		return p.dryRuns.run(info)
	})
	var objections []string
	denied := true
	for i, err := range errs {
		depends := mayDepend(err)
		switch {
		case err == nil:
		case depends && (insist || p.freesPorts(list[i], err)), !e.block(list[i], err):
			p.log("checking %s: %s", wait.ObjectName(list[i]), err)
		default:
			p.refused(list[i], err)
			objections = append(objections, fmt.Sprintf("%s: %s", wait.ObjectName(list[i]), err))
			denied = denied && depends
		}
	}
	if len(objections) == 0 {
		return nil
	}
	err := fmt.Errorf("the API server would refuse: [%s]", strings.Join(objections, ", "))
	if denied {
		return Denial{err}
	}
	return err
}

// freesPorts reports whether the action takes the node ports that a Service lacks from other Services.
// Objects of one kind are applied again if that comes later. A Service that the new revision drops
// keeps its ports until the others are applied.
func (p *Preflight) freesPorts(info *resource.Info, err error) bool {
	if apiretry.DenialOf(apiretry.AnswerOf(err)) != apiretry.DeniedByAllocation || !p.dryRuns.method.ServerSide {
		return false
	}
	lacks := nodePorts(info)
	maps.DeleteFunc(lacks, func(port int64, _ bool) bool { return nodePorts(p.builds.previous.Get(info))[port] })
	if len(lacks) == 0 {
		return false
	}
	for _, was := range p.builds.previous {
		is := nodePorts(p.builds.last.Get(was))
		for port := range nodePorts(was) {
			if is != nil && !is[port] {
				delete(lacks, port)
			}
		}
	}
	return len(lacks) == 0
}

// nodePorts returns the node ports in the manifest of a Service; nil for no object and for objects of
// other kinds.
func nodePorts(info *resource.Info) map[int64]bool {
	if info == nil || info.Mapping.GroupVersionKind.GroupKind() != (apischema.GroupKind{Kind: "Service"}) {
		return nil
	}
	object, ok := info.Object.(*unstructured.Unstructured)
	if !ok {
		return nil
	}
	all := map[int64]bool{}
	ports, _, _ := unstructured.NestedSlice(object.Object, "spec", "ports")
	for _, port := range ports {
		fields, _ := port.(map[string]any)
		if n, found, _ := unstructured.NestedInt64(fields, "nodePort"); found {
			all[n] = true
		}
	}
	return all
}

// mayDepend reports whether the API server has denied an object for a reason that may depend on other
// objects.
func mayDepend(err error) bool {
	return apiretry.DenialOf(apiretry.AnswerOf(err)) != apiretry.NoDenial
}

// AcceptsObjects reports whether a namespace exists, for an identity that may neither read nor
// create it. It sends dry runs of the release's objects there until one answer proves it. Without
// proof it returns false.
func (p *Preflight) AcceptsObjects(namespace string) bool {
	for _, info := range p.builds.last {
		if !info.Namespaced() || info.Namespace != namespace {
			continue
		}
		switch err := p.dryRuns.run(info); {
		case err == nil, apierrors.IsInvalid(err), apierrors.IsAlreadyExists(err):
			return true
		case apierrors.IsNotFound(err):
			return false
		}
	}
	return false
}

// expectations are the changes that the action makes before it applies an object. Because of them
// a dry run may fail and the apply succeed.
type expectations struct {
	// shipped are the kinds whose CRDs come with the release. The action may change their schemas.
	shipped map[apischema.GroupKind]bool
	// names are the names of all objects that come with the release.
	names map[string]bool
	// prepares is true if Jobs or Pods run as hooks. They may remove the reason for an error.
	prepares bool
}

func newExpectations() *expectations {
	return &expectations{shipped: map[apischema.GroupKind]bool{}, names: map[string]bool{}}
}

// ship adds an object that comes with the release.
func (e *expectations) ship(object runtime.Object) {
	u, ok := object.(*unstructured.Unstructured)
	if !ok {
		return
	}
	e.addName(u.GetName())
	if u.GetKind() == CRDKind {
		e.shipped[definedKind(u)] = true
	}
}

func (e *expectations) addName(name string) {
	if name != "" {
		e.names[name] = true
	}
}

// expectHooks adds the hooks that run before the objects are applied.
func (e *expectations) expectHooks(hooks []*helmrelease.Hook, event helmrelease.HookEvent) {
	for _, h := range hooks {
		if !slices.Contains(h.Events, event) {
			continue
		}
		e.addName(h.Name)
		e.prepares = e.prepares || h.Kind == "Job" || h.Kind == "Pod"
		object := &unstructured.Unstructured{}
		if err := bounded.Manifest().Unmarshal([]byte(h.Manifest), &object.Object); err == nil {
			e.ship(object)
		}
	}
}

// block reports whether an error is about the object in the form in which it will be applied.
// Errors of the API server itself do not block an upgrade, which may be the remedy.
func (e *expectations) block(info *resource.Info, err error) bool {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) {
		return true
	}
	code, text := answer.Status().Code, answer.Status().Message
	class := apiretry.Classify(apiretry.AnswerOf(err))
	switch {
	case apiretry.NoDryRun(apiretry.AnswerOf(err)):
		// The webhook has side effects, or the API server does not support dry runs.
		return false
	case code == http.StatusInternalServerError && class == apiretry.Answered:
		// The API server answers with an internal error if a field does not exist, or has another
		// type.
		return true
	case code == http.StatusConflict, class != apiretry.Answered && class != apiretry.Denied, code >= http.StatusInternalServerError:
		return false
	case e.missesShipped(info, text):
		return false
	}
	return !e.prepares || !apierrors.IsInvalid(err) && !apierrors.IsNotFound(err)
}

// missesShipped reports whether the API server misses an object that comes with the release, such
// as a namespace, a role or a service account.
func (e *expectations) missesShipped(info *resource.Info, text string) bool {
	if !strings.Contains(text, "not found") && !strings.Contains(text, "was found") {
		return false
	}
	for name := range e.names {
		if name != info.Name && strings.Contains(text, name) {
			return true
		}
	}
	return e.names[info.Name] && strings.Count(text, info.Name) > 1
}
