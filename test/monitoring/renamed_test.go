// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
)

// TestDashboardNamespaces: panels that select a namespace show the same releases with and without
// honorLabels.
func TestDashboardNamespaces(t *testing.T) {
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 1_000_000, Timeout: time.Minute, LookbackDelta: 5 * time.Minute, Parser: promQL})
	t.Cleanup(func() { _ = engine.Close() })
	d, panels := readDashboard(t), 0
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			if !strings.Contains(target.Expr, "$namespace") {
				continue
			}
			panels++
			for selected, releases := range map[string]string{"a": "one", "a|b": "two", ".*": "two"} {
				expr := strings.ReplaceAll(target.Expr, "$namespace", selected)
				honored, renamed := shown(t, engine, expr, `namespace="%s"`), shown(t, engine, expr, `namespace="flux-system",exported_namespace="%s"`)
				if diff := cmp.Diff(honored, renamed); diff != "" {
					t.Errorf("%s, of %s (-with +without honorLabels):\n%s", p.Title, selected, diff)
				}
				if other := shown(t, engine, strings.ReplaceAll(target.Expr, "$namespace", "c"), `namespace="%s"`); slices.Equal(honored, other) {
					t.Errorf("%s shows none of %s releases: %q", p.Title, releases, honored)
				}
			}
		}
	}
	if panels < 9 {
		t.Errorf("%d panels select a namespace", panels)
	}
	for _, format := range []string{`namespace="%s"`, `namespace="flux-system",exported_namespace="%s"`} {
		if got := shown(t, engine, variable(d), format); len(got) != 2 || !strings.Contains(got[0], `namespace="a"`) {
			t.Errorf("the variable has %q", got)
		}
	}
}

// shown returns the result of a query on the series of two releases. format is that of their
// namespace.
func shown(t *testing.T, engine *promql.Engine, expr, format string) (all []string) {
	t.Helper()
	var from series
	for _, namespace := range []string{"a", "b"} {
		of := `name="web",` + fmt.Sprintf(format, namespace)
		for _, text := range []string{
			`pintle_helm_release_info{suspended="true",` + of + `}`,
			`pintle_helm_release_last_success_timestamp_seconds{` + of + `}`,
			`pintle_helm_release_reconciliation_status{status="False",reason="UpgradeFailed",` + of + `}`,
		} {
			from = append(from, parsed(t, text, "1x10", time.Minute))
		}
		for _, condition := range []string{"Ready", "Stalled", "Drifted", "Locked", "RolledBack"} {
			from = append(from, parsed(t, `pintle_helm_release_condition_since_timestamp_seconds{status="True",condition="`+condition+`",`+of+`}`, "60x10", time.Minute))
		}
	}
	for _, sample := range (player{engine, from, time.Minute}).query(t, expr, 5*time.Minute) {
		metric := labels.NewBuilder(sample.Metric).Del(labels.MetricName, "exported_namespace").Labels()
		all = append(all, fmt.Sprint(metric, sample.F))
	}
	slices.Sort(all)
	return all
}
