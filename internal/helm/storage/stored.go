// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	helmrelease "helm.sh/helm/v3/pkg/release"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pintle-dev/pintle/api/v1alpha1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// FailedRevision is a stored revision that failed after the deployed one, or that nothing proves.
type FailedRevision struct {
	Manifest
	// Applied is true if all objects of the revision were applied.
	Applied bool
	// Deployed is true if the revision is or was deployed. Unproven is true if nothing proves that the
	// HelmRelease made it; see release.Proven.
	Deployed, Unproven bool
	// Hooks are the manifests of its hooks.
	Hooks []string
	// Created is the creation time of its record at the API server, in seconds; zero if unknown.
	Created time.Time
	// Preceded is true if the revision before it is stored, or if it is the first one. It is also
	// true if an interrupted uninstall has deleted older records: it had deleted their objects.
	Preceded bool
}

// FailedSince returns the manifests of the revisions that failed after the deployed one, oldest
// first, and that of the deployed one, which is empty if there is none; see release.ProvenSince. It
// reads only records that the action of the driver has not read: the deployed one, which Helm needs
// too, and the failed ones. Without failed revisions, it does not return the deployed one.
func FailedSince(d *Driver, before int) (deployed Manifest, failed []FailedRevision, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.list(); err != nil {
		return Manifest{}, nil, err
	}
	records := d.records()
	revisions := make([]release.Revision, len(records))
	for i := range records {
		revisions[i] = records[i].revision()
	}
	base, numbers, taken, err := release.ProvenSince(revisions, before, func(version int) (bool, error) {
		known, err := d.read(Key(d.release, version))
		if err != nil {
			return false, fmt.Errorf("revision %d: %w", version, err)
		}
		return known.kept.proven, nil
	})
	if err != nil {
		return Manifest{}, nil, err
	}
	purged := purging(records)
	for _, n := range numbers {
		known, err := d.read(Key(d.release, n))
		if err != nil {
			return Manifest{}, nil, fmt.Errorf("revision %d: %w", n, err)
		}
		f := FailedRevision{
			Manifest: manifestOf(known.full), Created: known.record.Created, Applied: applied(known.record.Labels, n), Deployed: slices.Contains(taken, n), Unproven: !known.kept.proven,
		}
		f.Preceded = n == 1 || purged || slices.ContainsFunc(revisions, func(r release.Revision) bool { return r.Version == n-1 })
		for _, h := range known.full.Hooks {
			f.Hooks = append(f.Hooks, h.Manifest)
		}
		failed = append(failed, f)
	}
	if len(failed) > 0 && base > 0 {
		known, err := d.read(Key(d.release, base))
		if err != nil {
			return Manifest{}, nil, fmt.Errorf("revision %d: %w", base, err)
		}
		deployed = manifestOf(known.full)
	}
	return deployed, failed, nil
}

// purging reports whether an interrupted uninstall of a failed revision has deleted records.
func purging(records []record) bool {
	if len(records) == 0 || records[0].status() != helmrelease.StatusUninstalling {
		return false
	}
	oldest := undeployed(records[0].Labels, records[0].version())
	return oldest > 0 && oldest < oldestOf(records)
}

func manifestOf(rls *helmrelease.Release) Manifest {
	return Manifest{Namespace: rls.Namespace, Version: rls.Version, Text: rls.Manifest}
}

// undeployedSince returns the oldest stored revision if the stored status of a revision is failed or
// pending; 0 if it is another. If the revision has the undeployed label already, it returns the
// number in the label.
func (d *Driver) undeployedSince(key string) int {
	known := d.stored[key]
	if known == nil {
		return 0
	}
	rec := known.record
	if rec.status() == helmrelease.StatusFailed || rec.status().IsPending() {
		return oldestOf(d.records())
	}
	return undeployed(rec.Labels, rec.version())
}

// oldestOf returns the number of the last one of records, newest first.
func oldestOf(records []record) int { return records[len(records)-1].version() }

// stored is a known revision.
type stored struct {
	record record
	// full is nil if the revision was not read. Helm changes the releases that it gets, so it
	// only gets copies.
	full *helmrelease.Release
	kept preserved
	// digest is the SHA-256 of the data in the Secret.
	digest [sha256.Size]byte
}

// preserved is the content of a record that Helm's release does not have.
type preserved struct {
	unknownFields
	// created is the label with the time of creation.
	created string
	// attempt is the attempt in the annotation of the record; nil if there is none.
	attempt *release.Attempt
	// source is the revision of the source in the annotation of the record; empty if there is none.
	source string
	// decided are the annotations about who approved the plan of the action, or overrode policies for it;
	// nil if there are none.
	decided map[string]string
	// ended is the time at which the action that made the revision ended; empty if it has not.
	ended string
	// sealed is true if the record had a valid seal when it was read, is proven, or was created by this
	// store: it is sealed when it is written. proven is true if it comes from the HelmRelease.
	sealed, proven bool
}

// preservedOf returns the content of a record that Helm's release does not have.
func preservedOf(c *content) preserved {
	labels, annotations := c.secret.Labels, c.secret.Annotations
	return preserved{
		unknownFields: c.unknown(), created: labels[labelCreated], sealed: c.sealed,
		attempt: attemptOf(annotations), source: annotations[helmv2.AnnotationSourceRevision],
		decided: decisionsIn(annotations), ended: annotations[helmv2.AnnotationEnded],
	}
}

