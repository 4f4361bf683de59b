// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package danger

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/api/v1alpha1"
)

// found returns dangers as texts.
func found(in Input) string {
	var all []string
	for _, d := range Find(in) {
		all = append(all, fmt.Sprintf("%s %s/%s: %s", d.Class, d.Kind, d.Name, d.Reason))
	}
	return strings.Join(all, "\n")
}

// TestFixedFields: each field that cannot change is named, and an absent one has its standard value.
func TestFixedFields(t *testing.T) {
	for _, kind := range []string{
		"apps/v1 StatefulSet", "apps/v1 Deployment", "apps/v1 DaemonSet", "apps/v1 ReplicaSet", "batch/v1 Job", "v1 PersistentVolumeClaim",
		"rbac.authorization.k8s.io/v1 RoleBinding", "rbac.authorization.k8s.io/v1 ClusterRoleBinding", "storage.k8s.io/v1 StorageClass",
		"v1 Secret", "apiextensions.k8s.io/v1 CustomResourceDefinition",
	} {
		version, name, _ := strings.Cut(kind, " ")
		with := func(path string, value any) Object {
			content := map[string]any{"apiVersion": version, "kind": name, "metadata": map[string]any{"name": "a"}}
			if value != nil {
				inner, last := content, path
				if parent, field, nested := strings.Cut(path, "."); nested {
					inner, last = map[string]any{}, field
					content[parent] = inner
				}
				inner[last] = value
			}
			return Object{Content: content}
		}
		full := newWorld(Input{Old: []Object{with("", nil)}}).before.all[0].fullKind()
		if len(fixedFields(full)) == 0 {
			t.Errorf("%s has no fields", full)
		}
		for _, f := range fixedFields(full) {
			changed := found(Input{Old: []Object{with(f.path, []any{map[string]any{"spec": map[string]any{"a": "b"}}})}, New: []Object{with(f.path, []any{map[string]any{"spec": map[string]any{"a": "c"}}})}})
			if !strings.Contains(changed, name+"/a: "+f.path+" cannot be changed") {
				t.Errorf("%s of %s: %q", f.path, name, changed)
			}
			if same := found(Input{Old: []Object{with(f.path, f.standard)}, New: []Object{with(f.path, nil)}}); same != "" {
				t.Errorf("the standard value of %s of %s: %s", f.path, name, same)
			}
		}
	}
}

