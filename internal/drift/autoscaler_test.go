// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package drift

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/yaml"
)

// TestCede: a field is left to the autoscaler that targets the object, unless a command of kubectl
// has set it. 0 replicas, which no manager owns, are left only to an autoscaler that scales to zero.
func TestCede(t *testing.T) {
	t.Parallel()
	path := fieldpath.MakePathOrDie("spec", "replicas")
	by := func(manager, subresource string) entry {
		return entry{manager: manager, operation: "Update", subresource: subresource, set: fieldpath.NewSet(path)}
	}
	hpa := Autoscaler{Name: "web"}
	keda := Autoscaler{Name: "web", ScalesToZero: true}
	for name, tc := range map[string]struct {
		owners     []entry
		autoscaler Autoscaler
		have       any
		want       bool
	}{
		"Autoscaler":        {[]entry{by("kube-controller-manager", "scale")}, hpa, int64(7), true},
		"OtherClient":       {[]entry{by("scaler", "scale")}, hpa, int64(7), true},
		"Untargeted":        {[]entry{by("kube-controller-manager", "scale")}, Autoscaler{}, int64(7), false},
		"Unreadable":        {[]entry{by("kube-controller-manager", "scale")}, Autoscaler{Unreadable: true}, int64(7), true},
		"Kubectl":           {[]entry{by("kubectl", "scale")}, hpa, int64(7), false},
		"KubectlEdit":       {[]entry{by("kubectl-edit", "scale")}, hpa, int64(7), false},
		"KubectlUnreadable": {[]entry{by("kubectl", "scale")}, Autoscaler{Unreadable: true}, int64(7), false},
		"NamedLikeKubectl":  {[]entry{by("kubectler", "scale")}, hpa, int64(7), true},
		"SameAsKubectl":     {[]entry{by("kubectl", "scale"), by("kube-controller-manager", "scale")}, hpa, int64(7), true},
		"OtherSubresource":  {[]entry{by("kube-controller-manager", "")}, hpa, int64(7), false},
		// As the API server records it.
		"Zero":             {nil, hpa, int64(0), false},
		"ZeroByAutoscaler": {nil, keda, int64(0), true},
		"ZeroUnreadable":   {nil, Autoscaler{Unreadable: true}, int64(0), false},
		"ZeroUntargeted":   {nil, Autoscaler{}, int64(0), false},
		"ZeroOwned":        {[]entry{by("editor", "")}, keda, int64(0), false},
		"Unowned":          {nil, keda, int64(7), false},
	} {
		if _, got := cede(tc.owners, tc.autoscaler, path, tc.have); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
		owners := make([]string, 0, len(tc.owners))
		for _, e := range tc.owners {
			owners = append(owners, fmt.Sprintf(`{manager: %s, subresource: %q, fieldsV1: {"f:spec": {"f:replicas": {}}}}`, e.manager, e.subresource))
		}
		live := &unstructured.Unstructured{Object: parse(t, fmt.Sprintf("spec: {replicas: %d}\nmetadata: {managedFields: [%s]}", tc.have, strings.Join(owners, ", ")))}
		desired := &unstructured.Unstructured{Object: parse(t, "spec: {replicas: 1}")}
		_, fields, err := compareRefused(Case{Desired: desired, Live: live, Autoscaler: tc.autoscaler})
		if err != nil || len(fields) == 0 != tc.want {
			t.Errorf("%s: without a dry run: %v, error %v", name, fields, err)
		}
	}
}

