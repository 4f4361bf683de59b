// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package message

import (
	"slices"
	"testing"

	"github.com/pintle-dev/pintle/internal/release"
)

// TestLogs: ParseLogs returns the logs that Logs has written.
func TestLogs(t *testing.T) {
	t.Parallel()
	container := release.ContainerLog{Pod: "web-1", Container: "main", Text: "one\n\ntwo"}
	sidecar := release.ContainerLog{Pod: "web-1", Container: "proxy", Text: "Last Helm logs: none\n"}
	for name, tc := range map[string]struct {
		containers []release.ContainerLog
		helm       []string
		text       string
		want       []release.ContainerLog
	}{
		"Both": {
			[]release.ContainerLog{container},
			[]string{"creating", "waiting"},
			"Last log lines of container main of Pod web-1:\n\none\n\ntwo\n\nLast Helm logs:\n\ncreating\nwaiting",
			[]release.ContainerLog{container, {Text: "creating\nwaiting"}},
		},
		"Helm": {nil, []string{"creating"}, "Last Helm logs:\n\ncreating", []release.ContainerLog{{Text: "creating"}}},
		"Containers": {
			[]release.ContainerLog{container, sidecar},
			nil,
			"Last log lines of container main of Pod web-1:\n\none\n\ntwo\n\nLast log lines of container proxy of Pod web-1:\n\nLast Helm logs: none",
			[]release.ContainerLog{container, {Pod: "web-1", Container: "proxy", Text: "Last Helm logs: none"}},
		},
		"None": {},
	} {
		text := Logs(tc.containers, tc.helm)
		if text != tc.text {
			t.Errorf("%s: the text is %q", name, text)
		}
		if got, ok := ParseLogs(text); !slices.Equal(got, tc.want) || ok != (text != "") {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got, ok := ParseLogs("before\nLast Helm logs:\n\nline"); ok {
		t.Errorf("a text without a heading at its start: %+v", got)
	}
}
