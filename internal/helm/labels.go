// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

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

// ownLabels returns the labels of a release without those that storage makes
// itself. Helm hands the labels of one revision on to the next.
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

// stampedLabels returns the labels of a new revision: those of the one before,
// less what was said about that one alone.
func stampedLabels(rls *helmrelease.Release, uid string) map[string]string {
	own := ownLabels(rls.Labels)
	for _, key := range []string{helmv2.LabelInterrupted, helmv2.LabelOutdated, helmv2.LabelApplied, helmv2.LabelRollback} {
		delete(own, key)
	}
	own[helmv2.LabelRevision] = stamp(uid, rls.Version)
	if rls.Info.Status == helmrelease.StatusPendingRollback {
		own[helmv2.LabelRollback] = strconv.Itoa(rls.Version)
	}
	return own
}

// withLabel returns a copy that has one label more: others may share the map.
func withLabel(labels map[string]string, key, value string) map[string]string {
	more := maps.Clone(labels)
	if more == nil {
		more = map[string]string{}
	}
	more[key] = value
	return more
}

// stamp is the value of the own-revision label.
func stamp(uid string, version int) string { return uid + "." + strconv.Itoa(version) }

// owner returns the UID a revision was stamped with, empty if the stamp was
// copied from another revision.
func owner(labels map[string]string, version int) string {
	uid, n, ok := strings.Cut(labels[helmv2.LabelRevision], ".")
	if !ok || n != strconv.Itoa(version) {
		return ""
	}
	return uid
}

// rolledBack reports whether a revision was made by a rollback of ours.
func rolledBack(labels map[string]string, version int) bool {
	return owner(labels, version) != "" && labels[helmv2.LabelRollback] == strconv.Itoa(version)
}

// applied reports whether a revision was stamped as applied in full.
func applied(labels map[string]string, version int) bool {
	return owner(labels, version) != "" && labels[helmv2.LabelApplied] == strconv.Itoa(version)
}

// modified returns the later of the times a Secret is labelled with: Helm copies
// the time of modification from the revision before to a new one.
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
