// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"cmp"
	"slices"
	"strings"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/brief"
	"github.com/pintle-dev/pintle/internal/release"
)

// Input is what spreads over releases: a chart, or an object that values come from.
type Input struct {
	// Object is the object with its key, or the source with the path in its artifact, as
	// "<kind>/<namespace>/<name>:<key>"; empty for a chart.
	Object string
	// Digest is the digest of the OCI artifact or of the content of the object. It is empty if a chart
	// comes from elsewhere, and if an object does not exist.
	Digest string
	// Name and Version are the name and version of a chart.
	Name, Version string
}

// Key identifies an input: a chart by its digest, or else as Helm does, by name and version. It is empty
// if the chart is not known.
func (i Input) Key() string {
	switch {
	case i.Object != "":
		return i.Object + "@" + i.Digest
	case i.Digest != "":
		// Status has the tag, too, if that is no version.
		_, digest, tagged := strings.Cut(i.Digest, "@")
		if tagged {
			return digest
		}
		return i.Digest
	case i.Version != "":
		return i.Name + "@" + i.Version
	}
	return ""
}

// String returns the name for users. It never has the digest of an object, which may be a Secret.
func (i Input) String() string {
	if i.Object != "" {
		return "values of " + i.Object
	}
	return i.Name + " " + cmp.Or(i.Version, brief.Cut(i.Digest, 19))
}

// Member is a HelmRelease with the facts that decide about its turn. All of them are in its metadata,
// its spec and the fields of status that helm-controller's CRD has, so that each process finds the same.
// What Values has, each process finds by reconciling the release.
type Member struct {
	Namespace, Name string
	Labels          map[string]string
	// DependsOn are the HelmReleases that it depends on, as "<namespace>/<name>".
	DependsOn []string
	// Outside is true if the policy does not select it. Only its dependencies count then.
	Outside bool
	// Paused is true if it is suspended or held at a revision. A deleted one takes no inputs.
	Paused, Deleted bool
	// Wants is the chart that its source has; zero if that is not known.
	Wants Input
	// From identifies where its inputs come from: what its source fetches, or the objects that its
	// values come from. Releases with an equal one get the same input, but not at the same moment.
	From []string
	// Starts are the keys of the inputs that it has got a turn for, which status does not show yet.
	Starts []string
	// Values is what is known of its values; nil in waves of charts.
	Values *Values

	// key is "<namespace>/<name>".
	key string
	// hasChart is the chart of its newest revision that has worked, and triedChart the chart of its last
	// attempt. past are the revisions in status.
	hasChart, triedChart       Input
	wantsKey, hasKey, triedKey string
	past                       helmv2.Snapshots
	// workedConfig and triedConfig are the digests of the values of both.
	workedConfig, triedConfig string
	// acts is true while an action runs. open is true if the last install or upgrade has not ended, or
	// was cut off, and rejected if the one before the running one was rejected.
	acts, open, rejected bool
	// between is true if its release was uninstalled in order to be installed anew.
	between bool
	// bakes is true if it is watched, since bakesSince, and untested if its tests have not run.
	bakes, untested bool
	bakesSince      time.Time
	// broken is true if its last attempt has failed with its present generation and was not repaired,
	// at failedAt. failedTests is true if its tests have failed.
	broken, failedTests bool
	failedAt            time.Time
	cause               string
	// ready is true if it is ready, blocked if it waits for a dependency, and waits if it waits for its
	// turn.
	ready, blocked, waits bool
}

// Key returns "<namespace>/<name>".
func (m *Member) Key() string { return m.key }

// Want records that the release takes a chart, whatever its source has.
func (m *Member) Want(chart Input) { m.Wants, m.wantsKey = chart, chart.Key() }

// BakesSince returns when the watch over the release began; zero if it is not watched.
func (m *Member) BakesSince() time.Time { return m.bakesSince }

// Failure returns why the last attempt of the release has failed, and when.
func (m *Member) Failure() (cause string, at time.Time) { return m.cause, m.failedAt }

// causeLength limits the cause of a failure in messages of others.
const causeLength = 160

