// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

//go:build reference

package e2e

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/test/fixture"
	"github.com/pintle-dev/pintle/test/harness"
	"github.com/pintle-dev/pintle/test/harness/faultproxy"
)

const (
	// slow is the time of an answer about a ConfigMap whose name has slowPrefix. An action that waits
	// longer than 5 s for an answer releases its slot.
	slow       = 3 * time.Second
	slowPrefix = "slow-"
	// silence is the time for which writes of HelmReleases are not answered.
	silence = 12 * time.Second
)

// busyServer is a proxy before the API server, which answers some requests late or not at all.
type busyServer struct {
	// silent is true while no write of a HelmRelease is answered.
	silent     atomic.Bool
	kubeconfig string
}

func (b *busyServer) decide(r faultproxy.Request) faultproxy.Fault {
	switch {
	case r.Resource == "configmaps" && strings.HasPrefix(r.Name, slowPrefix):
		return faultproxy.Slow
	case r.Verb == http.MethodPatch && r.Resource == "helmreleases" && b.silent.Load():
		return faultproxy.Silent
	}
	return faultproxy.None
}

// startBusyServer starts a proxy until the end of the test.
func (a *causes) startBusyServer() *busyServer {
	a.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", env.Kubeconfig)
	a.Must(err)
	a.Must(rest.LoadTLSFiles(config))
	b := &busyServer{kubeconfig: filepath.Join(a.TempDir(), "kubeconfig")}
	proxy, err := faultproxy.Start(faultproxy.Options{Server: config.Host, CA: config.CAData, Decide: b.decide, Slow: slow, Silent: silence})
	a.Must(err)
	a.Cleanup(func() { a.Must(proxy.Close()) })
	token, err := env.AdminToken(a.Context(), a.Namespace, "controller")
	a.Must(err)
	a.Must(env.WriteKubeconfig(b.kubeconfig, token, func(c *clientcmdapi.Cluster) {
		c.Server, c.CertificateAuthority, c.CertificateAuthorityData = proxy.URL, "", proxy.CA
	}))
	return b
}

// slowTemplate looks up, or has hooks that are, ConfigMaps about which the API server answers late.
const slowTemplate = `
{{- range until (int .Values.lookups) }}
{{- $_ := lookup "v1" "ConfigMap" $.Release.Namespace (print "` + slowPrefix + `lookup-" .) }}
{{- end }}
{{- range until (int .Values.hooks) }}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: ` + slowPrefix + `hook-{{ . }}
  annotations:
    helm.sh/hook: pre-install
    helm.sh/hook-weight: "{{ . }}"
{{- end }}
`

// slowRelease returns a release of the chart with slowTemplate.
func (a *causes) slowRelease(name string, v values) *helmv2.HelmRelease {
	a.Helper()
	return a.Draft(name, fixture.ChartRef(helmv2.KindOCIRepository, "slow"), v)
}

// fickleReleases creates n releases of chart fickle.
func (a *causes) fickleReleases(prefix string, n int, change func(*helmv2.HelmRelease)) (all []*helmv2.HelmRelease) {
	a.Helper()
	for i := range n {
		hr := a.fickleRelease(fmt.Sprint(prefix, "-", i), nil)
		if change != nil {
			change(hr)
		}
		a.Create(hr)
		all = append(all, hr)
	}
	return all
}

// longRendering: a chart whose lookups take 18 s keeps the only process for charts.
func (a *causes) longRendering(busy *harness.Controller) {
	a.Helper()
	chart := a.fickle("0.2.0")
	harness.AddFile(chart, "templates/slow.yaml", []byte(slowTemplate))
	a.Publish(chart)
	a.Source("slow", env.Registry.Address, "fickle", sourcev1.OCIRepositoryRef{Tag: "0.2.0"})
	handOver(a.Context(), a.T, busy)
	warm, warmSlow := a.fickleRelease("warm-plain", nil), a.slowRelease("warm-slow", nil)
	a.Create(warm, warmSlow)
	a.UntilRevision(warm, 1)
	a.UntilRevision(warmSlow, 1)

	before := a.scrape()
	lookups := a.slowRelease("lookups", values{"lookups": 6})
	a.Create(lookups)
	a.until(metric("pintle_render_workers", `state="busy"`))
	waiting := a.fickleReleases("renders", 4, nil)
	now := a.until(longer(before, "pintle_render_call_wait_seconds", "10.24", 3))
	a.continued("PintleRenderingWaits", 16*time.Minute, before, now)
	for _, hr := range append(waiting, lookups) {
		a.UntilRevision(hr, 1)
	}
}

// longAction: the hooks of an action take 45 s, and it keeps the only slot. Meanwhile, writes of
// HelmReleases are not answered.
func (a *causes) longAction(server *busyServer) {
	a.Helper()
	before := a.until(func(m harness.Metrics) bool { return m.Sum("pintle_helm_release_action_slots_used") == 0 })
	a.Create(a.slowRelease("hooks", values{"hooks": 15}))
	a.until(metric("pintle_helm_release_action_slots_used"))
	for _, hr := range a.fickleReleases("acts", 6, nil) {
		a.UntilCondition(hr, helmv2.ConditionReconciling, metav1.ConditionTrue, helmv2.ReasonProgressing)
	}
	a.noAnswers(server)
	now := a.until(longer(before, "pintle_helm_release_action_wait_seconds", "40.96", 4))
	a.continued("PintleActionsWait", 16*time.Minute, before, now)
}

// noAnswers: writes of HelmReleases are not answered.
func (a *causes) noAnswers(server *busyServer) {
	a.Helper()
	const queue, running = "workqueue_queue_duration_seconds", "workqueue_longest_running_processor_seconds"
	before := a.until(func(m harness.Metrics) bool { return m.Sum(running, `controller="helmrelease"`) == 0 })
	server.silent.Store(true)
	a.fickleReleases("queued", 20, func(hr *helmv2.HelmRelease) { hr.Spec.Suspend = true })
	// A write ends after 75 seconds. The alert is played as if other requests went on to hang.
	now := a.until(func(m harness.Metrics) bool { return m.Sum(running, `controller="helmrelease"`) > 10 })
	a.played("PintleReconciliationHangs", "", 11*time.Minute, before, now)
	server.silent.Store(false)
	now = a.until(longer(before, queue, "10", 8, `controller="helmrelease"`))
	a.continued("PintleQueueWaits", 16*time.Minute, before, now)
}

// longer returns a condition: since a scrape, n values were above a bound of a histogram. The last
// bound below the limit of an alert is enough: the rule assumes that values are spread evenly between
// two bounds.
func longer(since scrape, histogram, bound string, n float64, labels ...string) func(harness.Metrics) bool {
	above := func(m harness.Metrics) float64 {
		return m.Sum(histogram+"_count", labels...) - m.Sum(histogram+"_bucket", append(labels, `le="`+bound+`"`)...)
	}
	return func(m harness.Metrics) bool { return above(m) >= above(since.Metrics)+n }
}
