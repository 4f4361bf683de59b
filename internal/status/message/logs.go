// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package message

import (
	"regexp"
	"strings"

	"github.com/pintle-dev/pintle/internal/release"
)

const helmHeading = "Last Helm logs:"

// logHeading matches the heading of a log of Logs, and the empty line below it.
var logHeading = regexp.MustCompile(`(?m)^(?:Last log lines of container (\S+) of Pod (\S+):|` + helmHeading + `)\n\n`)

// Logs returns the last log lines of containers, and of Helm below them, each under a heading. It
// returns an empty text if there are none.
func Logs(containers []release.ContainerLog, helm []string) string {
	var blocks []string
	for _, l := range containers {
		blocks = append(blocks, "Last log lines of container "+l.Container+" of Pod "+l.Pod+":\n\n"+strings.TrimRight(l.Text, "\n"))
	}
	if len(helm) > 0 {
		blocks = append(blocks, helmHeading+"\n\n"+strings.Join(helm, "\n"))
	}
	return strings.Join(blocks, "\n\n")
}

// WithoutLogs returns a message without the logs below it.
func WithoutLogs(text string) string {
	if at := logHeading.FindStringIndex(text); at != nil {
		return strings.TrimRight(text[:at[0]], "\n")
	}
	return text
}

// ParseLogs returns the logs in a text of Logs. The log of Helm has no Pod. ok is false for a text
// without headings.
func ParseLogs(text string) (all []release.ContainerLog, ok bool) {
	found := logHeading.FindAllStringSubmatchIndex(text, -1)
	if len(found) == 0 || found[0][0] > 0 {
		return nil, false
	}
	for i, at := range found {
		end := len(text)
		if i+1 < len(found) {
			end = found[i+1][0]
		}
		log := release.ContainerLog{Text: strings.TrimRight(text[at[1]:end], "\n")}
		if at[2] >= 0 {
			log.Container, log.Pod = text[at[2]:at[3]], text[at[4]:at[5]]
		}
		all = append(all, log)
	}
	return all, true
}