// TestFind has the rules and limits that no pair of the corpus has.
func TestFind(t *testing.T) {
	const (
		web = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: %s, selector: {matchLabels: {app: %s}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: main, image: %s}]}}}\n"
		set = "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: db}\nspec: {volumeClaimTemplates: [{metadata: {name: data}}], replicas: 3, updateStrategy: {type: %s, rollingUpdate: {maxUnavailable: 3}}, template: {spec: {containers: [{name: main, image: %s}]}}}\n"
		one = "apiVersion: v1\nkind: %s\nmetadata: {name: a}\n"
	)
	change := func(kind, name string, all ...v1alpha1.PlanChange) []v1alpha1.PlanChange {
		for i := range all {
			all[i].APIVersion, all[i].Kind, all[i].Namespace, all[i].Name = "v1", kind, "apps", name
			if kind == "StatefulSet" || kind == "Deployment" {
				all[i].APIVersion = "apps/v1"
			}
		}
		return all
	}
	remove, create := v1alpha1.PlanChange{Change: v1alpha1.ChangeDelete, Destructive: true}, v1alpha1.PlanChange{Change: v1alpha1.ChangeCreate}
	replace := v1alpha1.PlanChange{Change: v1alpha1.ChangeReplace, Destructive: true}
	update := v1alpha1.PlanChange{Change: v1alpha1.ChangeUpdate, Fields: []v1alpha1.PlanField{{Path: ".spec"}}}
	refused := v1alpha1.PlanChange{Change: v1alpha1.ChangeRefused}
	replaceable, losing, kept := refused, refused, refused
	replaceable.Replacement, losing.Replacement = &v1alpha1.PlanReplacement{UID: "1"}, &v1alpha1.PlanReplacement{UID: "1", DeletesClaims: true}
	kept.Replacement = &v1alpha1.PlanReplacement{UID: "1", Refused: "it is kept"}
	claim := fmt.Sprintf(one, "PersistentVolumeClaim")
	for name, tc := range map[string]struct {
		before, after string
		changes       []v1alpha1.PlanChange
		want          string
	}{
		"AcceptedByTheServer": {before: fmt.Sprintf(web, "1", "a", "a:1.0"), after: fmt.Sprintf(web, "1", "b", "a:1.0"), changes: change("Deployment", "web", update)},
		"RefusedByTheServer":  {before: fmt.Sprintf(web, "1", "a", "a:1.0"), after: fmt.Sprintf(web, "1", "b", "a:1.0"), changes: change("Deployment", "web", refused), want: "Outage Deployment/web: spec.selector cannot be changed, unless the object is deleted first"},
		"ReplacedByApproval":  {before: fmt.Sprintf(web, "1", "a", "a:1.0"), after: fmt.Sprintf(web, "1", "b", "a:1.0"), changes: change("Deployment", "web", replaceable), want: "Outage Deployment/web: spec.selector cannot be changed, unless an approval replaces the object: kubectl pintle approve --replace"},
		"ReplacedWithClaims":  {before: fmt.Sprintf(set, "OnDelete", "a:1.0"), after: fmt.Sprintf(set, "OnDelete", "a:1.1"), changes: change("StatefulSet", "db", losing), want: "DataLoss StatefulSet/db: a field cannot be changed, unless an approval replaces the object, and its claims are deleted with it: kubectl pintle approve --replace"},
		"KeptFromReplacement": {before: fmt.Sprintf(web, "1", "a", "a:1.0"), after: fmt.Sprintf(web, "1", "b", "a:1.0"), changes: change("Deployment", "web", kept), want: "Outage Deployment/web: spec.selector cannot be changed, unless the object is deleted first"},
		"MissingInTheCluster": {before: fmt.Sprintf(web, "1", "a", "a:1.0"), after: fmt.Sprintf(web, "1", "b", "a:1.0"), changes: change("Deployment", "web", create)},
		"Reinstall":           {before: fmt.Sprintf(set, "OnDelete", "a:1.0"), after: fmt.Sprintf(set, "OnDelete", "a:1.1"), changes: change("StatefulSet", "db", remove, create), want: "Outage StatefulSet/db: it is deleted and created anew: all its Pods stop, and its claims stay"},
		"SetAllAtOnce":        {before: fmt.Sprintf(set, "RollingUpdate", "a:1.0"), after: fmt.Sprintf(set, "RollingUpdate", "a:1.1"), want: "Outage StatefulSet/db: all its Pods may stop at once (maxUnavailable 3)"},
		"SetOnDelete":         {before: fmt.Sprintf(set, "OnDelete", "a:1.0"), after: fmt.Sprintf(set, "OnDelete", "a:1.1")},
		"AlreadyZero":         {before: fmt.Sprintf(web, "0", "a", "a:1.0"), after: fmt.Sprintf(web, "0", "a", "a:1.0")},
		"ClaimReinstalled":    {before: claim, after: claim, changes: change("PersistentVolumeClaim", "a", remove, create), want: "DataLoss PersistentVolumeClaim/a: it is deleted and created anew, without its data"},
		"ClaimOfHook":         {before: claim, after: claim, changes: change("PersistentVolumeClaim", "a", replace), want: "DataLoss PersistentVolumeClaim/a: it is deleted and created anew, without its data"},
		"Leftover":            {changes: change("PersistentVolumeClaim", "a", remove), want: "DataLoss PersistentVolumeClaim/a: it is deleted, and its data may be lost"},
		"Volume":              {before: fmt.Sprintf(one, "PersistentVolume"), changes: change("PersistentVolume", "a", remove), want: "DataLoss PersistentVolume/a: it is deleted, and its data may be lost"},
		"ImmutableData":       {before: fmt.Sprintf(one, "ConfigMap") + "immutable: true\ndata: {a: b}", after: fmt.Sprintf(one, "ConfigMap") + "immutable: true\ndata: {a: c}", want: "Outage ConfigMap/a: data of an immutable object cannot be changed, unless the object is deleted first"},
		"InstallWithLatest":   {after: fmt.Sprintf(web, "1", "a", "quay.io/a/b"), want: "Supply Deployment/web: container main runs quay.io/a/b, which may be another image tomorrow"},
		"InstallOfVersion":    {after: fmt.Sprintf(web, "1", "a", "quay.io/a/b:1.0")},
		"StillFloating":       {before: fmt.Sprintf(web, "1", "a", "a:latest"), after: fmt.Sprintf(web, "1", "a", "a:stable")},
		"Likewise":            {changes: append(change("PersistentVolumeClaim", "a", remove), change("PersistentVolumeClaim", "b", remove)...), want: "DataLoss PersistentVolumeClaim/a: it is deleted, and its data may be lost; likewise 1 other object"},
		"BudgetOfPercent": {
			before: fmt.Sprintf(web, "3", "a", "a:1.0"),
			after:  fmt.Sprintf(web, "3", "a", "a:1.0") + "---\napiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: a}\nspec: {minAvailable: 90%, selector: {matchLabels: {app: web}}}",
			want:   "Outage PodDisruptionBudget/a: it lets no Pod be evicted (minAvailable 90% of 3), so that nodes cannot be drained",
		},
		"Unusable": {before: "kind: Deployment\nspec: {template: 1}", after: "kind: 5\nspec: [1]\n---\nmetadata: 7\nkind: Deployment\nspec: {template: {spec: {containers: 4}}}"},
	} {
		if got := found(Input{Namespace: "apps", Old: parse(t, tc.before), New: parse(t, tc.after), Changes: tc.changes}); got != tc.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestFirmness: how firmly references name images.
func TestFirmness(t *testing.T) {
	for image, want := range map[string]int{
		"web": floating, "web:latest": floating, "localhost:5000/web": floating, "postgres:16": floating, "postgres:16-alpine": floating, "web:v2": floating, "web:main": floating,
		"web:1.2": tagged, "alpine:3.19.1": tagged, "web:20240131": tagged, "localhost:5000/web:v1.2.3": tagged, "web:RELEASE.2024-01-01": tagged,
		"web@sha256:aa": pinned, "web:1.2.3@sha256:aa": pinned,
	} {
		if got := firmness(image); got != want {
			t.Errorf("%s: %d", image, got)
		}
	}
}

// TestRegistry: the hosts of registries.
func TestRegistry(t *testing.T) {
	for image, want := range map[string]string{
		"web": "docker.io", "bitnami/web:1.0": "docker.io", "index.docker.io/a/b": "docker.io", "docker.io/a/b": "docker.io",
		"quay.io/a/b@sha256:aa": "quay.io", "localhost/a": "localhost", "registry:5000/a": "registry:5000",
	} {
		if got := registry(image); got != want {
			t.Errorf("%s: %s", image, got)
		}
	}
}

// TestUncovered: permissions that other rules do not have.
func TestUncovered(t *testing.T) {
	rule := func(verbs, groups, resources string, names ...any) map[string]any {
		split := func(s string) []any { return append([]any{}, toAny(strings.Split(s, ","))...) }
		return map[string]any{"verbs": split(verbs), "apiGroups": split(groups), "resources": split(resources), "resourceNames": names}
	}
	url := map[string]any{"verbs": []any{"get"}, "nonResourceURLs": []any{"/metrics"}}
	for name, tc := range map[string]struct {
		rule, had map[string]any
		want      string
	}{
		"Same":        {rule("get,list", "", "pods"), rule("list,get", "", "pods"), ""},
		"Verb":        {rule("get,delete", "", "pods"), rule("get", "", "pods"), "delete on pods"},
		"All":         {rule("delete", "apps", "deployments"), rule("*", "*", "*"), ""},
		"NewAll":      {rule("*", "*", "*"), rule("get", "", "pods"), "* on *.*"},
		"NoName":      {rule("get", "", "secrets"), rule("get", "", "secrets", "a"), "get on secrets"},
		"OtherName":   {rule("get", "", "secrets", "a", "b"), rule("get", "", "secrets", "a"), "get on secrets"},
		"NarrowNames": {rule("get", "", "secrets", "a"), rule("get", "", "secrets"), ""},
		"URL":         {url, rule("get", "", "pods"), "get on /metrics"},
		"SameURL":     {url, url, ""},
	} {
		if got := few(uncovered([]map[string]any{tc.rule}, []map[string]any{tc.had})); got != tc.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func toAny(all []string) (values []any) {
	for _, s := range all {
		values = append(values, s)
	}
	return values
}
