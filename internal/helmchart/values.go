// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helmchart

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	cattlev1 "github.com/pintle-dev/pintle/api/cattle/v1"
	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

const secretKind = "Secret"

// layers are the values of a release: the keys of its Secret, and all references in their order.
type layers struct {
	chart      *cattlev1.HelmChart
	data       map[string][]byte
	references []helmv2.ValuesReference
	// ignored are the keys whose contents come from Secrets with ignoreUpdates.
	ignored []ignoredKey
}

// ignoredKey is a key of the Secret of a HelmChart with the content of another Secret.
type ignoredKey struct{ key, secret, from string }

// valuesOf returns the layers of values, the weakest first.
func valuesOf(in Input) (*layers, *Refusal) {
	l := &layers{chart: in.Chart, data: map[string][]byte{}}
	spec := in.Chart.Spec
	l.add(cattlev1.HelmChartKind, spec.ValuesContent, spec.Values, spec.ValuesSecrets)
	if in.Config != nil {
		spec := in.Config.Spec
		l.add(cattlev1.HelmChartConfigKind, spec.ValuesContent, spec.Values, spec.ValuesSecrets)
	}
	return l, l.addSet(spec.Set)
}

// add adds the layers of one object. The keys of the Secret name its fields.
func (l *layers) add(kind, content string, structured *apiextensionsv1.JSON, secrets []cattlev1.SecretSpec) {
	if content != "" {
		l.own(kind+".spec.valuesContent", []byte(content), "")
	}
	if structured != nil && !slices.Contains([]string{"", "null", "{}", `""`}, strings.TrimSpace(string(structured.Raw))) {
		l.own(kind+".spec.values", structured.Raw, "")
	}
	for i, s := range secrets {
		for _, from := range s.Keys {
			if !s.IgnoreUpdates {
				l.references = append(l.references, helmv2.ValuesReference{Kind: secretKind, Name: s.Name, ValuesKey: from})
				continue
			}
			key := fmt.Sprintf("%s.spec.valuesSecrets-%d.%s", kind, i, from)
			l.ignored = append(l.ignored, ignoredKey{key, s.Name, from})
			l.references = append(l.references, helmv2.ValuesReference{Kind: secretKind, Name: SecretName(l.chart), ValuesKey: key, Optional: true})
		}
	}
}

// own adds a layer whose content is in the Secret of the HelmChart.
func (l *layers) own(key string, content []byte, path string) {
	l.data[key] = content
	l.references = append(l.references, helmv2.ValuesReference{Kind: secretKind, Name: SecretName(l.chart), ValuesKey: key, TargetPath: path})
}

// targetPath is the pattern of spec.valuesFrom[].targetPath of a HelmRelease.
var targetPath = regexp.MustCompile(`^([a-zA-Z0-9_\-.\\\/]|\[[0-9]{1,5}\])+$`)

const maxTargetPath = 250

// addSet adds spec.set. HelmReleases merge values with a path after all others, in their order. Helm
// merges --set before --set-string.
func (l *layers) addSet(set map[string]intstr.IntOrString) *Refusal {
	typed, texts := []string{}, []string{}
	for _, path := range slices.Sorted(maps.Keys(set)) {
		if isTyped(set[path]) {
			typed = append(typed, path)
		} else {
			texts = append(texts, path)
		}
	}
	for i, path := range slices.Concat(typed, texts) {
		if len(path) > maxTargetPath || !targetPath.MatchString(path) {
			return refuse("spec.set[%q] is not supported: the path has more than %d characters, or others than letters, digits, _-./\\ and [index]", path, maxTargetPath)
		}
		l.own(fmt.Sprintf("HelmChart.spec.set-%03d", i), []byte(setContent(set[path])), path)
	}
	return nil
}

// isTyped reports whether k3s assigns a value with --set, and not with --set-string.
func isTyped(v intstr.IntOrString) bool {
	return v.Type == intstr.Int || slices.Contains([]string{"true", "false", "null"}, strings.ToLower(v.StrVal))
}

// setContent returns the right side of an assignment in the notation of a HelmRelease: between quotes
// it is a string.
func setContent(v intstr.IntOrString) string {
	text := v.String()
	if isTyped(v) {
		return text
	}
	return "'" + commas.ReplaceAllStringFunc(text, escapeComma) + "'"
}

// commas matches a comma with all backslashes before it.
var commas = regexp.MustCompile(`\\*,`)

// escapeComma escapes a comma unless it is escaped already.
func escapeComma(match string) string {
	if len(match)%2 == 1 {
		return `\` + match
	}
	return match
}

// keepIgnored adds the contents of Secrets with ignoreUpdates. While nothing else changes, they stay as
// they were.
func (l *layers) keepIgnored(in Input, inputs string) {
	same := in.Before != nil && in.Before.Annotations[cattlev1.AnnotationInputs] == inputs && in.Kept != nil
	for _, i := range l.ignored {
		content, found := in.Secrets[i.secret][i.from]
		if same {
			content, found = in.Kept[i.key]
		}
		if found {
			l.data[i.key] = content
		}
	}
}
