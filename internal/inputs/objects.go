// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/cel"
)

// PendingDependency is the error for an object of another kind than HelmRelease that is not ready.
type PendingDependency struct {
	Object
	// Unserved is true if the API server does not serve the kind, so that there is nothing to
	// watch. In this case the key may have a namespace although the kind is cluster-scoped.
	Unserved bool
	// cause is the error of reading the object, nil if it was read.
	cause error
}

// Error implements error.
func (p *PendingDependency) Error() string {
	return fmt.Sprintf("%s '%s' is awaited", p.Kind.Kind, p.name())
}

// Unwrap returns the error of reading the object, nil if it was read.
func (p *PendingDependency) Unwrap() error { return p.cause }

func (p *PendingDependency) name() string { return nameOf(p.Key) }

// PendingDependencyIn returns the PendingDependency in an error of Resolve. It returns nil if the
// error has another cause, a HelmRelease for example.
func PendingDependencyIn(err error) *PendingDependency {
	var pending *PendingDependency
	if errors.As(err, &pending) {
		return pending
	}
	return nil
}

// nameOf returns "namespace/name", or "name" for a cluster-scoped object.
func nameOf(key types.NamespacedName) string {
	if key.Namespace == "" {
		return key.Name
	}
	return key.String()
}

// checkKinds validates apiVersion and kind of all dependencies. The CRD does too, but an older CRD
// may be installed.
func checkKinds(hr *helmv2.HelmRelease) error {
	for i, ref := range hr.Spec.DependsOn {
		if (ref.APIVersion == "") != (ref.Kind == "") {
			return unsupported("spec.dependsOn[%d]: apiVersion and kind must be specified together", i)
		}
		if gv, err := schema.ParseGroupVersion(ref.APIVersion); err != nil || ref.Kind != "" && gv.Version == "" {
			return unsupported("spec.dependsOn[%d].apiVersion: '%s' is not an API version", i, ref.APIVersion)
		}
	}
	return nil
}

// checkObject returns a *release.Blocked if an object of another kind that hr depends on is not
// ready.
func (r dependencies) checkObject(ctx context.Context, hr *helmv2.HelmRelease, ref helmv2.DependencyReference, e *cel.Expression) error {
	pending := &PendingDependency{Object: Object{Kind: schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind), Key: dependencyKey(hr, ref)}}
	dep, why := r.readObject(ctx, hr, ref, pending)
	if why != "" {
		return r.objectBlocked(pending, "unable to get '%s' dependency: %s", pending.name(), why)
	}
	if e == nil || r.settings.AdditiveReadyExpr {
		if why, ok := objectReady(dep); !ok {
			return r.objectBlocked(pending, "dependency '%s' is not ready: %s", pending.name(), why)
		}
	}
	if e != nil {
		if why, ok := r.objectSatisfies(e, hr, dep); !ok {
			return r.objectBlocked(pending, "dependency '%s' is not ready according to readyExpr eval%s", pending.name(), why)
		}
	}
	return nil
}

// objectBlocked returns dependencyBlocked for an object of another kind.
func (r dependencies) objectBlocked(pending *PendingDependency, format string, args ...any) error {
	blocked := r.dependencyBlocked(format, args...)
	blocked.Err = pending
	return blocked
}

// readObject reads the object of a dependency, or returns the reason why it cannot. It completes
// pending.
func (r dependencies) readObject(ctx context.Context, hr *helmv2.HelmRelease, ref helmv2.DependencyReference, pending *PendingDependency) (dep *unstructured.Unstructured, why string) {
	if r.objects == nil {
		return nil, "objects of other kinds cannot be read"
	}
	if ref.Name == "" || len(content.IsPathSegmentName(ref.Name)) > 0 || len(content.IsPathSegmentName(ref.Namespace)) > 0 {
		return nil, "no object can have that name"
	}
	namespaced, err := r.objects.Namespaced(ctx, pending.Kind)
	if err == nil && !namespaced {
		pending.Key.Namespace = ""
		if ref.Namespace != "" {
			return nil, fmt.Sprintf("objects of kind %s in %s have no namespace: remove it", ref.Kind, ref.APIVersion)
		}
	}
	if err == nil {
		dep, err = r.objects.Get(ctx, hr, pending.Object)
	}
	if err != nil {
		pending.cause, pending.Unserved = err, apimeta.IsNoMatchError(err)
		return nil, r.readFailure(ctx, pending, err)
	}
	return dep, ""
}

// readFailure returns the reason why an object could not be read. The message stays the same for as
// long as the cause does.
func (r dependencies) readFailure(ctx context.Context, pending *PendingDependency, err error) string {
	var status apierrors.APIStatus
	switch {
	case pending.Unserved:
		return fmt.Sprintf("no kind %s in %s is served yet", pending.Kind.Kind, pending.Kind.GroupVersion())
	case apierrors.IsNotFound(err):
		return fmt.Sprintf("%s '%s' not found", pending.Kind.Kind, pending.name()) + r.releaseHint(ctx, pending)
	case apierrors.IsForbidden(err):
		// The message names the identity, the verb and the object, and no content.
		return strings.Join(strings.Fields(err.Error()), " ")
	case errors.As(err, &status):
		// The message of a conversion webhook may quote the object.
		return fmt.Sprintf("the API server returned %d %s", status.Status().Code, status.Status().Reason)
	}
	return "the API server does not answer"
}

// deployers returns the kinds that users confuse with HelmRelease in dependsOn. These are the kinds
// that deploy something, of which Kustomization is by far the most common. Sources are not among
// them: they usually have the name of the release.
func deployers() []schema.GroupKind {
	return []schema.GroupKind{
		{Group: "kustomize.toolkit.fluxcd.io", Kind: "Kustomization"},
		{Group: "fluxcd.controlplane.io", Kind: "ResourceSet"},
		{Group: "infra.contrib.fluxcd.io", Kind: "Terraform"},
	}
}

// namesakeHint returns the reason why a HelmRelease cannot be read. If it does not exist, but an
// object of another kind has its name, the reason names that kind.
func (r dependencies) namesakeHint(ctx context.Context, hr *helmv2.HelmRelease, key types.NamespacedName, err error) string {
	if !apierrors.IsNotFound(err) || r.objects == nil {
		return err.Error()
	}
	kind, ok := r.objects.Namesake(ctx, hr, deployers(), key)
	if !ok {
		return err.Error()
	}
	return fmt.Sprintf("HelmRelease '%s' not found, but a %s of that name exists: set apiVersion and kind to depend on it", key, kind.Kind)
}

// releaseHint returns a suffix for the message that an object does not exist, empty unless a
// HelmRelease has its name.
func (r dependencies) releaseHint(ctx context.Context, pending *PendingDependency) string {
	if !slices.Contains(deployers(), pending.Kind.GroupKind()) || pending.Key.Namespace == "" {
		return ""
	}
	if r.reader.Get(ctx, pending.Key, &helmv2.HelmRelease{}) != nil {
		return ""
	}
	return ", but a HelmRelease of that name exists: remove apiVersion and kind to depend on it"
}
