// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/policy"
)

// admission records the places that it is asked about.
type admission struct {
	sources, values error
	asked           []string
}

func (a *admission) AdmitSources(_ context.Context, _ *helmv2.HelmRelease, places []policy.Place) error {
	a.record(places)
	return a.sources
}

func (a *admission) AdmitValues(_ context.Context, _ *helmv2.HelmRelease, places func() []policy.Place) error {
	a.record(places())
	return a.values
}

func (a *admission) record(places []policy.Place) {
	for _, p := range places {
		a.asked = append(a.asked, fmt.Sprintf("%s: %s, secret %t: %v", p.Field, p, p.Secret, p.Values))
	}
}

// TestValuesAdmission: the admission is asked about each place before it is read, and about the values
// of each place. Refused places are not read.
func TestValuesAdmission(t *testing.T) {
	t.Parallel()
	config := &corev1.ConfigMap{Data: map[string]string{"a.yaml": "a: 1", "b": "hunter2"}}
	config.Namespace, config.Name = "apps", "config"
	secret := &corev1.Secret{Data: map[string][]byte{"HelmChart.spec.valuesContent": []byte("c: 1"), "HelmChart.spec.valuesSecrets-0.k": []byte("d: 1"), "k": []byte("e: 1")}}
	secret.Namespace, secret.Name = "apps", "chart-values"
	hr := app()
	hr.Namespace = "apps"
	hr.Spec.Values = &apiextensionsv1.JSON{Raw: []byte(`{"z":true}`)}
	hr.Spec.ValuesFrom = []helmv2.ValuesReference{
		{Kind: "ConfigMap", Name: "config", ValuesKey: "missing", Optional: true},
		{Kind: "ConfigMap", Name: "config", ValuesKey: "a.yaml"},
		{Kind: "ConfigMap", Name: "config", ValuesKey: "b", TargetPath: "auth.password"},
		{Kind: "Secret", Name: "chart-values", ValuesKey: "HelmChart.spec.valuesContent"},
		{Kind: "Secret", Name: "chart-values", ValuesKey: "HelmChart.spec.valuesSecrets-0.k"},
		{Kind: "Secret", Name: "chart-values", ValuesKey: "k"},
	}
	a := &admission{}
	all := reader(t, config, secret)
	r := NewResolver(all, all, nil).WithValuesAdmission(a)
	if _, err := r.Values(t.Context(), hr); err != nil {
		t.Fatal(err)
	}
	named := []string{
		"spec.values: HelmRelease/apps/" + hr.Name + ", secret false: map[z:true]",
		"spec.valuesFrom[0]: missing of ConfigMap/apps/config, secret false: map[]",
		"spec.valuesFrom[1]: a.yaml of ConfigMap/apps/config, secret false: map[]",
		"spec.valuesFrom[2]: b of ConfigMap/apps/config, secret false: map[]",
		"spec.valuesFrom[3]: HelmChart.spec.valuesContent of Secret/apps/chart-values, secret false: map[]",
		"spec.valuesFrom[4]: HelmChart.spec.valuesSecrets-0.k of Secret/apps/chart-values, secret true: map[]",
		"spec.valuesFrom[5]: k of Secret/apps/chart-values, secret true: map[]",
	}
	var read []string
	for i, v := range []string{"z", "", "a:1", "auth:map[password:hunter2]", "c:1", "d:1", "e:1"} {
		if v != "" {
			read = append(read, strings.Replace(named[i], "map[]", "map["+v+"]", 1))
		}
	}
	if diff := cmp.Diff(slices.Concat(named, read), a.asked); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	s := newFileServer(t)
	sources := reader(t, git(s.add(t, "config", "main@sha1:1", map[string]string{"envs/a.yaml": "a: 1", "envs/b.yaml": "b: 1"})))
	a = &admission{}
	r = NewResolver(sources, sources, s.charts()).WithValuesAdmission(a)
	if _, err := r.Values(t.Context(), withRefs(fileOf("no.yaml", func(ref *helmv2.ValuesReference) { ref.Optional = true }), fileOf("envs/*"))); err != nil {
		t.Fatal(err)
	}
	files := []string{
		"spec.valuesFrom[0]: no.yaml of GitRepository/prod/config, secret false: map[]", "spec.valuesFrom[1]: envs/* of GitRepository/prod/config, secret false: map[]",
		"spec.valuesFrom[1]: envs/a.yaml of GitRepository/prod/config, secret false: map[a:1]", "spec.valuesFrom[1]: envs/b.yaml of GitRepository/prod/config, secret false: map[b:1]",
	}
	if diff := cmp.Diff(files, a.asked); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	a = &admission{sources: &Refused{}}
	r = NewResolver(all, nil, nil).WithValuesAdmission(a) // it would panic if it read an object
	if _, err := r.Values(t.Context(), hr); !errors.Is(err, a.sources) {
		t.Errorf("%v", err)
	}
	a = &admission{values: &Refused{}}
	r = NewResolver(all, all, nil).WithValuesAdmission(a)
	if _, err := r.Values(t.Context(), hr); !errors.Is(err, a.values) {
		t.Errorf("%v", err)
	}
	hr.Spec.Values, hr.Spec.ValuesFrom, a.asked = nil, nil, nil
	if _, err := NewResolver(all, all, nil).WithValuesAdmission(&admission{}).Values(t.Context(), hr); err != nil || len(a.asked) > 0 {
		t.Errorf("%v, %v", a.asked, err)
	}
}
