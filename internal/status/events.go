// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	corev1 "k8s.io/api/core/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// Event is one Kubernetes event to emit.
type Event struct {
	// Type is Normal or Warning.
	Type    string
	Reason  string
	Message string
	// Metadata becomes annotations of the event; nil for none.
	Metadata map[string]string
}

func normal(reason, message string, metadata map[string]string) Event {
	return Event{Type: corev1.EventTypeNormal, Reason: reason, Message: message, Metadata: metadata}
}

func warning(reason, message string, metadata map[string]string) Event {
	return Event{Type: corev1.EventTypeWarning, Reason: reason, Message: message, Metadata: metadata}
}

func snapshotMetadata(s *helmv2.Snapshot) map[string]string {
	if s == nil {
		return nil
	}
	return metadata(s.ChartVersion, s.ConfigDigest, s.AppVersion, s.OCIDigest)
}

func revisionMetadata(r *release.Revision) map[string]string {
	return metadata(r.ChartVersion, r.ConfigDigest, r.AppVersion, "")
}

func desiredMetadata(d release.Desired) map[string]string {
	return metadata(d.Chart.Version, d.ConfigDigest, d.Chart.AppVersion, d.Chart.OCIDigest)
}

func metadata(revision, token, appVersion, ociDigest string) map[string]string {
	m := map[string]string{}
	for key, value := range map[string]string{
		helmv2.EventMetadataRevision:   revision,
		helmv2.EventMetadataToken:      token,
		helmv2.EventMetadataAppVersion: appVersion,
		helmv2.EventMetadataOCIDigest:  ociDigest,
	} {
		if value != "" {
			m[key] = value
		}
	}
	return m
}
