// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
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

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/watch"
)

// slowCluster creates a Secret with the kubeconfig of a server that answers its version at once and
// all else after 29 s, or after a call of the returned function. It also returns the number of such
// other requests.
func (w *world) slowCluster(secret string) (reads *atomic.Int64, end func()) {
	w.t.Helper()
	reads = &atomic.Int64{}
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
	end = sync.OnceFunc(func() { close(ended) })
	w.t.Cleanup(server.Close)
	w.t.Cleanup(end)
	w.must(suite.client.Create(w.t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: secret},
		StringData: map[string]string{"value": fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"c",
			"clusters":[{"name":"c","cluster":{"server":%q}}],"users":[{"name":"u","user":{}}],
			"contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}]}`, server.URL)},
	}))
	return reads, end
}

// slowReleases creates four releases in a new slow cluster, and waits until all of them read it. The
// returned function ends these reads and deletes the releases.
func (w *world) slowReleases(name string, own func(*helmv2.HelmRelease)) (all []*helmv2.HelmRelease, end func()) {
	w.t.Helper()
	reads, answer := w.slowCluster(name)
	for i := range 4 {
		all = append(all, w.release(fmt.Sprint(name, "-", i), nil, own, func(hr *helmv2.HelmRelease) {
			hr.Annotations = map[string]string{helmv2.AnnotationOrphan: "true"}
			hr.Spec.ChartRef.Name = "app"
			hr.Spec.KubeConfig = &helmv2.KubeConfigReference{SecretRef: &helmv2.SecretKeyReference{Name: name}}
		}))
	}
	// They have begun a few milliseconds ago, and would still occupy a slot that is kept for longer.
	untilTrue(w, "four releases to read "+name, func() bool { return reads.Load() >= 4 })
	return all, func() {
		answer()
		for _, hr := range all {
			w.must(suite.client.Delete(w.t.Context(), hr))
		}
		for _, hr := range all {
			w.untilGone(hr)
		}
	}
}

// TestSlowClustersDelayNoOther: with four releases whose cluster answers its version at once and all
// else after 29 s, and as many concurrent reconciliations, the install of another tenant takes at
// most twice as long as alone. The medians of installs in turn are compared, so that the speed of
// the machine does not count. The test is not parallel: it compares times. That no slot is waited
// for at all, the test TestTurns of the controller shows without a clock.
//
// Their cluster is reported as slow, although it answers its version.
func TestSlowClustersDelayNoOther(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	const installs = 7
	slow, other := newWorld(t), newWorld(t)
	own := other.ownController(config{concurrent: 4})
	for _, w := range []*world{slow, other} {
		w.publish("app", "1.0.0", configMapChart(t, "1.0.0"))
	}
	install := func(name string) time.Duration {
		begun := time.Now()
		hr := other.release(name, nil, own, func(hr *helmv2.HelmRelease) { hr.Spec.ChartRef.Name = "app" })
		other.untilReady(hr)
		return time.Since(begun)
	}
	install("first")
	var alone, beside []time.Duration
	var last *helmv2.HelmRelease
	for i := range installs {
		alone = append(alone, install(fmt.Sprint("alone-", i)))
		all, end := slow.slowReleases(fmt.Sprint("far-", i), own)
		beside = append(beside, install(fmt.Sprint("beside-", i)))
		if last = all[0]; i < installs-1 {
			end()
		}
	}
	slices.Sort(alone)
	slices.Sort(beside)
	t.Logf("installs took %s alone, and %s beside slow clusters", alone, beside)
	if beside[installs/2] > 2*alone[installs/2] {
		t.Errorf("the median is more than twice that alone")
	}
	slow.untilSays(last, helmv2.ConditionReady, metav1.ConditionFalse, helmv2.ReasonStateError,
		"answers reads too slowly or with errors since", "nothing is read or changed there meanwhile")
}

// TestLabelledObjectsHaveABudget: a thousand objects with the labels of another tenant's release, all
// of them created and deleted, trigger few reconciliations.
func TestLabelledObjectsHaveABudget(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
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
	untilTrue(w, "the objects to trigger reconciliations", func() bool { return enqueued.Load() >= 3 })
	took := time.Since(begun)
	// Modifications and deletions have ten tokens each, and get new ones every 30 and 10 s.
	most := 20 + int64(took/(30*time.Second)) + int64(took/(10*time.Second)) + 2
	got := enqueued.Load()
	t.Logf("%d reconciliations in %s", got, took)
	if got > most {
		t.Errorf("%d reconciliations in %s, want at most %d", got, took, most)
	}
}
