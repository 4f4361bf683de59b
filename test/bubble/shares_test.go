// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package bubble

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// installs creates a release of chart app and returns how long its install takes.
func (w *world) installs(name string) time.Duration {
	w.Helper()
	began := time.Now()
	w.untilReady(w.release(name, "one", func(hr *helmv2.HelmRelease) { hr.Spec.ChartRef.Name = "app" }))
	return time.Since(began)
}

// TestSlowHelmChartsDelayNoOther: HelmCharts whose writes are not answered delay neither the install of
// another release nor another HelmChart.
func TestSlowHelmChartsDelayNoOther(t *testing.T) {
	inBubble(t, func(w *world) {
		w.start()
		w.publish("app", "1.0.0", w.note("1.0.0"))
		w.answers(func(req *http.Request) *http.Response {
			if req.Method != http.MethodGet && strings.Contains(req.URL.Path, "/helmcharts/apps-slow") {
				return silence(req)
			}
			return nil
		})
		templated := func(hr *helmv2.HelmRelease) {
			hr.Spec.ChartRef, hr.Spec.Chart = nil, &helmv2.HelmChartTemplate{Spec: helmv2.HelmChartTemplateSpec{
				Chart: "note", Version: "1.x", SourceRef: helmv2.CrossNamespaceObjectReference{Kind: "HelmRepository", Name: "charts"},
			}}
		}
		for i := range 3 {
			w.release(fmt.Sprint("slow-", i), "one", templated)
		}
		time.Sleep(5 * time.Second)
		if took := w.installs("other"); took > 10*time.Second {
			t.Errorf("the other is installed after %s", took)
		}
		w.release("chart", "one", templated)
		began := time.Now()
		w.until("the HelmChart", func() bool {
			return w.api.Object("/apis/source.toolkit.fluxcd.io/v1/namespaces/apps/helmcharts/apps-chart") != nil
		})
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("the HelmChart is made after %s", took)
		}
	})
}
