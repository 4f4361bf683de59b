// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package trigger

import (
	"testing"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

func TestSourceChanged(t *testing.T) {
	repository := func(generation, observed int64, revision, failure string) *sourcev1.OCIRepository {
		o := &sourcev1.OCIRepository{ObjectMeta: metav1.ObjectMeta{Generation: generation}}
		o.Status.ObservedGeneration = observed
		if revision != "" {
			o.Status.Artifact = &fluxmeta.Artifact{Revision: revision, Digest: "sha256:" + revision}
		}
		if failure != "" {
			o.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: "False", Message: failure}}
		}
		return o
	}
	cases := map[string]struct {
		reason        string
		before, after *sourcev1.OCIRepository
		want          bool
	}{
		"Appeared":         {"a source offers something for the first time", repository(1, 1, "", ""), repository(1, 1, "a", ""), true},
		"Moved":            {"another artifact", repository(1, 1, "a", ""), repository(1, 1, "b", ""), true},
		"CaughtUp":         {"the same artifact serves the new spec: a release that waited for that must be told", repository(2, 1, "a", ""), repository(2, 2, "a", ""), true},
		"OtherCause":       {"nothing is offered, now for another reason, which users want to read", repository(1, 0, "", ""), repository(1, 1, "", "registry is down"), true},
		"Unchanged":        {"a status write that changes nothing for us", repository(1, 1, "a", ""), repository(1, 1, "a", ""), false},
		"FailsButOffers":   {"a failing fetch does not take back what is there", repository(1, 1, "a", ""), repository(1, 1, "a", "registry is down"), false},
		"StoppedOffering":  {"what was offered is installed, and news will follow", repository(1, 1, "a", ""), repository(2, 1, "a", ""), false},
		"StillTheSameHole": {"nothing is offered, for the reason known already", repository(1, 1, "", "x"), repository(1, 1, "", "x"), false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := (SourceChanged{}).Update(event.UpdateEvent{ObjectOld: tc.before, ObjectNew: tc.after}); got != tc.want {
				t.Errorf("%s: enqueues %t, want %t", tc.reason, got, tc.want)
			}
		})
	}
}

func TestConfigChanged(t *testing.T) {
	at := func(version string) *metav1.PartialObjectMetadata {
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{ResourceVersion: version}}
	}
	var p predicate.Predicate = ConfigChanged{}
	for reason, tc := range map[string]struct{ got, want bool }{
		"any change counts":                                     {p.Update(event.UpdateEvent{ObjectOld: at("1"), ObjectNew: at("2")}), true},
		"a resynchronisation is none":                           {p.Update(event.UpdateEvent{ObjectOld: at("1"), ObjectNew: at("1")}), false},
		"what is gone is missed":                                {p.Delete(event.DeleteEvent{Object: at("1")}), true},
		"what comes may be awaited":                             {p.Create(event.CreateEvent{Object: at("1")}), true},
		"what is there at the start is read by reconciliations": {p.Create(event.CreateEvent{Object: at("1"), IsInInitialList: true}), false},
	} {
		if tc.got != tc.want {
			t.Errorf("%s: enqueues %t", reason, tc.got)
		}
	}
}
