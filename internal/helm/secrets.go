// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	helmrelease "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
)

const (
	// secretType and dataKey are how Helm 3 and 4 store a revision.
	secretType = corev1.SecretType("helm.sh/release.v1")
	dataKey    = "release"
)

// recordName returns the name of the Secret of a revision.
func recordName(release string, version int) string {
	return storage.HelmStorageType + "." + release + ".v" + strconv.Itoa(version)
}

// secretStore is Helm's storage in the Secrets of one namespace, with two
// differences to Helm's own: what newer Helms put into a record survives that
// Helm 3 writes it again, and a record that cannot be read is an error. Passing
// over it, as Helm does, would make its predecessor look like the newest
// revision, to be upgraded to a number that is taken, for ever.
type secretStore struct {
	// ctx carries no cancellation: what Helm has done is recorded even if the job
	// is ended. Helm's interface has no room for it.
	ctx       context.Context //nolint:containedctx // see above
	client    corev1client.SecretInterface
	namespace string
	now       func() time.Time

	mu sync.Mutex
	// known is what is to be kept of the records seen so far, by name.
	known map[string]kept
}

// kept is what a record has that is not in the release Helm makes of it.
type kept struct {
	keepsake
	created string
}

func newSecretStore(ctx context.Context, client corev1client.SecretInterface, namespace string, now func() time.Time) *secretStore {
	return &secretStore{ctx: context.WithoutCancel(ctx), client: client, namespace: namespace, now: now, known: map[string]kept{}}
}

// Name implements driver.Driver.
func (s *secretStore) Name() string { return driver.SecretsDriverName }

// Get implements driver.Driver.
func (s *secretStore) Get(key string) (*helmrelease.Release, error) {
	secret, err := s.client.Get(s.ctx, key, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, driver.ErrReleaseNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("read Secret %s/%s: %w", s.namespace, key, err)
	}
	return s.read(secret)
}

// Query implements driver.Driver.
func (s *secretStore) Query(selector map[string]string) ([]*helmrelease.Release, error) {
	secrets, err := listRecords(s.ctx, s.client, s.namespace, selector)
	if err != nil {
		return nil, err
	}
	all := make([]*helmrelease.Release, 0, len(secrets))
	for i := range secrets {
		rls, err := s.read(&secrets[i])
		if err != nil {
			return nil, err
		}
		all = append(all, rls)
	}
	if len(all) == 0 {
		return nil, driver.ErrReleaseNotFound
	}
	return all, nil
}

// List implements driver.Driver.
func (s *secretStore) List(filter func(*helmrelease.Release) bool) ([]*helmrelease.Release, error) {
	all, err := s.Query(map[string]string{"owner": "helm"})
	if errors.Is(err, driver.ErrReleaseNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var some []*helmrelease.Release
	for _, rls := range all {
		if filter(rls) {
			some = append(some, rls)
		}
	}
	return some, nil
}

// Delete implements driver.Driver.
func (s *secretStore) Delete(key string) (*helmrelease.Release, error) {
	rls, err := s.Get(key)
	if err != nil {
		return nil, err
	}
	if err := s.client.Delete(s.ctx, key, metav1.DeleteOptions{}); err != nil {
		return rls, fmt.Errorf("delete Secret %s/%s: %w", s.namespace, key, err)
	}
	return rls, nil
}

// create stores a new revision, whose objects are applied by the given method,
// and returns it as it can be read now.
func (s *secretStore) create(key string, rls *helmrelease.Release, method string) (*helmrelease.Release, error) {
	k := kept{created: s.seconds()}
	if method != "" {
		k.top = map[string]json.RawMessage{keyApplyMethod: []byte(strconv.Quote(method))}
	}
	secret, stored, err := s.secret(key, rls, k)
	if err != nil {
		return nil, err
	}
	_, err = s.client.Create(s.ctx, secret, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil, driver.ErrReleaseExists
	}
	if err != nil {
		return nil, s.refused("create", secret, err)
	}
	s.know(key, k)
	return stored, nil
}

// update stores a revision again, and returns it as it can be read now.
func (s *secretStore) update(key string, rls *helmrelease.Release) (*helmrelease.Release, error) {
	k, err := s.recall(key)
	if err != nil {
		return nil, err
	}
	secret, stored, err := s.secret(key, rls, k)
	if err != nil {
		return nil, err
	}
	secret.Labels[labelModified] = s.seconds()
	if _, err := s.client.Update(s.ctx, secret, metav1.UpdateOptions{}); err != nil {
		return nil, s.refused("update", secret, err)
	}
	return stored, nil
}

// label adds labels to the Secret of a revision and touches nothing else.
func (s *secretStore) label(key string, more map[string]string) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": more}})
	if err != nil {
		return err
	}
	if _, err := s.client.Patch(s.ctx, key, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("label Secret %s/%s: %w", s.namespace, key, err)
	}
	return nil
}

