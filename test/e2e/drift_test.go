// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/test/fixture"
	"github.com/pintle-dev/pintle/test/harness"
)

const (
	// driftReleases is the number of releases of TestDrift. With 40, objects of all four kinds are
	// changed and deleted within seconds. `make bench DRIFT=1` measures more releases, without the
	// race detector.
	driftReleases = 40
	// driftPatience exceeds the time limit of the suite.
	driftPatience = 24 * time.Hour
)

// TestDrift: another client changes and deletes objects of a third of all releases, 20 a second,
// and drift is corrected or reported. Intervals are long, so that only watch events can trigger the
// reconciliations.
func TestDrift(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	w := newWorld(t)
	names := w.drifting(driftReleases)
	for _, c := range []struct {
		name string
		test func(world, []string)
	}{
		{"corrected", world.driftIsCorrected},
		{"corrected after a kill", world.driftIsCorrectedAfterKill},
		// The last one, since it restores nothing.
		{"reported", world.driftIsReported},
	} {
		if !t.Run(c.name, func(t *testing.T) { c.test(world{w.In(t)}, names) }) {
			return
		}
	}
}

// drifting installs releases of chart bench with drift detection.
func (w world) drifting(count int) (names []string) {
	w.Helper()
	chart, err := harness.LoadChart("bench")
	w.Must(err)
	w.Publish(chart)
	w.Create(&sourcev1.OCIRepository{
		ObjectMeta: w.Meta("bench"),
		Spec: sourcev1.OCIRepositorySpec{
			URL: "oci://" + env.Registry.Address + "/" + w.Namespace + "/bench", Insecure: true,
			Interval: metav1.Duration{Duration: time.Hour}, Reference: &sourcev1.OCIRepositoryRef{Tag: chart.Metadata.Version},
		},
	})
	for i := range count {
		hr := w.Draft(fmt.Sprintf("drift-%03d", i), fixture.ChartRef(helmv2.KindOCIRepository, "bench"), nil)
		hr.Spec.DriftDetection = &helmv2.DriftDetection{Mode: helmv2.DriftDetectionEnabled}
		w.Create(hr)
		names = append(names, hr.Name)
	}
	w.all(count, "to be ready", harness.Ready)
	return names
}

// all waits until all releases of the namespace are as wanted.
func (w world) all(count int, what string, wanted func(*helmv2.HelmRelease) bool) {
	w.Helper()
	ctx := w.Context()
	w.Must(env.Until(ctx, fmt.Sprintf("%d HelmReleases %s", count, what), func() (string, bool) {
		var list helmv2.HelmReleaseList
		if err := env.Client.List(ctx, &list, client.InNamespace(w.Namespace)); err != nil {
			return err.Error(), false
		}
		for i := range list.Items {
			if !wanted(&list.Items[i]) {
				return list.Items[i].Name + ": " + harness.Summary(&list.Items[i]), false
			}
		}
		return fmt.Sprintf("%d HelmReleases", len(list.Items)), len(list.Items) == count
	}, &helmv2.HelmRelease{ObjectMeta: w.Meta("")}))
}

// rested reports whether a release is ready with its first revision, and in sync.
func rested(hr *helmv2.HelmRelease) bool {
	return harness.Ready(hr) && hr.Status.History[0].Version == 1 &&
		apimeta.IsStatusConditionFalse(hr.Status.Conditions, helmv2.ConditionDrifted)
}

func (w world) driftIsCorrected(names []string) {
	tampering, err := env.Corrections(w.Context(), w.Namespace, names)
	w.Must(err)
	defer tampering.Close()
	w.Must(tampering.Write(w.Context()))
	w.Must(tampering.Wait(w.Context(), driftPatience))
	w.took(tampering)
	w.all(len(names), "to be at rest", rested)
	w.Must(tampering.Unrevised(w.Context()))
}

// driftIsCorrectedAfterKill kills the controller while it corrects and changes go on.
func (w world) driftIsCorrectedAfterKill(names []string) {
	tampering, err := env.Corrections(w.Context(), w.Namespace, names)
	w.Must(err)
	defer tampering.Close()
	written := make(chan error, 1)
	go func() { written <- tampering.Write(w.Context()) }()
	// As early as possible, while most changes are still to be made.
	w.Must(env.Until(w.Context(), "the first correction", func() (string, bool) {
		all, met := tampering.Counts()
		return fmt.Sprintf("%d of %d", met, all), met > 0
	}))
	w.Must(env.Controller.Kill(w.Context()))
	all, met := tampering.Counts()
	w.Logf("killed when %d of %d objects were as they should be", met, all)
	w.Must(<-written)
	w.Must(env.Controller.Start())
	w.Must(tampering.Wait(w.Context(), driftPatience))
	w.all(len(names), "to be at rest", rested)
	w.Must(tampering.Unrevised(w.Context()))
	if met == all {
		w.Skip("a stall made all corrections come at once, so that the kill came after them")
	}
}

func (w world) driftIsReported(names []string) {
	for _, name := range names {
		hr := &helmv2.HelmRelease{ObjectMeta: w.Meta(name)}
		w.Edit(hr, func(hr *helmv2.HelmRelease) { hr.Spec.DriftDetection.Mode = helmv2.DriftDetectionWarn })
	}
	w.all(len(names), "to be at rest", rested)
	tampering, err := env.Reports(w.Context(), w.Namespace, names)
	w.Must(err)
	defer tampering.Close()
	w.Must(tampering.Write(w.Context()))
	w.Must(tampering.Wait(w.Context(), driftPatience))
	w.took(tampering)
	all, _ := tampering.Counts()
	var list helmv2.HelmReleaseList
	w.Must(env.Client.List(w.Context(), &list, client.InNamespace(w.Namespace)))
	drifted := 0
	for i := range list.Items {
		hr := &list.Items[i]
		c := apimeta.FindStatusCondition(hr.Status.Conditions, helmv2.ConditionDrifted)
		if c != nil && c.Status == yes {
			drifted++
			if !strings.Contains(c.Message, w.Namespace+"/"+hr.Name) {
				w.Errorf("%s does not say which object has drifted: %s", hr.Name, c.Message)
			}
		}
		if !harness.Ready(hr) || hr.Status.History[0].Version != 1 {
			w.Errorf("%s is not as ready as it was:\n%s", hr.Name, harness.Summary(hr))
		}
	}
	if drifted != all {
		w.Errorf("%d releases say that they have drifted, and %d have", drifted, all)
	}
	w.Must(tampering.Unwritten(w.Context()))
	w.Must(tampering.Unrevised(w.Context()))
}

// took logs how long corrections or reports took.
func (w world) took(tampering *harness.Tampering) {
	w.Helper()
	changed, deleted := tampering.Times()
	w.Logf("changed: %+v", changed)
	w.Logf("deleted: %+v", deleted)
}
