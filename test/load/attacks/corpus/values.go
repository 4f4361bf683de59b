// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package corpus

import (
	"encoding/json"
	"fmt"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// from makes a release read its values from its ConfigMap or Secret, n times.
func from(kind, key, targetPath string, n int) func(*helmv2.HelmRelease) {
	return func(hr *helmv2.HelmRelease) {
		for range n {
			hr.Spec.ValuesFrom = append(hr.Spec.ValuesFrom, helmv2.ValuesReference{Kind: kind, Name: hr.Name, ValuesKey: key, TargetPath: targetPath})
		}
	}
}

// inline sets the values of a spec.
func inline(v map[string]any) func(*helmv2.HelmRelease) {
	return func(hr *helmv2.HelmRelease) {
		raw, err := json.Marshal(v)
		must(err)
		hr.Spec.Values = &apiextensionsv1.JSON{Raw: raw}
	}
}

func values() []Attack {
	const (
		configMap = helmv2.KindConfigMap
		secret    = helmv2.KindSecret
		file      = "values.yaml"
	)
	large := longAlias(300<<10, 200<<10)
	bad := func(says ...string) Outcome { return rejected(helmv2.ReasonValuesError, says...) }
	data := func(text string) map[string]string { return map[string]string{file: text} }
	path := func(name, text string, says ...string) Attack {
		return Attack{Name: "values/" + name, ConfigMap: map[string]string{"path": text}, Edit: from(configMap, "path", "a", 1), Outcome: bad(append(says, "with key 'path'")...)}
	}
	var small strings.Builder
	for i := range 80_000 {
		fmt.Fprintf(&small, "k%d: 1\n", i)
	}
	var assignments strings.Builder
	assignments.WriteString("t: |\n")
	for i := range 60_000 {
		fmt.Fprintf(&assignments, " k%d=v%d\n", i, i)
	}
	const bytes = "the content has more than 8388608 bytes " + expansion
	return []Attack{
		{Name: "values/aliases", Worst: true, ConfigMap: data(large), Edit: from(configMap, "", "", 1), Outcome: bad("with key 'values.yaml'", bytes)},
		{Name: "values/aliases-in-secret", Secret: data(large), Edit: from(secret, "", "", 1), Outcome: bad("with key 'values.yaml'", bytes)},
		{Name: "values/exponential-aliases", ConfigMap: data(laughs()), Edit: from(configMap, "", "", 1), Outcome: bad("with key 'values.yaml'", "the content has more than 500000 keys and values "+expansion)},
		{Name: "values/deep", ConfigMap: data(nested(9000)), Edit: from(configMap, "", "", 1), Outcome: bad("with key 'values.yaml'", "nested deeper than 100 levels")},
		{Name: "values/deep-flow", ConfigMap: data(strings.Repeat("[", 500_000)), Edit: from(configMap, "", "", 1), Outcome: bad("with key 'values.yaml'", "the content cannot be read as YAML")},
		path("indices", "x,"+strings.Repeat("a[65535]=x,", 4000), "a list index is greater than 10000"),
		path("lists", "x,"+strings.Repeat("a[9999]=x,", 4000), "together set more than 100000 list elements"),
		path("levels", "x,a"+strings.Repeat("[0]", 20_000)+"=x", "there are more than 60 levels"),
		{Name: "values/references", ConfigMap: data("a: 1"), Edit: from(configMap, "", "", 2000), Outcome: rejected(helmv2.ReasonUnsupportedField, "spec.valuesFrom has 2000 entries, more than 256")},
		{Name: "values/many", ConfigMap: data(small.String()), Edit: from(configMap, "", "", 1), Outcome: harmless()},
		{Name: "values/many-at-paths", ConfigMap: data(small.String()), Edit: func(hr *helmv2.HelmRelease) {
			for i := range 200 {
				from(configMap, "", fmt.Sprint("p", i), 1)(hr)
			}
		}, Outcome: bad("all values of the release together have more than")},
		{Name: "values/secret-parts", Archive: template("# {{ fail .Values.t }}\n"), Secret: data(assignments.String()), Edit: from(secret, "", "", 1), Outcome: rejected(helmv2.ReasonInstallFailed, "(not shown: the Secrets of the release have more values")},
		{Name: "values/tpl", Worst: true, Archive: template("# {{ tpl .Values.t . }}\n"), Edit: inline(map[string]any{"t": "{{ tpl .Values.t . }}"}), Outcome: died(stack)},
		{Name: "values/tpl-output", Archive: template("# {{ tpl .Values.t . }}\n"), Edit: inline(map[string]any{"t": "{{ range until 100 }}{{ repeat 1000000 \"#\" }}{{ end }}"}), Outcome: died(memory, output)},
		{Name: "values/tpl-from-secret", Archive: template("# {{ tpl .Values.t . }}\n"), Secret: data("t: '{{ range $i := 1000000000 }}{{ end }}'"), Edit: from(secret, "", "", 1), Outcome: died(overtime)},
	}
}
