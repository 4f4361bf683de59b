// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package read

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/helm/redact"
	"github.com/pintle-dev/pintle/internal/helm/storage"
	"github.com/pintle-dev/pintle/internal/inputs"
	"github.com/pintle-dev/pintle/internal/parallel"
	"github.com/pintle-dev/pintle/internal/plan"
	"github.com/pintle-dev/pintle/internal/redaction"
	"github.com/pintle-dev/pintle/internal/release"
	"github.com/pintle-dev/pintle/internal/view"
	"github.com/pintle-dev/pintle/internal/view/manifest"
)

// Record is the content of a release record.
type Record struct {
	release.Revision
	manifest.Side
	Hooks []view.Hook
}

// AllSecrets returns the texts that are removed from outputs about the revision: the given values
// of Secrets, the former ones at the paths that their layers set, and the values of its own
// Secrets.
func (r *Record) AllSecrets(given []string, layers []plan.Layer) []string {
	return slices.Concat(r.Secrets, given, plan.Former(r.Values, layers))
}

// Stored reads the record of a revision; nil if there is none.
type Stored func(ctx context.Context, target release.Target, version int) (*Record, error)

// Storage returns a Stored that reads from the API server of a getter.
func Storage(getter genericclioptions.RESTClientGetter) Stored {
	return func(ctx context.Context, target release.Target, version int) (*Record, error) {
		live, err := storage.ReadOne(ctx, getter, target, version)
		if err != nil || live.Release == nil {
			return nil, err
		}
		record := &Record{Revision: live.Revision, Side: manifest.Side{
			Manifest: live.Release.Manifest, Values: live.Release.Config, Secrets: redact.LongSecrets(live.Release),
		}}
		for _, h := range live.Release.Hooks {
			events := make([]string, 0, len(h.Events))
			for _, e := range h.Events {
				events = append(events, e.String())
			}
			policies := make([]string, 0, len(h.DeletePolicies))
			for _, policy := range h.DeletePolicies {
				policies = append(policies, policy.String())
			}
			record.Hooks = append(record.Hooks, view.Hook{
				Name: h.Name, Kind: h.Kind, Events: strings.Join(events, ", "), Weight: h.Weight, DeletePolicy: strings.Join(policies, ", "),
				Ran: h.LastRun.StartedAt.Time, Result: h.LastRun.Phase.String(),
			})
		}
		return record, nil
	}
}

// maxRevisions is the number of revisions whose records are read. Older ones are listed by their
// labels.
const maxRevisions = 20

// maxRecords is the number of records that are read at once. A record may have several megabytes.
const maxRecords = 4

// target returns the Helm release of a HelmRelease: the existing release, or else the release that the
// spec names.
func (r *Reader) target(hr *helmv2.HelmRelease) release.Target {
	target := inputs.NewResolver(r.Client, r.Client, nil).Basics(hr, release.Suspension{}).Target
	if len(hr.Status.History) > 0 {
		target.Name, target.Namespace = hr.Status.History[0].Name, hr.Status.History[0].Namespace
	}
	if hr.Status.StorageNamespace != "" {
		target.StorageNamespace = hr.Status.StorageNamespace
	}
	return target
}

// Revisions returns the number and the status of each stored revision, the newest first.
func (r *Reader) Revisions(ctx context.Context, hr *helmv2.HelmRelease) ([]view.Record, error) {
	all, _, err := r.listRecords(ctx, hr)
	return all, err
}

// Hooks returns the hooks of the deployed revision, or else of the newest one, and its number.
func (r *Reader) Hooks(ctx context.Context, hr *helmv2.HelmRelease) ([]view.Hook, int, error) {
	if err := Here(hr); err != nil || len(hr.Status.History) == 0 {
		return nil, 0, err
	}
	version := hr.Status.History[0].Version
	if i := slices.IndexFunc(hr.Status.History, func(s *helmv2.Snapshot) bool { return s.Status == helmv2.StatusDeployed }); i >= 0 {
		version = hr.Status.History[i].Version
	}
	record, err := r.Stored(ctx, r.target(hr), version)
	if err != nil || record == nil {
		return nil, version, err
	}
	return record.Hooks, version, nil
}

