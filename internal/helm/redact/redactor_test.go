// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	helmrelease "helm.sh/helm/v3/pkg/release"

	"github.com/pintle-dev/pintle/internal/redaction"
	"github.com/pintle-dev/pintle/internal/release"
)

// TestDisguises: a secret is found in every form in which messages quote it.
func TestDisguises(t *testing.T) {
	t.Parallel()
	for _, secret := range []string{"plain-Secret-7", "qu\"o\\te<&>d\tü-Secret", "häßlich"} {
		r := New([]string{secret})
		asJSON, err := json.Marshal(secret)
		if err != nil {
			t.Fatal(err)
		}
		messages := []string{secret, fmt.Sprintf("%q", secret), fmt.Sprintf("%+q", secret), string(asJSON), url.QueryEscape(secret)}
		for before := range 6 {
			for after := range 6 {
				text := strings.Repeat("a", before) + secret + strings.Repeat("b", after)
				messages = append(messages, base64.StdEncoding.EncodeToString([]byte(text)), base64.RawURLEncoding.EncodeToString([]byte(text)))
			}
		}
		for _, m := range messages {
			got := r.Text("it says " + m + " there")
			if !strings.Contains(got, redaction.Mask) || !strings.HasPrefix(got, "it says ") || !strings.HasSuffix(got, " there") || strings.Contains(got, secret) {
				t.Errorf("%q becomes %q", m, got)
			}
		}
	}
	if got := New([]string{"abcd"}).Text("eGFiY2R4 stays"); got != "eGFiY2R4 stays" {
		t.Errorf("what is too short to be sure is hidden: %s", got)
	}
}

// TestOwnSecrets: the values in the Secrets of the last revision are redacted, and not those of the
// revision before.
func TestOwnSecrets(t *testing.T) {
	t.Parallel()
	secret := func(value string) *helmrelease.Release {
		return &helmrelease.Release{
			Name: "some-release", Namespace: "some-namespace",
			Manifest: "---\nkind: Secret\nmetadata: {name: s}\nstringData: {a: " + value + ", b: short, c: some-release}\n---\nkind: ConfigMap\ndata: {a: not-secret}\n",
			Hooks:    []*helmrelease.Hook{{Manifest: "kind: Secret\ndata: {a: " + base64.StdEncoding.EncodeToString([]byte("in-a-hook")) + "}\n"}},
		}
	}
	r := New(nil)
	const text = "first-one second-one in-a-hook short not-secret some-release"
	if got := r.Text(text); got != text {
		t.Errorf("before there is one: %s", got)
	}
	for value, want := range map[string]string{
		"first-one": "*** second-one *** short not-secret some-release", "second-one": "first-one *** *** short not-secret some-release",
	} {
		r.SetRevision(secret(value))
		if got := r.Text(text); got != want {
			t.Errorf("with %s: %s", value, got)
		}
	}
}

// TestRedactedChanges: images and paths have no values of Secrets, neither of this revision nor of previous
// ones. Where an image has one now, the former image may have had another.
func TestRedactedChanges(t *testing.T) {
	t.Parallel()
	r := New([]string{"given-secret"})
	r.SetRevision(withSecret("newer-secret"))
	images := func(pairs ...string) (all []release.ImageChange) {
		for i := 0; i < len(pairs); i += 2 {
			all = append(all, release.ImageChange{Container: "c", From: pairs[i], To: pairs[i+1]})
		}
		return all
	}
	got := r.Changes(release.Changes{
		Images: images("a:1", "a:2", "older-secret/a", "a:2", "unknown-secret/a", "given-secret/a", "", "newer-secret/a", "newer-secret/a", ""),
		Taken:  []release.TakenField{{Path: ".data.newer-secret"}},
	}, withSecret("older-secret"))
	want := release.Changes{
		Images: images("a:1", "a:2", "***/a", "a:2", "***", "***/a", "", "***/a", "***/a", ""), Taken: []release.TakenField{{Path: ".data.***"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}

func withSecret(value string) *helmrelease.Release {
	return &helmrelease.Release{Name: "app", Namespace: "prod", Manifest: "kind: Secret\nmetadata: {name: s}\nstringData: {p: " + value + "}\n"}
}
