// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	helmchart "helm.sh/helm/v3/pkg/chart"
	helmrelease "helm.sh/helm/v3/pkg/release"
	corev1 "k8s.io/api/core/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/values"
)

// content is a record in full: a Secret, decoded and compared with its seal. The Secret must not be
// changed.
type content struct {
	secret *corev1.Secret
	// raw is the JSON of the record.
	raw  []byte
	body *recordBody
	// release is the revision as Helm reads it, with all labels of the Secret.
	release *helmrelease.Release
	// sealed is true if the record has a valid seal.
	sealed bool
}

// decode returns the record in a Secret. All readers of records use it.
func decode(key *SealKey, namespace string, secret *corev1.Secret) (*content, error) {
	c := &content{secret: secret}
	var err error
	if c.raw, err = unpack(secret.Data[dataKey]); err == nil {
		err = checkStructure(c.raw)
	}
	if err == nil {
		c.body, c.release, err = parseRecord(c.raw, secret.Labels)
	}
	if err != nil {
		return nil, fmt.Errorf("no revision can be read from Secret %s/%s: %w; restore or delete it", namespace, secret.Name, err)
	}
	c.sealed = key.verifies(namespace, secret)
	return c, nil
}

const (
	// maxObjects limits the objects and lists in a record, and maxMembers their members. Three bytes of
	// JSON may become a hook of 260 bytes, so that a Secret of some kilobytes could otherwise exhaust the
	// memory of the process. Values may have a million members.
	maxObjects = 300_000
	maxMembers = 1_500_000
)

// checkStructure returns an error if the JSON of a record has too many parts. It reads invalid JSON, too.
func checkStructure(raw []byte) error {
	var objects, members int
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '{', '[':
			objects++
		case ',':
			members++
		case '"':
			for i++; i < len(raw) && raw[i] != '"'; i++ {
				if raw[i] == '\\' {
					i++
				}
			}
		}
	}
	if objects > maxObjects || members > maxMembers {
		return fmt.Errorf("it has more than %d objects and lists, or more than %d members", maxObjects, maxMembers)
	}
	return nil
}

// recordBody is the JSON of a stored revision. Info and hooks stay raw, because Helm 3 and
// helm-controller parse them differently.
type recordBody struct {
	Name      string           `json:"name"`
	Namespace string           `json:"namespace"`
	Version   int              `json:"version"`
	Info      json.RawMessage  `json:"info"`
	Chart     *helmchart.Chart `json:"chart"`
	Config    map[string]any   `json:"config"`
	Manifest  string           `json:"manifest"`
	Hooks     json.RawMessage  `json:"hooks"`
	// ApplyMethod is a field of Helm 4.
	ApplyMethod json.RawMessage `json:"apply_method"`
}

var errNotRelease = errors.New("its JSON is not that of a Helm release")

// parseRecord returns a record, and the revision as Helm reads it. Helm panics on a release that
// lacks the fields that are required here.
func parseRecord(raw []byte, labels map[string]string) (*recordBody, *helmrelease.Release, error) {
	var b recordBody
	if json.Unmarshal(raw, &b) != nil {
		return nil, nil, errNotRelease
	}
	rls := &helmrelease.Release{
		Name: b.Name, Namespace: b.Namespace, Version: b.Version,
		Chart: b.Chart, Config: b.Config, Manifest: b.Manifest, Labels: labels,
	}
	if json.Unmarshal(orNull(b.Info), &rls.Info) != nil || json.Unmarshal(orNull(b.Hooks), &rls.Hooks) != nil ||
		rls.Name == "" || rls.Version <= 0 || rls.Info == nil || slices.Contains(rls.Hooks, nil) {
		return nil, nil, errNotRelease
	}
	return &b, rls, nil
}

func orNull(raw json.RawMessage) []byte {
	if len(raw) == 0 {
		return []byte("null")
	}
	return raw
}

// unknownFields are the fields of a record that Helm 3 does not know. Helm 3 would drop them
// when it stores the record again.
type unknownFields struct{ top, info map[string]json.RawMessage }

// unknown returns the fields that Helm 3 does not know. It parses the record once more, so that only
// the driver calls it, which may store the record again.
func (c *content) unknown() unknownFields {
	var u unknownFields
	// Both were parsed before.
	_, _ = json.Unmarshal(c.raw, &u.top), json.Unmarshal(orNull(c.body.Info), &u.info)
	deleteKnown[helmrelease.Release](u.top)
	deleteKnown[helmrelease.Info](u.info)
	return u
}

// deleteKnown deletes the members of a JSON object that T has a field for.
func deleteKnown[T any](object map[string]json.RawMessage) {
	fields := reflect.TypeFor[T]()
	for i := range fields.NumField() {
		name, _, _ := strings.Cut(fields.Field(i).Tag.Get("json"), ",")
		delete(object, name)
	}
}

// ServerSide and ClientSide are the apply methods that Helm 4 stores with a revision. Helm 3
// stores none, which means client-side.
const (
	ServerSide = "ssa"
	ClientSide = "csa"
)

const keyApplyMethod = "apply_method"

// applyMethod returns the apply method in a record, empty if it has none. Other values than strings
// are ignored.
func applyMethod(raw json.RawMessage) string {
	var method string
	_ = json.Unmarshal(orNull(raw), &method)
	return method
}

