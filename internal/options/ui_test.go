// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package options

import (
	"io"
	"strings"
	"testing"
)

// TestUI: without TLS, the page is served on loopback only.
func TestUI(t *testing.T) {
	const tls = "--ui-tls-cert-file=a --ui-tls-key-file=b"
	for args, want := range map[string]string{
		"":                                       "",
		"--ui-addr=127.0.0.1:9443":               "",
		"--ui-addr=127.8.9.1:9443":               "",
		"--ui-addr=[::1]:9443":                   "",
		"--ui-addr=localhost:9443":               "",
		"--ui-addr=:9443 " + tls:                 "",
		"--ui-addr=page.example:9443 " + tls:     "",
		"--ui-addr=:9443":                        "--ui-addr=:9443: without --ui-tls-cert-file, only an address of loopback",
		"--ui-addr=0.0.0.0:9443":                 "without --ui-tls-cert-file",
		"--ui-addr=[::]:9443":                    "without --ui-tls-cert-file",
		"--ui-addr=10.0.0.1:9443":                "without --ui-tls-cert-file",
		"--ui-addr=localhost.example:9443":       "without --ui-tls-cert-file",
		"--ui-addr=127.0.0.1":                    "not a host and a port",
		"--ui-addr=::1:9443":                     "not a host and a port",
		"--ui-addr=127.0.0.1:http":               "not a host and a port",
		"--ui-addr=127.0.0.1:99999":              "not a host and a port",
		"--ui-addr=:9443 --ui-tls-key-file=b":    "both or none",
		"--ui-addr=[::1]:1 --ui-tls-cert-file=a": "both or none",
		"--ui-anonymous-user=ann":                "need --ui-addr",
		tls:                                      "need --ui-addr",
	} {
		_, err := Parse(strings.Fields(args), io.Discard)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", args, err, want)
		}
	}
}
