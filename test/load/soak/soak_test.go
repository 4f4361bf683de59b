// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/values"
	"github.com/pintle-dev/pintle/test/harness"
	"github.com/pintle-dev/pintle/test/load/frame"
)

// play makes changes of a fleet and returns their names.
func play(f *fleet, changes int) []string {
	var done []string
	for range changes {
		name, o := f.change()
		done = append(done, fmt.Sprint(name, o))
	}
	return done
}

func TestSameSeedSameChanges(t *testing.T) {
	a, b, c := newFleet(7, 30), newFleet(7, 30), newFleet(8, 30)
	done := play(a, 500)
	if diff := cmp.Diff(done, play(b, 500)); diff != "" {
		t.Errorf("the same seed led to other changes:\n%s", diff)
	}
	if !slices.Equal(a.releases, b.releases) || !slices.Equal(a.sources, b.sources) {
		t.Error("the same seed led to other releases")
	}
	if slices.Equal(done, play(c, 500)) {
		t.Error("another seed led to the same changes")
	}
}

func TestEveryDeedIsDone(t *testing.T) {
	f := newFleet(1, 30)
	all := strings.Join(play(f, 3000), "\n")
	for _, d := range deeds() {
		if !strings.Contains(all, d.name) {
			t.Errorf("%q never happens", d.name)
		}
	}
}

func TestChangesMakeSense(t *testing.T) {
	f := newFleet(3, 16)
	for range 5000 {
		before := slices.Clone(f.releases)
		name, o := f.change()
		broken := 0
		for _, s := range f.sources {
			if s.broken {
				broken++
			}
		}
		if broken > 1 {
			t.Fatalf("%d sources are broken at the same time", broken)
		}
		if o.kind != aRelease {
			continue
		}
		was, is := before[o.index], f.releases[o.index]
		switch {
		case was.exists && !is.exists && was.suspended:
			t.Fatalf("%s: a suspended release was deleted, which keeps its objects", name)
		case was.exists == is.exists && !is.exists:
			t.Fatalf("%s: was done to a release that does not exist", name)
		case is.broken && mannerOf(o.index) != fickle:
			t.Fatalf("%s: broke pods of a release that has none", name)
		}
	}
}

func TestMend(t *testing.T) {
	f := newFleet(5, 30)
	play(f, 2000)
	f.sources[2].broken, f.releases[4].exists, f.releases[4].suspended = true, true, true
	mended := f.mend()
	for _, want := range []object{{aSource, 2}, {aRelease, 4}} {
		if !slices.Contains(mended, want) {
			t.Errorf("%v is not said to have been mended: %v", want, mended)
		}
	}
	for i, r := range f.releases {
		if r.exists && (r.suspended || r.broken) {
			t.Errorf("release %d is suspended %t and broken %t", i, r.suspended, r.broken)
		}
	}
	if again := f.mend(); again != nil {
		t.Errorf("%v was mended twice", again)
	}
}

func TestRestarts(t *testing.T) {
	for seed := range uint64(20) {
		var sum time.Duration
		kinds := map[bool]bool{}
		for _, r := range restarts(seed, 5, time.Minute) {
			sum += r.after
			kinds[r.kill] = true
		}
		if sum >= time.Minute || len(kinds) != 2 {
			t.Errorf("seed %d: %s of pauses, sorts %v", seed, sum, kinds)
		}
	}
}

func TestRender(t *testing.T) {
	f := newFleet(1, 8)
	f.releases[3] = release{exists: true, version: "0.2.0", message: 5, interval: time.Minute, config: 2, secret: -1, reconcile: 9, force: 9, suspended: true}
	u, err := f.render(object{aRelease, 3}, "127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease",
		"metadata": map[string]any{
			"name": "soak-0003", "namespace": "soak",
			"annotations": map[string]any{"reconcile.fluxcd.io/requestedAt": "9", "reconcile.fluxcd.io/forceAt": "9"},
		},
		"spec": map[string]any{
			"chartRef": map[string]any{"kind": "OCIRepository", "name": "bench-0.2.0"}, "interval": "1m0s", "suspend": true, "maxHistory": int64(5),
			"values": map[string]any{"message": "message 5"}, "valuesFrom": []any{map[string]any{"kind": "ConfigMap", "name": "values-2"}},
		},
	}
	if diff := cmp.Diff(want, u.Object); diff != "" {
		t.Error(diff)
	}
	f.sources[0].broken = true
	if u, err = f.render(object{aSource, 0}, "127.0.0.1:1"); err != nil || !strings.Contains(fmt.Sprint(u.Object["spec"]), "tag:missing") {
		t.Errorf("a broken source offers %v, %v", u, err)
	}
}

