// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	helmchart "helm.sh/helm/v3/pkg/chart"
	helmrelease "helm.sh/helm/v3/pkg/release"
	helmtime "helm.sh/helm/v3/pkg/time"

	helmv2 "github.com/pintle-dev/pintle/api/v2"
)

// TestStoredDigests: the digests in the statuses of all clusters stay valid. A digest here must never
// change: a release whose digest changes is upgraded.
func TestStoredDigests(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]struct{ now, deployed, reference string }{
		"full.json": {
			now:       "sha256:4f7834932075d5bb165f23a69178c20bddc59eb8e2eae45ddd59506192f6c46f",
			deployed:  "sha256:912e654cfa33108dca698c4d9763bde67c7b8f420d12c596486f613ffbe0d74f",
			reference: "sha256:adb0fcc51bb29c7b23457306586db7dba378602b5be4a865815aa336c47e3521",
		},
		"helm4/v1.json": {
			now:       "sha256:58ac314040ffd0943898be8741114f655672ac477c534035c2ed7a903d24a7a1",
			deployed:  "sha256:fc65ff2edf2635424cbf4a8a8abb8b8db04cfd3a98ba054a3c31359182a34793",
			reference: "sha256:44cb97afc5e7e814238fed897ccc3bdcea31121954e192924d1aee73312e835b",
		},
		"helm4/v2.json": {
			now:       "sha256:4e93b4d19d51386f0048c00c74262ddcfc9b5c7b8ac9142b63af96a2589edc09",
			deployed:  "sha256:2e1c3f88720b18f75d0a25c8c13f606b3da1f57dd17395805bf498c53a131777",
			reference: "sha256:18d0a015c042d2c3d1ac49ef72eb38112053e1bab3c24624b0a7b156714f797f",
		},
		"helm4/v3.json": {
			now:       "sha256:73b315269e82488b463db8667d6a08301952bedd657dcf043db6e5cb31e00974",
			deployed:  "sha256:73b315269e82488b463db8667d6a08301952bedd657dcf043db6e5cb31e00974",
			reference: "sha256:e8d7a6149153174c6948ecb22c4c5778414ef650b22ad1e27596a9df4ddba151",
		},
		"helm4/v4.json": {
			now:       "sha256:7c4e8bf8c4cf34f3e0b9314ecb76e3e553bd0e4b5e6f4fa8906dbdf6b119ab3d",
			deployed:  "sha256:d4199108172b340704b5a632d13d01416437eef89543e2fbade6b1cc6328e940",
			reference: "sha256:7680526b958a5da8ec0f14235e3bff4270ebcd549cb7dd3b40b26d374f255ca8",
		},
		"reference/installed.release.v1.json": {
			now:       "sha256:81ef7b30a8059282b601a053b18d9c15ab966acc3365c2037ab5a8757b069acf",
			deployed:  "sha256:81ef7b30a8059282b601a053b18d9c15ab966acc3365c2037ab5a8757b069acf",
			reference: "sha256:8d230b55e1401c35d9fbb7d791ccce97c9716771ae3b6bf4aa65ed4fe2f5f4d3",
		},
		"reference/upgraded.release.v1.json": {
			now:       "sha256:3fa4518f0e388a6fd022c02c3de43f436f71aa482faee6e11e5c543a1ca16219",
			deployed:  "sha256:81ef7b30a8059282b601a053b18d9c15ab966acc3365c2037ab5a8757b069acf",
			reference: "sha256:1cc1c7f6c4ebd1e7ebb28f48aa539d29e16237374f9b139c45c7db1711b94bed",
		},
		"reference/upgraded.release.v2.json": {
			now:       "sha256:eee1327854b62fc0dfe9cb861b9849673b3a45525a8fcd3cc3a51c73101cf956",
			deployed:  "sha256:eee1327854b62fc0dfe9cb861b9849673b3a45525a8fcd3cc3a51c73101cf956",
			reference: "sha256:525e57c90985f72a02d55ae84554747b9ea93d8b692f5ca71d662f964d639fde",
		},
	} {
		raw, err := os.ReadFile(filepath.Join("testdata", filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(name, "helm4/") {
			raw = ofHelm4(t, raw).Release
		}
		c := contentOf(t, string(raw))
		got := want
		got.now, got.deployed = observationDigest(c.release), deployedDigest(c.release)
		got.reference = referenceDigest(c.body, &helmv2.Snapshot{APIVersion: "v2", Digest: "sha256:", OCIDigest: "o"})
		if got != want {
			t.Errorf("%s has the digests %+v, want %+v", name, got, want)
		}
	}
}

// sdkObservation is the digest's input in Helm's own types.
type sdkObservation struct {
	Info  *helmrelease.Info   `json:"info"`
	Chart *helmchart.Metadata `json:"chart"`
	Hooks []*helmrelease.Hook `json:"hooks"`
}

// TestObservedEqualsHelm: the copies have the same JSON as Helm's types, whatever is in them. If it fails
// after an update of Helm, the copies stay as they are, and unobserved names the fields that they lack.
func TestObservedEqualsHelm(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		var helm sdkObservation
		fill(t, random, reflect.ValueOf(&helm).Elem())
		if helm.Info != nil {
			helm.Info.Resources = nil
		}
		ours := struct {
			Info  *observedInfo     `json:"info"`
			Chart *observedMetadata `json:"chart"`
			Hooks []observedHook    `json:"hooks"`
		}{Info: observeInfo(helm.Info), Chart: observeMetadata(helm.Chart)}
		present := helm.Hooks[:0]
		for _, h := range helm.Hooks {
			if h != nil {
				present, ours.Hooks = append(present, h), append(ours.Hooks, observeHook(h))
			}
		}
		if helm.Hooks = present; len(present) == 0 {
			helm.Hooks = nil
		}
		want, err := json.Marshal(helm)
		if err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(ours)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Fatalf("(-Helm +ours):\n%s", diff)
		}
	}
}

