// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	helmchart "helm.sh/helm/v3/pkg/chart"
	helmrelease "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
	helmtime "helm.sh/helm/v3/pkg/time"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// through stores a release the way Helm does and reads it again.
func through(t *testing.T, rls *helmrelease.Release) *helmrelease.Release {
	t.Helper()
	secrets := driver.NewSecrets(fake.NewClientset().CoreV1().Secrets("prod"))
	if err := secrets.Create(key, rls); err != nil {
		t.Fatal(err)
	}
	got, err := secrets.Get(key)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestObservationDigest(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		change func(*helmrelease.Release)
		same   bool
	}{
		"Nothing": {reason: "storing changes nothing", change: func(*helmrelease.Release) {}, same: true},
		"Labels":  {reason: "labels are ours", change: func(r *helmrelease.Release) { r.Labels = map[string]string{"a": "b"} }, same: true},
		"TestHookRun": {reason: "testing by hand changes nothing", change: func(r *helmrelease.Release) {
			r.Hooks[1].LastRun.Phase = helmrelease.HookPhaseFailed
			r.Hooks[1].DeletePolicies = []helmrelease.HookDeletePolicy{helmrelease.HookBeforeHookCreation}
		}, same: true},
		"TestHook":   {reason: "another test is a change", change: func(r *helmrelease.Release) { r.Hooks[1].Manifest = "kind: Job" }},
		"NoTestHook": {reason: "no test is a change", change: func(r *helmrelease.Release) { r.Hooks = r.Hooks[:1] }},
		"TestsFirst": {reason: "Helm stores tests in another order once it has run them", same: true, change: func(r *helmrelease.Release) { slices.Reverse(r.Hooks) }},
		"Templates": {reason: "the manifest covers what templates make", same: true, change: func(r *helmrelease.Release) {
			r.Chart.Templates = []*helmchart.File{{Name: "templates/x.yaml", Data: []byte("x")}}
		}},
		"Manifest":    {reason: "other objects are a change", change: func(r *helmrelease.Release) { r.Manifest += "#" }},
		"Config":      {reason: "other values are a change", change: func(r *helmrelease.Release) { r.Config["n"] = 2.0 }},
		"NoConfig":    {reason: "no values are a change", change: func(r *helmrelease.Release) { r.Config = nil }},
		"Status":      {reason: "another status is a change", change: func(r *helmrelease.Release) { r.Info.Status = helmrelease.StatusFailed }},
		"Description": {reason: "another description is a change", change: func(r *helmrelease.Release) { r.Info.Description = "edited" }},
		"Deployed":    {reason: "another deployment is a change", change: func(r *helmrelease.Release) { r.Info.LastDeployed = helmtime.Now() }},
		"Version":     {reason: "another revision is a change", change: func(r *helmrelease.Release) { r.Version++ }},
		"Name":        {reason: "another name is a change", change: func(r *helmrelease.Release) { r.Name = "other" }},
		"Namespace":   {reason: "another namespace is a change", change: func(r *helmrelease.Release) { r.Namespace = "other" }},
		"Chart":       {reason: "another chart is a change", change: func(r *helmrelease.Release) { r.Chart.Metadata.Version = "2.0.0" }},
		"Hook":        {reason: "another hook is a change", change: func(r *helmrelease.Release) { r.Hooks[0].Manifest = "kind: Pod" }},
		"HookRun":     {reason: "another run of a hook is a change", change: func(r *helmrelease.Release) { r.Hooks[0].LastRun.Phase = helmrelease.HookPhaseFailed }},
	}
	base := observationDigest(revision(1, helmrelease.StatusDeployed, nil))
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rls := revision(1, helmrelease.StatusDeployed, nil)
			tc.change(rls)
			got := observationDigest(rls)
			if (got == base) != tc.same {
				t.Errorf("%s: the same digest: %t", tc.reason, got == base)
			}
			if read := observationDigest(through(t, rls)); read != got {
				t.Errorf("%s: digest %s, and %s once stored and read", tc.reason, got, read)
			}
		})
	}
	// Neither an empty map nor no map is a value.
	none, empty := revision(1, helmrelease.StatusDeployed, nil), revision(1, helmrelease.StatusDeployed, nil)
	none.Config, empty.Config = nil, map[string]any{}
	none.Hooks, empty.Hooks = nil, []*helmrelease.Hook{}
	if observationDigest(none) != observationDigest(empty) || observationDigest(through(t, none)) != observationDigest(through(t, empty)) {
		t.Error("nothing and empty have different digests")
	}
}

