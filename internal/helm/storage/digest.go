// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"cmp"
	"crypto/sha1" // users may have chosen it, and it is compared only
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"slices"
	"strings"

	helmrelease "helm.sh/helm/v3/pkg/release"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// observation is the input of a snapshot's digest: the fields of a revision that running Helm
// by hand could change. The last runs of tests are no part of it, so that `helm test` by hand is
// no change.
type observation struct {
	Name      string            `json:"name"`
	Version   int               `json:"version"`
	Info      *observedInfo     `json:"info"`
	Chart     *observedMetadata `json:"chartMetadata"`
	Config    map[string]any    `json:"config"`
	Manifest  string            `json:"manifest"`
	Hooks     []observedHook    `json:"hooks"`
	Namespace string            `json:"namespace"`
	Tests     []observedHook    `json:"tests,omitempty"`
}

// observationDigest returns the digest of a revision in Pintle's snapshots.
func observationDigest(rls *helmrelease.Release) string {
	o := observation{
		Name: rls.Name, Version: rls.Version, Info: observeInfo(rls.Info), Config: rls.Config,
		Manifest: rls.Manifest, Namespace: rls.Namespace,
	}
	if rls.Chart != nil {
		o.Chart = observeMetadata(rls.Chart.Metadata)
	}
	if len(o.Config) == 0 {
		o.Config = nil
	}
	for _, h := range rls.Hooks {
		observed := observeHook(h)
		if !isTestHook(h) {
			o.Hooks = append(o.Hooks, observed)
			continue
		}
		// Running a test writes its last run, and delete policies if the test has none.
		observed.LastRun, observed.DeletePolicies, observed.OutputLogPolicies = observedRun{}, nil, nil
		o.Tests = append(o.Tests, observed)
	}
	// The order of tests changes when Helm runs some of them.
	slices.SortStableFunc(o.Tests, func(a, b observedHook) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Manifest, b.Manifest))
	})
	raw, err := json.Marshal(o)
	if err != nil {
		// Only values could fail to become JSON, and these came from JSON. An empty digest
		// never verifies, which leads to an upgrade.
		return ""
	}
	sum := sha256.Sum256(raw)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// deployedDigest returns the digest that a superseded revision had while it was deployed. Clients of
// Helm change nothing but the status when they supersede a revision.
func deployedDigest(rls *helmrelease.Release) string {
	before := *rls
	if rls.Info != nil {
		info := *rls.Info
		info.Status = helmrelease.StatusDeployed
		before.Info = &info
	}
	return observationDigest(&before)
}

func isTestHook(h *helmrelease.Hook) bool {
	return slices.Contains(h.Events, helmrelease.HookTest)
}

// referenceObservation is the input of the digest in helm-controller's snapshots, in its order
// and with its omissions. Helm 4 omits a zero time where Helm 3 writes an empty one, and it has
// the target revision of a rollback.
type referenceObservation struct {
	Name      string           `json:"name"`
	Version   int              `json:"version"`
	Info      referenceInfo    `json:"info"`
	Chart     observedMetadata `json:"chartMetadata"`
	Config    map[string]any   `json:"config"`
	Manifest  string           `json:"manifest"`
	Hooks     []referenceHook  `json:"hooks"`
	Namespace string           `json:"namespace"`
	OCIDigest string           `json:"ociDigest,omitempty"`
}

type referenceInfo struct {
	FirstDeployed    observedTime `json:"first_deployed,omitzero"`
	LastDeployed     observedTime `json:"last_deployed,omitzero"`
	Deleted          observedTime `json:"deleted,omitzero"`
	Description      string       `json:"description,omitempty"`
	Status           string       `json:"status,omitempty"`
	RollbackRevision int          `json:"rollback_revision,omitempty"`
	Notes            string       `json:"notes,omitempty"`
}

type referenceHook struct {
	Name     string   `json:"name,omitempty"`
	Kind     string   `json:"kind,omitempty"`
	Path     string   `json:"path,omitempty"`
	Manifest string   `json:"manifest,omitempty"`
	Events   []string `json:"events,omitempty"`
	LastRun  struct {
		StartedAt   observedTime `json:"started_at,omitzero"`
		CompletedAt observedTime `json:"completed_at,omitzero"`
		Phase       string       `json:"phase"`
	} `json:"last_run"`
	Weight            int      `json:"weight,omitempty"`
	DeletePolicies    []string `json:"delete_policies,omitempty"`
	OutputLogPolicies []string `json:"output_log_policies,omitempty"`
}

// referenceDigest returns the digest of a record as helm-controller computed it for the given
// snapshot, in the status that it had then if it was superseded since. Algorithm and OCI digest are
// those of the snapshot, because the record has none. The
// result is empty for other schemes of snapshots and for unknown algorithms.
func referenceDigest(r *recordBody, snapshot *helmv2.Snapshot) string {
	algorithm, _, _ := strings.Cut(snapshot.Digest, ":")
	sum := hasher(algorithm)
	if sum == nil || snapshot.APIVersion != helmv2.SnapshotAPIVersionV2 {
		return ""
	}
	o := referenceObservation{
		Name: r.Name, Version: r.Version, Manifest: r.Manifest, Namespace: r.Namespace,
		OCIDigest: snapshot.OCIDigest,
	}
	if len(r.Config) > 0 {
		o.Config = r.Config
	}
	if r.Chart != nil && r.Chart.Metadata != nil {
		o.Chart = *observeMetadata(r.Chart.Metadata)
	}
	var hooks []referenceHook
	if json.Unmarshal(orNull(r.Info), &o.Info) != nil || json.Unmarshal(orNull(r.Hooks), &hooks) != nil {
		return ""
	}
	if snapshot.Status == helmv2.StatusDeployed && o.Info.Status == string(helmv2.StatusSuperseded) {
		o.Info.Status = string(helmv2.StatusDeployed)
	}
	for _, h := range hooks {
		if !slices.Contains(h.Events, string(helmrelease.HookTest)) {
			o.Hooks = append(o.Hooks, h)
		}
	}
	// An encoder, because the newline that it appends is part of the digest.
	if err := json.NewEncoder(sum).Encode(o); err != nil {
		return ""
	}
	return fmt.Sprintf("%s:%x", algorithm, sum.Sum(nil))
}

func hasher(algorithm string) hash.Hash {
	switch algorithm {
	case "sha1":
		return sha1.New() // see the import
	case "sha256":
		return sha256.New()
	case "sha384":
		return sha512.New384()
	case "sha512":
		return sha512.New()
	}
	return nil
}
