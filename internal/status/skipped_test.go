// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// TestSkippedObjects: one event names the objects whose kinds are gone. An interrupted action has
// none, because it is repeated.
func TestSkippedObjects(t *testing.T) {
	t.Parallel()
	widget := func(name string) release.Object {
		return release.Object{Group: "example.com", Version: "v1", Kind: "Widget", Namespace: "prod", Name: name}
	}
	many := make([]release.Object, 0, 25)
	for i := range 25 {
		many = append(many, widget(fmt.Sprint("w", i)))
	}
	outage := &release.Outage{Server: "the API server", Since: testNow}
	for name, tc := range map[string]struct {
		outcome release.Outcome
		want    string
	}{
		"Uninstall": {
			release.Outcome{Action: release.Uninstall{}, Skipped: []release.Object{widget("a"), {Group: "batch", Version: "v1beta1", Kind: "CronJob", Name: "b"}}},
			"Helm uninstall skipped objects of kinds that the API server does not serve any more: Widget/prod/a (example.com/v1), CronJob/b (batch/v1beta1)",
		},
		"Upgrade": {
			release.Outcome{Action: release.Upgrade{}, Skipped: []release.Object{{Version: "v1", Kind: "Thing", Name: "t"}}, Revisions: []release.Revision{testRevision(2, helmv2.StatusDeployed)}},
			"Helm upgrade skipped objects of kinds that the API server does not serve any more: Thing/t (v1)",
		},
		"Failed": {
			release.Outcome{Action: release.Uninstall{}, Err: errors.New("no"), Skipped: []release.Object{widget("a")}},
			"Helm uninstall skipped objects of kinds that the API server does not serve any more: Widget/prod/a (example.com/v1)",
		},
		"Interrupted": {release.Outcome{Action: release.Uninstall{}, Err: errors.New("no"), Interrupted: outage, Skipped: []release.Object{widget("a")}}, ""},
		"Cancelled":   {release.Outcome{Action: release.Uninstall{}, Err: errors.New("no"), Cancelled: true, Skipped: []release.Object{widget("a")}}, ""},
		"None":        {release.Outcome{Action: release.Uninstall{}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := skippedEvents(tc.outcome); !slices.Equal(got, slices.DeleteFunc([]string{tc.want}, func(s string) bool { return s == "" })) {
				t.Errorf("events %q, want %q", got, tc.want)
			}
		})
	}
	got := skippedEvents(release.Outcome{Action: release.Uninstall{}, Skipped: many})
	if len(got) != 1 || !strings.HasSuffix(got[0], "Widget/prod/w19 (example.com/v1) and 5 more") || strings.Contains(got[0], "w20") {
		t.Errorf("events %q", got)
	}
}

// skippedEvents returns the messages of the events about skipped objects at the end of an action.
func skippedEvents(o release.Outcome) []string {
	o.Started, o.Ended = testNow, testNow
	var messages []string
	for _, e := range Finished(&helmv2.HelmRelease{}, o, testNow).Events {
		if e.Reason == helmv2.EventReasonObjectsSkipped && e.Type == "Warning" {
			messages = append(messages, e.Message)
		}
	}
	return messages
}

// TestKeptObjectsEvent: one event names the objects that were not deleted, since other releases own them.
func TestKeptObjectsEvent(t *testing.T) {
	t.Parallel()
	kept := func(o release.Outcome) []string {
		o.Started, o.Ended = testNow, testNow
		var messages []string
		for _, e := range Finished(&helmv2.HelmRelease{}, o, testNow).Events {
			if e.Reason == helmv2.EventReasonObjectsKept && e.Type == "Warning" {
				messages = append(messages, e.Message)
			}
		}
		return messages
	}
	for want, o := range map[string]release.Outcome{
		"Helm uninstall kept objects: a, b": {Action: release.Uninstall{}, Kept: []string{"a", "b"}},
		"Helm uninstall kept objects: c":    {Action: release.Uninstall{}, Err: errors.New("no"), Kept: []string{"c"}},
		"Helm upgrade kept objects: " + strings.Repeat("d, ", 19) + "d and 2 more": {
			Action: release.Upgrade{}, Revisions: []release.Revision{testRevision(2, helmv2.StatusDeployed)}, Kept: slices.Repeat([]string{"d"}, 22),
		},
		"": {Action: release.Uninstall{}, Err: errors.New("no"), Cancelled: true, Kept: []string{"e"}},
	} {
		if got := strings.Join(kept(o), "|"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
