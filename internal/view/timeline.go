// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"slices"
	"time"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// Moment is an entry of a timeline: an event, or the deployment of a revision. At is nil if the time
// is not known.
type Moment struct {
	At       *time.Time
	Event    *Event
	Revision *Revision
}

// Timeline returns the events and revisions of a release, newest first. Those without a time come
// last.
func Timeline(events []Event, revisions []Revision) []Moment {
	var all []Moment
	for i := range revisions {
		all = append(all, Moment{At: revisions[i].Deployed, Revision: &revisions[i]})
	}
	for i := range events {
		all = append(all, Moment{At: &events[i].Last, Event: &events[i]})
	}
	slices.SortStableFunc(all, func(a, b Moment) int {
		if a.At == nil || b.At == nil {
			return cmp.Compare(boolRank(a.At == nil), boolRank(b.At == nil))
		}
		return b.At.Compare(*a.At)
	})
	return all
}

func boolRank(b bool) int {
	if b {
		return 1
	}
	return 0
}

// StatusHistory returns the revisions in the status of a HelmRelease, newest first: those that can
// be shown if the records cannot be read.
func StatusHistory(hr *helmv2.HelmRelease) []Revision {
	var records []Record
	for _, s := range hr.Status.History {
		records = append(records, Record{Revision: release.Revision{
			Version: s.Version, Status: s.Status, ChartName: s.ChartName, ChartVersion: s.ChartVersion, AppVersion: s.AppVersion,
			LastDeployed: s.LastDeployed.Time, Owner: string(hr.UID),
		}})
	}
	return History(hr, records)
}
