// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helmcharts

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cattlev1 "github.com/pintle-dev/pintle/api/cattle/v1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/helmchart"
)

// make applies the objects of a HelmChart, the HelmRelease last. It returns a *helmchart.Refusal as
// the error if they are refused, or if one has the name of an object that was not made for it.
func (r *Reconciler) make(ctx context.Context, in helmchart.Input) (*helmv2.HelmRelease, error) {
	want, refusal := helmchart.Translate(in)
	if refusal != nil {
		return nil, refusal
	}
	c := in.Chart
	changed, err := r.applySecret(ctx, c, want.Secret)
	if err != nil {
		return nil, err
	}
	if changed {
		// The HelmRelease does not watch the Secret. It is triggered when its spec is applied: an
		// earlier upgrade would have the new values with the old spec.
		defer r.enqueue(client.ObjectKeyFromObject(c))
	}
	source := object(sourcev1.GroupVersion.WithKind(want.Source.Kind), c, c.Name, map[string]any{"spec": want.Source.Spec})
	if a := want.Source.Archive; a != nil && a.Request != "" {
		// After a restart it is known which request was handled.
		source.SetAnnotations(map[string]string{helmv2.AnnotationReconcileRequest: a.Request})
	}
	if err := r.apply(ctx, c, source); err != nil {
		return nil, err
	}
	if want.Source.Archive != nil {
		if err := r.offer(ctx, c, want.Source.Archive); err != nil {
			return nil, err
		}
	}
	if in.Before == nil || in.Before.Spec.Suspend && len(in.Before.Status.History) == 0 {
		if err := r.takeOver(ctx, c, want.Release); err != nil {
			return nil, err
		}
	}
	made, err := r.applyRelease(ctx, c, want.Release)
	if err != nil {
		return nil, err
	}
	if err := r.keepNoLonger(ctx, made); err != nil {
		return nil, err
	}
	// A former source is no longer used.
	return made, r.deleteOthers(ctx, c, want.Source.Kind)
}

// applyRelease applies the HelmRelease of a HelmChart, and returns it as it is.
func (r *Reconciler) applyRelease(ctx context.Context, c *cattlev1.HelmChart, want *helmv2.HelmRelease) (*helmv2.HelmRelease, error) {
	spec, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&want.Spec)
	if err != nil {
		return nil, err
	}
	hr := object(helmv2.GroupVersion.WithKind(helmv2.HelmReleaseKind), c, c.Name, map[string]any{"spec": spec})
	hr.SetAnnotations(want.Annotations)
	if err := r.apply(ctx, c, hr); err != nil {
		return nil, err
	}
	made := &helmv2.HelmRelease{}
	return made, runtime.DefaultUnstructuredConverter.FromUnstructured(hr.Object, made)
}

// object returns an object in the namespace of a HelmChart, which is its controller.
func object(kind schema.GroupVersionKind, c *cattlev1.HelmChart, name string, content map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: maps.Clone(content)}
	u.SetGroupVersionKind(kind)
	u.SetNamespace(c.Namespace)
	u.SetName(name)
	u.SetLabels(map[string]string{cattlev1.LabelHelmChart: c.Name})
	u.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(c, cattlev1.GroupVersion.WithKind(cattlev1.HelmChartKind))})
	return u
}

// applySecret applies the Secret of a HelmChart, and reports whether it has changed.
func (r *Reconciler) applySecret(ctx context.Context, c *cattlev1.HelmChart, data map[string][]byte) (changed bool, err error) {
	name := helmchart.SecretName(c)
	seen, err := r.seen(ctx, kindSecret, c, name)
	if err != nil || seen == nil && len(data) == 0 {
		return false, err
	}
	encoded := map[string]any{}
	for key, content := range data {
		encoded[key] = base64.StdEncoding.EncodeToString(content)
	}
	secret := object(corev1.SchemeGroupVersion.WithKind(kindSecret), c, name, map[string]any{"data": encoded, "type": "Opaque"})
	digest, err := digestOf(secret)
	if err != nil {
		return false, err
	}
	key := client.ObjectKeyFromObject(c)
	if have, _ := r.secrets.Load(key); seen != nil && have == (secretVersion{seen.UID, seen.ResourceVersion, digest}) {
		return false, nil
	}
	if err := r.apply(ctx, c, secret); err != nil {
		return false, err
	}
	r.secrets.Store(key, secretVersion{secret.GetUID(), secret.GetResourceVersion(), digest})
	return seen == nil || secret.GetResourceVersion() != seen.ResourceVersion, nil
}

// secretVersion identifies a Secret, of which the cache has no data, as it was applied or found right.
type secretVersion struct {
	uid             types.UID
	version, digest string
}

