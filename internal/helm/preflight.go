// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/kube"
	helmrelease "helm.sh/helm/v3/pkg/release"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"
	"sigs.k8s.io/yaml"

	"github.com/pintle-dev/pintle/internal/apiretry"
	"github.com/pintle-dev/pintle/internal/helm/wait"
)

// preflight asks the API server what it would say to the objects that are about
// to be applied, before anything is stored or changed, and returns everything it
// objects to at once.
type preflight struct {
	client *client
	// shipped are the kinds whose definitions come with the release: what the
	// server knows of them may change on the way.
	shipped map[apischema.GroupKind]bool
	// names of everything that comes with the release.
	names map[string]bool
	// prepares is true if Jobs or Pods run before the objects are applied, and may
	// put right what is wrong now.
	prepares bool
}

// checkBefore makes the job check objects before it stores a new revision, whose
// hooks for event will run, if they are not disabled.
func (r *run) checkBefore(event helmrelease.HookEvent, hooksDisabled bool) {
	before := r.gate.check
	r.gate.check = func(next *helmrelease.Release) error {
		p := &preflight{client: r.client, shipped: map[apischema.GroupKind]bool{}, names: map[string]bool{}}
		for _, info := range slices.Concat(r.client.built, r.crds) {
			p.ships(info.Object)
		}
		if !hooksDisabled {
			p.expectHooks(next.Hooks, event)
		}
		objection := p.run(r.client.changed)
		// Trying out has told which objects there are.
		if err := before(next); err != nil {
			return err
		}
		return objection
	}
}

// admitted is the error of an action: what the check found, if it found anything,
// since Helm puts words around it that fit storage.
func (r *run) admitted(err error) error {
	if r.gate.refused != nil || err == nil {
		return r.gate.refused
	}
	if owned, explained := r.adoption.explain(err); owned {
		r.gate.refused, err = explained, explained
	} else {
		err = explained
	}
	return err
}

func (p *preflight) ships(object runtime.Object) {
	u, ok := object.(*unstructured.Unstructured)
	if !ok {
		return
	}
	p.named(u.GetName())
	if u.GetKind() == crdKind {
		p.shipped[definedKind(u)] = true
	}
}

func (p *preflight) named(name string) {
	if name != "" {
		p.names[name] = true
	}
}

func (p *preflight) expectHooks(hooks []*helmrelease.Hook, event helmrelease.HookEvent) {
	for _, h := range hooks {
		if !slices.Contains(h.Events, event) {
			continue
		}
		p.named(h.Name)
		p.prepares = p.prepares || h.Kind == "Job" || h.Kind == "Pod"
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(h.Manifest), &object.Object); err == nil {
			p.ships(object)
		}
	}
}

func (p *preflight) run(list kube.ResourceList) error {
	list = list.Filter(func(info *resource.Info) bool { return !p.shipped[info.Mapping.GroupVersionKind.GroupKind()] })
	errs := each(list, func(_ int, info *resource.Info) error {
		if err := p.client.ctx.Err(); err != nil {
			return err
		}
		return p.client.tryOut(info)
	})
	var objections []string
	for i, err := range errs {
		switch {
		case err == nil:
		case p.blocks(list[i], err):
			p.client.inquest.refuse(list[i], err)
			objections = append(objections, fmt.Sprintf("%s: %s", wait.ObjectName(list[i]), err))
		default:
			p.client.Log("checking %s: %s", wait.ObjectName(list[i]), err)
		}
	}
	if len(objections) > 0 {
		return fmt.Errorf("nothing was changed, since the API server would refuse: [%s]", strings.Join(objections, ", "))
	}
	return nil
}

// blocks reports whether err is a verdict on the object as it is going to be
// applied. Trouble of the server's own is none: an upgrade may be what ends it.
func (p *preflight) blocks(info *resource.Info, err error) bool {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) {
		return true
	}
	code, text := answer.Status().Code, answer.Status().Message
	class := apiretry.Classify(apiretry.AnswerOf(err))
	switch {
	case apiretry.NoDryRun(apiretry.AnswerOf(err)):
		// A webhook with side effects, or a server that cannot try things out.
		return false
	case code == http.StatusInternalServerError && class == apiretry.Answered:
		// A field that does not exist, or has another type: the API server answers that
		// with an error of its own.
		return true
	case code == http.StatusConflict, class != apiretry.Answered && class != apiretry.Denied, code >= http.StatusInternalServerError:
		return false
	case p.missesOwn(info, text):
		return false
	}
	return !p.prepares || !apierrors.IsInvalid(err) && !apierrors.IsNotFound(err)
}

