// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"helm.sh/helm/v3/pkg/action"
	helmrelease "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/releaseutil"
	"helm.sh/helm/v3/pkg/storage/driver"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Helm returns the configuration of Helm actions in a namespace.
func (e *Environment) Helm(namespace string) (*action.Configuration, error) {
	flags := genericclioptions.NewConfigFlags(true)
	flags.KubeConfig, flags.Namespace = &e.Kubeconfig, &namespace
	config := new(action.Configuration)
	if err := config.Init(flags, namespace, "secret", func(string, ...any) {}); err != nil {
		return nil, fmt.Errorf("helm: %w", err)
	}
	return config, nil
}

// History returns the revisions of a release like `helm history`, oldest first. It returns none if
// the release does not exist.
func (e *Environment) History(namespace, name string) ([]*helmrelease.Release, error) {
	config, err := e.Helm(namespace)
	if err != nil {
		return nil, err
	}
	revisions, err := action.NewHistory(config).Run(name)
	if errors.Is(err, driver.ErrReleaseNotFound) {
		return nil, nil
	}
	releaseutil.SortByRevision(revisions)
	return revisions, err
}

// ApplyMethod returns how the objects of a stored revision were applied: "ssa", "csa", or empty.
// Newer versions of Helm store it. The used Helm SDK has no such field, so the Secret is decoded
// directly.
func (e *Environment) ApplyMethod(ctx context.Context, namespace, name string, revision int) (string, error) {
	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: namespace, Name: fmt.Sprintf("sh.helm.release.v1.%s.v%d", name, revision)}
	if err := e.Client.Get(ctx, key, secret); err != nil {
		return "", err
	}
	var stored struct {
		ApplyMethod string `json:"apply_method"`
	}
	if err := decodeRelease(secret.Data["release"], &stored); err != nil {
		return "", fmt.Errorf("release in Secret %s: %w", key, err)
	}
	return stored.ApplyMethod, nil
}

func decodeRelease(content []byte, into any) error {
	packed, err := base64.StdEncoding.DecodeString(string(content))
	if err != nil {
		return err
	}
	reader, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return err
	}
	return json.NewDecoder(reader).Decode(into)
}

// Revision is one stored revision.
type Revision struct {
	Number int
	// Status is Helm's status; Pending reports whether it is one of the pending ones.
	Status  string
	Pending bool
	// Description ends with " complete" if the revision ever succeeded. Helm may set the status
	// superseded also for a failed revision, if no earlier one exists.
	Description  string
	ChartVersion string
	Values       map[string]any
}

// Stored returns the revisions of all releases in a namespace by release name, oldest first.
func (e *Environment) Stored(ctx context.Context, namespace string) (map[string][]Revision, error) {
	var list corev1.SecretList
	if err := e.Client.List(ctx, &list, client.InNamespace(namespace), client.MatchingLabels{"owner": "helm"}); err != nil {
		return nil, err
	}
	stored := map[string][]Revision{}
	for i := range list.Items {
		name, revision, err := ReadRevision(&list.Items[i])
		if err != nil {
			return nil, err
		}
		stored[name] = append(stored[name], revision)
	}
	for _, revisions := range stored {
		slices.SortFunc(revisions, func(a, b Revision) int { return a.Number - b.Number })
	}
	return stored, nil
}

// ReadRevision decodes a Secret of Helm's storage. It returns the release's name and the revision.
func ReadRevision(secret *corev1.Secret) (string, Revision, error) {
	r := &helmrelease.Release{}
	if err := decodeRelease(secret.Data["release"], r); err != nil {
		return "", Revision{}, fmt.Errorf("release in Secret %s: %w", secret.Name, err)
	}
	return r.Name, Revision{
		Number: r.Version, Status: r.Info.Status.String(), ChartVersion: r.Chart.Metadata.Version, Values: r.Config,
		Description: r.Info.Description,
		Pending:     r.Info.Status.IsPending() || r.Info.Status == helmrelease.StatusUninstalling,
	}, nil
}
