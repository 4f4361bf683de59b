// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"bytes"
	"encoding/base64"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	helmchart "helm.sh/helm/v3/pkg/chart"
	helmrelease "helm.sh/helm/v3/pkg/release"
	helmtime "helm.sh/helm/v3/pkg/time"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/pintle-dev/pintle/internal/release"
)

// blob returns n bytes of which compression makes nothing less, and others for
// another seed.
func blob(n int, seed byte) []byte {
	data := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{seed}).Read(data)
	return data
}

// heavy is a revision whose chart has a file of n bytes.
func heavy(version, n int) *helmrelease.Release {
	rls := revision(version, helmrelease.StatusPendingUpgrade, nil)
	rls.Chart.Files = []*helmchart.File{{Name: "files/blob", Data: blob(n, 1)}}
	return rls
}

func TestParts(t *testing.T) {
	t.Parallel()
	const definition = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: "
	rls := revision(1, helmrelease.StatusPendingInstall, nil)
	text := func(n int, seed byte) string { return base64.StdEncoding.EncodeToString(blob(n, seed)) }
	rls.Chart.Templates = []*helmchart.File{{Name: "templates/a.yaml", Data: blob(10<<10, 1)}, {Name: "templates/b\x00.yaml", Data: blob(30<<10, 2)}}
	rls.Chart.Files = []*helmchart.File{{Name: "README.md", Data: blob(20<<10, 3)}, {Name: "crds/" + strings.Repeat("c", 200), Data: blob(80<<10, 4)}}
	rls.Chart.Values, rls.Chart.Schema = map[string]any{"a": text(2<<10, 5)}, blob(4<<10, 6)
	rls.Config = map[string]any{"b": text(5<<10, 7)}
	rls.Manifest = "---\n# Source: a\n" + definition + text(60<<10, 8) + "}\n---\n# Source: b\nkind: ConfigMap\ndata: {a: " + text(40<<10, 9) + "}\n"
	rls.Hooks[0].Manifest = text(10<<10, 10)
	data, err := packed(must(encode(rls, unknownFields{}, nil)))
	if err != nil {
		t.Fatal(err)
	}
	parts, err := (&packer{}).parts(rls, len(data))
	if err != nil {
		t.Fatal(err)
	}
	sum, got := 0, map[release.RecordPartKind]int{}
	for i, p := range parts {
		sum += p.Bytes
		got[p.Kind] = (p.Bytes*3/4 + 512) >> 10
		if i > 0 && p.Bytes > parts[i-1].Bytes {
			t.Errorf("%v is not sorted", parts)
		}
	}
	want := map[release.RecordPartKind]int{
		release.PartTemplates: 40, release.PartCRDs: 80, release.PartFiles: 20, release.PartDefaults: 6, release.PartValues: 5,
		release.PartManifest: 50, release.PartRenderedCRDs: 60, release.PartRest: 0,
	}
	if sum != len(data) {
		t.Errorf("the parts are %d bytes, and the whole %d", sum, len(data))
	}
	for kind, kib := range want {
		if diff := got[kind] - kib; diff < -1 || diff > 1 {
			t.Errorf("%s takes %d KiB, want %d", kind, got[kind], kib)
		}
	}
	var names []string
	for _, p := range parts {
		if p.Largest != "" {
			names = append(names, p.Largest)
		}
	}
	if diff := cmp.Diff([]string{"crds/" + strings.Repeat("c", 95) + "...", "templates/b\uFFFD.yaml", "README.md"}, names); diff != "" {
		t.Errorf("files that are named (-want +got):\n%s", diff)
	}
}

func must(raw []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return raw
}

// TestCompressedOnce: the bytes that were measured are stored, whatever the release becomes meanwhile.
func TestCompressedOnce(t *testing.T) {
	t.Parallel()
	d, clients := newDriver(t, unmarked)
	d.SetApplyMethod(ServerSide)
	rls := heavy(1, 100<<10)
	prechecked, err := d.Precheck(rls, ServerSide)
	if err != nil {
		t.Fatal(err)
	}
	size, err := d.Stage(key+"1", rls)
	if err != nil || size.Bytes != prechecked.Bytes {
		t.Fatalf("%d bytes, foreseen were %d; %v", size.Bytes, prechecked.Bytes, err)
	}
	packed := d.staged.secret.Data[dataKey]
	rls.Manifest = "changed"
	if err := d.Create(key+"1", rls); err != nil {
		t.Fatal(err)
	}
	secret, err := clients.CoreV1().Secrets("prod").Get(t.Context(), key+"1", metav1.GetOptions{})
	if err != nil || !bytes.Equal(secret.Data[dataKey], packed) {
		t.Errorf("stored is something else: %v", err)
	}
}

