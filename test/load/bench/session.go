// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import "github.com/pintle-dev/pintle/test/harness"

// session is the result for one controller from its start to its end.
type session struct {
	// Controller is the executable's name.
	Controller string   `json:"controller"`
	Args       []string `json:"args"`

	load

	CPUs int `json:"cpus"`
	// SystemLoad is the machine's load average just before the first phase.
	SystemLoad float64 `json:"systemLoadBefore"`
	// Audit reports whether the audit log was enabled, without which there are no counts by
	// resource.
	Audit bool `json:"auditLog"`
	// ArtifactBytes is the size of one chart's artifact, and RevisionBytes that of one stored
	// revision.
	ArtifactBytes int     `json:"artifactBytes"`
	RevisionBytes int     `json:"revisionBytes"`
	Phases        []phase `json:"phases"`
	// Notes describe omitted steps with the reason.
	Notes []string `json:"notes,omitempty"`
}

// phase is the cost of one step.
type phase struct {
	Name       string  `json:"name"`
	Seconds    float64 `json:"seconds"`
	CPUSeconds float64 `json:"cpuSeconds"`
	// ServerCPUSeconds is of the API server and etcd.
	ServerCPUSeconds float64 `json:"apiServerCPUSeconds"`
	PeakMiB          float64 `json:"peakRSSMiB"`
	// PeakOfAll reports that PeakMiB is the peak since the start of the process.
	PeakOfAll bool `json:"peakRSSSinceStart,omitempty"`
	// PeakOfTreeMiB is the peak of the memory of all processes of the controller. It is only measured
	// for large charts, since the readings take CPU time of the machine.
	PeakOfTreeMiB float64 `json:"peakPSSMiB,omitempty"`
	// EndMiB is the memory of all processes of the controller at the end.
	EndMiB float64 `json:"endPSSMiB"`
	// Sent is by client-go's count, Received by the API server's audit log.
	Sent         int            `json:"requestsSent"`
	SentByMethod map[string]int `json:"requestsSentByMethod"`
	Received     int            `json:"requestsReceived"`
	ByKind       map[string]int `json:"requestsByVerbAndResource"`
	Agents       map[string]int `json:"requestsByUserAgent"`
	// Revisions is how many Secrets were created, which is one for each of Helm's
	// installs, upgrades and rollbacks. It needs the audit log.
	Revisions int `json:"newRevisions"`
	// Reconciliations is the number of ended reconciliations of HelmReleases.
	Reconciliations int   `json:"reconciliations"`
	Downloads       int   `json:"artifactDownloads"`
	DownloadedBytes int64 `json:"artifactBytesDownloaded"`
	// SecretBytes is the size of the API server's answers to reads of Secrets by all clients,
	// without watches. OthersReads is the number of these reads by other clients than the
	// controller.
	SecretBytes int64 `json:"secretBytesRead"`
	OthersReads int   `json:"secretReadsOfOthers,omitempty"`
	// Tampered are the times until external changes were corrected or reported.
	Tampered *tampered `json:"tampered,omitempty"`
	// Views are the times of requests of one page.
	Views *harness.Spread `json:"views,omitempty"`
}

// tampered are the times from the answer to a write until changed, and deleted, objects reached the
// expected state.
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
