// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart/loader"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

const (
	manager = helmv2.FieldManager

	// portsTemplate is a Service whose ports have equal names but different merge keys: two ports
	// of one name are invalid together.
	portsTemplate = "apiVersion: v1\nkind: Service\nmetadata:\n  name: {{ .Release.Name }}\nspec:\n  clusterIP: None\n  ports:\n  - {name: http, port: {{ .Values.port | default 80 }}}\n"
	// dataTemplate is a ConfigMap with .Values.data.
	dataTemplate = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}\ndata: {{ .Values.data | default dict | toJson }}\n"
	// extraTemplate is an object that can be switched on.
	extraTemplate = "{{ if .Values.extra }}\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}-extra\n  annotations: {{ .Values.annotations | default dict | toJson }}\n{{ end }}\n"
)

func appliedChart(t *testing.T, version string) []byte {
	t.Helper()
	return pack(t, "note", version, map[string]string{
		"templates/data.yaml": dataTemplate, "templates/ports.yaml": portsTemplate, "templates/extra.yaml": extraTemplate,
	})
}

// with sets the options of installs and upgrades.
func with(install *bool, upgrade helmv2.ServerSideApplyMode) func(*helmv2.HelmRelease) {
	return func(hr *helmv2.HelmRelease) {
		hr.Spec.Install = &helmv2.Install{ServerSideApply: install}
		hr.Spec.Upgrade = &helmv2.Upgrade{ServerSideApply: upgrade}
	}
}

// managers lists "<manager> <operation>" of an object, sorted.
func managers(o client.Object) []string {
	var all []string
	for _, e := range o.GetManagedFields() {
		all = append(all, e.Manager+" "+string(e.Operation))
	}
	slices.Sort(all)
	return all
}

func (w *world) service(name string) *corev1.Service {
	w.t.Helper()
	s := &corev1.Service{}
	w.must(suite.client.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, s))
	return s
}

func values(pairs ...any) map[string]any {
	v := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		v[pairs[i].(string)] = pairs[i+1]
	}
	return v
}

// upgradeTo changes the values and waits for the revision.
func (w *world) upgradeTo(hr *helmv2.HelmRelease, revision int, v map[string]any, edit ...func(*helmv2.HelmRelease)) {
	w.t.Helper()
	w.edit(hr, func(hr *helmv2.HelmRelease) {
		hr.Spec.Values = rawValues(w.t, v)
		for _, e := range edit {
			e(hr)
		}
	})
	w.untilReady(hr)
	if newest(hr) != revision {
		w.t.Fatalf("revision %d, want %d", newest(hr), revision)
	}
}

// TestApplyMethods: fields and ports are removed with every sequence of apply methods, whichever
// method created them.
func TestApplyMethods(t *testing.T) {
	t.Parallel()
	no, yes := false, true
	cases := map[string]struct {
		reason  string
		install *bool
		upgrade helmv2.ServerSideApplyMode
		first   string
		second  string
	}{
		"Default":         {"an install applies server-side, and auto goes on like that", nil, "", "Apply", "Apply"},
		"ServerSide":      {"both are said", &yes, helmv2.ServerSideApplyEnabled, "Apply", "Apply"},
		"ClientSide":      {"auto goes on as the install began", &no, helmv2.ServerSideApplyAuto, "Update", "Update"},
		"ToServer":        {"fields of updates are moved to the apply's entry", &no, helmv2.ServerSideApplyEnabled, "Update", "Apply"},
		"ToClient":        {"fields of the apply are moved to the updates' entry", &yes, helmv2.ServerSideApplyDisabled, "Apply", "Update"},
		"AlwaysByClients": {"server-side applying can be avoided altogether", &no, helmv2.ServerSideApplyDisabled, "Update", "Update"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			// A sample installs and upgrades with both methods.
			if testing.Short() && name != "ToServer" && name != "ToClient" {
				t.Skip("long")
			}
			w := newWorld(t)
			w.publish("app", "1.0.0", appliedChart(t, "1.0.0"))
			hr := w.release("app", values("data", values("kept", "1", "dropped", "1"), "port", 80, "extra", true), with(tc.install, tc.upgrade))
			w.untilReady(hr)
			for _, o := range []client.Object{w.configMap("app"), w.service("app")} {
				if got := managers(o); !slices.Equal(got, []string{manager + " " + tc.first}) {
					t.Errorf("%s: after the install %s is managed by %q", tc.reason, o.GetName(), got)
				}
			}
			w.upgradeTo(hr, 2, values("data", values("kept", "2"), "port", 81))
			cm, service := w.configMap("app"), w.service("app")
			for _, o := range []client.Object{cm, service} {
				if got := managers(o); !slices.Equal(got, []string{manager + " " + tc.second}) {
					t.Errorf("%s: after the upgrade %s is managed by %q", tc.reason, o.GetName(), got)
				}
			}
			if cm.Data["kept"] != "2" || len(cm.Data) != 1 {
				t.Errorf("%s: data is %v", tc.reason, cm.Data)
			}
			if len(service.Spec.Ports) != 1 || service.Spec.Ports[0].Port != 81 {
				t.Errorf("%s: ports are %v", tc.reason, service.Spec.Ports)
			}
			if err := suite.client.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "app-extra"}, cm); !apierrors.IsNotFound(err) {
				t.Errorf("%s: a field exists that the chart removed: %v", tc.reason, err)
			}
			// And back by auto, which follows the last revision.
			w.upgradeTo(hr, 3, values("data", values("kept", "3")), with(nil, ""))
			if got := managers(w.configMap("app")); !slices.Equal(got, []string{manager + " " + tc.second}) {
				t.Errorf("%s: auto made it managed by %q", tc.reason, got)
			}
		})
	}
}

