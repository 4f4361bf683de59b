// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	helmrelease "helm.sh/helm/v3/pkg/release"
	helmstorage "helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	cattlev1 "github.com/pintle-dev/pintle/api/cattle/v1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

const (
	// secretType and dataKey are the format of Helm 3 and 4.
	secretType = corev1.SecretType("helm.sh/release.v1")
	dataKey    = "release"
)

// recordPrefix starts the names of the Secrets that hold revisions.
const recordPrefix = helmstorage.HelmStorageType + "."

// Key returns the name of the Secret of a revision.
func Key(release string, version int) string {
	return recordPrefix + release + ".v" + strconv.Itoa(version)
}

// NewSecret returns the Secret of the first revision of a release without its data, for a
// dry run that checks the permission to create it.
func NewSecret(release string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: Key(release, 1), Labels: recordSelector(release)},
		Type:       secretType, Data: map[string][]byte{dataKey: nil},
	}
}

// recordSelector selects the Secrets of a release.
func recordSelector(release string) labels.Set { return labels.Set{"name": release, "owner": "helm"} }

// record is the metadata of a Secret that holds a revision.
type record struct {
	// Name is the name of the Secret.
	Name            string
	UID             types.UID
	ResourceVersion string
	Labels          map[string]string
	// Created is the creation time of the Secret; zero if unknown.
	Created time.Time
}

// recordOf returns the record that an object is the metadata of. The labels alone do not tell
// records from other Secrets; the names do.
func recordOf(object metav1.Object) (record, bool) {
	return record{
		Name: object.GetName(), UID: object.GetUID(), ResourceVersion: object.GetResourceVersion(), Labels: object.GetLabels(),
		Created: object.GetCreationTimestamp().Time,
	}, strings.HasPrefix(object.GetName(), recordPrefix)
}

// version returns the number of the revision, 0 if neither label nor name has one.
func (r *record) version() int {
	if n, err := strconv.Atoi(r.Labels["version"]); err == nil {
		return n
	}
	n, _ := strconv.Atoi(r.Name[strings.LastIndex(r.Name, ".v")+len(".v"):])
	return n
}

func (r *record) status() helmrelease.Status { return helmrelease.Status(r.Labels["status"]) }

// revision returns the fields of a revision that its labels hold. The others are Unread.
func (r *record) revision() release.Revision {
	rev := labelled(r.Labels, r.version())
	rev.Unread, rev.Name, rev.Status = true, r.Labels["name"], helmv2.ReleaseStatus(r.status())
	return rev
}

// labelled returns the fields of a revision that only labels hold.
func labelled(labels map[string]string, version int) release.Revision {
	return release.Revision{
		Version:      version,
		Owner:        owner(labels, version),
		Interrupted:  labels[helmv2.LabelInterrupted] == "true",
		Outdated:     labels[helmv2.LabelOutdated] == "true",
		Applied:      applied(labels, version),
		Rollback:     rolledBack(labels, version),
		RolledBackTo: rolledBackTo(labels, version),
		Undeployed:   undeployed(labels, version) > 0,
		Modified:     modified(labels),
		ConfigHash:   labels[cattlev1.LabelConfigHash],
	}
}

// sortNewestFirst sorts records by the numbers of their revisions.
func sortNewestFirst(all []record) {
	slices.SortFunc(all, func(a, b record) int { return cmp.Compare(b.version(), a.version()) })
}

// ActionOf returns the action that created a revision. Helm does not store it, but the descriptions
// of failures and unlocks differ by action.
func ActionOf(rls *helmrelease.Release) helmv2.ReleaseAction {
	description := rls.Info.Description
	switch {
	case strings.HasPrefix(description, "Upgrade "), strings.Contains(description, "'"+string(helmv2.StatusPendingUpgrade)+"'"):
		return helmv2.ActionUpgrade
	case strings.HasPrefix(description, "Rollback "), strings.Contains(description, "'"+string(helmv2.StatusPendingRollback)+"'"):
		return helmv2.ActionRollback
	case rls.Info.FirstDeployed.Equal(rls.Info.LastDeployed):
		return helmv2.ActionInstall
	}
	// Helm stores "Release failed" for installs and rollbacks.
	return helmv2.ActionRollback
}

const (
	labelCreated  = "createdAt"
	labelModified = "modifiedAt"
)

// ownLabels returns the labels of a release without those that the driver sets. Helm copies
// the labels of a revision to the next one.
func ownLabels(labels map[string]string) map[string]string {
	own := map[string]string{}
	for key, value := range labels {
		if !slices.Contains(driver.GetSystemLabels(), key) {
			own[key] = value
		}
	}
	return own
}