// TestTargeting: an autoscaler targets an object by group, kind and name.
func TestTargeting(t *testing.T) {
	t.Parallel()
	kind := schema.GroupKind{Group: "apps", Kind: "Deployment"}
	for name, tc := range map[string]struct {
		items string
		want  Autoscaler
	}{
		"None":         {"", Autoscaler{}},
		"Target":       {"{metadata: {name: h}, spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}}", Autoscaler{Name: "h"}},
		"OtherVersion": {"{metadata: {name: h}, spec: {scaleTargetRef: {apiVersion: apps/v9, kind: Deployment, name: web}}}", Autoscaler{Name: "h"}},
		"OtherGroup":   {"{metadata: {name: h}, spec: {scaleTargetRef: {apiVersion: example.com/v1, kind: Deployment, name: web}}}", Autoscaler{}},
		"OtherKind":    {"{metadata: {name: h}, spec: {scaleTargetRef: {apiVersion: apps/v1, kind: StatefulSet, name: web}}}", Autoscaler{}},
		"OtherName":    {"{metadata: {name: h}, spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: api}}}", Autoscaler{}},
		"Second":       {"{}, {metadata: {name: h}, spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}}", Autoscaler{Name: "h"}},
		"MinimumOne":   {"{metadata: {name: h}, spec: {minReplicas: 1, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}}", Autoscaler{Name: "h"}},
		"MinimumZero":  {"{metadata: {name: h}, spec: {minReplicas: 0, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}}", Autoscaler{Name: "h", ScalesToZero: true}},
		"Owned": {
			"{metadata: {name: h, ownerReferences: [{kind: ScaledObject, controller: true}]}, spec: {minReplicas: 1, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}}",
			Autoscaler{Name: "h", ScalesToZero: true},
		},
		"NotControlled": {"{metadata: {name: h, ownerReferences: [{kind: App}]}, spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}}", Autoscaler{Name: "h"}},
	} {
		all, err := parseAutoscalers(toJSON(t, "items: ["+tc.items+"]"))
		if got := targeting(all, kind, "web"); err != nil || got != tc.want {
			t.Errorf("%s: %+v, error %v", name, got, err)
		}
	}
}

func toJSON(t *testing.T, text string) []byte {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// TestHasScaled: autoscalers are listed only for objects that a client may have scaled.
func TestHasScaled(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		live string
		want bool
	}{
		"Scaled":     {`{spec: {replicas: 7}, metadata: {managedFields: [{manager: a, subresource: scale, fieldsV1: {"f:spec": {"f:replicas": {}}}}]}}`, true},
		"ByHand":     {`{spec: {replicas: 7}, metadata: {managedFields: [{manager: kubectl, subresource: scale, fieldsV1: {"f:spec": {"f:replicas": {}}}}]}}`, false},
		"Edited":     {`{spec: {replicas: 0}, metadata: {managedFields: [{manager: a, fieldsV1: {"f:spec": {"f:replicas": {}}}}]}}`, false},
		"Zero":       {`{spec: {replicas: 0}, metadata: {managedFields: [{manager: a, fieldsV1: {"f:spec": {"f:paused": {}}}}]}}`, true},
		"Unowned":    {`{spec: {replicas: 7}, metadata: {managedFields: []}}`, false},
		"None":       {`{spec: {}, metadata: {managedFields: []}}`, false},
		"Unreadable": {`{spec: {replicas: 0}, metadata: {managedFields: [1]}}`, false},
	} {
		if got := hasScaled(&unstructured.Unstructured{Object: parse(t, tc.live)}); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// autoscalerServer answers lists of autoscalers with a code, and counts the requests.
func autoscalerServer(t *testing.T, code *atomic.Int32, body *atomic.Value) (rest.Interface, *atomic.Int32) {
	t.Helper()
	var lists atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/apis/autoscaling/v2/namespaces/apps/horizontalpodautoscalers" {
			t.Errorf("request to %s", r.URL.Path)
		}
		lists.Add(1)
		w.WriteHeader(int(code.Load()))
		_, _ = w.Write([]byte(body.Load().(string)))
	}))
	t.Cleanup(server.Close)
	client, err := rest.RESTClientFor(&rest.Config{
		Host: server.URL, APIPath: "apis",
		ContentConfig: rest.ContentConfig{GroupVersion: &schema.GroupVersion{Group: "apps", Version: "v1"}, NegotiatedSerializer: scheme.Codecs.WithoutConversion()},
	})
	if err != nil {
		t.Fatal(err)
	}
	return client, &lists
}

