// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"maps"
	"slices"
	"strings"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
	"github.com/pintle-dev/pintle/internal/release"
)

// maxLogLines is the number of Helm's last lines in an event, and maxLogLine the length of each.
// Together with the logs of one Pod they stay below maxMessage.
const (
	maxLogLines = 10
	maxLogLine  = 512
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

// withDiagnosis returns the annotations of a failure's event: the given ones, the code and the
// object of the diagnosis, what was found out about it, and the ends of logs. None of that is in
// the message, so that the events of equal attempts have equal messages.
func withDiagnosis(metadata map[string]string, o release.Outcome) map[string]string {
	logs := helmLogs(o.Logs)
	all := map[string]string{}
	if d := o.Diagnosis; d != nil {
		all[helmv2.EventMetadataFailure] = d.Code
		all[helmv2.EventMetadataObject] = d.Object.Kind + "/" + d.Object.Namespace + "/" + d.Object.Name
		if len(d.Details) > 0 {
			all[helmv2.EventMetadataDetails] = storable(strings.Join(d.Details, "\n"))
		}
		logs = append(containerLogs(d.Logs), logs...)
	}
	maps.Copy(all, metadata)
	return withLogs(all, logs)
}

// withLogs adds the ends of logs to the annotations of an event.
func withLogs(metadata map[string]string, logs []string) map[string]string {
	if len(logs) == 0 {
		return metadata
	}
	all := map[string]string{helmv2.EventMetadataLogs: storable(strings.Join(logs, "\n\n"))}
	maps.Copy(all, metadata)
	return all
}

// containerLogs returns a block of text for each log of a container.
func containerLogs(all []release.ContainerLog) []string {
	var blocks []string
	for _, l := range all {
		blocks = append(blocks, "Last log lines of container "+l.Container+" of Pod "+l.Pod+":\n\n"+strings.TrimRight(l.Text, "\n"))
	}
	return blocks
}

// helmLogs returns a block of text with Helm's last lines, none if nothing was logged.
func helmLogs(lines []string) []string {
	if len(lines) == 0 {
		return nil
	}
	lines = slices.Clone(lines[max(0, len(lines)-maxLogLines):])
	for i := range lines {
		lines[i] = clipped(lines[i], maxLogLine)
	}
	return []string{"Last Helm logs:\n\n" + strings.Join(lines, "\n")}
}
