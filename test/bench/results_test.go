// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
				Name: phaseInstall, Seconds: 1.5, CPUSeconds: 0.4, ServerCPUSeconds: 0.7, PeakMiB: 61.2, EndMiB: 55, Sent: 6, Received: 4, Visits: 9,
				SentByMethod: map[string]int{"GET": 6}, ByKind: map[string]int{"list pods": 2, "get pods": 2},
				Revisions: 4, Downloads: 1, DownloadedBytes: 2048, SecretBytes: 4096, OthersReads: 3,
			},
			{Name: phaseIdle, PeakMiB: 60, PeakOfAll: true, ByKind: map[string]int{"get jobs": 4}},
			{Name: phaseInterval, Visits: 8, Sent: 2, Downloads: 4, CPUSeconds: 0.02},
		},
	}
	expect(t, s.text(),
		"pintle --kube-api-qps=9, 4 releases, --concurrent=2, 50 % never ready (timeout 0s), interval 1s",
		"2 CPUs, load 0.5 before; an artifact has 7 bytes, a stored revision 8",
		"install 1.50 0.40 100.0 0.70 61 55 6 1.5 4 1.0",
		"idle 0.00 0.00 0.0 0.00 60 since start 0 0 - 0 -",
		"install 9 4 1 2.0 4.0 1.0",
		"2 healthy ones of 4 releases are as wanted; all were ready 1.50 s after",
		"per visit at an interval of 1s: 0.25 requests, 0.50 downloads, 2.50 ms of CPU",
		"during install, 3 reads of Secrets were not the controller's",
		"install idle interval sent: GET 1.5 - - get jobs - 1.0 - get pods 0.5 - - list pods 0.5 - -",
	)
	s.Audit = false
	expect(t, s.text(), "install 1.50 0.40 100.0 0.70 61 55 6 1.5 ? ?", "install 9 ? 1")
}

func TestCeilings(t *testing.T) {
	s := &session{
		load: load{Releases: 100, Charts: 1}, Audit: true, Phases: []phase{
			{Name: phaseInstall, Seconds: 5.1, CPUSeconds: 3.5, Sent: 1900, PeakMiB: 100},
			{Name: phaseUpgrade, Seconds: 5, CPUSeconds: 4.6, Sent: 1601, PeakMiB: 101},
			{Name: phaseNoOp, CPUSeconds: 0.3, Sent: 200, PeakMiB: 500, PeakOfAll: true},
			{Name: phaseInterval, Visits: 200, Sent: 1},
			{Name: phaseStartUp, Revisions: 1},
			{Name: phaseDelete, Sent: 1400},
		},
	}
	verdicts := judge(s)
	text := verdictText(verdicts)
	expect(t, text,
		"install requests per release 19 19 ok", "install CPU s per release 0.035 0.035 ok", "install seconds 5.1 5 OVER",
		"upgrade requests per release 16.01 16 OVER", "upgrade CPU s per release 0.046 0.045 OVER", "upgrade seconds 5 5 ok",
		"no-op requests per release 2 2 ok", "no-op CPU s per release 0.003 0.003 ok",
		"interval requests per visit 0.005 0 OVER", "interval downloads per visit 0 0 ok", "start-up new revisions 1 0 OVER",
		"delete requests per release 14 14 ok", "install peak RSS MiB 100 100 ok", "upgrade peak RSS MiB 101 100 OVER",
	)
	if n := over(verdicts); n != 6 || strings.Contains(text, "no-op peak") || strings.Contains(text, "150") {
		t.Errorf("%d are over:\n%s", n, text)
	}
	s.Audit = false
	if n := over(judge(s)); n != 5 {
		t.Errorf("without an audit log, %d are over", n)
	}
}

func TestCeilingsHoldForTheirLoads(t *testing.T) {
	judged := func(l load) string {
		return verdictText(judge(&session{load: l, Phases: []phase{{Name: phaseInstall, Seconds: 60, PeakMiB: 120}}}))
	}
	if text := judged(load{Releases: 1000, Charts: 1}); !strings.Contains(text, "OVER") {
		expect(t, text, "install seconds 60 70 ok", "install peak RSS MiB 120 150 ok")
	} else {
		t.Error(text)
	}
	if text := judged(load{Releases: 10, Charts: 1}); strings.Contains(text, "seconds") || strings.Contains(text, "CPU") || !strings.Contains(text, "requests") {
		t.Error(text)
	}
	expect(t, judged(patience(load{Charts: 1})), "install seconds until the healthy are ready 60 10 OVER")
	for _, l := range suite(load{Releases: 100, Concurrent: 10, Charts: 1}, false)[1:] {
		if text := judged(l); !strings.Contains(text, "no ceiling holds") {
			t.Errorf("%s:\n%s", l.text(), text)
		}
	}
}

func TestCompare(t *testing.T) {
	one := session{Controller: "a", load: load{Releases: 10, Charts: 1, Interval: metav1.Duration{Duration: time.Second}}, Phases: []phase{
		{Name: phaseInstall, Seconds: 2, CPUSeconds: 1, PeakMiB: 50, EndMiB: 40, Sent: 100, Downloads: 1, DownloadedBytes: 10},
		{Name: phaseUpgrade, Seconds: 2},
		{Name: phaseInterval, Seconds: 2, Visits: 10, Sent: 10},
	}}
	other := session{Controller: "b", load: one.load, Phases: []phase{
		{Name: phaseInstall, Seconds: 1, CPUSeconds: 3, PeakMiB: 50, EndMiB: 60, Sent: 25, Visits: 5, Downloads: 10, DownloadedBytes: 100, SecretBytes: 7},
		{Name: phaseInterval, Seconds: 2, Visits: 20, Sent: 60, Downloads: 20},
	}}
	// As they come from a file.
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
