// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sort"
	"strings"

	"github.com/go-logr/logr"
	helmchart "helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/kube"
	helmrelease "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/releaseutil"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"
	"sigs.k8s.io/yaml"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/apiretry"
	"github.com/pintle-dev/pintle/internal/helm/wait"
	"github.com/pintle-dev/pintle/internal/release"
)

// definitions returns the CustomResourceDefinitions in the crds folders that the
// install creates.
func (t *targetCheck) definitions(c *helmchart.Chart) ([]*resource.Info, error) {
	if t.install.GetCRDs() == helmv2.CRDsSkip {
		return nil, nil
	}
	var all []*resource.Info
	for _, file := range c.CRDObjects() {
		list, err := t.client.parse(bytes.NewReader(file.File.Data))
		if err != nil {
			return nil, fmt.Errorf("CRDs in %s: %w", file.Filename, err)
		}
		for _, info := range list {
			if info.Mapping.GroupVersionKind.Kind == crdKind {
				all = append(all, info)
			}
		}
	}
	return all, nil
}

// objectsAccepted refuses objects that the API server would not accept, or that other
// living releases have. All refusals come in one error.
func (t *targetCheck) objectsAccepted(ctx context.Context, rls *helmrelease.Release, crds []*resource.Info) error {
	p := &preflight{client: t.client, shipped: map[apischema.GroupKind]bool{}, names: map[string]bool{}}
	for _, info := range crds {
		p.ships(info.Object)
	}
	list, err := t.client.parse(strings.NewReader(without(rls.Manifest, p.shipped)))
	if err != nil {
		return refusal{fmt.Errorf("unable to build kubernetes objects from release manifest: %w", err)}
	}
	for _, info := range list {
		markOwned(info, rls.Name, rls.Namespace)
		p.ships(info.Object)
	}
	if !t.install.DisableHooks {
		p.expectHooks(rls.Hooks, helmrelease.HookPreInstall)
	}
	list = list.Filter(func(info *resource.Info) bool {
		return !p.shipped[info.Mapping.GroupVersionKind.GroupKind()] && (t.creates == "" || info.Namespace != t.creates)
	})
	t.client.applying.serverSide = t.serverSide()
	t.adoption.claim(list)
	errs := append(each(crds, func(_ int, info *resource.Info) error { return t.definition(ctx, p, info) }),
		each(list, func(_ int, info *resource.Info) error { return t.object(ctx, p, info) })...)
	var refused []string
	for _, err := range errs {
		var no refusal
		switch {
		case err == nil:
		case errors.As(err, &no):
			refused = append(refused, no.Error())
		default:
			return err
		}
	}
	if len(refused) > 0 {
		return refusef("[%s]", strings.Join(refused, ", "))
	}
	return nil
}

// definition tries out what the install does to a definition in a crds folder.
func (t *targetCheck) definition(ctx context.Context, p *preflight, info *resource.Info) error {
	live, err := metadataOf(ctx, info)
	if err == nil && live == nil {
		err = t.client.dryCreate(info)
	} else if err == nil && t.install.GetCRDs() == helmv2.CRDsCreateReplace {
		err = t.client.tryOut(info)
	}
	return t.answer(wait.ObjectName(info), p, info, err)
}

// object tries out one object. An object of the old release is gone before the install
// begins, unless it is kept, so the dry run creates it: it is not an update of what is
// there.
func (t *targetCheck) object(ctx context.Context, p *preflight, info *resource.Info) error {
	live, err := metadataOf(ctx, info)
	if err != nil {
		return t.answer(wait.ObjectName(info), p, info, err)
	}
	try, v := t.client.tryOut, t.standing(info, live)
	switch v.standing {
	case release.OwnershipOwned:
		return refusal{errors.New(t.adoption.refusal(info, v))}
	case release.OwnershipOrphan:
		if t.install.DisableTakeOwnership {
			return refusef("%s exists, does not belong to the release, and spec.install.disableTakeOwnership is set", wait.ObjectName(info))
		}
	case release.OwnershipFree:
		if live != nil {
			try = t.client.dryCreate
		}
	case release.OwnershipOurs:
	}
	if t.install.DisableOpenAPIValidation {
		return nil
	}
	return t.answer(wait.ObjectName(info), p, info, try(info))
}

