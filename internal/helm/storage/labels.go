// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	helmrelease "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

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
// its predecessor without those that describe only the predecessor.
func newRevisionLabels(rls *helmrelease.Release, uid string) map[string]string {
	own := ownLabels(rls.Labels)
	for _, key := range []string{helmv2.LabelInterrupted, helmv2.LabelOutdated, helmv2.LabelApplied, helmv2.LabelRollback} {
		delete(own, key)
	}
	own[helmv2.LabelRevision] = revisionLabel(uid, rls.Version)
	if rls.Info.Status == helmrelease.StatusPendingRollback {
		own[helmv2.LabelRollback] = strconv.Itoa(rls.Version)
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

// applied reports whether a revision has the applied label.
func applied(labels map[string]string, version int) bool {
	return owner(labels, version) != "" && labels[helmv2.LabelApplied] == strconv.Itoa(version)
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
			helmv2.LabelOutdated, helmv2.LabelApplied, helmv2.LabelRollback:
			some[key] = value
		}
	}
	return some
}