// TestTakenOverReleaseStaysClientSide: Helm 3 does not write down how it applied.
func TestTakenOverReleaseStaysClientSide(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	archive := appliedChart(t, "1.0.0")
	c, err := loader.LoadArchive(bytes.NewReader(archive))
	w.must(err)
	in := action.NewInstall(w.helmByHand())
	in.ReleaseName, in.Namespace = "old", w.namespace
	_, err = in.Run(c, values("data", values("a", "1", "b", "1")))
	w.must(err)

	w.publish("old", "1.0.0", archive)
	hr := w.release("old", values("data", values("a", "2")))
	w.untilReady(hr)
	cm := w.configMap("old")
	if len(cm.Data) != 1 || cm.Data["a"] != "2" || slices.Contains(managers(cm), manager+" Apply") {
		t.Errorf("data %v, managed by %q", cm.Data, managers(cm))
	}
	w.upgradeTo(hr, 3, values("data", values("c", "3")), with(nil, helmv2.ServerSideApplyEnabled))
	cm = w.configMap("old")
	if got := managers(cm); len(cm.Data) != 1 || cm.Data["c"] != "3" || !slices.Equal(got, []string{manager + " Apply"}) {
		t.Errorf("data %v, managed by %q", cm.Data, got)
	}
}

// TestLeftOverHookIsAnError: an existing hook object is an error, since it ran for another action.
func TestLeftOverHookIsAnError(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.must(suite.client.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "before"}}))
	w.publish("hooked", "1.0.0", pack(t, "note", "1.0.0", map[string]string{
		"templates/data.yaml": dataTemplate,
		"templates/hook.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: before\n  annotations: {helm.sh/hook: pre-install, helm.sh/hook-delete-policy: hook-succeeded}\n",
	}))
	hr := w.release("hooked", nil)
	w.untilSays(hr, "Released", metav1.ConditionFalse, helmv2.ReasonInstallFailed, "ConfigMap/"+w.namespace+"/before already exists", "delete it, or add before-hook-creation")
}

// TestForceReplacesClientSideOnly: an immutable field prevents a patch and a replacement alike;
// other fields are removed.
func TestForceReplacesClientSideOnly(t *testing.T) {
	t.Parallel()
	for mode, want := range map[helmv2.ServerSideApplyMode]bool{helmv2.ServerSideApplyDisabled: false, helmv2.ServerSideApplyEnabled: true} {
		t.Run(string(mode), func(t *testing.T) {
			w := newWorld(t)
			w.publish("app", "1.0.0", appliedChart(t, "1.0.0"))
			hr := w.release("app", values("data", values("a", "1")))
			w.untilReady(hr)
			cm := w.configMap("app")
			before := cm.DeepCopy()
			cm.Labels["theirs"] = "x"
			w.must(suite.client.Patch(t.Context(), cm, client.MergeFrom(before), client.FieldOwner("editor")))
			w.upgradeTo(hr, 2, values("data", values("a", "2")), func(hr *helmv2.HelmRelease) {
				hr.Spec.Upgrade = &helmv2.Upgrade{ServerSideApply: mode, Force: true}
			})
			if _, kept := w.configMap("app").Labels["theirs"]; kept != want {
				t.Errorf("the label of another client is kept: %t, want %t", kept, want)
			}
		})
	}
}

func containsAll(text string, parts ...string) bool {
	for _, p := range parts {
		if !strings.Contains(text, p) {
			return false
		}
	}
	return true
}
