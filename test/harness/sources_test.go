// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/getter"
	"helm.sh/helm/v3/pkg/repo"
	"oras.land/oras-go/v2/content"
)

func TestFickleChartRenders(t *testing.T) {
	c, err := LoadChart("fickle")
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		values map[string]any
		kinds  string
		says   []string
	}{
		"Defaults": {nil, "Deployment Pod", []string{"name: play-fickle\n"}},
		"Unready": {
			map[string]any{"replicas": 2, "podAnnotations": map[string]any{"simulate.pintle.dev/ready": "never"}},
			"Deployment Pod",
			[]string{"replicas: 2", "simulate.pintle.dev/ready: never"},
		},
		"FailingTest": {
			map[string]any{"test": map[string]any{"podAnnotations": map[string]any{"simulate.pintle.dev/exit-code": "1"}}},
			"Deployment Pod",
			[]string{`simulate.pintle.dev/exit-code: "1"`},
		},
		"Hook": {
			map[string]any{"hook": map[string]any{"when": "post-install", "ttl": 0}},
			"Deployment Job Pod",
			[]string{"helm.sh/hook: post-install", "ttlSecondsAfterFinished: 0"},
		},
		"Autoscaling": {map[string]any{"autoscaling": true}, "Deployment HorizontalPodAutoscaler Pod", nil},
		"Things": {
			map[string]any{"things": map[string]any{"group": "g.example.com", "list": []any{
				map[string]any{"kind": "A", "version": "v1"}, map[string]any{"kind": "B", "version": "v2"},
			}}},
			"A B Deployment Pod",
			[]string{"apiVersion: g.example.com/v1", "apiVersion: g.example.com/v2"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			all, err := chartutil.ToRenderValues(c, test.values, chartutil.ReleaseOptions{Name: "play"}, nil)
			if err != nil {
				t.Fatal(err)
			}
			files, err := engine.Render(c, all)
			if err != nil {
				t.Fatal(err)
			}
			manifests := strings.Join(slices.Sorted(maps.Values(files)), "\n")
			if got := strings.Join(kinds(manifests), " "); got != test.kinds {
				t.Errorf("kinds %s, want %s", got, test.kinds)
			}
			for _, want := range test.says {
				if !strings.Contains(manifests, want) {
					t.Errorf("%q is missing in\n%s", want, manifests)
				}
			}
		})
	}
}

func TestHelmRepository(t *testing.T) {
	r, err := StartHelmRepository(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	for _, version := range []string{"1.0.0", "1.1.0"} {
		archive, err := HelloChart(version)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Add("charts", archive); err != nil {
			t.Fatal(err)
		}
	}
	url, err := repo.FindChartInRepoURL(r.URL("charts"), "hello", "", "", "", "", getter.Providers{{Schemes: []string{"http"}, New: getter.NewHTTPGetter}})
	if want := r.URL("charts") + "/hello-1.1.0.tgz"; err != nil || url != want {
		t.Fatalf("the newest chart is at %q, want %q (error %v)", url, want, err)
	}
	download, err := getter.NewHTTPGetter()
	if err != nil {
		t.Fatal(err)
	}
	archive, err := download.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	if c, err := loader.LoadArchive(archive); err != nil || c.Metadata.Version != "1.1.0" {
		t.Errorf("the served chart is %v, error %v", c, err)
	}
	if _, err := download.Get(r.URL("charts") + "/none-1.0.0.tgz"); err == nil {
		t.Error("a chart is served that was not added")
	}
}

func TestGit(t *testing.T) {
	g, err := StartGit(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = g.Close() }()
	c, err := LoadChart("fickle")
	if err != nil {
		t.Fatal(err)
	}
	clone := filepath.Join(t.TempDir(), "clone")
	for i, version := range []string{"1.0.0", "2.0.0"} {
		c.Metadata.Version = version
		if err := g.Commit(t.Context(), "team", c); err != nil {
			t.Fatal(err)
		}
		args := []string{"clone", "--quiet", "--branch", GitBranch, g.URL("team"), clone}
		if i > 0 {
			args = []string{"-C", clone, "pull", "--quiet"}
		}
		if out, err := exec.CommandContext(t.Context(), "git", args...).CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", args[0], err, out)
		}
		got, err := loader.LoadDir(filepath.Join(clone, "charts", "fickle"))
		if err != nil || got.Metadata.Version != version {
			t.Errorf("chart %v is cloned, want version %s (error %v)", got, version, err)
		}
	}
	if _, err := os.Stat(filepath.Join(clone, "charts", "fickle", "templates", "deployment.yaml")); err != nil {
		t.Error(err)
	}
}

func TestSign(t *testing.T) {
	r, err := StartRegistry(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	archive, err := HelloChart("1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	signer, err := NewSigner()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.PushChart(t.Context(), "charts", archive); err != nil {
		t.Fatal(err)
	}
	if err := signer.Sign(t.Context(), r, "charts/hello", "1.0.0"); err != nil {
		t.Fatal(err)
	}
	signed, err := r.Digest(t.Context(), "charts/hello", "1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	repository, err := r.repository("charts/hello")
	if err != nil {
		t.Fatal(err)
	}
	_, found, err := repository.FetchReference(t.Context(), strings.ReplaceAll(signed, ":", "-")+".sig")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = found.Close() }()
	var manifest ocispec.Manifest
	if err := json.NewDecoder(found).Decode(&manifest); err != nil {
		t.Fatal(err)
	}
	payload, err := content.FetchAll(t.Context(), repository, manifest.Layers[0])
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(payload, []byte(signed)) {
		t.Errorf("the payload does not name %s: %s", signed, payload)
	}
	block, _ := pem.Decode(signer.PublicKey)
	key, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	signature, err := base64.StdEncoding.DecodeString(manifest.Layers[0].Annotations[signatureAnnotation])
	if err != nil {
		t.Fatal(err)
	}
	hash := sha256.Sum256(payload)
	if !ecdsa.VerifyASN1(key.(*ecdsa.PublicKey), hash[:], signature) {
		t.Error("the signature is not that of the payload")
	}
}

func kinds(manifests string) []string {
	var all []string
	for line := range strings.Lines(manifests) {
		if kind, ok := strings.CutPrefix(line, "kind: "); ok {
			all = append(all, strings.TrimSpace(kind))
		}
	}
	slices.Sort(all)
	return all
}