// standing returns whose the object is once the old release is uninstalled.
func (t *targetCheck) standing(info *resource.Info, live runtime.Object) verdict {
	if live == nil {
		return t.adoption.judge(info, nil)
	}
	marks := marksOf(live)
	if marks.Name != t.old.Name || marks.Namespace != t.old.Namespace {
		return t.adoption.judge(info, live)
	}
	if object, err := meta.Accessor(live); err == nil && object.GetAnnotations()[kube.ResourcePolicyAnno] == kube.KeepPolicy {
		return verdict{adopted: adopted{standing: release.OwnershipOrphan, marks: marks}}
	}
	return verdict{adopted: adopted{standing: release.OwnershipFree, marks: marks}}
}

// dryCreate asks the API server to create an object, without effect. That it exists
// tells nothing about whether it is valid, which is checked before.
func (c *client) dryCreate(info *resource.Info) error {
	helper := resource.NewHelper(info.Client, info.Mapping).DryRun(true).
		WithFieldManager(fieldManager).WithFieldValidation(metav1.FieldValidationStrict)
	_, err := helper.Create(info.Namespace, true, info.Object.DeepCopyObject())
	return err
}

// answer returns what the answer to a dry run means for the install: nil if it is no
// obstacle, a refusal if it is one, and another error if the API server could not tell.
func (t *targetCheck) answer(what string, p *preflight, info *resource.Info, err error) error {
	switch {
	case err == nil, alreadyExists(err):
		return nil
	case unanswered(err):
		return fmt.Errorf("%s: %w", what, err)
	case passesWithOld(info, err), !p.blocks(info, err):
		logr.FromContextOrDiscard(t.client.ctx).Info("the target denies a dry run, which the uninstall or the install may end",
			"request", what, "cause", t.redact.text(err.Error()))
		return nil
	}
	return refusal{fmt.Errorf("%s: %w", what, err)}
}

// unanswered reports whether an error says nothing about the request: the API server,
// or a webhook, did not answer, or had trouble of its own.
func unanswered(err error) bool {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) {
		return true
	}
	said := apiretry.AnswerOf(err)
	switch apiretry.Classify(said) {
	case apiretry.Transient, apiretry.WebhookUnreachable, apiretry.Conflict:
		return true
	case apiretry.Answered, apiretry.Denied, apiretry.Final:
	}
	return said.Code == http.StatusConflict || said.Code > http.StatusInternalServerError
}

// passesWithOld reports whether a denial may be over when the old release is
// uninstalled: its objects use up the quota, hold the port or address, or configure
// the webhook.
func passesWithOld(info *resource.Info, err error) bool {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) {
		return false
	}
	said := apiretry.AnswerOf(err)
	return apiretry.QuotaExceeded(said) || apiretry.WebhookDenied(said) || allocated(info, answer.Status())
}

// allocated reports whether an answer objects to nothing but ports and addresses of a
// Service.
func allocated(info *resource.Info, status metav1.Status) bool {
	if info.Mapping == nil || info.Mapping.GroupVersionKind.GroupKind() != (apischema.GroupKind{Kind: "Service"}) ||
		status.Details == nil || len(status.Details.Causes) == 0 {
		return false
	}
	return !slices.ContainsFunc(status.Details.Causes, func(c metav1.StatusCause) bool {
		return !strings.HasSuffix(c.Field, ".nodePort") && !strings.HasPrefix(c.Field, "spec.clusterIP") && c.Field != "spec.healthCheckNodePort"
	})
}

// without returns a manifest without the objects of some kinds, which cannot be built
// before their definitions are served.
func without(manifest string, kinds map[apischema.GroupKind]bool) string {
	if len(kinds) == 0 {
		return manifest
	}
	var kept []string
	for _, text := range inOrder(manifest) {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &object.Object); err == nil && kinds[object.GroupVersionKind().GroupKind()] {
			continue
		}
		kept = append(kept, text)
	}
	return strings.Join(kept, "\n---\n")
}

// hasNamespace reports whether a manifest has a Namespace of the name.
func hasNamespace(manifest, name string) bool {
	return slices.ContainsFunc(inOrder(manifest), func(text string) bool {
		object := &unstructured.Unstructured{}
		err := yaml.Unmarshal([]byte(text), &object.Object)
		return err == nil && object.GroupVersionKind().GroupKind() == apischema.GroupKind{Kind: "Namespace"} && object.GetName() == name
	})
}

// inOrder returns the documents of a manifest.
func inOrder(manifest string) []string {
	documents := releaseutil.SplitManifests(manifest)
	keys := slices.Collect(maps.Keys(documents))
	sort.Sort(releaseutil.BySplitManifestsOrder(keys))
	all := make([]string, len(keys))
	for i, key := range keys {
		all[i] = documents[key]
	}
	return all
}
