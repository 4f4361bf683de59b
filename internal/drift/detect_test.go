// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package drift

import (
	"errors"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	fieldpkg "k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/pintle-dev/pintle/internal/release"
)

// TestStale: what has to be looked at again, and what has not.
func TestStale(t *testing.T) {
	t.Parallel()
	looked := time.Unix(1000, 0)
	seen := func(edit func(*known)) known {
		k := known{uid: "u", version: "7", looked: looked}
		if edit != nil {
			edit(&k)
		}
		return k
	}
	for name, tc := range map[string]struct {
		reason string
		known  known
		moved  Movement
		after  time.Duration
		want   bool
	}{
		"Still":      {reason: "nothing has happened to it", known: seen(nil), moved: Still, after: time.Hour},
		"Moved":      {reason: "something has", known: seen(nil), moved: Moved, want: true},
		"Unwatched":  {reason: "nobody can tell", known: seen(nil), after: fresh, want: true},
		"JustLooked": {reason: "nobody can tell, but it was looked at a moment ago", known: seen(nil), after: fresh - 1},
		"Unseen":     {reason: "it was never looked at", known: seen(func(k *known) { k.version = "" }), moved: Still, want: true},
		"Trouble":    {reason: "the last look failed", known: seen(func(k *known) { k.err = "no" }), moved: Still, want: true},
		"Settled":    {reason: "nothing that happens to it matters", known: seen(func(k *known) { k.settled, k.version = true, "" }), moved: Moved},
	} {
		look := Look{Moved: func(_ schema.GroupVersionResource, _, _, uid, version string) Movement {
			if uid != "u" || version != "7" {
				t.Errorf("%s: asked for %s at %s", name, uid, version)
			}
			return tc.moved
		}}
		if got := tc.known.stale(look, looked.Add(tc.after)); got != tc.want {
			t.Errorf("%s: %s: stale is %t", name, tc.reason, got)
		}
	}
}

func infoOf(kind, name string) *resource.Info {
	gvk := schema.GroupVersionKind{Version: "v1", Kind: kind}
	return &resource.Info{
		Name: name, Namespace: "apps", Object: &unstructured.Unstructured{},
		Mapping: &meta.RESTMapping{Resource: schema.GroupVersionResource{Version: "v1", Resource: kind}, GroupVersionKind: gvk, Scope: meta.RESTScopeNamespace},
	}
}

// TestMemory: what is known of an object survives as long as the revision, in the
// revision's order.
func TestMemory(t *testing.T) {
	t.Parallel()
	d := NewDetector(func() time.Time { return time.Unix(1000, 0) })
	key := types.NamespacedName{Name: "web"}
	var r Recorder
	plain := &unstructured.Unstructured{Object: map[string]any{"data": map[string]any{"a": "1"}}}
	answer := &unstructured.Unstructured{Object: map[string]any{"data": map[string]any{"a": "1"}, "metadata": map[string]any{"uid": "u", "resourceVersion": "7"}}}
	other := &unstructured.Unstructured{Object: map[string]any{"data": map[string]any{"a": "2"}, "metadata": map[string]any{"uid": "u", "resourceVersion": "7"}}}
	r.Applied(infoOf("ConfigMap", "one"), plain, answer)
	inventory := []release.Object{{Version: "v1", Kind: "ConfigMap", Namespace: "apps", Name: "one"}, {Kind: "CustomResourceDefinition", Name: "things"}}
	if exact := d.Record(key, "1", &r, inventory); !exact || !d.releases[key].complete {
		t.Errorf("all was applied: exact is %t", exact)
	}
	r.Applied(infoOf("ConfigMap", "two"), plain, other)
	inventory = append(inventory, release.Object{Version: "v1", Kind: "ConfigMap", Namespace: "apps", Name: "two"})
	if d.Record(key, "1", &r, inventory) {
		t.Error("what was answered is not what was sent")
	}
	inventory = append(inventory, release.Object{Version: "v1", Kind: "Secret", Namespace: "apps", Name: "three"})
	if exact := d.Record(key, "1", &r, inventory); exact || d.releases[key].complete {
		t.Error("an object is missing")
	}
	m := d.memoryOf(key, "1")
	m.arrange([]*resource.Info{infoOf("Secret", "three"), infoOf("ConfigMap", "two"), infoOf("ConfigMap", "one"), infoOf("ConfigMap", "one")}, true)
	var got []string
	for _, k := range m.objects {
		got = append(got, k.name+k.version)
	}
	if len(got) != 3 || got[0] != "three" || got[1] != "two" || got[2] != "one7" {
		t.Errorf("arranged: %q", got)
	}
	if all := d.Resources(key); len(all) != 2 {
		t.Errorf("resources: %v", all)
	}
	m.fuse.spend(d.now())
	if m := d.memoryOf(key, "2"); len(m.objects) != 0 || m.complete || len(m.fuse.spent) != 1 {
		t.Errorf("of another revision: %+v", m)
	}
	if d.Forget(key); d.Resources(key) != nil {
		t.Error("it is not forgotten")
	}
}

