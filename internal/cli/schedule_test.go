// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	opsv1alpha1 "github.com/pintle-dev/pintle/api/ops/v1alpha1"
)

// TestSchedule: the CronJob of docs/spec/operations.md has the rights that its command uses, and no
// others.
func TestSchedule(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("..", "..", "docs", "spec", "operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(raw), "## On a schedule\n")
	_, text, _ = strings.Cut(text, "```yaml\n")
	text, _, found := strings.Cut(text, "```\n")
	documents := strings.Split(text, "---\n")
	if !found || len(documents) != 4 {
		t.Fatalf("the page has no CronJob with its rights: %d documents", len(documents))
	}
	var job batchv1.CronJob
	var role rbacv1.Role
	var binding rbacv1.RoleBinding
	for i, into := range map[int]any{0: &job, 2: &role, 3: &binding} {
		if err := yaml.UnmarshalStrict([]byte(documents[i]), into); err != nil {
			t.Fatal(err)
		}
	}
	pod := job.Spec.JobTemplate.Spec.Template.Spec
	if pod.ServiceAccountName != binding.Subjects[0].Name || binding.RoleRef.Name != role.Name || pod.Containers[0].Command[0] != "kubectl-pintle" {
		t.Errorf("the Pod is %+v, and the RoleBinding %+v", pod, binding)
	}
	var granted, used []string
	for _, rule := range role.Rules {
		for _, verb := range rule.Verbs {
			granted = append(granted, verb+" "+rule.Resources[0]+"."+rule.APIGroups[0])
		}
	}
	w := runWorld(t)
	w.operate = ended(opsv1alpha1.PhaseSucceeded, opsv1alpha1.ConditionSucceeded, "Job web-test completed")
	w.start()
	use := func(verb string, object client.Object) {
		gvk, err := w.client.GroupVersionKindFor(object)
		if err != nil {
			t.Fatal(err)
		}
		used = append(used, verb+" "+strings.ToLower(gvk.Kind)+"s."+gvk.Group)
	}
	w.client = interceptor.NewClient(w.client, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			use("get", o)
			return c.Get(ctx, key, o, opts...)
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			used = append(used, "list")
			return c.List(ctx, list, opts...)
		},
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			use("create", o)
			return c.Create(ctx, o, opts...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			use("patch", o)
			return c.Patch(ctx, o, p, opts...)
		},
	})
	if code := w.run(pod.Containers[0].Args...); code != 0 {
		t.Errorf("exit code %d: %s", code, w.err.String())
	}
	slices.Sort(granted)
	slices.Sort(used)
	if used = slices.Compact(used); !slices.Equal(granted, used) {
		t.Errorf("the Role grants %q, and the command uses %q", granted, used)
	}
}