// TestEndIsRecorded: a revision that was begun can be recorded as ended, however much
// there is to say about it.
func TestEndIsRecorded(t *testing.T) {
	t.Parallel()
	d, clients := newDriver(t, unmarked)
	rls := heavy(1, 0)
	for len(rls.Hooks) < 50 {
		rls.Hooks = append(rls.Hooks, &helmrelease.Hook{Name: "hook", Kind: "Job", Manifest: "kind: Job"})
	}
	most := corev1.MaxSecretSize - roomFor(rls)
	const guess = 700 << 10
	rls.Chart = heavy(1, guess).Chart
	err := d.stage(key+"1", rls)
	if err != nil {
		t.Fatal(err)
	}
	size := d.staged.size()
	// What cannot be compressed takes a third more once it is encoded.
	rls.Chart = heavy(1, guess+(most-size)*3/4-(1<<10)).Chart
	err = d.stage(key+"1", rls)
	if size = d.staged.size(); err != nil || size > most || size < most-(4<<10) {
		t.Fatalf("%d bytes, %d are allowed: %v", size, most, err)
	}
	if err := d.Create(key+"1", rls); err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	moment := func() helmtime.Time {
		return helmtime.Time{Time: time.Unix(1767323045, random.Int64N(1e9)).In(time.FixedZone("", 3600))} // digits that do not compress
	}
	for _, h := range rls.Hooks {
		h.LastRun = helmrelease.HookExecution{StartedAt: moment(), CompletedAt: moment(), Phase: helmrelease.HookPhaseSucceeded}
	}
	rls.SetStatus(helmrelease.StatusFailed, strings.ToValidUTF8(string(blob(40<<10, 2)), "<&>"))
	said := rls.Info.Description
	if err := d.Update(key+"1", rls); err != nil {
		t.Fatal(err)
	}
	secret, err := clients.CoreV1().Secrets("prod").Get(t.Context(), key+"1", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(secret.Data[dataKey]); n > corev1.MaxSecretSize || n < size {
		t.Errorf("the record takes %d bytes", n)
	}
	got, err := d.Get(key + "1")
	if err != nil {
		t.Fatal(err)
	}
	if cut := got.Info.Description; len(cut) < briefDescription/2 || len(cut) > briefDescription+3 || !strings.HasPrefix(said, strings.TrimSuffix(cut, "...")) {
		t.Errorf("the description has %d bytes", len(cut))
	}
	if got.Info.Status != helmrelease.StatusFailed || got.Hooks[49].LastRun.Phase != helmrelease.HookPhaseSucceeded {
		t.Errorf("stored as %s", got.Info.Status)
	}
}

// TestFullRecordIsWrittenAgain: what Helm has just got into a Secret can be marked.
func TestFullRecordIsWrittenAgain(t *testing.T) {
	t.Parallel()
	d, clients := newDriver(t, unmarked)
	rls := revision(1, helmrelease.StatusDeployed, nil)
	// The notes repeat the manifest, which compression makes use of.
	rls.Manifest = base64.StdEncoding.EncodeToString(blob(6<<10, 3))
	rls.Info.Notes = rls.Manifest
	helms := func(n int) []byte {
		rls.Chart = heavy(1, n).Chart
		return must(packed(must(encode(rls, unknownFields{}, nil))))
	}
	const guess = 700 << 10
	full := helms(guess + (corev1.MaxSecretSize-len(helms(guess)))*3/4 - 256)
	if n := len(full); n > corev1.MaxSecretSize || n < corev1.MaxSecretSize-(2<<10) {
		t.Fatalf("%d bytes", n)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: key + "1", Labels: storedLabels(rls)}, Type: secretType, Data: map[string][]byte{dataKey: full}}
	if _, err := clients.CoreV1().Secrets("prod").Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	got, err := d.Get(key + "1")
	if err != nil {
		t.Fatal(err)
	}
	got.Info.Status = helmrelease.StatusSuperseded
	if err := d.Update(key+"1", got); err != nil {
		t.Fatal(err)
	}
	again, err := clients.CoreV1().Secrets("prod").Get(t.Context(), key+"1", metav1.GetOptions{})
	if err != nil || len(again.Data[dataKey]) > corev1.MaxSecretSize {
		t.Errorf("%d bytes, after %d; %v", len(again.Data[dataKey]), len(full), err)
	}
}
