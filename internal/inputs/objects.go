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
	"github.com/pintle-dev/pintle/internal/release"
)

// Object names an object in the controller's own cluster.
type Object struct {
	Kind schema.GroupVersionKind
	// Key has no namespace if the kind has none.
	Key types.NamespacedName
}

// Objects reads objects of any kind in the controller's own cluster. It may be used
// concurrently.
//
// Whoever names an object in a HelmRelease finds out, by an expression, letter by
// letter what is in it. So it is read as whom the release acts as, never with rights
// that its author does not have.
type Objects interface {
	// Namespaced reports whether a kind has namespaces. An error that meta.IsNoMatchError
	// knows says that the API server does not serve it.
	Namespaced(ctx context.Context, kind schema.GroupVersionKind) (bool, error)
	// Get reads an object as whom hr acts as; the caller may change it. Errors are those of
	// the API server, or of meta.IsNoMatchError.
	Get(ctx context.Context, hr *helmv2.HelmRelease, object Object) (*unstructured.Unstructured, error)
	// Namesake returns which of the kinds that groups name has an object of a name, as
	// far as hr's identity may know: the first that has; false if none has, or none is
	// served. It may answer what it found a few minutes ago.
	Namesake(ctx context.Context, hr *helmv2.HelmRelease, kinds []schema.GroupKind, key types.NamespacedName) (schema.GroupKind, bool)
}

// Reading returns a resolver like r that reads dependencies of other kinds than
// HelmRelease by objects. Without, nobody can, and releases that have some wait.
func (r *Resolver) WithObjects(objects Objects) *Resolver {
	with := *r
	with.objects = objects
	return &with
}

// PendingDependency is an object of another kind than HelmRelease that a release waits for.
type PendingDependency struct {
	Object
	// Unserved is true if the API server does not serve the kind, so that there is
	// nothing to watch. The key may have a namespace then although the kind has none.
	Unserved bool
	// cause is what keeps from reading it, if anything does.
	cause error
}

// Error implements error.
func (a *PendingDependency) Error() string {
	return fmt.Sprintf("%s '%s' is awaited", a.Kind.Kind, a.name())
}

// Unwrap returns the cause.
func (a *PendingDependency) Unwrap() error { return a.cause }

func (a *PendingDependency) name() string { return nameOf(a.Key) }

// AwaitedBy returns what err, of Resolve, says is waited for; nil if that is nothing, or
// a HelmRelease.
func PendingDependencyIn(err error) *PendingDependency {
	var awaited *PendingDependency
	if errors.As(err, &awaited) {
		return awaited
	}
	return nil
}

// nameOf is how an object is called, which need not have a namespace.
func nameOf(key types.NamespacedName) string {
	if key.Namespace == "" {
		return key.Name
	}
	return key.String()
}

// checkKinds refuses what our CRD refuses too, for an older one may be installed.
func checkKinds(hr *helmv2.HelmRelease) error {
	for i, ref := range hr.Spec.DependsOn {
		if (ref.APIVersion == "") != (ref.Kind == "") {
			return refusal("spec.dependsOn[%d]: apiVersion and kind must be specified together", i)
		}
		if gv, err := schema.ParseGroupVersion(ref.APIVersion); err != nil || ref.Kind != "" && gv.Version == "" {
			return refusal("spec.dependsOn[%d].apiVersion: '%s' is no API version", i, ref.APIVersion)
		}
	}
	return nil
}

// checkObject checks an object of another kind that hr depends on.
func (r *Resolver) checkObject(ctx context.Context, hr *helmv2.HelmRelease, ref helmv2.DependencyReference, e *cel.Expression) error {
	awaited := &PendingDependency{Object: Object{Kind: schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind), Key: dependencyKey(hr, ref)}}
	dep, why := r.object(ctx, hr, ref, awaited)
	if why != "" {
		return r.await(awaited, "unable to get '%s' dependency: %s", awaited.name(), why)
	}
	if e == nil || r.settings.AdditiveReadyExpr {
		if why, ok := isCurrent(dep); !ok {
			return r.await(awaited, "dependency '%s' is not ready: %s", awaited.name(), why)
		}
	}
	if e != nil {
		if why, ok := r.satisfiedBy(e, hr, dep); !ok {
			return r.await(awaited, "dependency '%s' is not ready according to readyExpr eval%s", awaited.name(), why)
		}
	}
	return nil
}

// await is waitFor for objects of other kinds.
func (r *Resolver) await(awaited *PendingDependency, format string, args ...any) error {
	return &release.Blocked{
		Reason: helmv2.ReasonDependencyNotReady, Normal: true, Err: awaited,
		Retry: release.After(r.settings.DependencyRetry), Message: fmt.Sprintf(format, args...),
	}
}