// apply applies an object, unless one of its name was not made for the HelmChart, or is being deleted.
// It completes the object from the answer. An object that is as it was applied is left alone.
func (r *Reconciler) apply(ctx context.Context, c *cattlev1.HelmChart, u *unstructured.Unstructured) error {
	annotations := maps.Clone(u.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	applied, err := digestOf(u)
	if err != nil {
		return err
	}
	annotations[cattlev1.AnnotationApplied] = applied
	u.SetAnnotations(annotations)
	// What the cache has may be outdated, which an event follows. So it shows that nothing is to be
	// done, and nothing else.
	content, err := r.cached(ctx, u)
	switch {
	case err != nil:
		return err
	case content != nil && covers(content, u.Object):
		u.Object = content
		return nil
	}
	have := &unstructured.Unstructured{}
	have.SetGroupVersionKind(u.GroupVersionKind())
	err = r.live.Get(ctx, client.ObjectKeyFromObject(u), have)
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		return err
	case have.GetDeletionTimestamp() != nil:
		return errDeleted
	case !metav1.IsControlledBy(have, c):
		return taken(u)
	case covers(have.Object, u.Object):
		u.Object = have.Object
		return nil
	default:
		// It must not have been replaced since.
		u.SetUID(have.GetUID())
	}
	return r.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), fieldOwner, client.ForceOwnership)
}

// cached returns the content of a HelmRelease or source from the cache; nil if it is not there or is being
// deleted, and for a Secret, whose data are not in the cache.
func (r *Reconciler) cached(ctx context.Context, u *unstructured.Unstructured) (map[string]any, error) {
	if u.GetKind() == kindSecret {
		return nil, nil //nolint:nilnil // there is none
	}
	typed, err := r.client.Scheme().New(u.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	have, ok := typed.(client.Object)
	if !ok {
		return nil, fmt.Errorf("%T is not an object", typed)
	}
	err = r.client.Get(ctx, client.ObjectKeyFromObject(u), have)
	if err != nil || have.GetDeletionTimestamp() != nil {
		return nil, client.IgnoreNotFound(err)
	}
	have.GetObjectKind().SetGroupVersionKind(u.GroupVersionKind())
	return runtime.DefaultUnstructuredConverter.ToUnstructured(have)
}

// digestOf returns a digest of what is applied. It differs if a field is no longer set.
func digestOf(u *unstructured.Unstructured) (string, error) {
	raw, err := u.MarshalJSON()
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:8]), err
}

// covers reports whether an object has all fields that are wanted. Lists must be equal.
func covers(have, want any) bool {
	switch want := want.(type) {
	case map[string]any:
		have, is := have.(map[string]any)
		for key, value := range want {
			if !is || !covers(have[key], value) {
				return false
			}
		}
		return true
	case []any:
		have, is := have.([]any)
		return is && slices.EqualFunc(have, want, covers)
	}
	return equality.Semantic.DeepEqual(have, want)
}

func taken(u *unstructured.Unstructured) error {
	return &helmchart.Refusal{
		Reason: cattlev1.ReasonNameTaken,
		Message: fmt.Sprintf("%s '%s/%s' exists, and was not made for this HelmChart. Rename one of the two, or delete it",
			u.GetKind(), u.GetNamespace(), u.GetName()),
	}
}

// errDeleted means that an object with the required name is being deleted, and is made when it is gone.
var errDeleted = errors.New("an object is being deleted")

// deleteOthers deletes the sources of a HelmChart but one of a kind. If kind is empty, it deletes all of
// them, and the Secret.
func (r *Reconciler) deleteOthers(ctx context.Context, c *cattlev1.HelmChart, kind string) error {
	kinds := map[string]client.Object{
		"HelmRepository": &sourcev1.HelmRepository{}, helmv2.KindOCIRepository: &sourcev1.OCIRepository{},
	}
	if r.externalArtifacts {
		kinds[helmv2.KindExternalArtifact] = &sourcev1.ExternalArtifact{}
	}
	delete(kinds, kind)
	for _, source := range kinds {
		err := r.client.Get(ctx, client.ObjectKeyFromObject(c), source)
		if err := r.deleteMade(ctx, c, source, err); err != nil {
			return err
		}
	}
	if kind != "" {
		return nil
	}
	secret := &corev1.Secret{}
	_, err := r.read(ctx, c, helmchart.SecretName(c), secret)
	return r.deleteMade(ctx, c, secret, err)
}

// deleteMade deletes an object that was made for a HelmChart, given the error of reading it.
func (r *Reconciler) deleteMade(ctx context.Context, c *cattlev1.HelmChart, object client.Object, err error) error {
	if err == nil && metav1.IsControlledBy(object, c) && object.GetDeletionTimestamp() == nil {
		uid := object.GetUID()
		err = r.client.Delete(ctx, object, client.Preconditions{UID: &uid})
	}
	return client.IgnoreNotFound(err)
}
