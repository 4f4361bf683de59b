// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	helmchart "helm.sh/helm/v3/pkg/chart"
	helmrelease "helm.sh/helm/v3/pkg/release"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/fake"
)

// largeRelease is a revision of a chart with 60 files of 4 KiB, which renders to
// about as much.
func largeRelease() *helmrelease.Release {
	rls := revision(3, helmrelease.StatusDeployed, nil)
	var manifest strings.Builder
	for i := range 60 {
		text := strings.Repeat(fmt.Sprintf("  line-%d: {{ .Values.text }}\n", i), 4096/30)
		rls.Chart.Templates = append(rls.Chart.Templates, &helmchart.File{Name: fmt.Sprintf("templates/%d.yaml", i), Data: []byte(text)})
		manifest.WriteString("---\n" + text)
	}
	rls.Manifest = manifest.String()
	return rls
}

// largeRecord returns the JSON of a revision, and as it is stored.
func largeRecord(b *testing.B) (raw, data []byte) {
	b.Helper()
	raw, err := json.Marshal(largeRelease())
	if err == nil {
		data, err = packed(raw)
	}
	if err != nil {
		b.Fatal(err)
	}
	return raw, data
}

func BenchmarkUnpack(b *testing.B) {
	_, data := largeRecord(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := unpack(data); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParseRecord(b *testing.B) {
	raw, _ := largeRecord(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := parseRecord(raw, nil); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReadRevision(b *testing.B) {
	_, data := largeRecord(b)
	secret := &corev1.Secret{Data: map[string][]byte{dataKey: data}}
	b.ReportAllocs()
	for b.Loop() {
		c, err := decode(nil, "prod", secret)
		if err != nil {
			b.Fatal(err)
		}
		c.revision(nil)
	}
}

func BenchmarkObservationDigest(b *testing.B) {
	rls := largeRelease()
	b.ReportAllocs()
	for b.Loop() {
		if observationDigest(rls) == "" {
			b.Fatal("no digest")
		}
	}
}

// BenchmarkRevisions is about ten revisions of a chart of 2 MB. History reads them as after a restart.
// Upgrade does what Helm's upgrade does with its storage, without the creation.
func BenchmarkRevisions(b *testing.B) {
	clients := fake.NewClientset()
	api := fakeSecrets{clients.CoreV1().Secrets("prod")}
	d := openDriver(b.Context(), accessTo(api), time.Now)
	for version := 1; version <= 10; version++ {
		rls := large(800)
		rls.Version, rls.Info.Status = version, helmrelease.StatusSuperseded
		if version == 10 {
			rls.Info.Status = helmrelease.StatusDeployed
		}
		if err := d.Create(Key("app", version), rls); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("History", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			h := &historyReader{access: accessTo(api), ctx: b.Context()}
			if all, err := h.revisions(); err != nil || len(all) != 10 {
				b.Fatal(all, err)
			}
		}
	})
	b.Run("Upgrade", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			d := openDriver(b.Context(), accessTo(api), time.Now)
			all, err := d.Query(map[string]string{"name": "app", "owner": "helm"})
			if err != nil {
				b.Fatal(err)
			}
			if err := d.Update(Key("app", 10), all[0]); err != nil {
				b.Fatal(err)
			}
		}
	})
}
