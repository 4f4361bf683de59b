// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// failures is how often a container must have failed. Many programs fail once, such as when they lose the
// election of a leader.
const failures = 2

// FindFailing returns the cause if a container of the Pods has failed at least twice, the last time since a
// time, or once for want of memory; nil otherwise. The container may run at the moment. Messages of
// containers are left out: Secrets are not known.
func FindFailing(f Facts, since time.Time) *Finding {
	for i := range f.Pods {
		p := &f.Pods[i]
		for _, c := range OrderedStatuses(p) {
			end := c.LastTerminationState.Terminated
			if now := c.State.Terminated; now != nil {
				end = now
			}
			if end == nil || !failed(end) || end.FinishedAt.Time.Before(since) || c.RestartCount < failures && end.Reason != oomKilled {
				continue
			}
			s := terminationSymptom(end, memoryLimit(p, c.Name))
			if s.code == helmv2.FailureContainer {
				s.code = helmv2.FailureCrashLoop
			}
			s.container, s.said = c.Name, ""
			return &Finding{
				Code: s.code, Sure: true, Summary: f.summary(s, Finding{Code: s.code, Sure: true}, p),
				Details: f.failingDetails(p), Mark: strings.Join([]string{f.Kind, f.Namespace, f.Name, s.code, c.Name}, "/"),
			}
		}
	}
	return nil
}

func (f *Facts) failingDetails(p *corev1.Pod) []string {
	lines := []string{f.subject()}
	for _, line := range describePod(p, func(text string, written bool) string {
		if written {
			return ""
		}
		return f.quote(text, false)
	}) {
		lines = append(lines, "  "+line)
	}
	return lines
}