// TestAutoscalersAreListedOnce: one list serves all objects of a namespace. A later comparison
// repeats it after a while, and only a change of the autoscaler has the object compared again.
func TestAutoscalersAreListedOnce(t *testing.T) {
	t.Parallel()
	var code atomic.Int32
	var body atomic.Value
	targets := string(toJSON(t, "items: [{metadata: {name: h}, spec: {scaleTargetRef: {apiVersion: v1, kind: ConfigMap, name: web}}}]"))
	code.Store(http.StatusOK)
	body.Store(targets)
	client, lists := autoscalerServer(t, &code, &body)
	info := infoOf("ConfigMap", "web")
	info.Client = client
	info.Mapping.GroupVersionKind.Group = ""
	now := time.Unix(1000, 0)
	live := &unstructured.Unstructured{Object: parse(t, `metadata: {managedFields: [{manager: a, subresource: scale, fieldsV1: {"f:spec": {"f:replicas": {}}}}]}`)}
	k := &objectState{object: objectOf(info), uid: "u", version: "7", comparedAt: now}
	request := Request{autoscalers: &autoscalers{}}
	for range 3 {
		if a, err := k.readAutoscaler(t.Context(), info, live, request); err != nil || a.Name != "h" {
			t.Fatalf("%+v, error %v", a, err)
		}
	}
	if _, err := k.readAutoscaler(t.Context(), info, &unstructured.Unstructured{}, request); err != nil || lists.Load() != 1 {
		t.Fatalf("%d lists, error %v", lists.Load(), err)
	}
	m := &releaseState{objects: []*objectState{k, {version: "7"}}}
	for _, step := range []struct {
		name  string
		after time.Duration
		code  int32
		body  string
		lists int32
		again bool
	}{
		{"Soon", listAgain - 1, 200, targets, 1, false},
		{"Unchanged", listAgain, 200, targets, 2, false},
		{"SoonAfterwards", listAgain + 1, 200, `{}`, 2, false},
		{"Gone", 2 * listAgain, 200, `{}`, 3, true},
		{"Forbidden", 2 * listAgain, 403, `{}`, 4, true},
		{"NoAnswer", 2 * listAgain, 500, `{}`, 5, true},
	} {
		code.Store(step.code)
		body.Store(step.body)
		k.version = "7"
		m.forgetMoved(t.Context(), Request{autoscalers: &autoscalers{}}, now.Add(step.after))
		if (k.version == "") != step.again || lists.Load() != step.lists || m.objects[1].version == "" {
			t.Errorf("%s: compared again is %t, %d lists", step.name, k.version == "", lists.Load())
		}
	}
}

// TestAutoscalersThatCannotBeListed: without the right to list them, the release leaves fields
// alone. Without an answer, the object is not compared.
func TestAutoscalersThatCannotBeListed(t *testing.T) {
	t.Parallel()
	for answer, tc := range map[int32]struct {
		want    Autoscaler
		failing bool
	}{
		http.StatusForbidden:           {want: Autoscaler{Unreadable: true}},
		http.StatusNotFound:            {},
		http.StatusInternalServerError: {failing: true},
		http.StatusOK:                  {failing: true},
	} {
		var code atomic.Int32
		var body atomic.Value
		code.Store(answer)
		body.Store(`{"items": 7}`)
		client, _ := autoscalerServer(t, &code, &body)
		info := infoOf("ConfigMap", "web")
		info.Client = client
		if got, err := new(autoscalers).of(t.Context(), info); got != tc.want || (err != nil) != tc.failing {
			t.Errorf("%d: %+v, error %v", answer, got, err)
		}
	}
}
