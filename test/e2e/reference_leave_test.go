// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

//go:build reference

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	helmchart "helm.sh/helm/v3/pkg/chart"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/test/fixture"
	"github.com/pintle-dev/pintle/test/harness"
)

// theirConditions are the conditions that helm-controller sets or removes.
var theirConditions = []string{
	helmv2.ConditionReady, helmv2.ConditionReconciling, helmv2.ConditionStalled, helmv2.ConditionReleased, helmv2.ConditionTestSuccess,
	helmv2.ConditionRemediated, helmv2.ConditionDrifted,
}

// leaves: after the change to helm-controller, a release that was suspended and is resumed has no
// condition that helm-controller would keep for ever. For releases with annotations of Pintle, the
// command of the chapter about going back removes both before the change.
func (w world) leaves(ours, theirs *harness.Controller) {
	w.Helper()
	handOver(w.Context(), w.T, ours)
	w.Publish(w.fickle("0.1.0"))
	w.artifact(sourcev1.OCIRepositoryRef{Tag: "0.1.0"})
	fickle := fixture.ChartRef(helmv2.KindOCIRepository, "fickle")
	bySpec, byAnnotation, expired := w.Draft("by-spec", fickle, nil), w.Draft("by-annotation", fickle, nil), w.Draft("expired", fickle, nil)
	w.Create(bySpec, byAnnotation, expired)
	w.UntilRevision(bySpec, 1)
	w.UntilRevision(byAnnotation, 1)
	w.UntilRevision(expired, 1)
	w.Edit(bySpec, func(hr *helmv2.HelmRelease) { hr.Spec.Suspend = true })
	annotate := func(hr *helmv2.HelmRelease, until string) {
		w.Edit(hr, func(hr *helmv2.HelmRelease) {
			hr.Annotations = map[string]string{helmv2.AnnotationSuspend: "incident 42", helmv2.AnnotationSuspendUntil: until}
		})
	}
	annotate(byAnnotation, "2999-01-01T00:00:00Z")
	annotate(expired, "2000-01-01T00:00:00Z")
	w.Until(bySpec, "to be suspended", func(hr *helmv2.HelmRelease) bool { return hr.Status.ObservedGeneration == hr.Generation })
	for _, hr := range []*helmv2.HelmRelease{byAnnotation, expired} {
		w.Until(hr, "the condition", func(hr *helmv2.HelmRelease) bool {
			return apimeta.FindStatusCondition(hr.Status.Conditions, helmv2.ConditionSuspended) != nil
		})
	}
	w.leaveCommand("kubectl annotate helmreleases --all --all-namespaces", "pintle.dev/suspend-")
	for _, hr := range []*helmv2.HelmRelease{byAnnotation, expired} {
		w.Until(hr, "no condition of Pintle", func(hr *helmv2.HelmRelease) bool {
			return apimeta.FindStatusCondition(hr.Status.Conditions, helmv2.ConditionSuspended) == nil
		})
	}

	handOver(w.Context(), w.T, theirs)
	w.Edit(bySpec, func(hr *helmv2.HelmRelease) { hr.Spec.Suspend = false })
	for _, hr := range []*helmv2.HelmRelease{bySpec, byAnnotation, expired} {
		w.Until(hr, "to be reconciled", func(hr *helmv2.HelmRelease) bool {
			return hr.Status.ObservedGeneration == hr.Generation && apimeta.IsStatusConditionTrue(hr.Status.Conditions, helmv2.ConditionReady)
		})
		for _, c := range hr.Status.Conditions {
			if !slices.Contains(theirConditions, c.Type) {
				w.Errorf("%s still has %s=%s: %s", hr.Name, c.Type, c.Status, c.Message)
			}
		}
	}
}

// rejected: an install that Pintle has rejected, and would retry, is retried by helm-controller after
// the command of the chapter about going back, when its obstacle is gone.
func (w world) rejected(ours, theirs *harness.Controller) {
	w.Helper()
	handOver(w.Context(), w.T, ours)
	c := w.fickle("0.1.0")
	c.Templates = append(c.Templates, &helmchart.File{Name: "templates/obstacle.yaml", Data: []byte(
		`{{ if not (lookup "v1" "ConfigMap" .Release.Namespace "needed") }}{{ fail "ConfigMap needed is missing" }}{{ end }}`,
	)})
	w.Publish(c)
	w.artifact(sourcev1.OCIRepositoryRef{Tag: "0.1.0"})
	hr := w.Draft("rejected", fixture.ChartRef(helmv2.KindOCIRepository, "fickle"), nil)
	w.Create(hr)
	w.Until(hr, "to be rejected", func(hr *helmv2.HelmRelease) bool {
		return hr.Status.InstallFailures == 1 && apimeta.IsStatusConditionFalse(hr.Status.Conditions, helmv2.ConditionReady)
	})
	handOver(w.Context(), w.T, theirs)
	w.Until(hr, "to be stalled by helm-controller", func(hr *helmv2.HelmRelease) bool {
		stalled := apimeta.FindStatusCondition(hr.Status.Conditions, helmv2.ConditionStalled)
		return stalled != nil && stalled.Message == "Failed to install after 1 attempt(s)"
	})
	w.Create(&corev1.ConfigMap{ObjectMeta: w.Meta("needed")})
	w.leaveCommand("now=", "reconcile.fluxcd.io/resetAt=")
	w.UntilRevision(hr, 1)
}

// leaveCommand runs the only block of docs/from-flux.md that starts with a text and has a part, in the
// namespace of the test.
func (w world) leaveCommand(start, part string) {
	w.Helper()
	page, err := os.ReadFile(filepath.Join(harness.Root(), "docs", "from-flux.md"))
	w.Must(err)
	var commands []string
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		if strings.HasPrefix(block[1], start) && strings.Contains(block[1], part) {
			commands = append(commands, block[1])
		}
	}
	if len(commands) != 1 {
		w.Fatalf("docs/from-flux.md has the commands %q", commands)
	}
	shell := exec.CommandContext(w.Context(), "bash", "-euo", "pipefail", "-c", strings.ReplaceAll(commands[0], "--all-namespaces", "--namespace="+w.Namespace))
	shell.Env = append(os.Environ(), "KUBECONFIG="+env.Kubeconfig, "PATH="+os.Getenv("KUBEBUILDER_ASSETS")+":"+os.Getenv("PATH"))
	if out, err := shell.CombinedOutput(); err != nil {
		w.Fatalf("%v: %s", err, out)
	}
}
