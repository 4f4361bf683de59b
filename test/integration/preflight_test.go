// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"cmp"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

const (
	// servingTemplate is a Deployment whose immutable selector is a value, and which may have an
	// unknown field.
	servingTemplate = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}
spec:
  replicas: 0
  {{ with .Values.unknown }}{{ . }}: 1{{ end }}
  selector: {matchLabels: {app: {{ .Values.selector | default "one" }}}}
  template:
    metadata: {labels: {app: {{ .Values.selector | default "one" }}}}
    spec: {containers: [{name: c, image: example.com/none}]}
`
	cleanerTemplate = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: cleaner\n  annotations: {helm.sh/hook: pre-upgrade}\nspec: {containers: [{name: c, image: example.com/none}]}\n"
)

func servingChart(t *testing.T, more map[string]string) []byte {
	t.Helper()
	files := map[string]string{
		"templates/serving.yaml": servingTemplate, "templates/data.yaml": dataTemplate,
		"templates/extra.yaml": "{{ with .Values.extra }}\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ . }}\n{{ end }}\n",
	}
	for k, v := range more {
		files[k] = v
	}
	return pack(t, "note", "1.0.0", files)
}

// TestPreflight: all errors of the API server are reported at once, and nothing is stored or
// changed.
func TestPreflight(t *testing.T) {
	t.Parallel()
	no := false
	for name, serverSide := range map[string]*bool{"ServerSide": nil, "ClientSide": &no} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name != "ServerSide" {
				t.Skip("long")
			}
			w := newWorld(t)
			w.publish("app", "1.0.0", servingChart(t, nil))
			hr := w.release("app", values("unknown", "nonsense", "extra", "Bad_Name", "data", values("a", "1")), with(serverSide, ""), expires)
			w.untilSays(hr, "Released", metav1.ConditionFalse, helmv2.ReasonInstallFailed,
				"the API server would refuse", "Deployment/"+w.namespace+"/app: ", "nonsense", "ConfigMap/"+w.namespace+"/Bad_Name: ", "RFC 1123")
			if n := len(w.stored("app")); n != 0 {
				t.Fatalf("%d revisions are stored", n)
			}

			w.edit(hr, func(hr *helmv2.HelmRelease) { hr.Spec.Values = rawValues(t, values("data", values("a", "1"))) })
			w.until(hr, "revision 1", func(hr *helmv2.HelmRelease) bool { return newest(hr) == 1 })
			// No controller makes Deployments ready, even with zero replicas.
			w.edit(hr, func(hr *helmv2.HelmRelease) {
				hr.Spec.Upgrade = &helmv2.Upgrade{DisableWait: true}
				hr.Spec.Values = rawValues(t, values("selector", "two", "extra", "Bad_Name", "data", values("a", "2")))
			})
			w.untilSays(hr, "Released", metav1.ConditionFalse, helmv2.ReasonUpgradeFailed,
				"Deployment/"+w.namespace+"/app: ", "spec.selector", "immutable", "ConfigMap/"+w.namespace+"/Bad_Name: ")
			if n := len(w.stored("app")); n != 1 || w.configMap("app").Data["a"] != "1" {
				t.Errorf("%d revisions are stored, data is %v", n, w.configMap("app").Data)
			}
		})
	}
}

// TestPreflightExempts: errors that the release itself resolves during the action are not reported.
func TestPreflightExempts(t *testing.T) {
	t.Parallel()
	const unknown = "nonsense"
	cases := map[string]struct {
		reason string
		more   map[string]string
		values map[string]any
		edit   func(*helmv2.HelmReleaseSpec)
		want   string
		// timeout is actionTimeout by default.
		timeout time.Duration
	}{
		"Plain": {
			reason: "a field that does not exist is an objection", values: values("unknown", unknown), want: "the API server would refuse",
		},
		"Disabled": {
			reason: "the check can be turned off", values: values("unknown", unknown),
			edit: func(s *helmv2.HelmReleaseSpec) {
				// An apply never has an unknown field.
				s.Upgrade.DisableOpenAPIValidation, s.Upgrade.ServerSideApply = true, helmv2.ServerSideApplyDisabled
			},
		},
		"Namespace": {
			reason: "a namespace comes with the release", values: values("ns", true),
			more: map[string]string{
				"templates/ns.yaml":    "{{ if .Values.ns }}\napiVersion: v1\nkind: Namespace\nmetadata:\n  name: {{ .Release.Namespace }}-two\n{{ end }}\n",
				"templates/there.yaml": "{{ if .Values.ns }}\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: there\n  namespace: {{ .Release.Namespace }}-two\n{{ end }}\n",
			},
		},
		"NoNamespace": {
			reason: "a namespace comes from nowhere", values: values("ns", true), want: "not found",
			more: map[string]string{
				"templates/there.yaml": "{{ if .Values.ns }}\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: there\n  namespace: {{ .Release.Namespace }}-three\n{{ end }}\n",
			},
		},
		"HookMayHelp": {
			reason: "a hook may delete an object that cannot be changed", values: values("selector", "two"),
			more: map[string]string{"templates/hook.yaml": cleanerTemplate}, want: "pre-upgrade hooks failed", timeout: expiry,
		},
		"HookIsDisabled": {
			reason: "a hook that does not run has no effect", values: values("selector", "two"),
			more: map[string]string{"templates/hook.yaml": cleanerTemplate}, want: "the API server would refuse",
			edit: func(s *helmv2.HelmReleaseSpec) { s.Upgrade.DisableHooks = true },
		},
		"HookCannotHelp": {
			reason: "no hook makes a field exist", values: values("unknown", unknown),
			more: map[string]string{"templates/hook.yaml": cleanerTemplate}, want: "the API server would refuse",
		},
		"OtherHook": {
			reason: "a hook that runs later has no effect", values: values("selector", "two"),
			more: map[string]string{"templates/hook.yaml": strings.Replace(cleanerTemplate, "pre-upgrade", "post-upgrade", 1)}, want: "the API server would refuse",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name != "Plain" && name != "Namespace" {
				t.Skip("long")
			}
			b := newBench(t)
			spec := helmv2.HelmReleaseSpec{Install: &helmv2.Install{DisableWait: true}, Upgrade: &helmv2.Upgrade{DisableWait: true}}
			if tc.edit != nil {
				tc.edit(&spec)
			}
			archive := servingChart(t, tc.more)
			b.mustRun(install, archive, nil, spec)
			out := b.run(release.Upgrade{Timeout: cmp.Or(tc.timeout, actionTimeout)}, archive, tc.values, spec)
			if tc.want == "" {
				b.must(out.Err)
				return
			}
			if out.Err == nil || !strings.Contains(out.Err.Error(), tc.want) {
				t.Errorf("%s: error %v, want %s", tc.reason, out.Err, tc.want)
			}
			if stored := tc.want == "pre-upgrade hooks failed"; out.Stored() != stored {
				t.Errorf("%s: stored %+v", tc.reason, out.Revisions)
			}
		})
	}
}

// TestRefusedRevisionCostsNoOther: the history is pruned only for a revision that is stored.
func TestRefusedRevisionCostsNoOther(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	two := 2
	spec := helmv2.HelmReleaseSpec{MaxHistory: &two}
	archive := servingChart(t, map[string]string{"templates/serving.yaml": ""})
	for i, action := range []release.HelmAction{install, upgrade, upgrade} {
		b.mustRun(action, archive, values("data", values("n", strconv.Itoa(i))), spec)
	}
	out := b.run(upgrade, archive, values("extra", "Bad_Name"), spec)
	if out.Err == nil || !strings.HasPrefix(out.Err.Error(), "the API server would refuse") {
		t.Errorf("error %v", out.Err)
	}
	if n := b.asked("DELETE", "/secrets/"); n != 0 || len(b.stored("app")) != 2 {
		t.Errorf("%d revisions are left, %d were deleted", len(b.stored("app")), n)
	}
}
