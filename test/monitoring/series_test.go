// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"iter"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/metrics"
	"github.com/pintle-dev/pintle/internal/release"
)

// everySeries adds a series to each metric of m.
func everySeries(m *metrics.Metrics) {
	key, at := types.NamespacedName{Namespace: "prod", Name: "web"}, time.Unix(100, 0)
	m.ReconcileDuration(key, time.Second)
	m.Reconciliation(metrics.RuleCached)
	m.Attempt(release.Outcome{Action: release.Install{}, Announced: at, Started: at, Ended: at, Diagnosis: &release.Diagnosis{Code: "code"}})
	m.Attempt(release.Outcome{Action: release.Install{}, Ended: at, Interrupted: &release.Outage{}})
	m.ClusterUnreachable("host", true)
	m.Switch.Standby(true)
	m.Switch.Observed(types.NamespacedName{Namespace: "apps", Name: "web"}, "NothingToDo")
	m.DriftDetected([]release.DriftedObject{{}})
	m.Notified("sent")
	m.Overridden([]string{"Frozen"})
	m.Downloaded(time.Second, 1, nil)
	m.Operation("engine", "phase", "reason", time.Second, time.Second)
	m.Collect(func(s *metrics.Stats) {
		s.Caches, s.Workers.Deaths = []metrics.Cache{{Name: "some"}}, map[string]int64{"memory": 1}
	})
	m.TokenRequested(key, true)
	m.Succeeded(key, at)
	hr := &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	hr.Status.Conditions = []metav1.Condition{{Type: helmv2.ConditionReady, Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(at)}}
	m.Releases(func() iter.Seq[*helmv2.HelmRelease] { return slices.Values([]*helmv2.HelmRelease{hr}) }, time.Now)
}
