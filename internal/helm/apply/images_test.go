// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/pintle-dev/pintle/internal/release"
)

// manifest parses documents.
func manifest(t *testing.T, text string) Manifest {
	t.Helper()
	return func(yield func(release.Object, map[string]any) bool) {
		for doc := range strings.SplitSeq(text, "---\n") {
			var content map[string]any
			if err := yaml.Unmarshal([]byte(doc), &content); err != nil {
				t.Fatal(err)
			}
			if content == nil {
				continue
			}
			api, _ := content["apiVersion"].(string)
			group, version, grouped := strings.Cut(api, "/")
			if !grouped {
				group, version = "", api
			}
			meta, _ := content["metadata"].(map[string]any)
			name, _ := meta["name"].(string)
			namespace, _ := meta["namespace"].(string)
			kind, _ := content["kind"].(string)
			if !yield(release.Object{Group: group, Version: version, Kind: kind, Namespace: namespace, Name: name}, content) {
				return
			}
		}
	}
}

// pod returns a manifest of an object whose Pod spec is at a path, with containers "name=image".
func pod(api, kind, name, path string, containers ...string) string {
	text := "---\napiVersion: " + api + "\nkind: " + kind + "\nmetadata: {name: " + name + ", namespace: prod}\n"
	indent := ""
	for field := range strings.SplitSeq(path, ".") {
		text += indent + field + ":\n"
		indent += "  "
	}
	for _, list := range []string{"initContainers", "containers"} {
		text += indent + list + ":\n"
		for _, c := range containers {
			c, init := strings.CutPrefix(c, "init:")
			if name, image, _ := strings.Cut(c, "="); init == (list == "initContainers") {
				text += indent + "- {name: " + name + ", image: " + image + "}\n"
			}
		}
	}
	return text
}

const template = "spec.template.spec"

// TestImages: images are compared for each container of each object, wherever its Pod spec is.
func TestImages(t *testing.T) {
	t.Parallel()
	web := func(containers ...string) string { return pod("apps/v1", "Deployment", "web", template, containers...) }
	for name, tc := range map[string]struct {
		previous, next string
		want           []string
	}{
		"Same":      {web("web=web:7"), web("web=web:7"), nil},
		"Changed":   {web("web=web:7", "side=s:1"), web("web=web:8", "side=s:1"), []string{"Deployment/prod/web web web:7>web:8"}},
		"Init":      {web("init:db=db:1"), web("init:db=db:2"), []string{"Deployment/prod/web db db:1>db:2"}},
		"Added":     {web("web=web:7"), web("web=web:7", "side=s:1"), []string{"Deployment/prod/web side >s:1"}},
		"Removed":   {web("web=web:7", "side=s:1"), web("web=web:7"), []string{"Deployment/prod/web side s:1>"}},
		"NewObject": {"", web("web=web:7"), []string{"Deployment/prod/web web >web:7"}},
		"OldObject": {web("web=web:7"), "", []string{"Deployment/prod/web web web:7>"}},
		"Pod":       {pod("v1", "Pod", "p", "spec", "a=x:1"), pod("v1", "Pod", "p", "spec", "a=x:2"), []string{"Pod/prod/p a x:1>x:2"}},
		"CronJob": {
			pod("batch/v1", "CronJob", "c", "spec.jobTemplate.spec.template.spec", "a=x:1"),
			pod("batch/v1", "CronJob", "c", "spec.jobTemplate.spec.template.spec", "a=x:2"),
			[]string{"CronJob/prod/c a x:1>x:2"},
		},
		"CustomResource": {
			pod("example.com/v1", "Rollout", "r", template, "a=x:1"), pod("example.com/v1", "Rollout", "r", template, "a=x:2"),
			[]string{"Rollout/prod/r a x:1>x:2"},
		},
		"OtherVersion": {
			pod("apps/v1beta1", "Deployment", "web", template, "web=web:7"), web("web=web:8"), []string{"Deployment/prod/web web web:7>web:8"},
		},
		"OtherGroup": {
			pod("extensions/v1beta1", "Deployment", "web", template, "web=web:7"), web("web=web:8"), []string{"Deployment/prod/web web web:7>web:8"},
		},
		"OtherName": {
			web("web=web:7"), pod("apps/v1", "Deployment", "api", template, "web=web:7"),
			[]string{"Deployment/prod/api web >web:7", "Deployment/prod/web web web:7>"},
		},
		"OtherTypes": {
			"apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: {a: b}}\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: q}\nspec: {containers: [1, {name: [], image: {}}]}\n",
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: p}\nspec: text\n", nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, c := range imageChanges(manifest(t, tc.previous), manifest(t, tc.next)) {
				got = append(got, c.Object.Kind+"/"+c.Object.Namespace+"/"+c.Object.Name+" "+c.Container+" "+c.From+">"+c.To)
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("images %q, want %q", got, tc.want)
			}
		})
	}
}

// TestLog: counts are added, and taken fields sorted, each once.
func TestLog(t *testing.T) {
	t.Parallel()
	var l ChangeLog
	if got := l.List(); got.Objects != nil || got.Images != nil || got.Taken != nil {
		t.Errorf("an empty log has %+v", got)
	}
	of := func(manager, name, path string) release.TakenField {
		return release.TakenField{Object: release.Object{Kind: "Deployment", Name: name}, Path: path, Manager: manager}
	}
	images := []release.ImageChange{{Container: "web"}}
	l.SetImages(images)
	l.Count(release.ObjectCounts{Created: 1, Changed: 2})
	l.Count(release.ObjectCounts{Created: 1, Deleted: 3})
	l.Take(of("scale", "web", ".b"), of("hpa", "web", ".a"))
	l.Take(of("scale", "api", ".b"), of("scale", "web", ".a"), of("scale", "web", ".b"))
	want := release.Changes{
		Objects: &release.ObjectCounts{Created: 2, Changed: 2, Deleted: 3}, Images: images,
		Taken: []release.TakenField{of("hpa", "web", ".a"), of("scale", "api", ".b"), of("scale", "web", ".a"), of("scale", "web", ".b")},
	}
	if diff := cmp.Diff(want, l.List()); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}