// settled returns a cluster in which everything is as a fleet of one release
// wants it, which is number 3: pinned, with values from a ConfigMap.
func settled(t *testing.T) (*fleet, *seen) {
	t.Helper()
	f := newFleet(1, 4)
	for i := range f.releases {
		f.releases[i].exists = i == 3
	}
	r := &f.releases[3]
	r.version, r.message, r.config, r.secret = "0.2.0", 5, 1, -1
	f.configs[1] = 77
	digest, err := values.Digest(f.values(3))
	if err != nil {
		t.Fatal(err)
	}
	name := releaseName(3)
	hr := &helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Name: name}}
	hr.Status.Conditions = []metav1.Condition{{Type: helmv2.ConditionReady, Status: metav1.ConditionTrue}}
	hr.Status.History = helmv2.Snapshots{{Version: 2, ChartVersion: "0.2.0+abc", ConfigDigest: digest, Status: helmv2.StatusDeployed}}
	s := &seen{releases: map[string]*helmv2.HelmRelease{name: hr}}
	s.stored = map[string][]harness.Revision{name: {
		{Number: 1, Status: "superseded", ChartVersion: "0.1.0"},
		{Number: 2, Status: "deployed", ChartVersion: "0.2.0+abc", Values: f.values(3)},
	}}
	s.live(f)
	return f, s
}

// live adds the objects of release 3 to a cluster.
func (s *seen) live(f *fleet) {
	name := releaseName(3)
	meta := metav1.ObjectMeta{Name: name, Labels: map[string]string{"helm.sh/chart": "bench-0.2.0_abc"}}
	s.deployments, s.services = deploymentsOf(meta, "message 5"), servicesOf(meta, int32(f.port(1)))
	s.ingresses = ingressesOf(meta, name+".example.com")
	s.accounts = map[string]*corev1.ServiceAccount{name: {ObjectMeta: meta}}
}

func TestFaults(t *testing.T) {
	name := releaseName(3)
	cases := map[string]struct {
		spoil func(*fleet, *seen)
		want  string
	}{
		"None":      {func(*fleet, *seen) {}, ""},
		"NotReady":  {func(_ *fleet, s *seen) { s.releases[name].Status.Conditions[0].Status = "False" }, "is not ready"},
		"NoHistory": {func(_ *fleet, s *seen) { s.releases[name].Status.History = nil }, "has no history"},
		"Gone":      {func(_ *fleet, s *seen) { delete(s.releases, name) }, "there is no HelmRelease"},
		"StillThere": {func(f *fleet, s *seen) {
			f.releases[3].exists, s.stored, s.services = false, nil, nil
			s.deployments, s.ingresses, s.accounts = nil, nil, nil
		}, "was deleted and is still there"},
		"FailedByStatus":  {func(_ *fleet, s *seen) { s.releases[name].Status.History[0].Status = helmv2.StatusFailed }, "says that revision 2 is failed"},
		"OtherVersion":    {func(f *fleet, _ *seen) { f.releases[3].version = "0.3.0" }, "has version 0.2.0+abc of the chart, not 0.3.0"},
		"OtherValues":     {func(f *fleet, _ *seen) { f.configs[1] = 78 }, "has values with digest"},
		"StatusBehind":    {func(_ *fleet, s *seen) { s.releases[name].Status.History[0].Version = 1 }, "the status says 1"},
		"Pending":         {func(_ *fleet, s *seen) { s.stored[name][0].Pending = true }, "revision 1 is superseded"},
		"TwoDeployed":     {func(_ *fleet, s *seen) { s.stored[name][0].Status = "deployed" }, "2 revisions are deployed"},
		"NewestFailed":    {func(_ *fleet, s *seen) { s.stored[name][1].Status = "failed" }, "0 revisions are deployed, and the newest, 2, is failed"},
		"TooMany":         {func(_ *fleet, s *seen) { s.stored[name] = append(make([]harness.Revision, 4), s.stored[name]...) }, "6 revisions are stored"},
		"NothingStored":   {func(_ *fleet, s *seen) { delete(s.stored, name) }, "Helm has stored nothing"},
		"StoredVersion":   {func(_ *fleet, s *seen) { s.stored[name][1].ChartVersion = "0.1.0" }, "revision 2 has version 0.1.0"},
		"StoredValues":    {func(_ *fleet, s *seen) { s.stored[name][1].Values = nil }, "revision 2 has values map[]"},
		"LiveMessage":     {func(_ *fleet, s *seen) { s.deployments[name].Spec.Template.Spec.Containers[0].Env[0].Value = "x" }, "the Deployment's message is x"},
		"LiveLabel":       {func(_ *fleet, s *seen) { s.deployments[name].Labels["helm.sh/chart"] = "bench-0.1.0" }, "label of the chart is 0.1.0"},
		"LivePort":        {func(_ *fleet, s *seen) { s.services[name].Spec.Ports[0].Port = 1 }, "the Service's port is 1, not 1077"},
		"LiveHost":        {func(_ *fleet, s *seen) { s.ingresses[name].Spec.Rules[0].Host = "x" }, "the Ingress's host is x"},
		"LiveGone":        {func(_ *fleet, s *seen) { delete(s.deployments, name) }, "there is no Deployment"},
		"LiveHalf":        {func(_ *fleet, s *seen) { delete(s.accounts, name) }, "is missing"},
		"OrphanedService": {func(_ *fleet, s *seen) { s.services["soak-0000"] = s.services[name] }, "Service soak-0000 should not be there"},
		"OrphanedStorage": {func(_ *fleet, s *seen) { s.stored["soak-0000"] = nil }, "stored release soak-0000 should not be there"},
	}
	for test, tc := range cases {
		t.Run(test, func(t *testing.T) {
			f, s := settled(t)
			tc.spoil(f, s)
			got := strings.Join(f.faults(s), "\n")
			if (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
				t.Errorf("faults %q, want %q", got, tc.want)
			}
		})
	}
}