// Helm may fill in live objects, which it never stores.
func TestObservationDigestLeavesTheReleaseAlone(t *testing.T) {
	t.Parallel()
	rls := revision(1, helmrelease.StatusDeployed, nil)
	plain := observationDigest(rls)
	rls.Info.Resources = map[string][]runtime.Object{"v1/Pod": {&unstructured.Unstructured{Object: map[string]any{"kind": "Pod"}}}}
	if observationDigest(rls) != plain {
		t.Error("live objects are no part of what was stored")
	}
	if len(rls.Info.Resources) != 1 || len(rls.Hooks) != 2 || len(rls.Config) != 6 {
		t.Errorf("the release was changed: %+v", rls)
	}
}

// What Helm 3 does not know is no part of our digest, which is the same on what
// is written and on what is read.
func TestObservationDigestOfWhatIsStored(t *testing.T) {
	t.Parallel()
	d, clients := newDriver(t, unmarked)
	for version, name := range map[int]string{1: "upgraded.release.v1.json", 2: "upgraded.release.v2.json"} {
		raw := strings.NewReplacer(`"name":"hooked","info":{`, `"name":"app","info":{"future":1,`).Replace(fixture(t, name))
		withJSON(t, clients, version, raw)
		before, err := d.Get(Key("app", version))
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Update(Key("app", version), before); err != nil {
			t.Fatal(err)
		}
		after, err := d.Get(Key("app", version))
		if err != nil {
			t.Fatal(err)
		}
		if before, after := observationDigest(before), observationDigest(after); before == "" || before != after {
			t.Errorf("%s: digest %s, and %s once written", name, before, after)
		}
		if storedBody(t, clients, version)["info"].(map[string]any)["future"] != 1.0 {
			t.Errorf("%s: an unknown member of info is lost", name)
		}
	}
	all := d.Revisions()
	for i, version := range []int{2, 1} {
		rls, err := d.Get(Key("app", version))
		if err != nil {
			t.Fatal(err)
		}
		if all[i].Version != version || all[i].Digest != observationDigest(rls) {
			t.Errorf("revision %d was remembered with digest %s, and has %s", all[i].Version, all[i].Digest, observationDigest(rls))
		}
	}
}