// TestFuse: five corrections as they come, and another when the oldest of them is five
// minutes old.
func TestFuse(t *testing.T) {
	t.Parallel()
	var f fuse
	now := time.Unix(1000, 0)
	for i := range burst {
		if wait := f.wait(now); wait != 0 {
			t.Fatalf("after %d corrections the next waits %s", i, wait)
		}
		f.spend(now)
		now = now.Add(time.Second)
	}
	if wait := f.wait(now); wait != recovery-burst*time.Second {
		t.Errorf("the next waits %s", wait)
	}
	now = now.Add(recovery - burst*time.Second)
	if wait := f.wait(now); wait != 0 || len(f.spent) != burst-1 {
		t.Errorf("the next waits %s, %d count", wait, len(f.spent))
	}
}

// TestExplain: what the API server finds wrong with a Secret quotes it.
func TestExplain(t *testing.T) {
	t.Parallel()
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "Secret"}, "web", fieldpkg.ErrorList{
		fieldpkg.Invalid(fieldpkg.NewPath("data").Key("password"), "open sesame", "is no good"),
	})
	for kind, tc := range map[string]struct {
		err  error
		want string
	}{
		"Secret":    {invalid, "invalid: data[password]"},
		"ConfigMap": {invalid, invalid.Error()},
	} {
		if got := (server{info: infoOf(kind, "web")}).explain(tc.err); got != tc.want {
			t.Errorf("%s: %q", kind, got)
		}
	}
	denied := apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "web", errors.New("the password open sesame is no good"))
	if got := (server{info: infoOf("Secret", "web")}).explain(denied); got != "the API server refuses it: Forbidden" {
		t.Errorf("%q", got)
	}
	if got := (server{info: infoOf("Secret", "web")}).explain(errors.New("connection refused")); got != "connection refused" {
		t.Errorf("%q", got)
	}
}

// TestFailed: requests that may succeed when they are repeated are told from refusals.
func TestFailed(t *testing.T) {
	t.Parallel()
	configMaps := schema.GroupResource{Resource: "configmaps"}
	for name, tc := range map[string]struct {
		err       error
		transient bool
	}{
		"Denied":      {err: apierrors.NewForbidden(configMaps, "web", errors.New("no"))},
		"Internal":    {err: apierrors.NewInternalError(errors.New("broken")), transient: true},
		"Unavailable": {err: apierrors.NewServiceUnavailable("busy"), transient: true},
		"Concurrent":  {err: apierrors.NewConflict(configMaps, "web", errors.New("modified")), transient: true},
	} {
		var k known
		if k.failed(server{info: infoOf("ConfigMap", "web")}, tc.err); k.err == "" || k.transient != tc.transient {
			t.Errorf("%s: %+v", name, k)
		}
	}
}
