// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package main

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
}

// phase returns the phase of a name, or nil.
func (s *session) phase(name string) *phase {
	for i := range s.Phases {
		if s.Phases[i].Name == name {
			return &s.Phases[i]
		}
	}
	return nil
}
