// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"k8s.io/client-go/rest"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/inputs"
	"github.com/pintle-dev/pintle/internal/release"
)

// Subject is a HelmRelease with its resolved inputs. Actions, plans and diffs take their jobs and reads
// from it, so that a diff shows what the controller would do.
type Subject struct {
	HelmRelease *helmv2.HelmRelease
	inputs.Want

	// Defaults and AllowDNS are settings of the controller.
	Defaults helmv2.Defaults
	AllowDNS bool
	// OwnerCandidates and Lookups are the fields of Job. Both may be nil.
	OwnerCandidates OwnerCandidates
	Lookups         func(*rest.Config) *rest.Config
}

// Job returns the job of an action.
func (s Subject) Job(action release.HelmAction) Job {
	hr := s.HelmRelease
	spec := *hr.Spec.DeepCopy()
	if s.Deleted && s.Deletion.NoHooks {
		uninstall := *hr.Spec.GetUninstall()
		uninstall.DisableHooks = true
		spec.Uninstall = &uninstall
	}
	return Job{
		Action: action, Desired: s.Desired, History: hr.Status.History, Spec: spec, Origin: s.origin(),
		Artifact: s.Artifact, Values: s.Values, Secrets: s.Secrets, Layers: s.Layers, Defaults: s.Defaults, AllowDNS: s.AllowDNS,
		OwnerCandidates: s.OwnerCandidates, Lookups: s.Lookups, Patient: hr.Annotations[helmv2.AnnotationFailEarly] == "false",
	}
}

// ReadRequest returns the request to read a stored revision of the release at a target.
func (s Subject) ReadRequest(target release.Target, version int) ReadRequest {
	hr := s.HelmRelease
	return ReadRequest{
		Target: target, Version: version, Spec: *hr.Spec.DeepCopy(), Defaults: s.Defaults, Origin: s.origin(),
		UID: string(hr.UID), History: hr.Status.History, Secrets: s.Secrets,
	}
}

func (s Subject) origin() Origin {
	return Origin{Name: s.HelmRelease.Name, Namespace: s.HelmRelease.Namespace}
}
