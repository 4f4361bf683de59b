// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cel

import (
	"os"
	"regexp"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// TestExpressionsForPolicies: the expressions in docs/spec/policies.md count a release that waits as
// current and as ready. Kustomizations evaluate health checks as HelmReleases do.
func TestExpressionsForPolicies(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../docs/spec/policies.md")
	if err != nil {
		t.Fatal(err)
	}
	var spec helmv2.HelmReleaseSpec
	for _, block := range regexp.MustCompile("(?s)```yaml\n(spec:\n.*?)```").FindAllStringSubmatch(string(raw), -1) {
		part := struct {
			Spec *helmv2.HelmReleaseSpec `json:"spec"`
		}{&spec}
		if err := yaml.Unmarshal([]byte(block[1]), &part); err != nil {
			t.Fatal(err)
		}
	}
	if len(spec.HealthCheckExprs) != 1 || len(spec.DependsOn) != 1 {
		t.Fatalf("the page has %d health checks and %d dependencies", len(spec.HealthCheckExprs), len(spec.DependsOn))
	}
	health, err := CompileReadinessChecks(spec.HealthCheckExprs)
	if err != nil {
		t.Fatal(err)
	}
	var compiler Compiler
	ready, err := compiler.Compile(spec.DependsOn[0].ReadyExpr, "self", "dep")
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		status, reason, stalled string
		observed                int64
		history                 []any
		health                  Status
		ready                   bool
	}{
		"Ready":        {"True", "UpgradeSucceeded", "", 2, []any{map[string]any{"status": "deployed"}}, Current, true},
		"Frozen":       {"Unknown", "Frozen", "", 2, []any{map[string]any{"status": "deployed"}}, Current, true},
		"Awaiting":     {"Unknown", "AwaitingApproval", "", 2, []any{map[string]any{"status": "deployed"}}, Current, true},
		"NotInstalled": {"Unknown", "Frozen", "", 2, nil, Current, false},
		"NotObserved":  {"True", "UpgradeSucceeded", "", 1, []any{map[string]any{"status": "deployed"}}, InProgress, true},
		"Progressing":  {"Unknown", "Progressing", "", 2, []any{map[string]any{"status": "deployed"}}, InProgress, false},
		"Unavailable":  {"Unknown", "PolicyUnavailable", "", 2, []any{map[string]any{"status": "deployed"}}, InProgress, false},
		"Rejected":     {"False", "Rejected", "True", 2, []any{map[string]any{"status": "deployed"}}, Failed, false},
		"Refused":      {"False", "PolicyRefused", "True", 2, []any{map[string]any{"status": "deployed"}}, Failed, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conditions := []any{map[string]any{"type": "Ready", "status": tc.status, "reason": tc.reason}}
			if tc.stalled != "" {
				conditions = append(conditions, map[string]any{"type": "Stalled", "status": tc.stalled, "reason": tc.reason})
			}
			status := map[string]any{"observedGeneration": tc.observed, "conditions": conditions}
			if tc.history != nil {
				status["history"] = tc.history
			}
			object := map[string]any{
				"apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease",
				"metadata": map[string]any{"name": "web", "generation": int64(2)}, "status": status,
			}
			got, err := health.Evaluate(&unstructured.Unstructured{Object: object})
			if err != nil || got != tc.health {
				t.Errorf("health is %v, want %v: %v", got, tc.health, err)
			}
			is, err := ready.Bool(map[string]any{"self": object, "dep": object})
			if err != nil || is != tc.ready {
				t.Errorf("ready is %v, want %v: %v", is, tc.ready, err)
			}
		})
	}
}
