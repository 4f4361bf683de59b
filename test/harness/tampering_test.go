// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

func TestChoose(t *testing.T) {
	for n, want := range map[int][2]int{1: {1, 0}, 40: {10, 4}, 200: {50, 20}} {
		var names []string
		for i := range n {
			names = append(names, fmt.Sprint(i))
		}
		seen, kinds, got := map[string]bool{}, map[string]int{}, [2]int{}
		for _, o := range choose(names) {
			if seen[o.name] {
				t.Errorf("release %s of %d is tampered with twice", o.name, n)
			}
			seen[o.name] = true
			if o.deleted {
				got[1]++
				kinds["deleted "+o.objectKey.kind]++
			} else {
				got[0]++
				kinds["changed "+o.objectKey.kind]++
			}
		}
		if got != want {
			t.Errorf("of %d, changed and deleted are %v, want %v", n, got, want)
		}
		if n == 40 && !maps.Equal(kinds, map[string]int{
			"changed Deployment": 3, "changed Service": 3, "changed Ingress": 2, "changed ServiceAccount": 2,
			"deleted Deployment": 1, "deleted Service": 1, "deleted Ingress": 1, "deleted ServiceAccount": 1,
		}) {
			t.Errorf("of 40: %v", kinds)
		}
	}
}

func TestSpread(t *testing.T) {
	s := func(all ...int) (times []time.Duration) {
		for _, n := range all {
			times = append(times, time.Duration(n)*time.Second)
		}
		return times
	}
	twenty := make([]int, 20)
	for i := range twenty {
		twenty[i] = 20 - i
	}
	for i, c := range []struct {
		times, left []time.Duration
		want        Spread
	}{
		{nil, nil, Spread{}},
		{s(3), nil, Spread{1, 0, 3, 3, 3}},
		{s(4, 1, 2, 3), nil, Spread{4, 0, 2, 4, 4}},
		{s(twenty...), nil, Spread{20, 0, 10, 19, 20}},
		// A slow finished time sorts before unfinished ones.
		{s(1, 90), s(60, 61), Spread{4, 2, 90, 61, 61}},
	} {
		if got := NewSpread(c.times, c.left); got != c.want {
			t.Errorf("case %d: %+v, want %+v", i, got, c.want)
		}
	}
	half := NewSpread(s(1, 2), s(60, 60))
	if !half.Known(50) || half.Known(95) || half.Known(100) || (Spread{}).Known(50) || NewSpread(nil, s(1)).Known(50) {
		t.Error("Known is wrong about finished times")
	}
}

// TestNote: an object counts as restored only after it was observed in another state.
func TestNote(t *testing.T) {
	o := choose([]string{"a"})[0]
	w := &Tampering{watched: map[objectKey]*target{o.objectKey: o}, progress: make(chan struct{}, 1)}
	start := time.Now()
	for i, step := range []struct {
		is   bool
		want int // seconds after start; 0 if it is not met
	}{{true, 0}, {false, 0}, {true, 3}, {true, 3}, {false, 0}, {true, 6}} {
		w.note(o.objectKey, func() bool { return step.is }, start.Add(time.Duration(i+1)*time.Second))
		if got := o.met; got.IsZero() != (step.want == 0) || step.want > 0 && got.Sub(start) != time.Duration(step.want)*time.Second {
			t.Errorf("step %d: met at %v, want %d s after %v", i, got, step.want, start)
		}
	}
	w.note(objectKey{"Pod", "a"}, func() bool { t.Error("an object of no concern was looked at"); return false }, start)
}

func TestSubstance(t *testing.T) {
	object := func(change func(o map[string]any)) *unstructured.Unstructured {
		o := &unstructured.Unstructured{Object: map[string]any{
			"kind": "Service", "metadata": map[string]any{"uid": "1", "labels": map[string]any{"a": "b"}},
			"spec": map[string]any{"clusterIP": "10.0.0.1", "type": "ClusterIP"}, "status": map[string]any{},
		}}
		change(o.Object)
		return o
	}
	before := object(func(map[string]any) {})
	t1 := &Tampering{before: map[objectKey]*unstructured.Unstructured{{"Service", "a"}: before}}
	for what, c := range map[string]struct {
		same bool
		path string
		to   any
	}{
		"uid":                 {true, "metadata.uid", "2"},
		"address":             {true, "spec.clusterIP", "10.0.0.2"},
		"status":              {true, "status.x", "y"},
		"deployment's number": {true, "metadata.annotations.deployment~kubernetes~io/revision", "2"},
		"label":               {false, "metadata.labels.a", "c"},
		"annotation":          {false, "metadata.annotations.a", "c"},
		"spec":                {false, "spec.type", "None"},
		"other":               {false, "automount", true},
	} {
		live := object(func(o map[string]any) {
			path := strings.Split(c.path, ".")
			for i := range path {
				path[i] = strings.ReplaceAll(path[i], "~", ".")
			}
			if err := unstructured.SetNestedField(o, c.to, path...); err != nil {
				t.Fatal(err)
			}
		})
		if got := t1.isRestored(objectKey{"Service", "a"}, live); got != c.same {
			t.Errorf("%s: restored is %v", what, got)
		}
	}
}

func TestOtherWriters(t *testing.T) {
	service := func(name string) *corev1.Service {
		return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
	}
	for what, c := range map[string]struct {
		after func(client.Client) error
		want  string
	}{
		"nothing": {func(client.Client) error { return nil }, ""},
		"a label": {func(c client.Client) error { return c.Patch(t.Context(), service("quiet"), label("b")) }, "another client has written Service quiet"},
		"over the tamperer's change": {
			func(c client.Client) error { return c.Patch(t.Context(), service("changed"), label("b")) }, "another client has written Service changed",
		},
		"deleted object":    {func(c client.Client) error { return c.Create(t.Context(), service("deleted")) }, "another client has written Service deleted"},
		"to delete":         {func(c client.Client) error { return c.Delete(t.Context(), service("quiet")) }, "another client has written Service quiet (gone)"},
		"of other releases": {func(c client.Client) error { return c.Create(t.Context(), service("other")) }, ""},
		"a new revision":    {func(c client.Client) error { return c.Create(t.Context(), revision("v2")) }, "1 stored revisions and are 2 now; new: v2"},
	} {
		t.Run(what, func(t *testing.T) {
			cluster := fake.NewClientBuilder().WithObjects(service("quiet"), service("changed"), service("deleted"), revision("v1")).Build()
			w := &Tampering{
				client: cluster, namespace: "ns", releases: map[string]bool{"quiet": true, "changed": true, "deleted": true},
				before: map[objectKey]*unstructured.Unstructured{}, versions: map[string]string{}, progress: make(chan struct{}, 1),
			}
			for _, name := range []string{"changed", "deleted"} {
				w.targets = append(w.targets, &target{objectKey: objectKey{"Service", name}, change: changes()[1], deleted: name == "deleted"})
			}
			w.targets[0].patch = `[{"op":"add","path":"/metadata/labels","value":{"a":"a"}}]`
			var err error
			if w.revisions, err = w.stored(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(w.remember(t.Context()), w.Write(t.Context()), c.after(cluster)); err != nil {
				t.Fatal(err)
			}
			err = errors.Join(w.Unwritten(t.Context()), w.Unrevised(t.Context()))
			if (err == nil) != (c.want == "") || err != nil && !strings.HasSuffix(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

func label(value string) client.Patch {
	return client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"`+value+`"}}}`))
}

func revision(name string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, Labels: map[string]string{"owner": "helm"}}}
}