// storedLabels returns the labels of the Secret of a release.
func storedLabels(rls *helmrelease.Release) map[string]string {
	labels := ownLabels(rls.Labels)
	labels["name"], labels["owner"], labels["version"] = rls.Name, "helm", strconv.Itoa(rls.Version)
	labels["status"] = rls.Info.Status.String()
	return labels
}

// newRevisionLabels returns the labels of a new revision: its revision label, and the labels of
// its predecessor without those that describe only the predecessor. heldAt is the revision that a
// hold rolls back to; 0 if there is no hold.
func newRevisionLabels(rls *helmrelease.Release, uid string, heldAt int) map[string]string {
	own := ownLabels(rls.Labels)
	for _, key := range []string{
		helmv2.LabelInterrupted, helmv2.LabelOutdated, helmv2.LabelApplied, helmv2.LabelRollback, helmv2.LabelRolledBackTo, helmv2.LabelUndeployed,
	} {
		delete(own, key)
	}
	own[helmv2.LabelRevision] = revisionLabel(uid, rls.Version)
	if rls.Info.Status == helmrelease.StatusPendingRollback {
		own[helmv2.LabelRollback] = strconv.Itoa(rls.Version)
	}
	if heldAt > 0 {
		own[helmv2.LabelRolledBackTo] = strconv.Itoa(heldAt)
	}
	return own
}

// withLabel returns a copy with one more label. The original map may be shared.
func withLabel(labels map[string]string, key, value string) map[string]string {
	more := maps.Clone(labels)
	if more == nil {
		more = map[string]string{}
	}
	more[key] = value
	return more
}

// revisionLabel returns the value of the revision label.
func revisionLabel(uid string, version int) string { return uid + "." + strconv.Itoa(version) }

// owner returns the UID in the revision label, empty if the label was copied from another
// revision.
func owner(labels map[string]string, version int) string {
	uid, n, ok := strings.Cut(labels[helmv2.LabelRevision], ".")
	if !ok || n != strconv.Itoa(version) {
		return ""
	}
	return uid
}

// rolledBack reports whether Pintle created a revision by a rollback.
func rolledBack(labels map[string]string, version int) bool {
	return owner(labels, version) != "" && labels[helmv2.LabelRollback] == strconv.Itoa(version)
}

// rolledBackTo returns the number of the revision that a hold rolled back to; 0 if no hold created
// the revision.
func rolledBackTo(labels map[string]string, version int) int {
	if !rolledBack(labels, version) {
		return 0
	}
	to, _ := strconv.Atoi(labels[helmv2.LabelRolledBackTo])
	return max(0, to)
}

// applied reports whether a revision has the applied label.
func applied(labels map[string]string, version int) bool {
	return owner(labels, version) != "" && labels[helmv2.LabelApplied] == strconv.Itoa(version)
}

// endedEarly reports whether a revision has the label of an interrupted or outdated action.
func endedEarly(labels map[string]string) bool {
	return labels[helmv2.LabelInterrupted] == "true" || labels[helmv2.LabelOutdated] == "true"
}

// undeployedLabel returns the value of the undeployed label.
func undeployedLabel(version, oldest int) string {
	return strconv.Itoa(version) + "." + strconv.Itoa(oldest)
}

// undeployed returns the oldest stored revision when a revision got the undeployed label; 0 if it
// has none.
func undeployed(labels map[string]string, version int) (oldest int) {
	n, rest, _ := strings.Cut(labels[helmv2.LabelUndeployed], ".")
	if n != strconv.Itoa(version) {
		return 0
	}
	oldest, _ = strconv.Atoi(rest)
	return oldest
}

// modified returns the later one of the times of creation and modification. Helm copies the
// time of modification to the next revision.
func modified(labels map[string]string) time.Time {
	var latest time.Time
	for _, key := range []string{labelCreated, labelModified} {
		seconds, err := strconv.ParseInt(labels[key], 10, 64)
		if t := time.Unix(seconds, 0); err == nil && t.After(latest) {
			latest = t
		}
	}
	return latest
}

// indexedLabels returns the labels that a record uses. Users may have set others.
func indexedLabels(all map[string]string) map[string]string {
	some := make(map[string]string, len(all))
	for key, value := range all {
		switch key {
		case "name", "version", "status", labelCreated, labelModified, helmv2.LabelRevision, helmv2.LabelInterrupted,
			helmv2.LabelOutdated, helmv2.LabelApplied, helmv2.LabelRollback, helmv2.LabelRolledBackTo, helmv2.LabelUndeployed:
			some[key] = value
		}
	}
	return some
}

// attemptOf returns the attempt in the annotations of a record; nil if there is none or it cannot
// be read.
func attemptOf(annotations map[string]string) *release.Attempt {
	text := annotations[helmv2.AnnotationAttempt]
	if text == "" {
		return nil
	}
	var a release.Attempt
	if err := json.Unmarshal([]byte(text), &a); err != nil || a.ID == "" {
		return nil
	}
	return &a
}
