// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"cmp"
	"strings"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/brief"
	"github.com/pintle-dev/pintle/internal/release"
)

// Chart is a chart that spreads over releases.
type Chart struct {
	// Digest is the digest of the OCI artifact; empty if the chart comes from elsewhere.
	Digest        string
	Name, Version string
}

// Key identifies a chart: by its digest, or else as Helm does, by name and version. It is empty if the
// chart is not known.
func (c Chart) Key() string {
	switch {
	case c.Digest != "":
		// Status has the tag, too, if that is no version.
		_, digest, tagged := strings.Cut(c.Digest, "@")
		if tagged {
			return digest
		}
		return c.Digest
	case c.Version != "":
		return c.Name + "@" + c.Version
	}
	return ""
}

// String returns the name and version for users.
func (c Chart) String() string {
	return c.Name + " " + cmp.Or(c.Version, brief.Cut(c.Digest, 19))
}

// Member is a HelmRelease with the facts that decide about its turn. All of them are in its metadata,
// its spec and the fields of status that helm-controller's CRD has, so that each process finds the same.
type Member struct {
	Namespace, Name string
	Labels          map[string]string
	// DependsOn are the HelmReleases that it depends on, as "<namespace>/<name>".
	DependsOn []string
	// Outside is true if the policy does not select it. Only its dependencies count then.
	Outside bool
	// Paused is true if it is suspended or held at a revision. A deleted one takes no chart.
	Paused, Deleted bool
	// Wants is the chart that its source has; zero if that is not known.
	Wants Chart
	// Starts is the key of the chart that it has got a turn for, which status does not show yet; empty
	// if there is none.
	Starts string

	// key is "<namespace>/<name>".
	key string
	// has is the chart of its newest revision that has worked, and tried the chart of its last attempt.
	has, tried                 Chart
	wantsKey, hasKey, triedKey string
	// acts is true while an action runs. open is true if the last install or upgrade has not ended, or
	// was cut off, and rejected if the one before the running one was rejected.
	acts, open, rejected bool
	// between is true if its release was uninstalled in order to be installed anew.
	between bool
	// bakes is true if it is watched, since bakesSince, and untested if its tests have not run.
	bakes, untested bool
	bakesSince      time.Time
	// broken is true if its last attempt has failed with its present generation and was not repaired,
	// at failedAt.
	broken   bool
	failedAt time.Time
	cause    string
	// ready is true if it is ready, and blocked if it waits for a dependency.
	ready, blocked bool
}

// Key returns "<namespace>/<name>".
func (m *Member) Key() string { return m.key }

// Want records that the release takes a chart, whatever its source has.
func (m *Member) Want(chart Chart) { m.Wants, m.wantsKey = chart, chart.Key() }

// BakesSince returns when the watch over the release began; zero if it is not watched.
func (m *Member) BakesSince() time.Time { return m.bakesSince }

// Failure returns why the last attempt of the release has failed, and when.
func (m *Member) Failure() (cause string, at time.Time) { return m.cause, m.failedAt }

// causeLength limits the cause of a failure in messages of others.
const causeLength = 160

// MemberOf returns a HelmRelease as a member. wants is the chart that its source has; zero if that is
// not known.
func MemberOf(hr *helmv2.HelmRelease, wants Chart, now time.Time) Member {
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
		m.has = Chart{Digest: worked.OCIDigest, Name: worked.ChartName, Version: worked.ChartVersion}
	}
	m.tried = Chart{Digest: s.LastAttemptedRevisionDigest, Name: wants.Name, Version: s.LastAttemptedRevision}
	if last != nil && last.ChartVersion == s.LastAttemptedRevision {
		m.tried.Name = last.ChartName
	}
	m.wantsKey, m.hasKey, m.triedKey = wants.Key(), m.has.Key(), m.tried.Key()
	acted := s.LastAttemptedReleaseAction == helmv2.ActionInstall || s.LastAttemptedReleaseAction == helmv2.ActionUpgrade
	m.acts = reconciling.Status == metav1.ConditionTrue && reconciling.Reason == helmv2.ReasonProgressing
	m.open = acted && s.LastAttemptedReleaseActionDuration == nil
	m.rejected = acted && release.Rejected(*s)
	m.between = released.Status == metav1.ConditionFalse && released.Reason == helmv2.ReasonUninstallSucceeded
	m.untested = tests.Status == metav1.ConditionUnknown && tests.Reason == helmv2.ReasonAwaitingTests
	m.ready = ready.Status == metav1.ConditionTrue
	m.blocked = ready.Reason == helmv2.ReasonDependencyNotReady
	if baking := condition(s, helmv2.ConditionBaking); baking.Status == metav1.ConditionTrue {
		m.bakes, m.bakesSince = true, baking.LastTransitionTime.Time
	}
	failedTests := tests.Status == metav1.ConditionFalse
	m.broken = s.InstallFailures+s.UpgradeFailures > 0 && !m.ready && s.LastAttemptedGeneration == hr.Generation
	if m.broken {
		// Released stays False while the attempt is repeated. Its message is stable.
		m.cause = brief.Middle(brief.Line(ready.Message), causeLength)
		if released.Status == metav1.ConditionFalse {
			m.cause = brief.Middle(brief.Line(released.Message), causeLength)
		} else if failedTests {
			m.cause = brief.Middle(brief.Line(tests.Message), causeLength)
		}
		for _, c := range []metav1.Condition{ready, released, tests} {
			if c.Status == metav1.ConditionFalse && c.LastTransitionTime.After(m.failedAt) {
				m.failedAt = c.LastTransitionTime.Time
			}
		}
	}
	if m.broken && !failedTests && m.hasKey != "" && m.hasKey == m.triedKey {
		// A later attempt has worked, and something else is the matter now.
		m.broken = false
	}
	return m
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

// began reports whether the release has begun with a chart: an attempt to get it was announced.
func (m *Member) began(chart string) bool { return m.triedKey == chart || m.hasKey == chart }

// moves reports whether a release is installed, upgraded, tested or watched with a chart.
func (m *Member) moves(chart string) bool {
	wanted := !m.Paused && !m.Deleted && m.wantsKey == chart
	switch {
	case m.Starts == chart:
		return true
	case m.hasKey == chart:
		return (m.bakes || m.untested) && !m.Paused && !m.Deleted
	case m.between:
		return wanted && !m.blocked
	case m.triedKey != chart:
		return false
	}
	return m.acts && (m.open || m.rejected) || m.open && wanted
}

// failed reports whether a release has failed with a chart since a time.
func (m *Member) failed(chart string, since time.Time) bool {
	return m.broken && !m.Paused && !m.Deleted && m.triedKey == chart && (m.wantsKey == "" || m.wantsKey == chart) && m.failedAt.After(since)
}

// done reports whether a release has a chart.
func (m *Member) done(chart string) bool {
	return m.hasKey == chart || m.triedKey == chart && m.ready
}
