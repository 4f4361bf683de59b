// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"time"

	helmchart "helm.sh/helm/v3/pkg/chart"
	helmrelease "helm.sh/helm/v3/pkg/release"
)

// The types below are the parts of a revision that digests cover. They are copies of Helm's types, because
// status.history has digests of their JSON: with another field, another order or another option of a
// tag, all releases of a cluster would have other digests, and be upgraded. They must not change, even if
// Helm's types do.

type observedInfo struct {
	FirstDeployed observedTime `json:"first_deployed"`
	LastDeployed  observedTime `json:"last_deployed"`
	Deleted       observedTime `json:"deleted"`
	Description   string       `json:"description,omitempty"`
	Status        string       `json:"status,omitempty"`
	Notes         string       `json:"notes,omitempty"`
}

type observedHook struct {
	Name              string      `json:"name,omitempty"`
	Kind              string      `json:"kind,omitempty"`
	Path              string      `json:"path,omitempty"`
	Manifest          string      `json:"manifest,omitempty"`
	Events            []string    `json:"events,omitempty"`
	LastRun           observedRun `json:"last_run"`
	Weight            int         `json:"weight,omitempty"`
	DeletePolicies    []string    `json:"delete_policies,omitempty"`
	OutputLogPolicies []string    `json:"output_log_policies,omitempty"`
}

type observedRun struct {
	StartedAt   observedTime `json:"started_at"`
	CompletedAt observedTime `json:"completed_at"`
	Phase       string       `json:"phase"`
}

// observedTime is empty text in JSON if it is zero.
type observedTime struct{ time.Time }

func (t observedTime) MarshalJSON() ([]byte, error) {
	if t.IsZero() {
		return []byte(`""`), nil
	}
	return t.Time.MarshalJSON()
}

func (t *observedTime) UnmarshalJSON(raw []byte) error {
	if string(raw) == `""` {
		return nil
	}
	return t.Time.UnmarshalJSON(raw)
}

type observedMetadata struct {
	Name         string                `json:"name,omitempty"`
	Home         string                `json:"home,omitempty"`
	Sources      []string              `json:"sources,omitempty"`
	Version      string                `json:"version,omitempty"`
	Description  string                `json:"description,omitempty"`
	Keywords     []string              `json:"keywords,omitempty"`
	Maintainers  []*observedMaintainer `json:"maintainers,omitempty"`
	Icon         string                `json:"icon,omitempty"`
	APIVersion   string                `json:"apiVersion,omitempty"`
	Condition    string                `json:"condition,omitempty"`
	Tags         string                `json:"tags,omitempty"`
	AppVersion   string                `json:"appVersion,omitempty"`
	Deprecated   bool                  `json:"deprecated,omitempty"`
	Annotations  map[string]string     `json:"annotations,omitempty"`
	KubeVersion  string                `json:"kubeVersion,omitempty"`
	Dependencies []*observedDependency `json:"dependencies,omitempty"`
	Type         string                `json:"type,omitempty"`
}

type observedMaintainer struct {
	Name  string `json:"name,omitempty"`
	Email string `json:"email,omitempty"`
	URL   string `json:"url,omitempty"`
}

type observedDependency struct {
	Name         string   `json:"name"`
	Version      string   `json:"version,omitempty"`
	Repository   string   `json:"repository"`
	Condition    string   `json:"condition,omitempty"`
	Tags         []string `json:"tags,omitempty"`
	Enabled      bool     `json:"enabled,omitempty"`
	ImportValues []any    `json:"import-values,omitempty"`
	Alias        string   `json:"alias,omitempty"`
}

// observeInfo returns the fields of info that a record holds. Live objects are none.
func observeInfo(i *helmrelease.Info) *observedInfo {
	if i == nil {
		return nil
	}
	return &observedInfo{
		FirstDeployed: observedTime{i.FirstDeployed.Time}, LastDeployed: observedTime{i.LastDeployed.Time},
		Deleted: observedTime{i.Deleted.Time}, Description: i.Description, Status: string(i.Status), Notes: i.Notes,
	}
}

func observeHook(h *helmrelease.Hook) observedHook {
	return observedHook{
		Name: h.Name, Kind: h.Kind, Path: h.Path, Manifest: h.Manifest, Events: words(h.Events), Weight: h.Weight,
		LastRun: observedRun{
			StartedAt: observedTime{h.LastRun.StartedAt.Time}, CompletedAt: observedTime{h.LastRun.CompletedAt.Time},
			Phase: string(h.LastRun.Phase),
		},
		DeletePolicies: words(h.DeletePolicies), OutputLogPolicies: words(h.OutputLogPolicies),
	}
}

func words[T ~string](all []T) []string {
	var same []string
	for _, w := range all {
		same = append(same, string(w))
	}
	return same
}

func observeMetadata(m *helmchart.Metadata) *observedMetadata {
	if m == nil {
		return nil
	}
	o := &observedMetadata{
		Name: m.Name, Home: m.Home, Sources: m.Sources, Version: m.Version, Description: m.Description, Keywords: m.Keywords,
		Icon: m.Icon, APIVersion: m.APIVersion, Condition: m.Condition, Tags: m.Tags, AppVersion: m.AppVersion,
		Deprecated: m.Deprecated, Annotations: m.Annotations, KubeVersion: m.KubeVersion, Type: m.Type,
	}
	for _, of := range m.Maintainers {
		// Stored records may have null for one.
		var copied *observedMaintainer
		if of != nil {
			copied = &observedMaintainer{Name: of.Name, Email: of.Email, URL: of.URL}
		}
		o.Maintainers = append(o.Maintainers, copied)
	}
	for _, of := range m.Dependencies {
		var copied *observedDependency
		if of != nil {
			copied = &observedDependency{
				Name: of.Name, Version: of.Version, Repository: of.Repository, Condition: of.Condition, Tags: of.Tags,
				Enabled: of.Enabled, ImportValues: of.ImportValues, Alias: of.Alias,
			}
		}
		o.Dependencies = append(o.Dependencies, copied)
	}
	return o
}
