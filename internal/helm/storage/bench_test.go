// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	helmchart "helm.sh/helm/v3/pkg/chart"
	helmrelease "helm.sh/helm/v3/pkg/release"
	corev1 "k8s.io/api/core/v1"
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
		if _, err := parseRecord(raw); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReadRevision(b *testing.B) {
	_, data := largeRecord(b)
	secret := &corev1.Secret{Data: map[string][]byte{dataKey: data}}
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := readRelease(secret, nil); err != nil {
			b.Fatal(err)
		}
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
