// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"testing"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// TestCauses: condition Failing has the code and the cause of each failure, in one line that starts with
// the object, and without the values that the API server quotes. It goes when the release is ready.
func TestCauses(t *testing.T) {
	t.Parallel()
	object := func(template string) map[string]string { return map[string]string{"templates/o.yaml": template} }
	for name, tc := range map[string]struct {
		files  map[string]string
		values map[string]any
		// upgrade, if set, are the values of an upgrade that fails after an install.
		upgrade map[string]any
		edit    func(*helmv2.HelmRelease)
		code    string
		texts   []string
	}{
		"Schema": {
			files:  map[string]string{"values.schema.json": `{"properties":{"replicas":{"type":"integer"}}}`},
			values: map[string]any{"replicas": "three"},
			code:   helmv2.FailureSchemaInvalid, texts: []string{"/replicas: got string, want integer"},
		},
		"Template": {
			files: object(`{{ fail "set a host" }}`),
			code:  helmv2.FailureTemplate, texts: []string{"templates/o.yaml:1:3", "set a host"},
		},
		"Kind": {
			files: object("apiVersion: monitoring.example.com/v1\nkind: Probe\nmetadata: {name: a}\n"),
			code:  helmv2.FailureKindNotServed, texts: []string{"the API server does not serve kind Probe.monitoring.example.com"},
		},
		"Field": {
			files: object("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: {b: c}}\n"),
			code:  helmv2.FailureObjectInvalid, texts: []string{"ConfigMap ", "/a: "},
		},
		"Invalid": {
			files: object("apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {ports: [{port: 70000}]}\n"),
			code:  helmv2.FailureObjectInvalid, texts: []string{"Service ", "/a: spec.ports[0].port: must be between 1 and 65535"},
		},
		"Immutable": {
			files:   object("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\nimmutable: true\ndata: {a: {{ .Values.app | default \"one\" }}}\n"),
			upgrade: map[string]any{"app": "two"},
			code:    helmv2.FailureObjectInvalid, texts: []string{"ConfigMap ", "/a: data: field is immutable"},
		},
		"Namespace": {
			files: object("{{ range list \"a\" \"b\" }}---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ . }}, namespace: not-yet}\n{{ end }}"),
			code:  helmv2.FailureNamespaceNotFound, texts: []string{"namespace not-yet does not exist (2 objects)"},
		},
		"Values": {
			files: object("# nothing\n"),
			edit: func(hr *helmv2.HelmRelease) {
				hr.Spec.ValuesFrom = []helmv2.ValuesReference{{Kind: "ConfigMap", Name: "missing"}}
			},
			code: helmv2.ReasonValuesError, texts: []string{"missing"},
		},
		"ServiceAccount": {
			files: object("# nothing\n"),
			edit:  func(hr *helmv2.HelmRelease) { hr.Spec.ServiceAccountName = "missing" },
			code:  helmv2.ReasonStateError, texts: []string{"acts as ", "/missing (spec.serviceAccountName), which does not exist"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.publish("app", "1.0.0", pack(t, "note", "1.0.0", tc.files))
			edit := tc.edit
			if edit == nil {
				edit = func(*helmv2.HelmRelease) {}
			}
			hr := w.release("app", tc.values, edit)
			if tc.upgrade != nil {
				w.untilReady(hr)
				if apimeta.FindStatusCondition(hr.Status.Conditions, helmv2.ConditionFailing) != nil {
					t.Error("a release that is ready is failing")
				}
				w.edit(hr, func(hr *helmv2.HelmRelease) { hr.Spec.Values = rawValues(t, tc.upgrade) })
			}
			w.untilSays(hr, helmv2.ConditionFailing, metav1.ConditionTrue, tc.code, tc.texts...)
		})
	}
}
