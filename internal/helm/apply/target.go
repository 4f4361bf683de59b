// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package apply

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
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/apiretry"
	"github.com/pintle-dev/pintle/internal/bounded"
	"github.com/pintle-dev/pintle/internal/helm/wait"
	"github.com/pintle-dev/pintle/internal/release"
)

// Refusal is an error that prevents an install. Any other error of a check means that the check is
// incomplete.
type Refusal struct{ error }

// Unwrap returns the reason.
func (r Refusal) Unwrap() error { return r.error }

// Refuse returns err as a Refusal.
func Refuse(err error) Refusal { return Refusal{err} }

// Refusef returns a Refusal with a message.
func Refusef(format string, args ...any) error { return Refusal{fmt.Errorf(format, args...)} }

// TargetCheck checks whether the objects of a release can be applied at another target, after the
// release at Old is uninstalled. It writes nothing.
type TargetCheck struct {
	*Client

	Old release.Target
	// Install holds the options of the install.
	Install helmv2.Install
	// NewNamespace is the namespace that the install creates; empty if it creates none.
	NewNamespace string
	// Redact removes secrets from a text.
	Redact func(text string) string

	expectations *expectations
	// newCRDs are the CRDs that the install creates.
	newCRDs kube.ResourceList
}

// ReadCRDs reads the CRDs in the crds folders of the chart.
func (t *TargetCheck) ReadCRDs(files []helmchart.CRD) error {
	if t.Install.GetCRDs() == helmv2.CRDsSkip {
		return nil
	}
	for _, file := range files {
		list, err := t.builder.parse(bytes.NewReader(file.File.Data), wanted)
		if err != nil {
			return fmt.Errorf("CRDs in %s: %w", file.Filename, err)
		}
		for _, info := range list {
			if info.Mapping.GroupVersionKind.Kind == CRDKind {
				t.newCRDs.Append(info)
			}
		}
	}
	return nil
}

// Check returns one Refusal for all objects that the API server would not accept, and for those
// that other existing releases own.
func (t *TargetCheck) Check(ctx context.Context, rls *helmrelease.Release, method Method) error {
	e := newExpectations()
	t.expectations = e
	for _, info := range t.newCRDs {
		e.ship(info.Object)
	}
	list, err := t.builder.parse(strings.NewReader(without(rls.Manifest, e.shipped)), wanted)
	if err != nil {
		return Refusal{fmt.Errorf("unable to build kubernetes objects from release manifest: %w", err)}
	}
	for _, info := range list {
		setOwner(info, rls.Name, rls.Namespace)
		e.ship(info.Object)
	}
	if !t.Install.DisableHooks {
		e.expectHooks(rls.Hooks, helmrelease.HookPreInstall)
	}
	list = list.Filter(func(info *resource.Info) bool {
		return !e.shipped[info.Mapping.GroupVersionKind.GroupKind()] && (t.NewNamespace == "" || info.Namespace != t.NewNamespace)
	})
	*t.method = method
	t.ownership.claim(list)
	errs := append(each(ctx, t.newCRDs, func(_ int, info *resource.Info) error { return t.checkCRD(ctx, info) }),
		each(ctx, list, func(_ int, info *resource.Info) error { return t.checkObject(ctx, info) })...)
	var refused []string
	for _, err := range errs {
		var no Refusal
		switch {
		case err == nil:
		case errors.As(err, &no):
			refused = append(refused, no.Error())
		default:
			return err
		}
	}
	if len(refused) > 0 {
		return Refusef("[%s]", strings.Join(refused, ", "))
	}
	return nil
}

// checkCRD sends a dry run of the request that the install sends for a CRD.
func (t *TargetCheck) checkCRD(ctx context.Context, info *resource.Info) error {
	live, err := readMetadata(ctx, info)
	if err == nil && live == nil {
		err = createDryRun(info)
	} else if err == nil && t.Install.GetCRDs() == helmv2.CRDsCreateReplace {
		err = t.dryRuns.run(info)
	}
	return t.answer(wait.ObjectName(info), info, err)
}

