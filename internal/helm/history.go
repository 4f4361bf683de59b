// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	helmchart "helm.sh/helm/v3/pkg/chart"
	helmrelease "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/chart"
	"github.com/pintle-dev/pintle/internal/release"
)

// History returns the revisions of a release in Helm storage, newest first, and
// none if there is no such release.
func (r *Runner) History(_ context.Context, getter genericclioptions.RESTClientGetter, target release.Target) ([]release.Revision, error) {
	config, err := getter.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	clients, err := corev1client.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("client for Helm storage: %w", err)
	}
	secrets := driver.NewSecrets(clients.Secrets(target.StorageNamespace))
	stored, err := secrets.Query(map[string]string{"name": target.Name, "owner": "helm"})
	if errors.Is(err, driver.ErrReleaseNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("history of release %s in namespace %s: %w", target.Name, target.StorageNamespace, err)
	}
	all := make([]release.Revision, 0, len(stored))
	for _, rls := range stored {
		all = append(all, toRevision(rls))
	}
	release.SortNewestFirst(all)
	return all, nil
}

// toRevision reduces a Helm release to what the other rooms need. It is the one
// place where Helm's notion of a release becomes ours.
func toRevision(rls *helmrelease.Release) release.Revision {
	rev := release.Revision{
		Name: rls.Name, Namespace: rls.Namespace, Version: rls.Version,
		Owner:       owner(rls.Labels, rls.Version),
		Digest:      observationDigest(rls),
		Interrupted: rls.Labels[helmv2.LabelInterrupted] == "true",
	}
	if i := rls.Info; i != nil {
		rev.Status = helmv2.ReleaseStatus(i.Status)
		rev.Description = i.Description
		rev.FirstDeployed, rev.LastDeployed, rev.Deleted = i.FirstDeployed.Time, i.LastDeployed.Time, i.Deleted.Time
	}
	if c := rls.Chart; c != nil && c.Metadata != nil {
		rev.ChartName, rev.ChartVersion, rev.AppVersion = c.Metadata.Name, c.Metadata.Version, c.Metadata.AppVersion
	}
	// Values that were stored came from JSON, so they can become JSON again.
	rev.ConfigDigest, _ = chart.ConfigDigest(rls.Config)
	if seconds, err := strconv.ParseInt(rls.Labels["modifiedAt"], 10, 64); err == nil {
		rev.Modified = time.Unix(seconds, 0)
	}
	return rev
}

// observation is what the digest of a snapshot covers: everything that Helm
// stores and that somebody could have changed by running it. Test hooks are
// left out, so that `helm test` by hand is no change.
type observation struct {
	Name      string              `json:"name"`
	Version   int                 `json:"version"`
	Info      *helmrelease.Info   `json:"info"`
	Chart     *helmchart.Metadata `json:"chartMetadata"`
	Config    map[string]any      `json:"config"`
	Manifest  string              `json:"manifest"`
	Hooks     []*helmrelease.Hook `json:"hooks"`
	Namespace string              `json:"namespace"`
}

func observationDigest(rls *helmrelease.Release) string {
	o := observation{
		Name: rls.Name, Version: rls.Version, Info: storable(rls.Info), Config: rls.Config,
		Manifest: rls.Manifest, Namespace: rls.Namespace,
	}
	if rls.Chart != nil {
		o.Chart = rls.Chart.Metadata
	}
	if len(o.Config) == 0 {
		o.Config = nil
	}
	for _, h := range rls.Hooks {
		if !isTestHook(h) {
			o.Hooks = append(o.Hooks, h)
		}
	}
	raw, err := json.Marshal(o)
	if err != nil {
		// Only values can fail to become JSON, and these came from JSON. An empty
		// digest never verifies, which leads to an upgrade and not to silence.
		return ""
	}
	sum := sha256.Sum256(raw)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// storable returns what is left of info after it was stored and read again.
func storable(info *helmrelease.Info) *helmrelease.Info {
	if info == nil {
		return nil
	}
	reduced := *info
	reduced.Resources = nil
	return &reduced
}

func isTestHook(h *helmrelease.Hook) bool {
	for _, e := range h.Events {
		if e == helmrelease.HookTest {
			return true
		}
	}
	return false
}