// missesOwn reports whether the server misses something that comes with the
// release: a namespace, a role, a service account.
func (p *preflight) missesOwn(info *resource.Info, text string) bool {
	if !strings.Contains(text, "not found") && !strings.Contains(text, "was found") {
		return false
	}
	for name := range p.names {
		if name != info.Name && strings.Contains(text, name) {
			return true
		}
	}
	return p.names[info.Name] && strings.Count(text, info.Name) > 1
}

// tryOut does to an object what applying will, without effect.
func (c *client) tryOut(info *resource.Info) error {
	if !c.applying.serverSide {
		return c.tryOutClientSide(info)
	}
	body, err := encodeObject(info.Object)
	if err != nil {
		return err
	}
	result, created, err := c.patch(info, body, acceptMetadata, metav1.PatchOptions{Force: new(true), DryRun: []string{metav1.DryRunAll}})
	if err == nil {
		c.triedOut(info, trial{body: body, traces: clientSideTraces(result), created: created})
	}
	if !apierrors.IsInvalid(err) {
		return err
	}
	// What client-side applying left in the object goes before it is applied, but
	// cannot go now: merging in the client tells what will be.
	live, getErr := resource.NewHelper(info.Client, info.Mapping).Get(info.Namespace, info.Name)
	if getErr != nil || !clientSideTraces(live) {
		return err
	}
	return c.tryOutClientSide(info)
}

// trial is what trying out an object showed, and what was sent for it: the same is
// going to be applied.
type trial struct {
	body []byte
	// traces is true if the object has fields that client-side applying left.
	traces bool
	// created is true if there was no such object.
	created bool
}

func (c *client) triedOut(info *resource.Info, t trial) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tried == nil {
		c.tried = map[*resource.Info]trial{}
	}
	c.tried[info] = t
}

func (c *client) trial(info *resource.Info) (trial, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t, ok := c.tried[info]
	return t, ok
}

// takeBody returns what is to be sent for an object, and lets it go.
func (c *client) takeBody(info *resource.Info) ([]byte, error) {
	t, ok := c.trial(info)
	if !ok {
		return encodeObject(info.Object)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.tried, info)
	return t.body, nil
}

func (c *client) tryOutClientSide(info *resource.Info) error {
	err := c.tryMerging(info)
	if apierrors.IsNotFound(err) || apierrors.IsAlreadyExists(err) {
		// Another client deleted or created it between the read and the dry run.
		err = c.tryMerging(info)
	}
	return err
}

// tryMerging does to an object what merging in the client will, without effect.
func (c *client) tryMerging(info *resource.Info) error {
	helper := resource.NewHelper(info.Client, info.Mapping).DryRun(true).
		WithFieldManager(fieldManager).WithFieldValidation(metav1.FieldValidationStrict)
	object := info.Object.DeepCopyObject()
	live, err := helper.Get(info.Namespace, info.Name)
	if apierrors.IsNotFound(err) {
		_, err = helper.Create(info.Namespace, true, object)
		return err
	}
	if err != nil {
		return err
	}
	if c.applying.force {
		_, err = helper.Replace(info.Namespace, info.Name, true, object)
		return err
	}
	// Helm, too, takes an object that the release did not have for its own past.
	original := object
	if was := c.previous.Get(info); was != nil {
		original = was.Object
	}
	patch, kind, err := threeWayPatch(info, original, live)
	if err != nil || string(patch) == "{}" {
		return err
	}
	_, err = helper.Patch(info.Namespace, info.Name, kind, patch, nil)
	return err
}

// definedKind is the kind that a CustomResourceDefinition defines.
func definedKind(crd *unstructured.Unstructured) apischema.GroupKind {
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
	return apischema.GroupKind{Group: group, Kind: kind}
}

func marshalAll(objects ...runtime.Object) ([][]byte, error) {
	all := make([][]byte, len(objects))
	for i, o := range objects {
		var err error
		if all[i], err = json.Marshal(o); err != nil {
			return nil, err
		}
	}
	return all, nil
}
