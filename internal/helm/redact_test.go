// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// TestDisguises: a secret is found in every form in which messages quote it.
func TestDisguises(t *testing.T) {
	t.Parallel()
	for _, secret := range []string{"plain-Secret-7", "qu\"o\\te<&>d\tü-Secret", "häßlich"} {
		r := newRedactor([]string{secret})
		asJSON, err := json.Marshal(secret)
		if err != nil {
			t.Fatal(err)
		}
		messages := []string{secret, fmt.Sprintf("%q", secret), fmt.Sprintf("%+q", secret), string(asJSON)}
		for before := range 6 {
			for after := range 6 {
				text := strings.Repeat("a", before) + secret + strings.Repeat("b", after)
				messages = append(messages, base64.StdEncoding.EncodeToString([]byte(text)), base64.RawURLEncoding.EncodeToString([]byte(text)))
			}
		}
		for _, m := range messages {
			got := r.text("it says " + m + " there")
			if !strings.Contains(got, redacted) || !strings.HasPrefix(got, "it says ") || !strings.HasSuffix(got, " there") || strings.Contains(got, secret) {
				t.Errorf("%q becomes %q", m, got)
			}
		}
	}
	if got := newRedactor([]string{"abcd"}).text("eGFiY2R4 stays"); got != "eGFiY2R4 stays" {
		t.Errorf("what is too short to be sure is hidden: %s", got)
	}
}