// MemberOf returns a HelmRelease as a member. wants is the chart that its source has; zero if that is
// not known.
func MemberOf(hr *helmv2.HelmRelease, wants Input, now time.Time) Member {
	s := &hr.Status
	m := Member{
		Namespace: hr.Namespace, Name: hr.Name, Labels: hr.Labels, Wants: wants, key: hr.Namespace + "/" + hr.Name,
		Paused:  release.SuspensionOf(hr.Spec.Suspend, hr.Annotations, now).Active || release.HoldOf(hr.Annotations, now).Active,
		Deleted: !hr.DeletionTimestamp.IsZero(),
	}
	ready, released := condition(s, helmv2.ConditionReady), condition(s, helmv2.ConditionReleased)
	tests, reconciling := condition(s, helmv2.ConditionTestSuccess), condition(s, helmv2.ConditionReconciling)
	last := release.Latest(s.History)
	if worked := worked(s.History); worked != nil {
		m.hasChart = chartOf(worked)
		m.workedConfig = worked.ConfigDigest
	}
	m.past, m.triedConfig = s.History, s.LastAttemptedConfigDigest
	m.triedChart = Input{Digest: s.LastAttemptedRevisionDigest, Name: wants.Name, Version: s.LastAttemptedRevision}
	if last != nil && last.ChartVersion == s.LastAttemptedRevision {
		m.triedChart.Name = last.ChartName
	}
	m.wantsKey, m.hasKey, m.triedKey = wants.Key(), m.hasChart.Key(), m.triedChart.Key()
	acted := s.LastAttemptedReleaseAction == helmv2.ActionInstall || s.LastAttemptedReleaseAction == helmv2.ActionUpgrade
	m.acts = reconciling.Status == metav1.ConditionTrue && reconciling.Reason == helmv2.ReasonProgressing
	m.open = acted && s.LastAttemptedReleaseActionDuration == nil
	m.rejected = acted && release.Rejected(*s)
	m.between = released.Status == metav1.ConditionFalse && released.Reason == helmv2.ReasonUninstallSucceeded
	m.untested = tests.Status == metav1.ConditionUnknown && tests.Reason == helmv2.ReasonAwaitingTests
	m.ready = ready.Status == metav1.ConditionTrue
	m.blocked, m.waits = ready.Reason == helmv2.ReasonDependencyNotReady, ready.Reason == helmv2.ReasonAwaitingRollout
	if baking := condition(s, helmv2.ConditionBaking); baking.Status == metav1.ConditionTrue {
		m.bakes, m.bakesSince = true, baking.LastTransitionTime.Time
	}
	m.failedTests = tests.Status == metav1.ConditionFalse
	m.broken = s.InstallFailures+s.UpgradeFailures > 0 && !m.ready && s.LastAttemptedGeneration == hr.Generation
	if m.broken {
		// Released stays False while the attempt is repeated. Its message is stable.
		m.cause = brief.Middle(brief.Line(ready.Message), causeLength)
		if released.Status == metav1.ConditionFalse {
			m.cause = brief.Middle(brief.Line(released.Message), causeLength)
		} else if m.failedTests {
			m.cause = brief.Middle(brief.Line(tests.Message), causeLength)
		}
		for _, c := range []metav1.Condition{ready, released, tests} {
			if c.Status == metav1.ConditionFalse && c.LastTransitionTime.After(m.failedAt) {
				m.failedAt = c.LastTransitionTime.Time
			}
		}
	}
	return m
}

func chartOf(s *helmv2.Snapshot) Input {
	return Input{Digest: s.OCIDigest, Name: s.ChartName, Version: s.ChartVersion}
}

// worked returns the newest revision that is or was deployed; nil if there is none. If another one of
// the same chart has failed, that was a change of values.
func worked(history helmv2.Snapshots) *helmv2.Snapshot {
	var found *helmv2.Snapshot
	for _, s := range history {
		if s != nil && (s.Status == helmv2.StatusDeployed || s.Status == helmv2.StatusSuperseded) && (found == nil || s.Version > found.Version) {
			found = s
		}
	}
	return found
}

func condition(s *helmv2.HelmReleaseStatus, kind string) metav1.Condition {
	if c := apimeta.FindStatusCondition(s.Conditions, kind); c != nil {
		return *c
	}
	return metav1.Condition{}
}

// takes reports whether a release wants an input, has reports whether it has it, and tried whether its
// last attempt was to get it.
func (m *Member) takes(key string) bool {
	if m.Values != nil {
		return slices.Contains(m.Values.wants, key)
	}
	return m.wantsKey == key
}

func (m *Member) has(key string) bool {
	if m.Values != nil {
		return slices.Contains(m.Values.has, key) || m.Values.made(m.workedConfig) && m.takes(key)
	}
	return m.hasKey == key
}

func (m *Member) tried(key string) bool {
	if m.Values != nil {
		return m.Values.config != "" && m.Values.config == m.triedConfig && m.takes(key)
	}
	return m.triedKey == key
}

// unknown reports whether this process does not know yet what a release has of an object that its values
// come from.
func (m *Member) unknown(key string) bool {
	return m.Values != nil && m.Values.config == "" && slices.Contains(m.From, objectOf(key))
}

// expects reports whether a release will want an input that comes from one of some origins, but does not
// know it yet: its source has not fetched it, or the release was not reconciled with it.
func (m *Member) expects(key string, from map[string]bool) bool {
	if m.Paused || m.Deleted || m.takes(key) || m.began(key) || !slices.ContainsFunc(m.From, func(f string) bool { return from[f] }) {
		return false
	}
	if m.Values != nil {
		return true
	}
	// It may have had it already.
	return !slices.ContainsFunc(m.past, func(s *helmv2.Snapshot) bool {
		return s != nil && chartOf(s).Key() == key
	})
}

// began reports whether the release has begun with an input: an attempt to get it was announced.
func (m *Member) began(key string) bool { return m.tried(key) || m.has(key) }

// moves reports whether a release is installed, upgraded, tested or watched with an input.
func (m *Member) moves(key string) bool {
	active := !m.Paused && !m.Deleted
	watched := (m.bakes || m.untested) && active
	acts, open := m.acts && (m.open || m.rejected), m.open && active
	between := m.between && active && !m.blocked
	switch {
	case slices.Contains(m.Starts, key):
		return true
	case m.unknown(key):
		return watched || acts || open || between
	case m.has(key):
		return watched
	case m.between:
		return between && m.takes(key)
	case !m.tried(key):
		return false
	}
	return acts || open && m.takes(key)
}

// failed reports whether a release has failed with an input since a time. Nothing is known of a release
// whose values were not read yet, so that its failure counts.
func (m *Member) failed(key string, since time.Time) bool {
	if !m.broken || m.Paused || m.Deleted || !m.failedAt.After(since) {
		return false
	}
	if m.unknown(key) {
		return true
	}
	return m.tried(key) && !m.repaired() && (m.takes(key) || m.Values == nil && m.wantsKey == "")
}

// repaired reports whether an attempt has worked since the failure, so that something else is the matter
// now.
func (m *Member) repaired() bool {
	if m.failedTests || m.hasKey == "" || m.hasKey != m.triedKey {
		return false
	}
	return m.Values == nil || m.Values.made(m.workedConfig)
}

// done reports whether a release has an input.
func (m *Member) done(key string) bool { return m.has(key) || m.tried(key) && m.ready }