// secret returns the Secret of a release, and the release as it is read from it.
func (s *secretStore) secret(key string, rls *helmrelease.Release, k kept) (*corev1.Secret, *helmrelease.Release, error) {
	raw, err := encode(rls, k.keepsake)
	if err != nil {
		return nil, nil, fmt.Errorf("encode Secret %s/%s: %w", s.namespace, key, err)
	}
	data, err := pack(raw)
	if err != nil {
		return nil, nil, fmt.Errorf("encode Secret %s/%s: %w", s.namespace, key, err)
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: key, Labels: storedLabels(rls)},
		Type:       secretType, Data: map[string][]byte{dataKey: data},
	}
	if k.created != "" {
		secret.Labels[labelCreated] = k.created
	}
	rec, err := parseRecord(raw)
	if err != nil {
		return nil, nil, s.unreadable(key, err)
	}
	// The Secret and what is remembered of it share the labels, so that whoever
	// adds one adds it to both.
	stored, err := rec.release(secret.Labels)
	if err != nil {
		return nil, nil, s.unreadable(key, err)
	}
	return secret, stored, nil
}

// read returns the release in a Secret, and takes note of what to keep of it.
func (s *secretStore) read(secret *corev1.Secret) (*helmrelease.Release, error) {
	raw, err := unpack(secret.Data[dataKey])
	if err != nil {
		return nil, s.unreadable(secret.Name, err)
	}
	rls, keep, err := decode(raw)
	if err != nil {
		return nil, s.unreadable(secret.Name, err)
	}
	rls.Labels = ownLabels(secret.Labels)
	s.know(secret.Name, kept{keepsake: keep, created: secret.Labels[labelCreated]})
	return rls, nil
}

func (s *secretStore) know(key string, k kept) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known[key] = k
}

// recall returns what is to be kept of a record, which it reads if nobody has.
func (s *secretStore) recall(key string) (kept, error) {
	s.mu.Lock()
	k, ok := s.known[key]
	s.mu.Unlock()
	if ok {
		return k, nil
	}
	if _, err := s.Get(key); err != nil {
		return kept{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known[key], nil
}

func (s *secretStore) seconds() string { return strconv.FormatInt(s.now().Unix(), 10) }

func (s *secretStore) unreadable(key string, err error) error {
	return unreadable(s.namespace, key, err)
}

func unreadable(namespace, key string, err error) error {
	return fmt.Errorf("no revision can be read from Secret %s/%s: %w; restore or delete it", namespace, key, err)
}

// refused explains why the API server did not take a Secret. It says only in
// numbers what the usual reason is.
func (s *secretStore) refused(verb string, secret *corev1.Secret, err error) error {
	size := len(secret.Data[dataKey])
	if size > corev1.MaxSecretSize || apierrors.IsRequestEntityTooLargeError(err) {
		return fmt.Errorf("%s Secret %s/%s: the revision takes %d bytes, compressed, and the API server allows %d; "+
			"the chart's files, the values or the rendered objects have to become smaller: %w",
			verb, s.namespace, secret.Name, size, corev1.MaxSecretSize, err)
	}
	return fmt.Errorf("%s Secret %s/%s: %w", verb, s.namespace, secret.Name, err)
}

// listRecords asks once for the Secrets of Helm storage with the given labels.
// Other Secrets may bear the same labels; their names tell them apart.
func listRecords(ctx context.Context, client corev1client.SecretInterface, namespace string, selector map[string]string) ([]corev1.Secret, error) {
	list, err := client.List(ctx, metav1.ListOptions{LabelSelector: labels.SelectorFromSet(selector).String()})
	if err != nil {
		return nil, fmt.Errorf("list Secrets in namespace %s: %w", namespace, err)
	}
	records := list.Items[:0]
	for _, secret := range list.Items {
		if strings.HasPrefix(secret.Name, storage.HelmStorageType+".") {
			records = append(records, secret)
		}
	}
	return records, nil
}
