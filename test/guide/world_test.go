// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package guide

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	eventv1 "github.com/fluxcd/pkg/apis/event/v1beta1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/test/harness"
)

const (
	fluxSystem = "flux-system"
	apps       = "apps"
)

// world is a cluster with Flux and five releases, and a shell for its commands.
type world struct {
	*shell

	node   *node
	events *receiver
}

// newWorld installs the objects of Flux and starts helm-controller.
func newWorld(t *testing.T) *world {
	t.Helper()
	startEnvironment(t)
	events := newReceiver(t)
	w := &world{shell: newShell(t, env.Kubeconfig), events: events}
	for _, name := range []string{"gotk-components.yaml", "gotk-sync.yaml", "kustomization.yaml"} {
		raw, err := os.ReadFile("testdata/flux-system/" + name)
		w.must(err)
		w.must(os.MkdirAll(w.dir+"/flux-system", 0o700))
		w.must(os.WriteFile(w.dir+"/flux-system/"+name, raw, 0o600))
	}
	w.run("kubectl apply --server-side -k flux-system")
	// The node ends before.
	t.Cleanup(w.leave)
	w.node = startNode(t, events.URL+"/")
	w.node.runs(reference)
	return w
}

// startEnvironment starts env if no test has. The CRD of HelmRelease is that of helm-controller, as in
// a cluster with Flux.
func startEnvironment(t *testing.T) {
	t.Helper()
	if env != nil {
		return
	}
	if os.Getenv("PINTLE_REFERENCE") == "" || os.Getenv("PINTLE_CRDS") == "" {
		t.Fatal("PINTLE_REFERENCE and PINTLE_CRDS are not set: make builds helm-controller")
	}
	var err error
	env, err = harness.Start(context.WithoutCancel(t.Context()), harness.Options{
		Dir: filepath.Join(dir, "env"), ClusterBin: os.Getenv("PINTLE_CLUSTER_BIN"), CRDs: os.Getenv("PINTLE_CRDS"),
	})
	if err != nil {
		t.Fatal(err)
	}
}

// leave removes the releases and Flux, for the next test.
func (w *world) leave() {
	ctx := context.WithoutCancel(w.Context())
	releases := &helmv2.HelmReleaseList{}
	err := env.Client.List(ctx, releases)
	for _, hr := range releases.Items {
		hr.Finalizers = nil
		err = errors.Join(err, env.Client.Update(ctx, &hr))
	}
	for _, name := range []string{apps, fluxSystem} {
		err = errors.Join(err, client.IgnoreNotFound(env.Client.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})))
	}
	err = errors.Join(err, env.Until(ctx, "the namespaces to be gone", func() (string, bool) {
		all := &corev1.NamespaceList{}
		err := env.Client.List(ctx, all)
		left := slices.ContainsFunc(all.Items, func(ns corev1.Namespace) bool { return ns.Name == apps || ns.Name == fluxSystem })
		return fmt.Sprint(len(all.Items), err), err == nil && !left
	}))
	if err != nil {
		w.Error(err)
	}
}

// releases creates the five releases and brings each into its state: broken has failed an upgrade
// and exhausted its retries, and paused is suspended.
func (w *world) releases() {
	w.Helper()
	chart, err := harness.LoadChart("fickle")
	w.must(err)
	archive, err := harness.Pack(chart)
	w.must(err)
	w.must(env.Registry.PushChart(w.Context(), apps, archive))
	raw, err := os.ReadFile("testdata/releases.yaml")
	w.must(err)
	w.must(os.WriteFile(w.dir+"/releases.yaml", []byte(strings.ReplaceAll(string(raw), "REGISTRY", env.Registry.Address)), 0o600))
	// A release that waits for a dependency is checked after 30 s.
	w.run("kubectl create namespace apps && kubectl apply --namespace apps --selector=order!=last -f releases.yaml")
	w.run("kubectl wait helmrelease web --namespace apps --for=condition=Ready --timeout=1h")
	w.run("kubectl apply --namespace apps -f releases.yaml")
	w.run("kubectl wait helmrelease --namespace apps --all --for=condition=Ready --timeout=1h")
	w.run(`kubectl patch helmrelease broken --namespace apps --type=merge \
	  --patch '{"spec":{"timeout":"20s","values":{"podAnnotations":{"simulate.pintle.dev/ready":"never"}}}}'
	kubectl wait helmrelease broken --namespace apps --for=condition=Stalled --timeout=1h
	kubectl patch helmrelease paused --namespace apps --type=merge --patch '{"spec":{"suspend":true}}'`)
}

// get reads a HelmRelease of the namespace apps.
func (w *world) get(name string) *helmv2.HelmRelease {
	w.Helper()
	hr := &helmv2.HelmRelease{}
	w.must(env.Client.Get(w.Context(), types.NamespacedName{Namespace: apps, Name: name}, hr))
	return hr
}

// facts describes what an action changes: revisions, their status, hooks and workloads.
func (w *world) facts() string {
	w.Helper()
	var all []string
	secrets, jobs, deployments := &corev1.SecretList{}, &batchv1.JobList{}, &appsv1.DeploymentList{}
	for _, list := range []client.ObjectList{secrets, jobs, deployments} {
		w.must(env.Client.List(w.Context(), list, client.InNamespace(apps)))
	}
	for _, o := range secrets.Items {
		if o.Labels["owner"] == "helm" {
			all = append(all, o.Name+" "+o.Labels["status"])
		}
	}
	for _, o := range jobs.Items {
		all = append(all, fmt.Sprintf("Job %s %s", o.Name, o.UID))
	}
	for _, o := range deployments.Items {
		all = append(all, fmt.Sprintf("Deployment %s %s %d", o.Name, o.UID, o.Generation))
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}

// same checks that no action has changed anything.
func (w *world) same(before, when string) {
	w.Helper()
	if now := w.facts(); now != before {
		w.Errorf("%s there is\n%s\nbefore there was\n%s", when, now, before)
	}
}

// until waits until a HelmRelease satisfies a condition.
func (w *world) until(name, what string, wanted func(*helmv2.HelmRelease) bool) {
	w.Helper()
	_, err := env.WaitRelease(w.Context(), types.NamespacedName{Namespace: apps, Name: name}, what, wanted)
	w.must(err)
}

// is reports whether a condition of a HelmRelease is true.
func is(hr *helmv2.HelmRelease, condition string) bool {
	return apimeta.IsStatusConditionTrue(hr.Status.Conditions, condition)
}

// receiver receives events in place of notification-controller.
type receiver struct {
	*httptest.Server

	mu  sync.Mutex
	all []eventv1.Event
}

func newReceiver(t *testing.T) *receiver {
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		var event eventv1.Event
		if err := json.NewDecoder(request.Body).Decode(&event); err != nil {
			http.Error(response, err.Error(), http.StatusBadRequest)
			return
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.all = append(r.all, event)
		response.WriteHeader(http.StatusAccepted)
	}))
	t.Cleanup(r.Close)
	return r
}

// has reports whether an event with a reason for a HelmRelease was received from a Pod.
func (r *receiver) has(name, reason string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.all, func(e eventv1.Event) bool {
		return e.InvolvedObject.Name == name && e.Reason == reason
	})
}