// checkObject sends a dry run for one object. The uninstall deletes the objects of the old release
// unless they are kept. So the dry run creates such an object, and does not update the live one.
func (t *TargetCheck) checkObject(ctx context.Context, info *resource.Info) error {
	live, err := readMetadata(ctx, info)
	if err != nil {
		return t.answer(wait.ObjectName(info), info, err)
	}
	dryRun, f := t.dryRuns.run, t.findLater(info, live)
	switch f.ownership {
	case release.OwnershipOwned:
		return Refusal{errors.New(t.ownership.conflict(info, f))}
	case release.OwnershipOrphan:
		if t.Install.DisableTakeOwnership {
			return Refusef("%s exists, does not belong to the release, and spec.install.disableTakeOwnership is set", wait.ObjectName(info))
		}
	case release.OwnershipFree:
		if live != nil {
			dryRun = createDryRun
		}
	case release.OwnershipOurs:
	}
	if t.Install.DisableOpenAPIValidation {
		return nil
	}
	return t.answer(wait.ObjectName(info), info, dryRun(info))
}

// findLater returns the owner of an object after the old release is uninstalled.
func (t *TargetCheck) findLater(info *resource.Info, live runtime.Object) finding {
	if live == nil {
		return t.ownership.find(info, nil)
	}
	metadata := ownershipMetadataOf(live)
	if metadata.Name != t.Old.Name || metadata.Namespace != t.Old.Namespace {
		return t.ownership.find(info, live)
	}
	if keeps(live) {
		return finding{ownershipState: ownershipState{ownership: release.OwnershipOrphan, metadata: metadata}}
	}
	return finding{ownershipState: ownershipState{ownership: release.OwnershipFree, metadata: metadata}}
}

// Answer classifies the error of a dry run that creates a Namespace or Secret; see answer.
func (t *TargetCheck) Answer(request, name string, err error) error {
	return t.answer(request, &resource.Info{Name: name}, err)
}

// answer returns nil if the answer to a dry run does not prevent the install, a Refusal if it does,
// and another error if the API server did not decide.
func (t *TargetCheck) answer(request string, info *resource.Info, err error) error {
	e := t.expectations
	if e == nil {
		e = newExpectations()
	}
	switch {
	case err == nil, apierrors.IsAlreadyExists(err):
		return nil
	case undecided(err):
		return fmt.Errorf("%s: %w", request, err)
	case endsWithOld(err), !e.block(info, err):
		logr.FromContextOrDiscard(t.ctx).Info("the target denies a dry run, which the uninstall or the install may end",
			"request", request, "cause", t.Redact(err.Error()))
		return nil
	}
	return Refusal{fmt.Errorf("%s: %w", request, err)}
}

// undecided reports whether an error is no decision about the request: the API server or a webhook
// did not answer, or had an internal error.
func undecided(err error) bool {
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

// endsWithOld reports whether the uninstall of the old release may remove the reason of a denial:
// its objects use the quota, hold the port or address, or configure the webhook.
func endsWithOld(err error) bool {
	switch apiretry.DenialOf(apiretry.AnswerOf(err)) {
	case apiretry.DeniedByQuota, apiretry.DeniedByWebhook, apiretry.DeniedByAllocation:
		return true
	case apiretry.NoDenial, apiretry.DeniedByPolicy, apiretry.DeniedByPodSecurity, apiretry.DeniedByLimits:
	}
	return false
}

// without returns a manifest without the objects of some kinds. They cannot be built before their
// CRDs are served.
func without(manifest string, kinds map[apischema.GroupKind]bool) string {
	if len(kinds) == 0 {
		return manifest
	}
	var kept []string
	for _, text := range inOrder(manifest) {
		object := &unstructured.Unstructured{}
		if err := bounded.Manifest().Unmarshal([]byte(text), &object.Object); err == nil && kinds[object.GroupVersionKind().GroupKind()] {
			continue
		}
		kept = append(kept, text)
	}
	return strings.Join(kept, "\n---\n")
}

// HasNamespace reports whether a manifest contains a Namespace with the name.
func HasNamespace(manifest, name string) bool {
	return slices.ContainsFunc(inOrder(manifest), func(text string) bool {
		object := &unstructured.Unstructured{}
		err := bounded.Manifest().Unmarshal([]byte(text), &object.Object)
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