func fixture(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "reference", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func parsed(t *testing.T, raw string) *recordBody {
	t.Helper()
	var b recordBody
	if err := json.Unmarshal([]byte(raw), &b); err != nil {
		t.Fatal(err)
	}
	return &b
}

// TestReferenceDigestVectors compares with what the reference wrote into status.
func TestReferenceDigestVectors(t *testing.T) {
	t.Parallel()
	for stage, revisions := range map[string]int{"installed": 1, "upgraded": 2} {
		var hr helmv2.HelmRelease
		if err := json.Unmarshal([]byte(fixture(t, stage+".helmrelease.json")), &hr); err != nil {
			t.Fatal(err)
		}
		if len(hr.Status.History) != revisions {
			t.Fatalf("%s: %d snapshots", stage, len(hr.Status.History))
		}
		for _, s := range hr.Status.History {
			raw := fixture(t, fmt.Sprintf("%s.release.v%d.json", stage, s.Version))
			if got := referenceDigest(parsed(t, raw), s); got != s.Digest {
				t.Errorf("%s, revision %d: digest %s, want %s", stage, s.Version, got, s.Digest)
			}
			// Helm 3 writes the empty times that Helm 4 leaves out.
			c := contentOf(t, raw)
			rewritten, err := encode(c.release, c.unknown(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if string(rewritten) == raw || referenceDigest(parsed(t, string(rewritten)), s) != s.Digest {
				t.Errorf("%s, revision %d: another digest once Helm 3 has written it", stage, s.Version)
			}
			other := *s
			other.OCIDigest = ""
			if referenceDigest(parsed(t, raw), &other) == s.Digest {
				t.Errorf("%s, revision %d: the OCI digest is no part of it", stage, s.Version)
			}
		}
	}
}

func TestReferenceDigestAlgorithms(t *testing.T) {
	t.Parallel()
	const foo = `{"name":"foo","version":0,"info":{},"chartMetadata":{},"config":null,"manifest":"","hooks":null,"namespace":""}` + "\n"
	for name, tc := range map[string]struct {
		reason   string
		snapshot helmv2.Snapshot
		want     string
	}{
		"Vector":    {"the reference's own", helmv2.Snapshot{APIVersion: "v2", Digest: "sha256:"}, "sha256:f1498f27a16a09cd7e1ee610d924df065c03d30035638babc95dd9a8d412ce4d"},
		"SHA1":      {"can be chosen by flag", helmv2.Snapshot{APIVersion: "v2", Digest: "sha1:00"}, fmt.Sprintf("sha1:%x", sha1.Sum([]byte(foo)))},
		"SHA256":    {"the usual one", helmv2.Snapshot{APIVersion: "v2", Digest: "sha256:00"}, fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(foo)))},
		"SHA384":    {"can be chosen by flag", helmv2.Snapshot{APIVersion: "v2", Digest: "sha384:00"}, fmt.Sprintf("sha384:%x", sha512.Sum384([]byte(foo)))},
		"SHA512":    {"can be chosen by flag", helmv2.Snapshot{APIVersion: "v2", Digest: "sha512:00"}, fmt.Sprintf("sha512:%x", sha512.Sum512([]byte(foo)))},
		"BLAKE3":    {"is not known here", helmv2.Snapshot{APIVersion: "v2", Digest: "blake3:00"}, ""},
		"Garbage":   {"is no algorithm", helmv2.Snapshot{APIVersion: "v2", Digest: "00"}, ""},
		"OlderYet":  {"says nothing of its digest", helmv2.Snapshot{Digest: "sha256:00"}, ""},
		"Ours":      {"is compared otherwise", helmv2.Snapshot{APIVersion: "pintle.dev/v2", Digest: "sha256:00"}, ""},
		"OCIDigest": {"comes last", helmv2.Snapshot{APIVersion: "v2", Digest: "sha256:", OCIDigest: "o"}, fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(strings.Replace(foo, `"}`, `","ociDigest":"o"}`, 1))))},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := referenceDigest(parsed(t, `{"name":"foo"}`), &tc.snapshot); got != tc.want {
				t.Errorf("%s: digest %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

func TestReferenceDigest(t *testing.T) {
	t.Parallel()
	snapshot := &helmv2.Snapshot{APIVersion: "v2", Digest: "sha256:"}
	base := fixture(t, "upgraded.release.v2.json")
	digest := referenceDigest(parsed(t, base), snapshot)
	for name, tc := range map[string]struct {
		reason   string
		from, to string
		same     bool
	}{
		"EmptyTime":   {"Helm 3 writes one for each time that is not", `"status":"deployed"}`, `"status":"deployed","deleted":""}`, true},
		"ZeroTime":    {"and so may others", `"status":"deployed"}`, `"status":"deployed","deleted":"0001-01-01T00:00:00Z"}`, true},
		"Unknown":     {"what is not known is not covered", `"status":"deployed"}`, `"status":"deployed","future":1}`, true},
		"ApplyMethod": {"how it was applied is not covered", `"apply_method":"ssa"`, `"apply_method":"csa"`, true},
		"Templates":   {"the manifest covers them", `"templates/app.yaml"`, `"templates/b.yaml"`, true},
		"TestHook":    {"tests are not covered", `"hooks":[{`, `"hooks":[{"name":"t","events":["test"],"last_run":{"phase":"Failed"}},{`, true},
		"Hook":        {"other hooks are", `"hooks":[{`, `"hooks":[{"name":"t","events":["post-delete"],"last_run":{"phase":"Failed"}},{`, false},
		"HookRun":     {"with their last run", `"phase":"Succeeded"`, `"phase":"Failed"`, false},
		"HookTime":    {"and its time", `"completed_at":"2026-11-20T10:49:09`, `"completed_at":"2026-11-20T10:49:08`, false},
		"HookWeight":  {"and their weight", `"weight":1`, `"weight":2`, false},
		"Rollback":    {"newer ones know what a rollback went back to", `"status":"deployed"}`, `"status":"deployed","rollback_revision":1}`, false},
		"Deleted":     {"a time is covered", `"status":"deployed"}`, `"status":"deployed","deleted":"2026-01-01T00:00:00Z"}`, false},
		"Notes":       {"notes are covered", `"status":"deployed"}`, `"status":"deployed","notes":"n"}`, false},
		"Config":      {"values are covered", `"config":{"a":{"b":2}`, `"config":{"a":{"b":3}`, false},
		"Chart":       {"the chart is covered", `"description":"A chart`, `"description":"The chart`, false},
		"Manifest":    {"the manifest is covered", `"manifest":"---`, `"manifest":"--- #`, false},
		"Namespace":   {"the namespace is covered", `"namespace":"apps"`, `"namespace":"other"`, false},
		"Version":     {"the number is covered", `"version":2`, `"version":3`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			changed := strings.Replace(base, tc.from, tc.to, 1)
			if changed == base {
				t.Fatal("the case changes nothing")
			}
			if got := referenceDigest(parsed(t, changed), snapshot); got == "" || (got == digest) != tc.same {
				t.Errorf("%s: the same digest: %t (%s)", tc.reason, got == digest, got)
			}
		})
	}
	for _, bad := range []string{`{"info":[]}`, `{"hooks":{}}`, `{"info":{"deleted":"never"}}`} {
		if got := referenceDigest(parsed(t, bad), snapshot); got != "" {
			t.Errorf("%s has digest %s", bad, got)
		}
	}
	if referenceDigest(parsed(t, `{"config":{},"hooks":[]}`), snapshot) != referenceDigest(parsed(t, `{}`), snapshot) {
		t.Error("nothing and empty have different digests")
	}
}

// TestHistoryHasReferenceDigest: a revision has a reference digest if it has a snapshot of
// helm-controller, and otherwise none.
func TestHistoryHasReferenceDigest(t *testing.T) {
	clients := fake.NewClientset()
	for version := 1; version <= 2; version++ {
		withJSON(t, clients, version, strings.NewReplacer(`"name":"hooked","info"`, `"name":"app","info"`, `"namespace":"apps"`, `"namespace":"prod"`).
			Replace(fixture(t, fmt.Sprintf("upgraded.release.v%d.json", version))))
	}
	recorded := helmv2.Snapshots{
		nil,
		{APIVersion: "v2", Name: "app", Namespace: "other", Version: 2, Digest: "sha256:"},
		{APIVersion: "v2", Name: "app", Namespace: "prod", Version: 2, Digest: "sha512:", OCIDigest: "o"},
	}
	h := &historyReader{access: accessTo(fakeSecrets{clients.CoreV1().Secrets("prod")}), ctx: t.Context(), recorded: recorded}
	all, err := h.history()
	if err != nil || len(all) != 2 {
		t.Fatalf("history %+v, error %v", all, err)
	}
	if !strings.HasPrefix(all[0].HelmControllerDigest, "sha512:") || all[1].HelmControllerDigest != "" {
		t.Errorf("digests %q and %q", all[0].HelmControllerDigest, all[1].HelmControllerDigest)
	}
}