// line returns n samples of one process with values of a function.
func line(n int, of func(i int) float64) []sample {
	all := make([]sample, n)
	for i := range all {
		v := of(i)
		all[i] = sample{at: time.Unix(int64(i*5), 0), pid: 1, resident: v, heap: v, goroutines: v}
	}
	return all
}

func TestGrowth(t *testing.T) {
	cases := map[string]struct {
		samples []sample
		want    []string
	}{
		"Flat":   {line(30, func(int) float64 { return 100 }), nil},
		"Leak":   {line(30, func(i int) float64 { return 100 + 6*float64(i) }), []string{"resident memory", "heap", "goroutines"}},
		"Slight": {line(30, func(i int) float64 { return 100 + float64(i)/2 }), nil},
		"Bursts": {line(30, func(i int) float64 { return 100 + float64(i%4/3*i*20) }), nil},
		"Few":    {line(8, func(int) float64 { return 100 }), []string{"too few"}},
		"Two":    {append(line(15, func(int) float64 { return 1 }), sample{pid: 2}), []string{"was restarted"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := growth(tc.samples)
			if len(got) != len(tc.want) {
				t.Fatalf("%v, want %v", got, tc.want)
			}
			for i := range got {
				if !strings.Contains(got[i], tc.want[i]) {
					t.Errorf("%v, want %v", got, tc.want)
				}
			}
		})
	}
}

func TestRestGrowth(t *testing.T) {
	if got := restGrowth(sample{pid: 1, goroutines: 100}, sample{pid: 1, goroutines: 110}); got != nil {
		t.Error(got)
	}
	if got := restGrowth(sample{pid: 1, goroutines: 100}, sample{pid: 1, goroutines: 111}); got == nil {
		t.Error("11 more goroutines are not noticed")
	}
}

func TestTotal(t *testing.T) {
	got := total([]sample{
		{pid: 1, counts: harness.Metrics{"a": 1}},
		{pid: 1, counts: harness.Metrics{"a": 3}},
		{pid: 2, counts: harness.Metrics{"a": 10}},
	})
	if got["a"] != 13 {
		t.Errorf("%v, want 3 of the first process and 10 of the second", got)
	}
}

func TestText(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(log, []byte("12:00\tINFO\tx\n12:00\tERROR\ty\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	k := &soak{World: &frame.World{Env: &harness.Environment{Controller: &harness.Controller{LogPath: log}}}, done: map[string]int{"suspend": 4}}
	k.samples = line(9, func(int) float64 { return 50 })
	k.samples[8].counts = harness.Metrics{`pintle_helm_release_actions_total{action="install"}`: 3}
	text := k.text()
	for _, want := range []string{"suspend", "4\n", `action="install"`, "50 → 50; 50", "lines in its log that are errors  1\n", "12:00\tERROR\ty\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in:\n%s", want, text)
		}
	}
}
