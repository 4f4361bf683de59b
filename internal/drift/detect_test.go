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

// TestStale: an object is compared again unless it is known to be unchanged.
func TestStale(t *testing.T) {
	t.Parallel()
	comparedAt := time.Unix(1000, 0)
	seen := func(edit func(*objectState)) objectState {
		k := objectState{uid: "u", version: "7", comparedAt: comparedAt}
		if edit != nil {
			edit(&k)
		}
		return k
	}
	for name, tc := range map[string]struct {
		reason      string
		objectState objectState
		moved       Change
		after       time.Duration
		want        bool
	}{
		"Unchanged":    {reason: "the object has not changed", objectState: seen(nil), moved: Unchanged, after: time.Hour},
		"Changed":      {reason: "the object has changed", objectState: seen(nil), moved: Changed, want: true},
		"Unwatched":    {reason: "the object is not watched", objectState: seen(nil), after: assumeUnchanged, want: true},
		"JustCompared": {reason: "the object is not watched, but was compared a moment ago", objectState: seen(nil), after: assumeUnchanged - 1},
		"Unseen":       {reason: "the object was never compared", objectState: seen(func(k *objectState) { k.version = "" }), moved: Unchanged, want: true},
		"Failed":       {reason: "the last comparison failed", objectState: seen(func(k *objectState) { k.err = "no" }), moved: Unchanged, want: true},
		"Skipped":      {reason: "the object is never compared", objectState: seen(func(k *objectState) { k.skipped, k.version = true, "" }), moved: Changed},
	} {
		request := Request{Changed: func(_ schema.GroupVersionResource, _, _, uid, version string) Change {
			if uid != "u" || version != "7" {
				t.Errorf("%s: called with UID %s and version %s", name, uid, version)
			}
			return tc.moved
		}}
		if got := tc.objectState.stale(request, comparedAt.Add(tc.after)); got != tc.want {
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

// TestMemory: results of an object are kept until the revision changes, in the order of the
// revision.
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
		t.Errorf("all objects were applied as sent: exact is %t", exact)
	}
	r.Applied(infoOf("ConfigMap", "two"), plain, other)
	inventory = append(inventory, release.Object{Version: "v1", Kind: "ConfigMap", Namespace: "apps", Name: "two"})
	if d.Record(key, "1", &r, inventory) {
		t.Error("exact although the answer differs from the applied object")
	}
	inventory = append(inventory, release.Object{Version: "v1", Kind: "Secret", Namespace: "apps", Name: "three"})
	if exact := d.Record(key, "1", &r, inventory); exact || d.releases[key].complete {
		t.Error("complete although an object is missing")
	}
	m := d.stateOf(key, "1")
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
	m.limit.spend(d.now())
	if m := d.stateOf(key, "2"); len(m.objects) != 0 || m.complete || len(m.limit.spent) != 1 {
		t.Errorf("state of another revision: %+v", m)
	}
	if d.Forget(key); d.Resources(key) != nil {
		t.Error("the release still has results after Forget")
	}
}

// TestCorrectionLimit: five corrections may follow each other; the next waits until the oldest is
// five minutes old.
func TestCorrectionLimit(t *testing.T) {
	t.Parallel()
	var l correctionLimit
	now := time.Unix(1000, 0)
	for i := range burst {
		if wait := l.wait(now); wait != 0 {
			t.Fatalf("after %d corrections the next waits %s", i, wait)
		}
		l.spend(now)
		now = now.Add(time.Second)
	}
	if wait := l.wait(now); wait != recovery-burst*time.Second {
		t.Errorf("the next waits %s", wait)
	}
	now = now.Add(recovery - burst*time.Second)
	if wait := l.wait(now); wait != 0 || len(l.spent) != burst-1 {
		t.Errorf("the next waits %s, %d count", wait, len(l.spent))
	}
}

// TestExplain: errors about a Secret do not quote its values.
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
	if got := (server{info: infoOf("Secret", "web")}).explain(denied); got != "the API server rejected the request: Forbidden" {
		t.Errorf("%q", got)
	}
	if got := (server{info: infoOf("Secret", "web")}).explain(errors.New("connection refused")); got != "connection refused" {
		t.Errorf("%q", got)
	}
}

// TestFailed: errors that a repeated request may not return are transient.
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
		var k objectState
		if k.setError(server{info: infoOf("ConfigMap", "web")}, tc.err); k.err == "" || k.transient != tc.transient {
			t.Errorf("%s: %+v", name, k)
		}
	}
}

// TestChangedMeanwhile: an object that was changed after its comparison is compared again. A
// correction that the API server rejects is not repeated.
func TestChangedMeanwhile(t *testing.T) {
	t.Parallel()
	patch := &finding{patch: []operation{{}}}
	mismatch := apierrors.NewGenericServerResponse(422, "", schema.GroupResource{}, "", "the test failed", 0, false)
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "ConfigMap"}, "web", fieldpkg.ErrorList{fieldpkg.Required(fieldpkg.NewPath("data"), "")})
	for name, tc := range map[string]struct {
		err   error
		found *finding
		want  bool
	}{
		"None":     {nil, patch, false},
		"Conflict": {apierrors.NewConflict(schema.GroupResource{}, "web", errors.New("modified")), &finding{}, true},
		"Mismatch": {mismatch, patch, true},
		"Invalid":  {invalid, patch, false},
		"Applied":  {mismatch, &finding{}, false},
	} {
		if got := changedMeanwhile(tc.err, tc.found); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