// object reads what is awaited, or says why it cannot be.
func (r *Resolver) object(ctx context.Context, hr *helmv2.HelmRelease, ref helmv2.DependencyReference, awaited *PendingDependency) (dep *unstructured.Unstructured, why string) {
	if r.objects == nil {
		return nil, "objects of other kinds cannot be read"
	}
	if ref.Name == "" || len(content.IsPathSegmentName(ref.Name)) > 0 || len(content.IsPathSegmentName(ref.Namespace)) > 0 {
		return nil, "no object can have that name"
	}
	namespaced, err := r.objects.Namespaced(ctx, awaited.Kind)
	if err == nil && !namespaced {
		awaited.Key.Namespace = ""
		if ref.Namespace != "" {
			return nil, fmt.Sprintf("objects of kind %s in %s have no namespace: remove it", ref.Kind, ref.APIVersion)
		}
	}
	if err == nil {
		dep, err = r.objects.Get(ctx, hr, awaited.Object)
	}
	if err != nil {
		awaited.cause, awaited.Unserved = err, apimeta.IsNoMatchError(err)
		return nil, r.unread(ctx, awaited, err)
	}
	return dep, ""
}

// unread says why an object could not be read, in words that stay the same for as long
// as the cause does.
func (r *Resolver) unread(ctx context.Context, awaited *PendingDependency, err error) string {
	var status apierrors.APIStatus
	switch {
	case awaited.Unserved:
		return fmt.Sprintf("no kind %s in %s is served yet", awaited.Kind.Kind, awaited.Kind.GroupVersion())
	case apierrors.IsNotFound(err):
		return fmt.Sprintf("%s '%s' not found", awaited.Kind.Kind, awaited.name()) + r.orRelease(ctx, awaited)
	case apierrors.IsForbidden(err):
		// It names who may not do what to which object, and nothing that is in it.
		return strings.Join(strings.Fields(err.Error()), " ")
	case errors.As(err, &status):
		// A webhook that converts objects may quote them.
		return fmt.Sprintf("the API server answers %d %s", status.Status().Code, status.Status().Reason)
	}
	return "the API server does not answer"
}

// satisfiedBy is satisfied for objects of other kinds. What goes wrong is not quoted:
// it may quote the object, and conditions are read by others than may read that.
func (r *Resolver) satisfiedBy(e *cel.Expression, self *helmv2.HelmRelease, dep *unstructured.Unstructured) (why string, ok bool) {
	ok, closed, err := r.evaluate(e, self, dep.Object, self.Namespace != dep.GetNamespace())
	switch {
	case err == nil:
		return "", ok
	case closed:
		return ": it may use no more than labels and status of what is not in its own namespace", false
	}
	return ": it cannot be evaluated with this object", false
}

// deployers are the kinds, beside HelmRelease, that people take for one, or the other
// way round: those that roll something out, of which Kustomization is by far the most
// common. Sources are not among them: they are named like releases everywhere.
func deployers() []schema.GroupKind {
	return []schema.GroupKind{
		{Group: "kustomize.toolkit.fluxcd.io", Kind: "Kustomization"},
		{Group: "fluxcd.controlplane.io", Kind: "ResourceSet"},
		{Group: "infra.contrib.fluxcd.io", Kind: "Terraform"},
	}
}

// orNamesake returns why a HelmRelease cannot be read, or something better to know: that
// another kind has an object of that name.
func (r *Resolver) orNamesake(ctx context.Context, hr *helmv2.HelmRelease, key types.NamespacedName, err error) string {
	if !apierrors.IsNotFound(err) || r.objects == nil {
		return err.Error()
	}
	kind, ok := r.objects.Namesake(ctx, hr, deployers(), key)
	if !ok {
		return err.Error()
	}
	return fmt.Sprintf("HelmRelease '%s' not found, but a %s of that name exists: set apiVersion and kind if that is meant", key, kind.Kind)
}

// orRelease adds to that an object does not exist that a HelmRelease of that name does.
func (r *Resolver) orRelease(ctx context.Context, awaited *PendingDependency) string {
	if !slices.Contains(deployers(), awaited.Kind.GroupKind()) || awaited.Key.Namespace == "" {
		return ""
	}
	if r.reader.Get(ctx, awaited.Key, &helmv2.HelmRelease{}) != nil {
		return ""
	}
	return ", but a HelmRelease of that name exists: remove apiVersion and kind if that is meant"
}
