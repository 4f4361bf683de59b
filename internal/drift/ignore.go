// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package drift

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/bounded"
)

// Rules are the compiled ignore rules of a HelmRelease. A nil Rules has no rules. Rules are safe
// for concurrent use.
type Rules struct{ all []rule }

// rule is one compiled IgnoreRule.
type rule struct {
	pointers []string
	// target is nil if the rule applies to all objects.
	target *target
}

// target selects objects. A nil field matches every object.
type target struct {
	group, version, kind, name, namespace *regexp.Regexp
	labels, annotations                   labels.Selector
}

// IgnoreRules returns the ignore rules of a HelmRelease.
func IgnoreRules(hr *helmv2.HelmRelease) []helmv2.IgnoreRule {
	if hr.Spec.DriftDetection == nil {
		return nil
	}
	return hr.Spec.DriftDetection.Ignore
}

// CompileRules validates and compiles rules. The error names the invalid field and the index of its
// rule, starting at zero, and is shown to users.
func CompileRules(rules []helmv2.IgnoreRule) (*Rules, error) {
	r := &Rules{}
	var patterns bounded.Patterns
	for i, from := range rules {
		compiled, err := compileRule(from, &patterns)
		if err != nil {
			return nil, fmt.Errorf("ignore[%d].%w", i, err)
		}
		r.all = append(r.all, compiled)
	}
	return r, nil
}

func compileRule(from helmv2.IgnoreRule, patterns *bounded.Patterns) (rule, error) {
	r := rule{pointers: slices.Clone(from.Paths)}
	for i, p := range from.Paths {
		if p != "" && !strings.HasPrefix(p, "/") {
			return rule{}, fmt.Errorf("paths[%d]: %w: %q", i, errors.New("a JSON pointer is empty or begins with a slash"), p)
		}
	}
	if from.Target == nil {
		return r, nil
	}
	var err error
	if r.target, err = compileTarget(*from.Target, patterns); err != nil {
		return rule{}, fmt.Errorf("target.%w", err)
	}
	return r, nil
}

func compileTarget(s helmv2.Selector, patterns *bounded.Patterns) (*target, error) {
	t := &target{}
	for _, e := range []struct {
		field, expression string
		to                **regexp.Regexp
	}{
		{"group", s.Group, &t.group},
		{"version", s.Version, &t.version},
		{"kind", s.Kind, &t.kind},
		{"name", s.Name, &t.name},
		{"namespace", s.Namespace, &t.namespace},
	} {
		if e.expression == "" {
			continue
		}
		// The expression is checked alone first. The anchoring group around it could make an
		// invalid expression valid, and would be part of the error.
		if err := patterns.Check(e.expression); err != nil {
			return nil, fmt.Errorf("%s: %w", e.field, err)
		}
		var err error
		if *e.to, err = regexp.Compile("^(?:" + e.expression + ")$"); err != nil {
			return nil, fmt.Errorf("%s: %w", e.field, err)
		}
	}
	var err error
	if t.labels, err = labels.Parse(s.LabelSelector); err != nil {
		return nil, fmt.Errorf("labelSelector: %w", err)
	}
	if t.annotations, err = labels.Parse(s.AnnotationSelector); err != nil {
		return nil, fmt.Errorf("annotationSelector: %w", err)
	}
	return t, nil
}

func (t *target) match(o *unstructured.Unstructured) bool {
	gvk := o.GroupVersionKind()
	return matches(t.group, gvk.Group) && matches(t.version, gvk.Version) && matches(t.kind, gvk.Kind) &&
		matches(t.name, o.GetName()) && matches(t.namespace, o.GetNamespace()) &&
		t.labels.Matches(labels.Set(o.GetLabels())) && t.annotations.Matches(labels.Set(o.GetAnnotations()))
}

func matches(r *regexp.Regexp, s string) bool { return r == nil || r.MatchString(s) }

// For returns the JSON pointers of all rules that match an object, in the order of the rules.
// exempt is true if a rule excludes the object as a whole. The object must be the desired one with
// its namespace set.
func (r *Rules) For(o *unstructured.Unstructured) (pointers []string, exempt bool) {
	if r == nil {
		return nil, false
	}
	for _, rule := range r.all {
		if rule.target != nil && !rule.target.match(o) {
			continue
		}
		if slices.Contains(rule.pointers, "") {
			return nil, true
		}
		pointers = append(pointers, rule.pointers...)
	}
	return pointers, false
}

// Exempt reports whether a label or annotation of an object disables drift detection for it.
// Callers check both the desired and the live object.
func Exempt(o *unstructured.Unstructured) bool {
	return strings.EqualFold(o.GetLabels()[helmv2.MetadataDriftDetection], helmv2.MetadataDriftDetectionDisabled) ||
		strings.EqualFold(o.GetAnnotations()[helmv2.MetadataDriftDetection], helmv2.MetadataDriftDetectionDisabled)
}

// ignores reports whether a field may differ. A pointer may lead into an atomic field; then the
// rest of that field is still compared.
func (x *comparison) ignores(f field) bool {
	if f.tokens == nil {
		return false
	}
	want := runtime.DeepCopyJSONValue(f.want)
	for _, p := range x.ignored {
		if hasPrefix(f.tokens, p) {
			return true
		}
		if hasPrefix(p, f.tokens) && f.want != nil && f.have != nil {
			rest := p[len(f.tokens):]
			want, _ = overlay(want, runtime.DeepCopyJSONValue(f.have), rest)
			x.patched = append(x.patched, patched{f.path, rest, f.have})
		}
	}
	return x.equal(f.path, want, f.have)
}

func hasPrefix(tokens, prefix []string) bool {
	return len(prefix) <= len(tokens) && slices.Equal(tokens[:len(prefix)], prefix)
}

// parsePointer returns the tokens of a JSON pointer, none for the empty one.
func parsePointer(pointer string) []string {
	if pointer == "" {
		return nil
	}
	tokens := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	for i, t := range tokens {
		tokens[i] = strings.ReplaceAll(strings.ReplaceAll(t, "~1", "/"), "~0", "~")
	}
	return tokens
}

// formatPointer is the reverse of parsePointer.
func formatPointer(tokens []string) string {
	var b strings.Builder
	for _, t := range tokens {
		b.WriteByte('/')
		b.WriteString(strings.ReplaceAll(strings.ReplaceAll(t, "~", "~0"), "/", "~1"))
	}
	return b.String()
}
