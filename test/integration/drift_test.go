// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/pintle-dev/pintle/internal/drift"
	"github.com/pintle-dev/pintle/internal/release"
)

const driftDeployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: app, labels: {app: app}}
spec:
  replicas: 1
  selector: {matchLabels: {app: app}}
  template:
    metadata: {labels: {app: app}}
    spec:
      containers:
      - name: app
        image: registry.example/app:1
        args: [serve]
        env: [{name: A, value: "1"}, {name: B, value: "2"}]
        ports: [{containerPort: 80}]
        resources: {limits: {cpu: 500m}}
`

// object decodes YAML into an object of the test's namespace.
func (w *world) object(text string) *unstructured.Unstructured {
	w.t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	w.must(err)
	o := &unstructured.Unstructured{}
	w.must(o.UnmarshalJSON(raw))
	o.SetNamespace(w.namespace)
	return o
}

// applyAs applies a copy of an object by force and returns the answer.
func (w *world) applyAs(o *unstructured.Unstructured, manager string, opts ...client.ApplyOption) *unstructured.Unstructured {
	w.t.Helper()
	answer := o.DeepCopy()
	w.must(suite.client.Apply(w.t.Context(), client.ApplyConfigurationFromUnstructured(answer),
		append(opts, client.FieldOwner(manager), client.ForceOwnership)...))
	return answer
}

func (w *world) live(o *unstructured.Unstructured) *unstructured.Unstructured {
	w.t.Helper()
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(o.GroupVersionKind())
	w.must(suite.client.Get(w.t.Context(), client.ObjectKeyFromObject(o), live))
	return live
}

// drift compares a live object with the desired one.
func (w *world) drift(o *unstructured.Unstructured, override ...string) drift.Difference {
	w.t.Helper()
	d, err := drift.Compare(drift.Case{
		Desired: drift.Normalize(o), Live: w.live(o), DryRun: w.applyAs(o, manager, client.DryRunAll), Override: override,
	})
	w.must(err)
	return d
}

// said lists fields as "<kind> <path> <manager> <operation> <subresource>".
func said(fields []release.DriftedField) []string {
	var all []string
	for _, f := range fields {
		all = append(all, strings.TrimSpace(strings.Join([]string{string(f.Kind), f.Path, f.Manager, f.Operation, f.Subresource}, " ")))
	}
	return all
}

// admit installs a webhook that patches a Deployment on each request of the given operation. It
// returns when the webhook is active.
func (w *world) admit(o *unstructured.Unstructured, patch string, operation admissionregistrationv1.OperationType) {
	w.t.Helper()
	var called atomic.Bool
	server := httptest.NewTLSServer(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		called.Store(true)
		review := admissionv1.AdmissionReview{}
		if err := json.NewDecoder(req.Body).Decode(&review); err != nil || review.Request == nil {
			http.Error(rw, "no review", http.StatusBadRequest)
			return
		}
		kind := admissionv1.PatchTypeJSONPatch
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true, PatchType: &kind, Patch: []byte(patch)}
		review.Request = nil
		_ = json.NewEncoder(rw).Encode(review)
	}))
	w.t.Cleanup(server.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	none := admissionregistrationv1.SideEffectClassNone
	hook := &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: w.namespace},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name:                    "drift.example.com",
			ClientConfig:            admissionregistrationv1.WebhookClientConfig{URL: &server.URL, CABundle: ca},
			NamespaceSelector:       &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": w.namespace}},
			SideEffects:             &none,
			AdmissionReviewVersions: []string{"v1"},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{operation},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{"apps"}, APIVersions: []string{"v1"}, Resources: []string{"deployments"}},
			}},
		}},
	}
	w.must(suite.client.Create(w.t.Context(), hook))
	w.t.Cleanup(func() { _ = suite.client.Delete(context.Background(), hook) })
	// API servers learn of webhooks a little later.
	untilTrue(w, "the webhook to be called", func() bool {
		w.applyAs(o, manager, client.DryRunAll)
		return called.Load()
	})
}

// driftImage is the path to the image.
const driftImage = `.spec.template.spec.containers[name="app"].image`

// writeAs patches an object as another field manager.
func (w *world) writeAs(o *unstructured.Unstructured, who string, kind types.PatchType, body string) {
	w.t.Helper()
	w.must(suite.client.Patch(w.t.Context(), w.live(o), client.RawPatch(kind, []byte(body)), client.FieldOwner(who)))
}

// image returns the JSON of an image in a patch.
func image(name string) string {
	return `{"spec":{"template":{"spec":{"containers":[{"name":"app","image":"` + name + `"}]}}}}`
}

// TestDriftOwnership: field ownership distinguishes drift from admission. Admission changes fields
// without changing their owner; every other write changes the owner.
func TestDriftOwnership(t *testing.T) {
	t.Parallel()
	const replace = `[{"op":"replace","path":"/spec/template/spec/containers/0/image","value":"registry.example/admitted:1"}]`
	t.Run("AdmissionAtCreate", func(t *testing.T) {
		w := newWorld(t)
		o := w.object(driftDeployment)
		w.admit(o, replace, admissionregistrationv1.Create)
		w.applyAs(o, manager)
		w.baseline(o, "registry.example/admitted:1")
		// The correction of another field does not change the admitted value.
		w.writeAs(o, "editor", types.MergePatchType, `{"spec":{"minReadySeconds":1,"template":{"spec":{"terminationGracePeriodSeconds":1}}},"metadata":{"labels":{"app":"other"}}}`)
		d := w.drift(o)
		if got := said(d.Fields); !slices.Equal(got, []string{"changed .metadata.labels.app editor Update"}) {
			t.Fatalf("%q", got)
		}
		w.applyAs(d.Body, manager)
		w.baseline(o, "registry.example/admitted:1")
		// The image is drift once another client has changed it.
		w.writeAs(o, "editor", types.StrategicMergePatchType, image("registry.example/other:1"))
		if got := said(w.drift(o).Fields); !slices.Equal(got, []string{"changed " + driftImage + " editor Update"}) {
			t.Errorf("%q", got)
		}
	})
	t.Run("AdmissionAtUpdateByOthers", func(t *testing.T) {
		if testing.Short() {
			t.Skip("long")
		}
		w := newWorld(t)
		o := w.object(driftDeployment)
		w.applyAs(o, manager)
		w.admit(o, replace, admissionregistrationv1.Update)
		w.writeAs(o, "editor", types.MergePatchType, `{"metadata":{"labels":{"other":"1"}}}`)
		w.baseline(o, "registry.example/admitted:1")
	})
	for name, write := range map[string]func(w *world, o *unstructured.Unstructured){
		"Update": func(w *world, o *unstructured.Unstructured) {
			live := w.live(o)
			containers, _, _ := unstructured.NestedSlice(live.Object, "spec", "template", "spec", "containers")
			containers[0].(map[string]any)["image"] = "registry.example/other:1"
			w.must(unstructured.SetNestedSlice(live.Object, containers, "spec", "template", "spec", "containers"))
			w.must(suite.client.Update(w.t.Context(), live, client.FieldOwner("editor")))
		},
		"StrategicMergePatch": func(w *world, o *unstructured.Unstructured) {
			w.writeAs(o, "editor", types.StrategicMergePatchType, image("registry.example/other:1"))
		},
		"JSONPatch": func(w *world, o *unstructured.Unstructured) {
			w.writeAs(o, "editor", types.JSONPatchType, strings.ReplaceAll(replace, "admitted", "other"))
		},
		"Apply": func(w *world, o *unstructured.Unstructured) {
			w.applyAs(w.object(strings.ReplaceAll(driftDeployment, "example/app:1", "example/other:1")), "editor")
		},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name != "Update" && name != "Apply" {
				t.Skip("long")
			}
			w := newWorld(t)
			o := w.object(driftDeployment)
			w.applyAs(o, manager)
			if d := w.drift(o); len(d.Fields) != 0 {
				t.Fatalf("drift from the beginning: %q", said(d.Fields))
			}
			write(w, o)
			d := w.drift(o)
			if got := said(d.Fields); len(got) != 1 || !strings.HasPrefix(got[0], "changed "+driftImage+" editor ") {
				t.Fatalf("%q", got)
			}
			if got := d.Fields[0].Pointer; got != "/spec/template/spec/containers/0/image" {
				t.Errorf("pointer %s", got)
			}
			w.applyAs(d.Body, manager)
			if d := w.drift(o); len(d.Fields) != 0 {
				t.Errorf("not corrected: %q", said(d.Fields))
			}
		})
	}
}

// baseline expects an image that differs and is no drift.
func (w *world) baseline(o *unstructured.Unstructured, want string) {
	w.t.Helper()
	containers, _, _ := unstructured.NestedSlice(w.live(o).Object, "spec", "template", "spec", "containers")
	if got := containers[0].(map[string]any)["image"]; got != want {
		w.t.Fatalf("image %v, want %s", got, want)
	}
	if d := w.drift(o); len(d.Fields)+len(d.Ceded) != 0 {
		w.t.Errorf("drift: %q, ceded: %q", said(d.Fields), said(d.Ceded))
	}
}

// TestDriftScale: replicas that an autoscaler set are ceded, also after another field is corrected.
// Without an autoscaler they are drift.
func TestDriftScale(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	o := w.object(driftDeployment)
	w.applyAs(o, manager)
	w.must(suite.client.SubResource("scale").Update(t.Context(), w.live(o), client.WithSubResourceBody(
		&autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: 3}}), &client.SubResourceUpdateOptions{UpdateOptions: client.UpdateOptions{FieldManager: "scaler"}}))
	w.writeAs(o, "editor", types.StrategicMergePatchType, image("registry.example/other:1"))
	ceded := []string{"changed .spec.replicas scaler Update scale"}
	if got := said(w.drift(o).Fields); !slices.Contains(got, ceded[0]) {
		t.Fatalf("drift without an autoscaler: %q", got)
	}
	targeted := func() drift.Difference {
		d, err := drift.Compare(drift.Case{
			Desired: drift.Normalize(o), Live: w.live(o), DryRun: w.applyAs(o, manager, client.DryRunAll), Autoscaler: drift.Autoscaler{Name: "app"},
		})
		w.must(err)
		return d
	}
	d := targeted()
	if got := said(d.Ceded); len(d.Fields) != 1 || !slices.Equal(got, ceded) {
		t.Fatalf("drift %q, ceded %q", said(d.Fields), got)
	}
	w.applyAs(d.Body, manager)
	d = targeted()
	if got := said(d.Ceded); len(d.Fields) != 0 || !slices.Equal(got, ceded) {
		t.Fatalf("drift %q, ceded %q", said(d.Fields), got)
	}
	w.writeAs(o, "editor", types.MergePatchType, `{"spec":{"replicas":5}}`)
	if got := said(w.drift(o).Fields); !slices.Equal(got, []string{"changed .spec.replicas editor Update"}) {
		t.Errorf("%q", got)
	}
}

// TestDriftDisown: a field that an overridden manager added is removed after it was moved to
// Pintle's entry, and other fields of that manager stay.
func TestDriftDisown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	o := w.object(driftDeployment)
	w.applyAs(o, manager)
	w.writeAs(o, "editor", types.StrategicMergePatchType, `{"metadata":{"annotations":{"added":"1"}},"spec":{"template":{"spec":{"containers":[{"name":"side","image":"side:1"}]}}}}`)
	if d := w.drift(o); len(d.Fields) != 0 {
		t.Fatalf("additions are drift without Override: %q", said(d.Fields))
	}
	d := w.drift(o, "editor")
	if got := said(d.Fields); !slices.Equal(got, []string{
		"added .metadata.annotations.added editor Update", `added .spec.template.spec.containers[name="side"] editor Update`,
	}) {
		t.Fatalf("%q", got)
	}
	live := w.live(o)
	patch, err := json.Marshal([]map[string]any{
		{"op": "test", "path": "/metadata/resourceVersion", "value": live.GetResourceVersion()},
		{"op": "replace", "path": "/metadata/managedFields", "value": d.Disown},
	})
	w.must(err)
	w.must(suite.client.Patch(t.Context(), live, client.RawPatch(types.JSONPatchType, patch), client.FieldOwner(manager)))
	d.Body.SetResourceVersion(live.GetResourceVersion())
	w.applyAs(d.Body, manager)
	if d := w.drift(o, "editor"); len(d.Fields) != 0 {
		t.Errorf("not removed: %q", said(d.Fields))
	}
	if containers, _, _ := unstructured.NestedSlice(w.live(o).Object, "spec", "template", "spec", "containers"); len(containers) != 1 {
		t.Errorf("containers %v", containers)
	}
}
