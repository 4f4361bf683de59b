// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package main

import "github.com/pintle-dev/pintle/test/harness"

// session is what was measured of one controller from its start to its end.
type session struct {
	// Controller is the executable's name.
	Controller string   `json:"controller"`
	Args       []string `json:"args"`

	load

	CPUs int `json:"cpus"`
	// SystemLoad is the machine's load average just before the first phase.
	SystemLoad float64 `json:"systemLoadBefore"`
	// Audit says that the API server noted every request, without which there are
	// no counts by resource.
	Audit bool `json:"auditLog"`
	// ArtifactBytes is the size of one chart's artifact, and RevisionBytes that of
	// one revision as it is stored in a Secret.
	ArtifactBytes int     `json:"artifactBytes"`
	RevisionBytes int     `json:"revisionBytes"`
	Phases        []phase `json:"phases"`
	// Notes say what was left out, and why.
	Notes []string `json:"notes,omitempty"`
}

// phase is what one step cost the controller.
type phase struct {
	Name       string  `json:"name"`
	Seconds    float64 `json:"seconds"`
	CPUSeconds float64 `json:"cpuSeconds"`
	// ServerCPUSeconds is of the API server and etcd.
	ServerCPUSeconds float64 `json:"apiServerCPUSeconds"`
	PeakMiB          float64 `json:"peakRSSMiB"`
	// PeakOfAll says that PeakMiB is the peak since the process began.
	PeakOfAll bool `json:"peakRSSSinceStart,omitempty"`
	// EndMiB is what was resident at the end.
	EndMiB float64 `json:"endRSSMiB"`
	// Sent is by client-go's count, Received by the API server's audit log.
	Sent         int            `json:"requestsSent"`
	SentByMethod map[string]int `json:"requestsSentByMethod"`
	Received     int            `json:"requestsReceived"`
	ByKind       map[string]int `json:"requestsByVerbAndResource"`
	Agents       map[string]int `json:"requestsByUserAgent"`
	// Revisions is how many Secrets were created, which is one for each of Helm's
	// installs, upgrades and rollbacks. It needs the audit log.
	Revisions int `json:"newRevisions"`
	// Visits is how many visits to HelmReleases ended.
	Visits          int   `json:"visits"`
	Downloads       int   `json:"artifactDownloads"`
	DownloadedBytes int64 `json:"artifactBytesDownloaded"`
	// SecretBytes is what the API server answered to reads of Secrets by anybody,
	// watches excepted, and OthersReads how many of them were not the controller's.
	SecretBytes int64 `json:"secretBytesRead"`
	OthersReads int   `json:"secretReadsOfOthers,omitempty"`
	// Tampered is what became of changes that the controller was not told of.
	Tampered *tampered `json:"tampered,omitempty"`
}

// tampered says how long it took from the answers to our writes until objects that
// were changed, and objects that were deleted, were as awaited.
type tampered struct {
	Changed harness.Spread `json:"changed"`
	Deleted harness.Spread `json:"deleted"`
}

// side is one of the two kinds of changes.
type side struct {
	name string
	harness.Spread
}

func (t *tampered) sides() []side { return []side{{"changed", t.Changed}, {"deleted", t.Deleted}} }

// left is how many never were.
func (t *tampered) left() int { return t.Changed.Left + t.Deleted.Left }

// phase returns the phase of a name, or nil.
func (s *session) phase(name string) *phase {
	for i := range s.Phases {
		if s.Phases[i].Name == name {
			return &s.Phases[i]
		}
	}
	return nil
}