// decisionAnnotations returns the annotations of a record about the decisions of users.
func decisionAnnotations() []string {
	return []string{v1alpha1.AnnotationApprovedBy, v1alpha1.AnnotationOverriddenBy, v1alpha1.AnnotationOverrideReason}
}

// decisionsIn returns the annotations of a record about decisions of users; nil if there
// are none.
func decisionsIn(annotations map[string]string) map[string]string {
	var all map[string]string
	for _, key := range decisionAnnotations() {
		if value := annotations[key]; value != "" {
			all = withLabel(all, key, value)
		}
	}
	return all
}

// decisionsOf returns the annotations about the decisions of users about a plan; nil if there are none.
func decisionsOf(plan release.PlanRef) map[string]string {
	return decisionsIn(map[string]string{
		v1alpha1.AnnotationApprovedBy: plan.ApprovedBy, v1alpha1.AnnotationOverriddenBy: plan.OverriddenBy, v1alpha1.AnnotationOverrideReason: plan.OverrideReason,
	})
}

// applyMethod returns the apply method, empty if the record has none.
func (p preserved) applyMethod() string { return applyMethod(p.top[keyApplyMethod]) }

// annotations returns the annotations of the record; nil if there are none.
func (p preserved) annotations() (map[string]string, error) {
	var all map[string]string
	if p.attempt != nil {
		text, err := json.Marshal(p.attempt)
		if err != nil {
			return nil, err
		}
		all = map[string]string{helmv2.AnnotationAttempt: string(text)}
	}
	if p.source != "" {
		all = withLabel(all, helmv2.AnnotationSourceRevision, p.source)
	}
	for key, value := range p.decided {
		all = withLabel(all, key, value)
	}
	if p.ended != "" {
		all = withLabel(all, helmv2.AnnotationEnded, p.ended)
	}
	return all, nil
}

// detached returns a copy of a release that Helm may change. Helm writes into info, hooks and
// labels, but not into chart, values and manifest.
func detached(rls *helmrelease.Release) *helmrelease.Release {
	d := *rls
	if rls.Info != nil {
		info := *rls.Info
		d.Info = &info
	}
	d.Hooks = nil
	for _, h := range rls.Hooks {
		hook := *h
		d.Hooks = append(d.Hooks, &hook)
	}
	d.Labels = maps.Clone(rls.Labels)
	return &d
}

// written is a revision that is compressed, before and after it is stored.
type written struct {
	release *helmrelease.Release
	// read is the revision as it is read, without the files of the chart.
	read   *helmrelease.Release
	kept   preserved
	secret *corev1.Secret
	digest [sha256.Size]byte
}

// size returns the number of bytes of the record in its Secret.
func (w *written) size() int { return len(w.secret.Data[dataKey]) }

// seal seals the Secret before it is sent, if it may be sealed.
func (d *Driver) seal(w *written) {
	w.digest = sha256.Sum256(w.secret.Data[dataKey])
	d.sealRecord(w.secret, w.kept, w.digest)
}

// sealRecord adds the seal to a record that may be sealed. It reports false if there is none.
func (d *Driver) sealRecord(secret *corev1.Secret, k preserved, digest [sha256.Size]byte) bool {
	if !k.sealed {
		return false
	}
	seal := d.key.seal(d.namespace, secret, digest)
	if seal != "" {
		secret.Annotations = withLabel(secret.Annotations, helmv2.AnnotationSeal, seal)
	}
	return seal != ""
}

// data returns the data of the Secret of a release.
func (d *Driver) data(rls *helmrelease.Release, kept unknownFields) ([]byte, error) {
	raw, err := encode(rls, kept, d.Chart.Load())
	if err == nil {
		// Nothing must be stored that cannot be read again.
		err = checkStructure(raw)
	}
	if err != nil {
		return nil, err
	}
	return d.packer.pack(raw)
}

// secret returns the Secret of a release.
func (d *Driver) secret(key string, rls *helmrelease.Release, known *stored) (*written, error) {
	data, err := d.data(rls, known.kept.unknownFields)
	if err != nil {
		return nil, fmt.Errorf("encode Secret %s/%s: %w", d.namespace, key, err)
	}
	annotations, err := known.kept.annotations()
	if err != nil {
		return nil, fmt.Errorf("encode Secret %s/%s: %w", d.namespace, key, err)
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: key, Labels: storedLabels(rls), Annotations: annotations, ResourceVersion: known.record.ResourceVersion},
		Type:       secretType, Data: map[string][]byte{dataKey: data},
	}
	if known.kept.created != "" {
		secret.Labels[labelCreated] = known.kept.created
	}
	// The Secret and the release share the labels, so that a label that is added later is in
	// both.
	read, err := asRead(rls, secret.Labels)
	if err != nil {
		return nil, fmt.Errorf("encode Secret %s/%s: %w", d.namespace, key, err)
	}
	return &written{release: rls, read: read, kept: known.kept, secret: secret}, nil
}

// refused returns the error of a write. If the record is too large, the error has the sizes,
// which the API server states only partly.
func (d *Driver) refused(verb string, secret *corev1.Secret, err error) error {
	size := len(secret.Data[dataKey])
	if size > corev1.MaxSecretSize || apierrors.IsRequestEntityTooLargeError(err) {
		return fmt.Errorf("%s Secret %s/%s: the revision takes %d bytes, compressed, and the API server allows %d; "+
			"the chart's files, the values or the rendered objects have to become smaller: %w",
			verb, d.namespace, secret.Name, size, corev1.MaxSecretSize, err)
	}
	return fmt.Errorf("%s Secret %s/%s: %w", verb, d.namespace, secret.Name, err)
}
