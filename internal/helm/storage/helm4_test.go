// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	helmrelease "helm.sh/helm/v3/pkg/release"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// helm4Record is a file in testdata/helm4: a Secret of Helm 4, with its data as JSON. Tests in test/helm
// compare the files with Helm 4.
type helm4Record struct {
	Labels  map[string]string `json:"labels"`
	Release json.RawMessage   `json:"release"`
}

func ofHelm4(t *testing.T, raw []byte) helm4Record {
	t.Helper()
	var r helm4Record
	if err := json.Unmarshal(raw, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// TestRecordsOfHelm4: records of the commands of Helm 4 are read, and one that is superseded loses nothing
// that Helm 4 has stored but the times of files, which it does not read.
func TestRecordsOfHelm4(t *testing.T) {
	t.Parallel()
	d, clients := newDriver(t, unmarked)
	records := map[int]helm4Record{}
	for version := 1; version <= 4; version++ {
		raw, err := os.ReadFile(fmt.Sprintf("testdata/helm4/v%d.json", version))
		if err != nil {
			t.Fatal(err)
		}
		r := ofHelm4(t, raw)
		records[version] = r
		withJSON(t, clients, version, string(r.Release))
		secrets := clients.CoreV1().Secrets("prod")
		secret, err := secrets.Get(t.Context(), Key("app", version), metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		secret.Labels = r.Labels
		if _, err := secrets.Update(t.Context(), secret, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	all, err := d.Query(map[string]string{"name": "app", "owner": "helm"})
	if err != nil || len(all) != 4 {
		t.Fatalf("%d revisions, error %v", len(all), err)
	}
	var first time.Time
	for i, want := range []struct {
		status helmv2.ReleaseStatus
		method string
		chart  string
	}{
		{helmv2.StatusFailed, ClientSide, "1.2.0"},
		{helmv2.StatusDeployed, ServerSide, "1.0.0"},
		{helmv2.StatusSuperseded, ServerSide, "1.1.0"},
		{helmv2.StatusSuperseded, ServerSide, "1.0.0"},
	} {
		version := 4 - i
		c := contentOf(t, string(records[version].Release))
		r := toRevision(c.release, nil)
		if i == 0 {
			first = r.FirstDeployed
		}
		if r.Version != version || r.Status != want.status || r.ChartVersion != want.chart || r.Digest == "" || len(r.Tests) != 1 || first.IsZero() || !r.FirstDeployed.Equal(first) {
			t.Errorf("revision %d: %+v", version, r)
		}
		if method := applyMethod(c.body.ApplyMethod); method != want.method {
			t.Errorf("revision %d: apply method %q", version, method)
		}
	}
	for version := 1; version <= 4; version++ {
		rls, err := d.Get(Key("app", version))
		if err != nil {
			t.Fatal(err)
		}
		if rls.Labels["team"] != "web" {
			t.Errorf("revision %d: labels %v", version, rls.Labels)
		}
		rls.Info.Status = helmrelease.StatusSuperseded
		if err := d.Update(Key("app", version), rls); err != nil {
			t.Fatal(err)
		}
		var was map[string]any
		if err := json.Unmarshal(records[version].Release, &was); err != nil {
			t.Fatal(err)
		}
		was["info"].(map[string]any)["status"] = "superseded"
		if diff := cmp.Diff(plain(was), plain(storedBody(t, clients, version))); diff != "" {
			t.Errorf("revision %d (-Helm 4 +ours):\n%s", version, diff)
		}
	}
}

// plain returns JSON without the times of files, and without members that are empty, which Helm 4 omits.
func plain(value any) any {
	switch value := value.(type) {
	case map[string]any:
		all := map[string]any{}
		for key, below := range value {
			if below = plain(below); below != nil && below != "" && key != "modtime" && key != "schemamodtime" {
				all[key] = below
			}
		}
		return all
	case []any:
		for i := range value {
			value[i] = plain(value[i])
		}
	}
	return value
}
