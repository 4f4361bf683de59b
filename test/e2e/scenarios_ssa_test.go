// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

const (
	applied = metav1.ManagedFieldsOperationApply
	updated = metav1.ManagedFieldsOperationUpdate
)

// fields are the paths of fields, by the operation they were last set with.
type fields map[metav1.ManagedFieldsOperationType][]string

// all returns each path once, however it was set.
func (f fields) all() []string {
	paths := slices.Concat(f[applied], f[updated])
	slices.Sort(paths)
	return slices.Compact(paths)
}

// managed returns the fields of the Deployment that Pintle or the Helm CLI owns.
func (w world) managed() fields {
	w.Helper()
	all := fields{}
	for _, entry := range w.deployment("play-fickle").ManagedFields {
		if !strings.HasPrefix(entry.Manager, "helm") || entry.Subresource != "" {
			continue
		}
		var tree map[string]any
		w.Must(json.Unmarshal(entry.FieldsV1.GetRawBytes(), &tree))
		all[entry.Operation] = append(all[entry.Operation], leaves("", tree)...)
	}
	return all
}

func leaves(path string, tree map[string]any) []string {
	if len(tree) == 0 {
		return []string{path}
	}
	var all []string
	for name, below := range tree {
		branch, _ := below.(map[string]any)
		all = append(all, leaves(path+"/"+name, branch)...)
	}
	return all
}

// operations checks how the Deployment was applied: with all of those wanted and
// none of those not.
func (w world) operations(when string, wanted []metav1.ManagedFieldsOperationType, not ...metav1.ManagedFieldsOperationType) {
	w.Helper()
	managed := w.managed()
	for _, operation := range wanted {
		if len(managed[operation]) == 0 {
			w.Errorf("%s no fields are managed by %s: %v", when, operation, managed)
		}
	}
	for _, operation := range not {
		if len(managed[operation]) != 0 {
			w.Errorf("%s fields are managed by %s: %v", when, operation, managed[operation])
		}
	}
}

// applyMethod checks the apply method in a stored revision.
func (w world) applyMethod(revision int, want string) {
	w.Helper()
	got, err := env.ApplyMethod(w.Context(), w.Namespace, "play", revision)
	w.Must(err)
	if got != want {
		w.Errorf("revision %d was applied by %q, want %q", revision, got, want)
	}
}

func annotated(value string) values { return values{"podAnnotations": values{"note": value}} }

func installApply(serverSide bool) func(*helmv2.HelmReleaseSpec) {
	return func(spec *helmv2.HelmReleaseSpec) { spec.Install = &helmv2.Install{ServerSideApply: &serverSide} }
}

func upgradeApply(mode helmv2.ServerSideApplyMode) func(*helmv2.HelmReleaseSpec) {
	return func(spec *helmv2.HelmReleaseSpec) {
		if spec.Upgrade == nil {
			spec.Upgrade = &helmv2.Upgrade{}
		}
		spec.Upgrade.ServerSideApply = mode
	}
}

// twice installs and upgrades with another annotation on the Pods, and checks each.
func (w world) twice(serverSide bool, mode helmv2.ServerSideApplyMode, installed, upgraded func(when string)) *helmv2.HelmRelease {
	w.Helper()
	hr := w.play(annotated("one"), installApply(serverSide), upgradeApply(mode))
	w.UntilRevision(hr, 1)
	w.equal("note", w.note(), "one")
	installed("after the install")
	w.change(hr, annotated("two"))
	w.UntilRevision(hr, 2)
	w.equal("note", w.note(), "two")
	upgraded("after the upgrade")
	return hr
}

func (w world) note() string {
	w.Helper()
	return w.deployment("play-fickle").Spec.Template.Annotations["note"]
}

func noSSA(w world) {
	onlyUpdated := func(when string) {
		w.operations(when, []metav1.ManagedFieldsOperationType{updated}, applied)
	}
	w.twice(false, helmv2.ServerSideApplyAuto, onlyUpdated, onlyUpdated)
}

func ssaInstallNoSSAUpgrade(w world) {
	w.twice(true, helmv2.ServerSideApplyDisabled,
		func(when string) { w.operations(when, []metav1.ManagedFieldsOperationType{applied}) },
		func(when string) { w.operations(when, []metav1.ManagedFieldsOperationType{updated}) })
}

func noSSAInstallSSAUpgrade(w world) {
	w.twice(false, helmv2.ServerSideApplyEnabled,
		func(when string) { w.operations(when, []metav1.ManagedFieldsOperationType{updated}, applied) },
		func(when string) { w.operations(when, []metav1.ManagedFieldsOperationType{applied}) })
}

func ssaToCSAFieldRemoval(w world) {
	hr := w.play(annotated("one"), installApply(true), upgradeApply(helmv2.ServerSideApplyDisabled))
	w.UntilRevision(hr, 1)
	before := w.managed()
	w.change(hr, nil)
	w.UntilRevision(hr, 2)
	if _, left := w.deployment("play-fickle").Spec.Template.Annotations["note"]; left {
		w.Error("the note is left")
	}
	after := w.managed()
	if len(after.all()) >= len(before.all()) {
		w.Errorf("%d fields are managed, %d were before", len(after.all()), len(before.all()))
	}
	if slices.ContainsFunc(after.all(), func(path string) bool { return strings.HasSuffix(path, "f:note") }) {
		w.Errorf("the note is still managed: %v", after)
	}
}

func serverSideApply(w world) {
	alsoApplied := func(when string) { w.operations(when, []metav1.ManagedFieldsOperationType{applied}) }
	hr := w.twice(true, helmv2.ServerSideApplyEnabled, alsoApplied, alsoApplied)
	w.revisions(hr, 2)
	w.applyMethod(1, "ssa")
	w.applyMethod(2, "ssa")
}

func serverSideApplyRollback(w world) {
	hr := w.play(annotated("one"), installApply(true), upgradeApply(helmv2.ServerSideApplyEnabled))
	w.UntilRevision(hr, 1)
	w.change(hr, unready(), func(spec *helmv2.HelmReleaseSpec) {
		spec.Upgrade.Timeout = duration(shortly)
		spec.Upgrade.Remediation = &helmv2.UpgradeRemediation{RemediateLastFailure: ptr(true)}
		spec.Rollback = &helmv2.Rollback{ServerSideApply: helmv2.ServerSideApplyEnabled}
	})
	w.settles(hr, conditions{helmv2.ConditionRemediated: yes, helmv2.ConditionReady: no})
	w.rolledBack(hr, 3, 1)
	w.equal("note", w.note(), "one")
	w.applyMethod(3, "ssa")
	w.operations("after the rollback", []metav1.ManagedFieldsOperationType{applied})
}
