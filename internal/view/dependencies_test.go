// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"reflect"
	"strconv"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

func dependencyRelease(namespace, name, reason string) helmv2.HelmRelease {
	hr := helmv2.HelmRelease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	status := metav1.ConditionFalse
	if reason == "" {
		status, reason = metav1.ConditionTrue, "InstallSucceeded"
	}
	hr.Status.Conditions = []metav1.Condition{{Type: helmv2.ConditionReady, Status: status, Reason: reason}}
	return hr
}

// TestDependencies: dependencies have their states, those that the user may not get have no name, and dependents
// are sorted.
func TestDependencies(t *testing.T) {
	db, web, api := dependencyRelease("data", "db", ""), dependencyRelease("b", "web", helmv2.ReasonDependencyNotReady), dependencyRelease("a", "api", "")
	facts := []DependencyFact{
		{Object: Object{Kind: "HelmRelease", Namespace: "data", Name: "db"}, Release: &db, Why: "its latest generation has not been reconciled"},
		{Object: Object{Kind: "HelmRelease", Namespace: "secret", Name: "vault"}, Forbidden: true},
		{Object: Object{Kind: "Job", Namespace: "a", Name: "seed"}, State: "Failed", Why: "failed\nbadly", Expression: "dep.status.done"},
	}
	got := DependenciesOf(facts, 5, []helmv2.HelmRelease{web, api}, time.Time{})
	want := []Dependency{
		{Object: facts[0].Object, HasPage: true, State: "Ready", Why: "its latest generation has not been reconciled"},
		{Object: Object{Kind: "HelmRelease"}, Forbidden: true, State: "Unknown"},
		{Object: facts[2].Object, State: "Failed", Why: "failed", Expression: "dep.status.done"},
	}
	if !reflect.DeepEqual(got.On.Entries, want) || got.On.More != 2 {
		t.Errorf("got %+v\nwant %+v", got.On, want)
	}
	by := []Dependent{{Namespace: "a", Name: "api", State: Ready}, {Namespace: "b", Name: "web", State: Waiting, Waits: true}}
	if !reflect.DeepEqual(got.By.Entries, by) {
		t.Errorf("got %+v\nwant %+v", got.By, by)
	}
}

// TestManyDependents: a long list of dependents is cut.
func TestManyDependents(t *testing.T) {
	var many []helmv2.HelmRelease
	for i := range 130 {
		many = append(many, dependencyRelease("a", strconv.Itoa(i), ""))
	}
	if got := DependenciesOf(nil, 0, many, time.Time{}).By; len(got.Entries) != maxDependents || got.Len() != 130 {
		t.Errorf("%d of %d are listed", len(got.Entries), got.Len())
	}
}