// fill gives each field of v a random value: often none, so that all options of tags are met.
func fill(t *testing.T, random *rand.Rand, v reflect.Value) {
	t.Helper()
	if v.Type() == reflect.TypeFor[helmtime.Time]() {
		if random.IntN(3) > 0 {
			zone := time.FixedZone("", 1800*random.IntN(24))
			v.Set(reflect.ValueOf(helmtime.Time{Time: time.Unix(random.Int64N(4e9), random.Int64N(1e9)).In(zone)}))
		}
		return
	}
	if random.IntN(6) == 0 && v.Kind() != reflect.Struct {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, random, v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			fill(t, random, v.Field(i))
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), random.IntN(3), 3))
		for i := range v.Len() {
			fill(t, random, v.Index(i))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		if v.Type().Elem().Kind() == reflect.String {
			for range random.IntN(3) {
				v.SetMapIndex(reflect.ValueOf(text(random)), reflect.ValueOf(text(random)))
			}
		}
	case reflect.Interface:
		v.Set(reflect.ValueOf([]any{text(random), float64(random.IntN(9)) / 2, map[string]any{"child": "a", "parent": text(random)}}[random.IntN(3)]))
	case reflect.String:
		v.SetString(text(random))
	case reflect.Int:
		v.SetInt(random.Int64N(9) - 4)
	case reflect.Bool:
		v.SetBool(true)
	default:
		t.Fatalf("a new kind of field: %s", v.Type())
	}
}

func text(random *rand.Rand) string {
	return []string{"", "a", "<&>", "é\u2028\n", `"\`, "v2"}[random.IntN(6)]
}

// unobserved are the fields of Helm that no digest covers.
var unobserved = map[string]string{
	"Info.Resources": "live objects, which Helm never stores",
}

// TestObservedFields: each field of Helm's types has a copy with the same tag, or is a known exception.
// An update of Helm must not add a field silently that no digest covers.
func TestObservedFields(t *testing.T) {
	t.Parallel()
	met := map[string]bool{}
	for helm, ours := range map[reflect.Type]reflect.Type{
		reflect.TypeFor[helmrelease.Info]():          reflect.TypeFor[observedInfo](),
		reflect.TypeFor[helmrelease.Hook]():          reflect.TypeFor[observedHook](),
		reflect.TypeFor[helmrelease.HookExecution](): reflect.TypeFor[observedRun](),
		reflect.TypeFor[helmchart.Metadata]():        reflect.TypeFor[observedMetadata](),
		reflect.TypeFor[helmchart.Maintainer]():      reflect.TypeFor[observedMaintainer](),
		reflect.TypeFor[helmchart.Dependency]():      reflect.TypeFor[observedDependency](),
	} {
		var want, got []string
		for i := range helm.NumField() {
			name := helm.Name() + "." + helm.Field(i).Name
			if unobserved[name] != "" {
				met[name] = true
				continue
			}
			want = append(want, member(helm.Field(i)))
		}
		for i := range ours.NumField() {
			got = append(got, member(ours.Field(i)))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-Helm +ours):\n%s", helm, diff)
		}
	}
	if len(met) != len(unobserved) {
		t.Errorf("of the exceptions %v, Helm has %v", unobserved, met)
	}
}

// member is the JSON member of a field. Structs are never empty, so the option omitempty means nothing.
func member(f reflect.StructField) string {
	tag := f.Tag.Get("json")
	if f.Type.Kind() == reflect.Struct {
		tag = strings.TrimSuffix(tag, ",omitempty")
	}
	return f.Name + " " + tag
}
