// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package site

import (
	"bytes"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/view/list"
)

var noon = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)

// releasesOf returns HelmReleases, of which one in twenty is failing.
func releasesOf(n int) []helmv2.HelmRelease {
	all := make([]helmv2.HelmRelease, n)
	for i := range all {
		hr := &all[i]
		hr.Namespace, hr.Name, hr.Generation = fmt.Sprintf("team-%02d", i%40), fmt.Sprintf("app-%04d", i), 1
		hr.Labels = map[string]string{"team": fmt.Sprint(i % 7)}
		ready := metav1.Condition{Type: helmv2.ConditionReady, Status: metav1.ConditionTrue, Reason: helmv2.ReasonUpgradeSucceeded}
		ready.Message = fmt.Sprintf("Helm upgrade succeeded for release %s/%s.v2 with chart podinfo@6.2.0", hr.Namespace, hr.Name)
		if i%20 == 0 {
			ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, helmv2.ReasonUpgradeFailed, "Helm upgrade failed: timeout"
		}
		hr.Status.ObservedGeneration, hr.Status.Conditions = 1, []metav1.Condition{ready}
		for v := range 2 {
			hr.Status.History = append(hr.Status.History, &helmv2.Snapshot{
				Version: 2 - v, ChartName: fmt.Sprint("chart-", i%30), ChartVersion: "6.2.0", Action: helmv2.ActionUpgrade,
				Status: helmv2.StatusDeployed, LastDeployed: metav1.NewTime(noon.Add(-time.Duration(i) * time.Minute)),
			})
		}
	}
	return all
}

// outage returns 500 HelmReleases, of which 480 in 40 namespaces fail since the registry is away.
func outage() []helmv2.HelmRelease {
	all := releasesOf(500)
	for i := range all {
		hr := &all[i]
		ready := &hr.Status.Conditions[0]
		ready.Status, ready.Reason, ready.Message = metav1.ConditionTrue, helmv2.ReasonUpgradeSucceeded, "Helm upgrade succeeded"
		fail := func(code, cause string, age time.Duration) {
			at := metav1.NewTime(noon.Add(-age))
			*ready = metav1.Condition{
				Type: helmv2.ConditionReady, Status: metav1.ConditionFalse, Reason: helmv2.ReasonUpgradeFailed, LastTransitionTime: at,
				Message: fmt.Sprintf("Upgrade to chart-%d 6.3.0 failed: %s. Chart 6.2.0 still runs (revision 1). Retrying with back-off, no more than 15 minutes apart.\nHelm upgrade failed for release %s/%s with chart chart-%d@6.3.0: context deadline exceeded", i%30, cause, hr.Namespace, hr.Name, i%30),
			}
			hr.Status.Conditions = append(hr.Status.Conditions, metav1.Condition{
				Type: helmv2.ConditionFailing, Status: metav1.ConditionTrue, Reason: code, Message: cause, LastTransitionTime: at,
			})
		}
		switch {
		case i >= 482:
		case i >= 480:
			fail(helmv2.FailureCrashLoop, fmt.Sprintf("Deployment %s: container main exited with code 3", hr.Name), time.Duration(50*i)*time.Minute)
		default:
			fail(helmv2.FailureImageNotFound, fmt.Sprintf("Deployment %s: container main cannot pull registry.example.com/shop/%[1]s@sha256:%064d: not found", hr.Name, i), 10*time.Minute+time.Duration(i)*time.Second)
		}
	}
	return all
}

// TestOutage: under an outage, the top of the overview says what happened, since when and to whom.
func TestOutage(t *testing.T) {
	parsed, err := parse()
	if err != nil {
		t.Fatal(err)
	}
	query, _ := list.ParseReleases(nil)
	var html bytes.Buffer
	if err := parsed.pages["overview"].ExecuteTemplate(&html, "lists", list.OverviewOf(outage(), query, noon)); err != nil {
		t.Fatal(err)
	}
	golden(t, "overview-outage", html.String())
}

// rendered returns the overview of releases as HTML.
func rendered(t testing.TB, parsed *templates, all []helmv2.HelmRelease, parameters string, h Health) string {
	t.Helper()
	values, err := url.ParseQuery(parameters)
	if err != nil {
		t.Fatal(err)
	}
	query, problems := list.ParseReleases(values)
	data := &layout{Title: "Releases", User: &authenticationv1.UserInfo{Username: "user"}, path: "/"}
	data.Content = &overviewPage{Overview: list.OverviewOf(all, query, noon), Health: h, Problems: problems}
	var page bytes.Buffer
	if err := parsed.pages["overview"].ExecuteTemplate(&page, "layout", data); err != nil {
		t.Fatal(err)
	}
	return page.String()
}

// BenchmarkOverview: an overview of 3000 releases, from the list in memory to the page.
func BenchmarkOverview(b *testing.B) {
	parsed, err := parse()
	if err != nil {
		b.Fatal(err)
	}
	all := releasesOf(3000)
	for _, parameters := range []string{"", "namespace=team-03&state=Failing", "q=app-0042", "selector=team%3D3&page=5"} {
		b.Run(parameters, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				rendered(b, parsed, all, parameters, Health{})
			}
		})
	}
}

// TestHeading: the heading of the rows names all that they are filtered by.
func TestHeading(t *testing.T) {
	parsed, err := parse()
	if err != nil {
		t.Fatal(err)
	}
	for parameters, want := range map[string]string{
		"":                         "Releases",
		"state=Ready":              "Ready releases",
		"drifted=true":             "Drifted releases",
		"state=Ready&drifted=true": "Ready releases with drift",
	} {
		if page := rendered(t, parsed, releasesOf(1), parameters, Health{}); !strings.Contains(page, `<h2 id="rows-title">`+want+"</h2>") {
			t.Errorf("%s: the heading is not %q", parameters, want)
		}
	}
}

// TestReplica: a replica that does not reconcile says so, and so does one whose clusters do not answer.
func TestReplica(t *testing.T) {
	parsed, err := parse()
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		health Health
		want   string
	}{
		{Health{Elects: true}, "This replica stands by"},
		{Health{Observes: true}, "This process only observes"},
		{Health{Elects: true, Leads: true, Unreachable: 2}, "2 of the other clusters do not answer"},
		{Health{Elects: true, Leads: true}, ""},
		{Health{}, ""},
	} {
		for _, n := range []int{0, 1} {
			page := rendered(t, parsed, releasesOf(n), "", tc.health)
			if has := strings.Contains(page, `<p class="notice`); has != (tc.want != "") || !strings.Contains(page, tc.want) {
				t.Errorf("%+v, %d releases: notice %t, want %q", tc.health, n, has, tc.want)
			}
		}
	}
}

// TestLive: a page names the paths whose changes it shows.
func TestLive(t *testing.T) {
	for path, want := range map[string]string{
		"/":                       "/releases",
		"/releases/shop/cart":     "/releases/shop/cart /operations/shop",
		"/operations":             "/operations",
		"/rollouts":               "/releases",
		"/operations/shop/backup": "/operations/shop/backup",
	} {
		l := &layout{User: &authenticationv1.UserInfo{}, path: path}
		if got := l.Live(); got != want {
			t.Errorf("%s: %q", path, got)
		}
	}
	if got := (&layout{path: "/login"}).Live(); got != "" {
		t.Errorf("without a user: %q", got)
	}
}
