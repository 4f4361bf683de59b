// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	"github.com/pintle-dev/pintle/internal/release"
)

const (
	// secretType is the type of Secrets with the content of a plan.
	secretType = corev1.SecretType("pintle.dev/plan.v1")
	// contentKey is the key of the content.
	contentKey = "content"
	prefix     = "pintle.plan.v1."
)

// SecretName returns the name of the Secret with the plan of a release.
func SecretName(releaseName string) string {
	const maxName = 253
	name := prefix + releaseName
	if len(name) <= maxName {
		return name
	}
	sum := sha256.Sum256([]byte(releaseName))
	return prefix + hex.EncodeToString(sum[:])
}

// Store stores the contents of plans in the storage namespaces of their releases.
type Store struct {
	Secrets corev1client.SecretInterface
	// Release is the name of the release.
	Release string
}

// Read returns the content of the plan with a digest. It is release.ErrPlanVoid if there is no such
// plan, or another one.
func (s Store) Read(ctx context.Context, digest string) (*Content, error) {
	secret, err := s.Secrets.Get(ctx, SecretName(s.Release), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("%w: its Secret does not exist", release.ErrPlanVoid)
	}
	if err != nil {
		return nil, fmt.Errorf("read Secret %s: %w", SecretName(s.Release), err)
	}
	if secret.Type != secretType {
		return nil, fmt.Errorf("%w: a Secret of type %s has its name", release.ErrPlanVoid, secret.Type)
	}
	c, err := decode(secret.Data[contentKey])
	if err != nil {
		return nil, fmt.Errorf("%w: Secret %s: %w", release.ErrPlanVoid, secret.Name, err)
	}
	if c.Digest() != digest {
		return nil, fmt.Errorf("%w: its Secret has another plan", release.ErrPlanVoid)
	}
	return c, nil
}

// Open returns the store of the plans of a release. It sends no request.
func Open(getter genericclioptions.RESTClientGetter, target release.Target) (Store, error) {
	config, err := getter.ToRESTConfig()
	if err != nil {
		return Store{}, err
	}
	client, err := httpClient(getter, config)
	if err != nil {
		return Store{}, fmt.Errorf("client for plans: %w", err)
	}
	config = rest.CopyConfig(config)
	// In JSON the content would be base64.
	config.ContentType = runtime.ContentTypeProtobuf
	clients, err := corev1client.NewForConfigAndClient(config, client)
	if err != nil {
		return Store{}, fmt.Errorf("client for plans: %w", err)
	}
	return Store{Secrets: clients.Secrets(target.StorageNamespace), Release: target.Name}, nil
}

// httpClient returns the client that all users of a connection share, or a new one.
func httpClient(getter genericclioptions.RESTClientGetter, config *rest.Config) (*http.Client, error) {
	if c, ok := getter.(interface{ HTTPClient() *http.Client }); ok {
		return c.HTTPClient(), nil
	}
	return rest.HTTPClientFor(config)
}

// maxTries is how often a Secret is written that another client writes at the same time.
const maxTries = 5

// Write stores the content of the plan of the HelmRelease with the given UID. It replaces an earlier
// plan, and no other Secret.
func (s Store) Write(ctx context.Context, uid string, c *Content) error {
	data, err := c.encode()
	if err != nil {
		return err
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: SecretName(s.Release), Labels: map[string]string{v1alpha1.LabelPlan: uid}},
		Type:       secretType, Data: map[string][]byte{contentKey: data},
	}
	if len(data) > corev1.MaxSecretSize {
		return fmt.Errorf("the plan cannot be stored: its text with the chart takes %d bytes, compressed, and a Secret may have %d",
			len(data), corev1.MaxSecretSize)
	}
	for range maxTries {
		if err = s.put(ctx, secret); !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) && !apierrors.IsNotFound(err) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("write Secret %s: %w", secret.Name, err)
	}
	return nil
}

// put creates a Secret, or replaces the one of an earlier plan.
func (s Store) put(ctx context.Context, secret *corev1.Secret) error {
	live, err := s.Secrets.Get(ctx, secret.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		_, err = s.Secrets.Create(ctx, secret, metav1.CreateOptions{})
		return err
	}
	if err != nil {
		return err
	}
	if live.Type != secretType {
		return fmt.Errorf("a Secret of type %s has the name", live.Type)
	}
	if sameContent(live, secret) {
		return nil
	}
	next := live.DeepCopy()
	next.Labels, next.Data = secret.Labels, secret.Data
	_, err = s.Secrets.Update(ctx, next, metav1.UpdateOptions{})
	return err
}

// sameContent reports whether a Secret is stored already.
func sameContent(live, secret *corev1.Secret) bool {
	return live.Labels[v1alpha1.LabelPlan] == secret.Labels[v1alpha1.LabelPlan] && bytes.Equal(live.Data[contentKey], secret.Data[contentKey])
}

// Delete deletes the plan. A plan that does not exist is no error, and a Secret of another type stays.
func (s Store) Delete(ctx context.Context) error {
	live, err := s.Secrets.Get(ctx, SecretName(s.Release), metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && live.Type != secretType {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read Secret %s: %w", SecretName(s.Release), err)
	}
	err = s.Secrets.Delete(ctx, live.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: new(types.UID(live.UID))}})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("delete Secret %s: %w", live.Name, err)
	}
	return nil
}
