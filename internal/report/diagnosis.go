// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"maps"
	"strings"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// led begins the message of a failure with its cause, so that it is seen where
// messages are cut. The error has it too, for who reads Helm's own record.
func led(o release.Outcome, message string) string {
	d := o.Diagnosis
	if d == nil {
		return message
	}
	return d.Summary + "; " + strings.Replace(message, d.Summary+": ", "", 1)
}

// diagnosed is what the event of a failure says beyond the condition: all that was
// found out, the logs of containers, and Helm's last lines.
func diagnosed(o release.Outcome) string {
	var b strings.Builder
	if d := o.Diagnosis; d != nil {
		b.WriteString("\n\n" + strings.Join(d.Details, "\n"))
		b.WriteString(containerLogs(d.Logs))
	}
	return b.String() + lastLogs(o.Logs)
}

// containerLogs is what an event appends of the logs of containers.
func containerLogs(all []release.ContainerLog) string {
	var b strings.Builder
	for _, l := range all {
		b.WriteString("\n\nLast log lines of container " + l.Container + " of Pod " + l.Pod + ":\n\n" + strings.TrimRight(l.Text, "\n"))
	}
	return b.String()
}

// withDiagnosis adds to the annotations of an event what machines want to know.
func withDiagnosis(metadata map[string]string, o release.Outcome) map[string]string {
	d := o.Diagnosis
	if d == nil {
		return metadata
	}
	all := map[string]string{
		helmv2.EventMetadataFailure: d.Code,
		helmv2.EventMetadataObject:  d.Object.Kind + "/" + d.Object.Namespace + "/" + d.Object.Name,
	}
	maps.Copy(all, metadata)
	return all
}