// revision returns the revision, with the reference digest for the snapshot of it, if there is one.
func (c *content) revision(recorded helmv2.Snapshots) cachedRevision {
	r := cachedRevision{revision: toRevision(c.release, c.secret.Annotations), method: applyMethod(c.body.ApplyMethod)}
	r.revision.Sealed = c.sealed
	if s := snapshotOf(r.revision.Name, r.revision.Namespace, r.revision.Version, recorded); s != nil {
		r.reference, r.revision.HelmControllerDigest = referenceOf(s, &r.revision), referenceDigest(c.body, s)
	}
	return r
}

// snapshotOf returns the snapshot of a revision, nil if there is none.
func snapshotOf(name, namespace string, version int, recorded helmv2.Snapshots) *helmv2.Snapshot {
	for _, s := range recorded {
		if s != nil && s.Name == name && s.Namespace == namespace && s.Version == version {
			return s
		}
	}
	return nil
}

// toRevision converts a release of Helm and the annotations of its record, which may be nil, to a
// release.Revision without HelmControllerDigest. All other packages use the result. Only a revision
// whose action goes on or has ended early has an attempt.
func toRevision(rls *helmrelease.Release, annotations map[string]string) release.Revision {
	rev := labelled(rls.Labels, rls.Version)
	rev.Name, rev.Namespace, rev.Digest = rls.Name, rls.Namespace, observationDigest(rls)
	rev.PostInstall, rev.PostUpgrade, rev.PostRollback = hasHook(rls, helmrelease.HookPostInstall), hasHook(rls, helmrelease.HookPostUpgrade), hasHook(rls, helmrelease.HookPostRollback)
	rev.Tests, rev.InstallHooksLeft, rev.HoldsClaims = testsOf(rls), installHooksLeft(rls), holdsClaims(rls.Manifest)
	rev.SourceRevision = annotations[helmv2.AnnotationSourceRevision]
	// A time that cannot be parsed counts as none.
	rev.Ended, _ = time.Parse(time.RFC3339, annotations[helmv2.AnnotationEnded])
	if i := rls.Info; i != nil {
		rev.Status = helmv2.ReleaseStatus(i.Status)
		rev.Description = i.Description
		rev.FirstDeployed, rev.LastDeployed, rev.Deleted = i.FirstDeployed.Time, i.LastDeployed.Time, i.Deleted.Time
	}
	if rev.Status == helmv2.StatusSuperseded {
		rev.DeployedDigest = deployedDigest(rls)
	}
	if c := rls.Chart; c != nil && c.Metadata != nil {
		rev.ChartName, rev.ChartVersion, rev.AppVersion = c.Metadata.Name, c.Metadata.Version, c.Metadata.AppVersion
	}
	attempt := attemptOf(annotations)
	if rev.Pending() || rev.Status == helmv2.StatusUninstalling || rev.EndedEarly() {
		rev.Attempt = attempt
	}
	if attempt != nil {
		rev.Skipped = attempt.Skipped
	}
	switch {
	case attempt == nil:
	case attempt.Action == helmv2.ActionTest:
		rev.TestRequest = attempt.Request
	case attempt.Action == helmv2.ActionInstall, attempt.Action == helmv2.ActionUpgrade, attempt.Action == helmv2.ActionRollback:
		rev.Plan = attempt.Plan
	}
	// Stored values came from JSON, so they can become JSON again.
	rev.ConfigDigest, _ = values.Digest(rls.Config)
	return rev
}

func hasHook(rls *helmrelease.Release, events ...helmrelease.HookEvent) bool {
	return slices.ContainsFunc(rls.Hooks, func(h *helmrelease.Hook) bool { return isHook(h, events...) })
}

func isHook(h *helmrelease.Hook, events ...helmrelease.HookEvent) bool {
	return slices.ContainsFunc(h.Events, func(e helmrelease.HookEvent) bool { return slices.Contains(events, e) })
}

// installHooksLeft reports whether hooks of an install have not succeeded.
func installHooksLeft(rls *helmrelease.Release) bool {
	return slices.ContainsFunc(rls.Hooks, func(h *helmrelease.Hook) bool {
		return isHook(h, helmrelease.HookPreInstall, helmrelease.HookPostInstall) && h.LastRun.Phase != helmrelease.HookPhaseSucceeded
	})
}

// hookTestSuccess is the event of tests in charts for Helm 2. Helm 3 stores "test" for it; other
// tools may not.
const hookTestSuccess helmrelease.HookEvent = "test-success"

// testsOf returns the tests of a release with their last runs, nil if it has none.
func testsOf(rls *helmrelease.Release) map[string]release.TestRun {
	var tests map[string]release.TestRun
	for _, h := range rls.Hooks {
		if !isHook(h, helmrelease.HookTest, hookTestSuccess) {
			continue
		}
		if tests == nil {
			tests = map[string]release.TestRun{}
		}
		tests[h.Name] = release.TestRun{
			Started: h.LastRun.StartedAt.Time, Completed: h.LastRun.CompletedAt.Time, Phase: helmv2.TestPhase(h.LastRun.Phase),
		}
	}
	return tests
}