// listRecords returns the records of a release without their content, and their metadata.
func (r *Reader) listRecords(ctx context.Context, hr *helmv2.HelmRelease) ([]view.Record, []metav1.PartialObjectMetadata, error) {
	if err := Here(hr); err != nil {
		return nil, nil, err
	}
	target := r.target(hr)
	list := &metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "SecretList"}}
	of := client.MatchingLabels{"owner": "helm", "name": target.Name}
	if err := r.Client.List(ctx, list, client.InNamespace(target.StorageNamespace), of); err != nil {
		return nil, nil, err
	}
	slices.SortFunc(list.Items, func(a, b metav1.PartialObjectMetadata) int { return versionOf(&b) - versionOf(&a) })
	all := make([]view.Record, len(list.Items))
	for i := range list.Items {
		item := &list.Items[i]
		all[i] = view.Record{
			ApprovedBy:   item.Annotations[v1alpha1.AnnotationApprovedBy],
			OverriddenBy: item.Annotations[v1alpha1.AnnotationOverriddenBy], OverrideReason: item.Annotations[v1alpha1.AnnotationOverrideReason],
		}
		all[i].Version, all[i].Status = versionOf(item), helmv2.ReleaseStatus(item.Labels["status"])
	}
	return all, list.Items, nil
}

// History returns the records of a release. Records that cannot be read have the reason.
func (r *Reader) History(ctx context.Context, hr *helmv2.HelmRelease) ([]view.Record, error) {
	all, items, err := r.listRecords(ctx, hr)
	if err != nil {
		return nil, err
	}
	for i := range all {
		if i >= maxRevisions {
			all[i].Unread = fmt.Sprintf("only the %d newest records are read", maxRevisions)
		}
	}
	for i, err := range parallel.Do(ctx, min(len(all), maxRevisions), maxRecords, func(i int) error {
		r.readRecord(ctx, r.target(hr), &items[i], &all[i])
		return nil
	}) {
		if err != nil {
			all[i].Unread = err.Error()
		}
	}
	return all, nil
}

// IsStored reports whether a revision of a release is stored.
func (r *Reader) IsStored(ctx context.Context, hr *helmv2.HelmRelease, version int) (bool, error) {
	if err := Here(hr); err != nil {
		return false, err
	}
	stored, err := r.Stored(ctx, r.target(hr), version)
	return stored != nil, err
}

// readRecord reads the content of a record whose metadata is known.
func (r *Reader) readRecord(ctx context.Context, target release.Target, item *metav1.PartialObjectMetadata, record *view.Record) {
	switch stored, err := r.Stored(ctx, target, record.Version); {
	case err != nil:
		record.Unread = strings.Join(strings.Fields(err.Error()), " ")
	case stored != nil:
		record.Revision = stored.Revision
		record.Modified = later(stored.Modified, item.Labels["modifiedAt"])
		record.Description = redaction.New(stored.Secrets).Text(stored.Description)
	}
}

// Sides returns two revisions of a release for a comparison.
func (r *Reader) Sides(ctx context.Context, hr *helmv2.HelmRelease, from, to int) (a, b manifest.Side, err error) {
	if err := Here(hr); err != nil {
		return a, b, err
	}
	want, err := r.redactingResolver().Values(ctx, hr)
	if err != nil {
		return a, b, fmt.Errorf("the values cannot be redacted, because spec.valuesFrom cannot be read: %w", err)
	}
	for version, side := range map[int]*manifest.Side{from: &a, to: &b} {
		record, err := r.Stored(ctx, r.target(hr), version)
		if err != nil {
			return a, b, err
		}
		if record == nil {
			return a, b, fmt.Errorf("revision %d is not stored", version)
		}
		*side = record.Side
		side.Secrets = record.AllSecrets(want.Secrets, want.Layers())
	}
	return a, b, nil
}

// Here returns an error for a release in another cluster.
func Here(hr *helmv2.HelmRelease) error {
	if hr.Spec.KubeConfig != nil {
		return fmt.Errorf("the release of %s/%s is in another cluster, which only the controller reads: use helm there", hr.Namespace, hr.Name)
	}
	return nil
}

func versionOf(item *metav1.PartialObjectMetadata) int {
	version, _ := strconv.Atoi(item.Labels["version"])
	return version
}

// later returns the time in a label, if there is one that is later than a time.
func later(at time.Time, seconds string) time.Time {
	if n, err := strconv.ParseInt(seconds, 10, 64); err == nil && time.Unix(n, 0).After(at) {
		return time.Unix(n, 0).UTC()
	}
	return at
}
