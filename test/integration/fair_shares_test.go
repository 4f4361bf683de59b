// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/inputs"
	"github.com/pintle-dev/pintle/internal/watch"
)

// slowCluster creates a Secret with the kubeconfig of a server that answers its version at once and
// all else after 29 s. It returns the number of such other requests.
func (w *world) slowCluster(secret string) *atomic.Int64 {
	w.t.Helper()
	var reads atomic.Int64
	ended := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/version" {
			reads.Add(1)
			select {
			case <-time.After(29 * time.Second):
			case <-r.Context().Done():
			case <-ended:
			}
		}
		rw.Header().Set("Content-Type", "application/json")
		_, _ = rw.Write([]byte(`{"major":"1","minor":"34","gitVersion":"v1.34.0"}`))
	}))
	w.t.Cleanup(server.Close)
	w.t.Cleanup(func() { close(ended) })
	w.must(suite.client.Create(w.t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: secret},
		StringData: map[string]string{"value": fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"c",
			"clusters":[{"name":"c","cluster":{"server":%q}}],"users":[{"name":"u","user":{}}],
			"contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}]}`, server.URL)},
	}))
	return &reads
}

// TestSlowClustersDelayNoOther: four releases whose cluster answers its version at once and all else
// after 29 s do not delay the install of another tenant, with as many concurrent reconciliations.
// Their cluster is reported as slow, although it answers its version. The test is not parallel: it
// compares times.
func TestSlowClustersDelayNoOther(t *testing.T) {
	slow, other := newWorld(t), newWorld(t)
	own := other.ownController(config{concurrent: 4})
	other.publish("app", "1.0.0", configMapChart(t, "1.0.0"))
	install := func(name string) time.Duration {
		begun := time.Now()
		other.untilReady(other.release(name, nil, own, func(hr *helmv2.HelmRelease) { hr.Spec.ChartRef.Name = "app" }))
		return time.Since(begun)
	}
	install("first")
	var alone time.Duration
	for i := range 3 {
		alone = max(alone, install(fmt.Sprint("alone-", i)))
	}

	slow.publish("app", "1.0.0", configMapChart(t, "1.0.0"))
	reads := slow.slowCluster("far")
	var last *helmv2.HelmRelease
	for i := range 4 {
		last = slow.release(fmt.Sprint("slow-", i), nil, own, func(hr *helmv2.HelmRelease) {
			hr.Spec.ChartRef.Name = "app"
			hr.Spec.KubeConfig = &helmv2.KubeConfigReference{SecretRef: &helmv2.SecretKeyReference{Name: "far"}}
		})
	}
	untilTrue(slow, "four slow reads", func() bool { return reads.Load() >= 4 })
	// A reconciliation that reads another cluster may keep its slot for 50 ms. The rest is for the
	// polling of the test, on a busy machine.
	const slot = 500 * time.Millisecond
	var most time.Duration
	for i := range 10 {
		beside := install(fmt.Sprint("beside-", i))
		most = max(most, beside)
		if beside > 2*alone+slot {
			t.Errorf("install %d took %s, and alone at most %s", i, beside, alone)
		}
		time.Sleep(2 * time.Second)
	}
	t.Logf("an install alone took at most %s, beside slow clusters %s", alone, most)
	slow.untilSays(last, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonStateError,
		"answers reads too slowly or with errors since", "nothing is read or changed there meanwhile", "it is tried again within")
}

// TestSlowHelmChartsDelayNoOther: the writes of three HelmCharts that are not answered do not delay
// the HelmChart of another tenant.
func TestSlowHelmChartsDelayNoOther(t *testing.T) {
	t.Parallel()
	slow, other := newWorld(t), newWorld(t)
	var waiting atomic.Int64
	answer := make(chan struct{})
	end := sync.OnceFunc(func() { close(answer) })
	own := other.ownController(config{wrap: func(next http.RoundTripper) http.RoundTripper {
		return transport(func(req *http.Request) (*http.Response, error) {
			if req.Method == http.MethodPatch && strings.Contains(req.URL.Path, "/namespaces/"+slow.namespace+"/helmcharts/") {
				waiting.Add(1)
				select {
				case <-answer:
				case <-req.Context().Done():
				}
			}
			return next.RoundTrip(req)
		})
	}})
	t.Cleanup(end)
	var keys []client.ObjectKey
	for i := range 3 {
		keys = append(keys, inputs.HelmChartKey(slow.release(fmt.Sprint("slow-", i), nil, own, templated(""))))
	}
	untilTrue(slow, "three HelmCharts to be sent", func() bool { return waiting.Load() == 3 })
	key := inputs.HelmChartKey(other.release("other", nil, own, templated("")))
	untilTrue(other, "the HelmChart", func() bool { _, found := other.helmChart(key); return found })
	for _, k := range keys {
		if _, found := slow.helmChart(k); found {
			t.Errorf("%s was answered", k)
		}
	}
	end()
	for _, k := range keys {
		untilTrue(slow, "the slow HelmChart", func() bool { _, found := slow.helmChart(k); return found })
	}
}

// TestLabelledObjectsHaveABudget: a thousand objects with the labels of another tenant's release, all
// of them created and deleted, trigger few reconciliations.
func TestLabelledObjectsHaveABudget(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	victim := types.NamespacedName{Namespace: "victim-of-" + w.namespace, Name: "app"}
	var enqueued atomic.Int64
	r := watch.NewRegistry(func(key types.NamespacedName) {
		if key == victim {
			enqueued.Add(1)
		}
	}, watch.Options{})
	go func() { _ = r.Start(t.Context()) }()
	configMaps := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	config := rest.CopyConfig(suite.config)
	r.WatchKinds(victim, watch.Cluster{ID: "it", Client: func() (metadata.Interface, error) { return metadata.NewForConfig(config) }}, []schema.GroupVersionResource{configMaps})
	untilTrue(w, "the first list", func() bool { return enqueued.Load() == 1 })
	begun := time.Now()
	var writers sync.WaitGroup
	for writer := range 10 {
		writers.Go(func() {
			for i := range 100 {
				cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
					Namespace: w.namespace, Name: fmt.Sprintf("labelled-%d-%d", writer, i),
					Labels: map[string]string{helmv2.LabelName: victim.Name, helmv2.LabelNamespace: victim.Namespace},
				}}
				if err := suite.client.Create(t.Context(), cm); err != nil {
					t.Error(err)
				}
				if err := suite.client.Delete(t.Context(), cm); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	took := time.Since(begun)
	// Modifications and deletions have ten tokens each, and get new ones every 30 and 10 s.
	most := 20 + int64(took/(30*time.Second)) + int64(took/(10*time.Second)) + 2
	got := enqueued.Load()
	t.Logf("%d reconciliations in %s", got, took)
	if got < 3 || got > most {
		t.Errorf("%d reconciliations in %s, want at most %d", got, took, most)
	}
}
