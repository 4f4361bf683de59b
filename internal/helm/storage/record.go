// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	helmrelease "helm.sh/helm/v3/pkg/release"
	helmstorage "helm.sh/helm/v3/pkg/storage"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

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
}

// recordOf returns the record that an object is the metadata of. The labels alone do not tell
// records from other Secrets; the names do.
func recordOf(object metav1.Object) (record, bool) {
	return record{
		Name: object.GetName(), UID: object.GetUID(), ResourceVersion: object.GetResourceVersion(), Labels: object.GetLabels(),
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
	version := r.version()
	return release.Revision{
		Unread: true, Name: r.Labels["name"], Version: version, Status: helmv2.ReleaseStatus(r.status()),
		Owner:       owner(r.Labels, version),
		Interrupted: r.Labels[helmv2.LabelInterrupted] == "true",
		Outdated:    r.Labels[helmv2.LabelOutdated] == "true",
		Applied:     applied(r.Labels, version),
		Rollback:    rolledBack(r.Labels, version),
		Modified:    modified(r.Labels),
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
