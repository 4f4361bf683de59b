// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pintle-dev/pintle/test/harness"
)

func squeeze(text string) string { return strings.Join(strings.Fields(text), " ") }

func expect(t *testing.T, text string, all ...string) {
	t.Helper()
	for _, want := range all {
		if !strings.Contains(squeeze(text), want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
}

func TestTables(t *testing.T) {
	s := &session{
		Controller: "pintle", Args: []string{"--kube-api-qps=9"}, CPUs: 2, SystemLoad: 0.5, Audit: true, ArtifactBytes: 7, RevisionBytes: 8,
		load: load{Releases: 4, Concurrent: 2, Charts: 1, Unready: 50, Interval: metav1.Duration{Duration: time.Second}},
		Phases: []phase{
			{
				Name: phaseInstall, Seconds: 1.5, CPUSeconds: 0.4, ServerCPUSeconds: 0.7, PeakMiB: 61.2, EndMiB: 55, Sent: 6, Received: 4, Reconciliations: 9,
				SentByMethod: map[string]int{"GET": 6}, ByKind: map[string]int{"list pods": 2, "get pods": 2},
				Revisions: 4, Downloads: 1, DownloadedBytes: 2048, SecretBytes: 4096, OthersReads: 3,
			},
			{Name: phaseIdle, PeakMiB: 60, PeakOfAll: true, ByKind: map[string]int{"get jobs": 4}},
			{Name: phaseInterval, Reconciliations: 8, Sent: 2, Downloads: 4, CPUSeconds: 0.02},
		},
	}
	expect(t, s.text(),
		"pintle --kube-api-qps=9, 4 releases, --concurrent=2, 50 % never ready (timeout 0s), interval 1s",
		"2 CPUs, load 0.5 before; an artifact has 7 bytes, a stored revision 8",
		"install 1.50 0.40 100.0 0.70 61 55 6 1.5 4 1.0",
		"idle 0.00 0.00 0.0 0.00 60 since start 0 0 - 0 -",
		"install 9 4 1 2.0 4.0 1.0",
		"2 healthy ones of 4 releases have reached the expected state; all were ready 1.50 s after",
		"per reconciliation at an interval of 1s: 0.25 requests, 0.50 downloads, 2.50 ms of CPU",
		"during install, 3 reads of Secrets were not the controller's",
		"install idle interval sent: GET 1.5 - - get jobs - 1.0 - get pods 0.5 - - list pods 0.5 - -",
	)
	s.Audit = false
	expect(t, s.text(), "install 1.50 0.40 100.0 0.70 61 55 6 1.5 ? ?", "install 9 ? 1")
}

func TestCeilings(t *testing.T) {
	s := &session{
		load: load{Releases: 100, Charts: 1}, Audit: true, Phases: []phase{
			{Name: phaseInstall, Seconds: 5.1, CPUSeconds: 3.5, Sent: 1900, PeakMiB: 130},
			{Name: phaseUpgrade, Seconds: 5, CPUSeconds: 4.6, Sent: 1601, PeakMiB: 131},
			{Name: phaseNoOp, CPUSeconds: 0.3, Sent: 200, PeakMiB: 500, PeakOfAll: true},
			{Name: phaseInterval, Reconciliations: 200, Sent: 1},
			{Name: phaseStartUp, Revisions: 1},
			{Name: phaseDelete, Sent: 1800},
		},
	}
	results := checkCeilings(s)
	text := ceilingTable(results)
	expect(t, text,
		"install requests per release 19 19 ok", "install CPU s per release 0.035 0.035 ok", "install seconds 5.1 5 OVER",
		"upgrade requests per release 16.01 16 OVER", "upgrade CPU s per release 0.046 0.045 OVER", "upgrade seconds 5 5 ok",
		"no-op requests per release 2 2 ok", "no-op CPU s per release 0.003 0.003 ok",
		"interval requests per reconciliation 0.005 0 OVER", "interval downloads per reconciliation 0 0 ok", "start-up new revisions 1 0 OVER",
		"delete requests per release 18 18 ok", "install peak RSS MiB 130 130 ok", "upgrade peak RSS MiB 131 130 OVER",
	)
	if n := over(results); n != 6 || strings.Contains(text, "no-op peak") || strings.Contains(text, "150") {
		t.Errorf("%d are over:\n%s", n, text)
	}
	s.Audit = false
	if n := over(checkCeilings(s)); n != 5 {
		t.Errorf("without an audit log, %d are over", n)
	}
}

func TestCeilingsHoldForTheirLoads(t *testing.T) {
	check := func(l load) string {
		return ceilingTable(checkCeilings(&session{load: l, Phases: []phase{{Name: phaseInstall, Seconds: 60, PeakMiB: 120}}}))
	}
	if text := check(load{Releases: 1000, Charts: 1}); !strings.Contains(text, "OVER") {
		expect(t, text, "install seconds 60 70 ok", "install peak RSS MiB 120 150 ok")
	} else {
		t.Error(text)
	}
	if text := check(load{Releases: 10, Charts: 1}); strings.Contains(text, "seconds") || strings.Contains(text, "CPU") || !strings.Contains(text, "requests") {
		t.Error(text)
	}
	expect(t, check(patience(load{Charts: 1})), "install seconds until the healthy releases are ready 60 10 OVER")
	for _, l := range suite(load{Releases: 100, Concurrent: 10, Charts: 1}, false)[1:] {
		if text := check(l); !strings.Contains(text, "no ceiling holds") {
			t.Errorf("%s:\n%s", l.text(), text)
		}
	}
}

// drifted is a session with drift detection, in which two of four changed objects
// were corrected in time.
func drifted() session {
	return session{
		load: load{Releases: 20, Charts: 1, Drift: true}, Notes: []string{"warn is left out: because"}, Phases: []phase{
			{Name: phaseIdle, Sent: 1},
			{Name: phaseDrift, Tampered: &tampered{
				Changed: harness.Spread{Count: 4, Left: 2, Median: 1, P95: 60, Worst: 61},
				Deleted: harness.Spread{Count: 2, Median: 2, P95: 5, Worst: 5},
			}},
			{Name: phaseWarn, Tampered: &tampered{Changed: harness.Spread{Count: 4, Median: 2.5, P95: 3, Worst: 5.5}}},
		},
	}
}

func TestDriftTable(t *testing.T) {
	s := drifted()
	expect(t, s.text(),
		"s from the write objects median 95th percentile worst left undone",
		"drift, changed 4 1.00 > 60.00 > 61.00 2", "drift, deleted 2 2.00 5.00 5.00 0",
		"warn, changed 4 2.50 3.00 5.50 0", "warn, deleted 0 - - - 0",
		"warn is left out: because",
	)
	s.Phases = s.Phases[:1]
	if text := s.text(); strings.Contains(text, "left undone") {
		t.Errorf("without drift there is a table of it:\n%s", text)
	}
}

func TestDriftCeilings(t *testing.T) {
	s := drifted()
	results := checkCeilings(&s)
	text := ceilingTable(results)
	expect(t, text,
		"idle requests per release 0.05 0 OVER",
		"drift left undone, changed 2 0 OVER", "drift left undone, deleted 0 0 ok",
		"drift median s, changed 1 2 ok", "drift median s, deleted 2 2 ok",
		"drift worst s, changed 61 5 OVER", "drift worst s, deleted 5 5 ok",
		"warn left undone, changed 0 0 ok", "warn median s, changed 2.5 2 OVER", "warn worst s, changed 5.5 5 OVER",
	)
	if n := over(results); n != 5 || strings.Contains(squeeze(text), "warn median s, deleted") {
		t.Errorf("%d are over:\n%s", n, text)
	}
	s.CRDs = 1
	if text := ceilingTable(checkCeilings(&s)); !strings.Contains(text, "no ceiling holds") {
		t.Error(text)
	}
}

func TestCompareDrift(t *testing.T) {
	one, other := drifted(), drifted()
	other.Phases[1].Tampered.Deleted = harness.Spread{Count: 2, Left: 1, Median: 4, P95: 60, Worst: 60}
	other.Phases[2].Tampered.Changed.Median = 5
	expect(t, compareSessions([]session{one}, []session{other}),
		"s from the write median 95th percentile worst left undone",
		"drift, changed 1.00 ? ? 2 to 2", "drift, deleted 2.00 > 12.00 > 12.00 0 to 1",
		"warn, changed 2.00 1.00 1.00 0 to 0", "warn, deleted ? ? ? 0 to 0",
	)
	other.Phases = other.Phases[:2]
	if text := compareSessions([]session{one}, []session{other}); strings.Contains(text, "warn, changed") {
		t.Errorf("a phase that only one has is compared:\n%s", text)
	}
}

func TestWhatDriftChangesAboutASession(t *testing.T) {
	names := func(b *bench) (all []string) {
		for _, s := range b.steps() {
			all = append(all, s.name)
		}
		return all
	}
	with, without := &bench{load: load{Releases: 1, Charts: 1, Drift: true}}, &bench{load: load{Releases: 1, Charts: 1}}
	if got := names(with); !slices.Contains(got, phaseDrift) || !slices.Contains(got, phaseWarn) {
		t.Errorf("phases with drift detection: %v", got)
	}
	if got := names(without); slices.Contains(got, phaseDrift) || slices.Contains(got, phaseWarn) {
		t.Errorf("phases without: %v", got)
	}
	if i := with.release(0).Spec.Interval.Duration; i != driftInterval || without.release(0).Spec.Interval.Duration != longInterval {
		t.Errorf("with drift detection the interval is %s", i)
	}
	with.session = drifted()
	warn := with.warn()
	if warn.omit() == "" {
		t.Error("uncorrected objects are changed again")
	}
	if with.session.Phases[1].Tampered.Changed.Left = 0; warn.omit() != "" {
		t.Error("warn is left out for no reason: " + warn.omit())
	}
}

func TestCompare(t *testing.T) {
	one := session{Controller: "a", load: load{Releases: 10, Charts: 1, Interval: metav1.Duration{Duration: time.Second}}, Phases: []phase{
		{Name: phaseInstall, Seconds: 2, CPUSeconds: 1, PeakMiB: 50, EndMiB: 40, Sent: 100, Downloads: 1, DownloadedBytes: 10},
		{Name: phaseUpgrade, Seconds: 2},
		{Name: phaseInterval, Seconds: 2, Reconciliations: 10, Sent: 10},
	}}
	other := session{Controller: "b", load: one.load, Phases: []phase{
		{Name: phaseInstall, Seconds: 1, CPUSeconds: 3, PeakMiB: 50, EndMiB: 60, Sent: 25, Reconciliations: 5, Downloads: 10, DownloadedBytes: 100, SecretBytes: 7},
		{Name: phaseInterval, Seconds: 2, Reconciliations: 20, Sent: 60, Downloads: 20},
	}}
	// Sessions as read from a file.
	content, err := json.Marshal([]session{one, {load: load{Releases: 5}}})
	if err != nil {
		t.Fatal(err)
	}
	var first []session
	if err := json.Unmarshal(content, &first); err != nil {
		t.Fatal(err)
	}
	text := compareSessions(first, []session{{load: load{Releases: 6}}, other})
	expect(t, text,
		"10 releases, --concurrent=0, interval 1s A: a (0 CPUs, load 0.0), B: b",
		"install 0.50 3.00 1.00 1.50 0.25 10.00 10.00 0 to 7",
		"interval 1.00 0 both 0 both 0 both 3.00 0 to 1",
		"only in A: 5 releases", "only in B: 6 releases",
	)
	if strings.Contains(text, phaseUpgrade) {
		t.Errorf("a phase that only one has is compared:\n%s", text)
	}
}
