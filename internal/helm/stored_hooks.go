// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"encoding/base64"
	"fmt"

	helmrelease "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/releaseutil"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"sigs.k8s.io/yaml"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/helm/storage"
	"github.com/pintle-dev/pintle/internal/hookjob"
	"github.com/pintle-dev/pintle/internal/release"
)

// Stored is the content of Helm's storage that an Operation needs to run a hook.
type Stored struct {
	// Pending says that the newest revision is in the middle of something; empty if
	// it is not.
	Pending string
	// Release is the revision asked for; nil if there is none.
	Release *hookjob.Release
	// Revision is what the record of Release holds, and Labelled what its labels say of it.
	Revision, Labelled release.Revision
	// Secrets are the values in the Secrets of the revision, hooks included, and
	// SecretNames the names of those in its namespace.
	Secrets     []string
	SecretNames []string
}

// Hooks reads a revision of a release, 0 being the deployed one, and nothing of it
// from memory: what the identity of the getter may not read is not read. A
// revision below 0 is none; only whether the newest one is pending is told then. The
// revision's digests are those that recorded can be compared with.
func (r *Runner) Hooks(ctx context.Context, getter genericclioptions.RESTClientGetter, target release.Target, version int, recorded helmv2.Snapshots) (Stored, error) {
	live, err := storage.ReadLive(ctx, getter, target, version, recorded)
	if err != nil {
		return Stored{}, err
	}
	s := Stored{Pending: pending(live.Newest)}
	if live.Release != nil {
		s.Revision, s.Labelled = live.Revision, live.Labelled
		s.read(live.Release)
	}
	return s, nil
}

// pending says which action is running on a release according to its newest revision; empty if
// none is.
func pending(newest *release.Revision) string {
	if newest == nil {
		return ""
	}
	switch newest.Status {
	case helmv2.StatusPendingInstall, helmv2.StatusPendingUpgrade, helmv2.StatusPendingRollback, helmv2.StatusUninstalling:
		return fmt.Sprintf("revision %d of the release is %s", newest.Version, newest.Status)
	case helmv2.StatusDeployed, helmv2.StatusFailed, helmv2.StatusSuperseded, helmv2.StatusUninstalled, helmv2.StatusUnknown:
	}
	return ""
}

func (s *Stored) read(rls *helmrelease.Release) {
	s.Release = &hookjob.Release{Name: rls.Name, Namespace: rls.Namespace, Revision: rls.Version}
	for _, h := range rls.Hooks {
		hook := hookjob.Hook{Name: h.Name, Kind: h.Kind, Path: h.Path, Weight: h.Weight, Manifest: h.Manifest}
		for _, e := range h.Events {
			hook.Events = append(hook.Events, e.String())
		}
		for _, p := range h.DeletePolicies {
			hook.DeletePolicies = append(hook.DeletePolicies, p.String())
		}
		s.Release.Hooks = append(s.Release.Hooks, hook)
		s.look(h.Manifest, false)
	}
	for _, text := range releaseutil.SplitManifests(rls.Manifest) {
		s.look(text, true)
	}
}

// look adds one document. A document that cannot be parsed selects nothing, and cannot have
// been applied, so it has no secret.
func (s *Stored) look(text string, selecting bool) {
	var o struct {
		Kind     string `json:"kind"`
		Metadata struct {
			Name      string `json:"name"`
			Namespace string `json:"namespace"`
		} `json:"metadata"`
		Data       map[string]any `json:"data"`
		StringData map[string]any `json:"stringData"`
	}
	if yaml.Unmarshal([]byte(text), &o) != nil {
		return
	}
	if selecting && hookjob.Selects(o.Kind) {
		s.Release.Selecting = append(s.Release.Selecting,
			hookjob.Object{Kind: o.Kind, Namespace: o.Metadata.Namespace, Name: o.Metadata.Name, Manifest: text})
	}
	if o.Kind != "Secret" {
		return
	}
	if o.Metadata.Namespace == "" || o.Metadata.Namespace == s.Release.Namespace {
		s.SecretNames = append(s.SecretNames, o.Metadata.Name)
	}
	for _, value := range o.Data {
		if raw, err := base64.StdEncoding.DecodeString(fmt.Sprint(value)); err == nil {
			s.Secrets = append(s.Secrets, string(raw))
		}
	}
	for _, value := range o.StringData {
		s.Secrets = append(s.Secrets, fmt.Sprint(value))
	}
}
