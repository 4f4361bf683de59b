// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/x509"
	"debug/elf"
	"encoding/json"
	"errors"
	"io"
	"log"
	"maps"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"helm.sh/helm/v3/pkg/chart/loader"
	"sigs.k8s.io/yaml"
)

const version = "v1.2.3"

// repositoryRoot returns the folder of the repository.
func repositoryRoot(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// copyOf copies files of the repository, with other modes and times.
func copyOf(t *testing.T, files []string, mode os.FileMode, at time.Time) string {
	t.Helper()
	root := t.TempDir()
	for _, file := range files {
		content, err := os.ReadFile(filepath.Join(repositoryRoot(t), file))
		path := filepath.Join(root, file)
		if err := errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, content, mode), os.Chtimes(path, at, at)); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// tracked returns the files of the repository below some paths, also new ones.
func tracked(t *testing.T, paths ...string) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", append([]string{"ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate", "--"}, paths...)...)
	cmd.Dir = repositoryRoot(t)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for file := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		if _, err := os.Stat(filepath.Join(repositoryRoot(t), file)); err == nil {
			files = append(files, file)
		}
	}
	return files
}

// sourceAt is a source with fixed values.
func sourceAt(root string) source {
	return source{root: root, version: version, revision: "abc", time: time.Unix(1700000001, 0).UTC(), architectures: []string{"amd64", "arm64"}}
}

// written writes a release of tiny executables.
func written(t *testing.T, s source) (out string) {
	t.Helper()
	folder := t.TempDir()
	if err := errors.Join(
		os.WriteFile(filepath.Join(folder, "main.go"), []byte("package main\n\nfunc main() {}\n"), 0o600),
		os.WriteFile(filepath.Join(folder, "go.mod"), []byte("module example.com/tiny\n\ngo 1.26.0\n"), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	tiny := s
	tiny.root = folder
	built, err := tiny.build(folder, map[string]string{controller: "."})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range slices.Clone(built) {
		built = append(built, executable{plugin, e.arch, e.path})
	}
	out = filepath.Join(t.TempDir(), "dist")
	if err := s.write(built, out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestSameBytes: times and modes of the files, the order of folders and the time of day do not change
// a release.
func TestSameBytes(t *testing.T) {
	files := tracked(t, "LICENSE", "charts/pintle")
	one := written(t, sourceAt(copyOf(t, files, 0o644, time.Unix(1600000000, 0))))
	two := written(t, sourceAt(copyOf(t, files, 0o600, time.Unix(1500000000, 0))))
	same(t, one, two)
	// Two builds may be in one second.
	names, _, err := sums(one)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if !strings.HasSuffix(name, "gz") && !strings.HasSuffix(name, ".tar") {
			continue
		}
		for _, header := range headers(t, filepath.Join(one, name)) {
			if at := header.ModTime.Unix(); at != 1700000001 || header.Uid+header.Gid > 0 || header.Uname+header.Gname != "" {
				t.Errorf("%s: %s has the time %d and belongs to %d:%d", name, header.Name, at, header.Uid, header.Gid)
			}
		}
	}
}

// same compares the files of two releases.
func same(t *testing.T, one, two string) {
	t.Helper()
	_, first, err := sums(one)
	if err != nil {
		t.Fatal(err)
	}
	_, second, err := sums(two)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first, second); diff != "" || len(first) == 0 {
		t.Errorf("the files differ (-one +two):\n%s", diff)
	}
}

func headers(t *testing.T, path string) (all []*tar.Header) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	var from io.Reader = file
	if strings.HasSuffix(path, "gz") {
		if from, err = gzip.NewReader(file); err != nil {
			t.Fatal(err)
		}
	}
	for r := tar.NewReader(from); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, header)
	}
}

// TestFiles: a release has all files, and they name each other.
func TestFiles(t *testing.T) {
	out := written(t, sourceAt(repositoryRoot(t)))
	names, digests, err := sums(out)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"checksums.txt",
		"kubectl-pintle_v1.2.3_linux_amd64.cdx.json", "kubectl-pintle_v1.2.3_linux_amd64.tar.gz",
		"kubectl-pintle_v1.2.3_linux_arm64.cdx.json", "kubectl-pintle_v1.2.3_linux_arm64.tar.gz",
		"pintle-1.2.3.tgz", "pintle.yaml", "pintle_v1.2.3_image.tar",
		"pintle_v1.2.3_linux_amd64.cdx.json", "pintle_v1.2.3_linux_amd64.tar.gz",
		"pintle_v1.2.3_linux_arm64.cdx.json", "pintle_v1.2.3_linux_arm64.tar.gz",
		"provenance.json",
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	check := exec.CommandContext(t.Context(), "sha256sum", "--check", "--strict", "checksums.txt")
	check.Dir = out
	if text, err := check.CombinedOutput(); err != nil || strings.Count(string(text), ": OK\n") != len(want)-1 {
		t.Errorf("%v\n%s", err, text)
	}

	c, err := loader.Load(filepath.Join(out, "pintle-1.2.3.tgz"))
	if err != nil {
		t.Fatal(err)
	}
	if c.Metadata.Version != "1.2.3" || c.Metadata.AppVersion != version || len(c.CRDObjects()) != 5 || len(c.Schema) == 0 {
		t.Errorf("the chart is %+v with %d CRDs", c.Metadata, len(c.CRDObjects()))
	}

	var krew struct {
		Spec struct {
			Platforms []struct{ URI, SHA256, Bin string }
		}
	}
	if err := yaml.Unmarshal(read(t, out, "pintle.yaml"), &krew); err != nil || len(krew.Spec.Platforms) != 2 {
		t.Fatalf("the manifest for krew has %+v: %v", krew, err)
	}
	for _, p := range krew.Spec.Platforms {
		archive := strings.TrimPrefix(p.URI, "https://github.com/pintle-dev/pintle/releases/download/v1.2.3/")
		if p.SHA256 == "" || p.SHA256 != digests[archive] || p.Bin != "kubectl-pintle" {
			t.Errorf("the manifest for krew has %+v", p)
		}
	}

	var provenance statement
	if err := json.Unmarshal(read(t, out, "provenance.json"), &provenance); err != nil {
		t.Fatal(err)
	}
	var subjects []string
	for _, s := range provenance.Subject {
		subjects = append(subjects, s.Name)
		if d, isFile := digests[s.Name]; isFile && d != s.Digest["sha256"] {
			t.Errorf("the provenance has another digest of %s", s.Name)
		}
	}
	want = slices.DeleteFunc(want, func(name string) bool { return name == "checksums.txt" || name == "provenance.json" })
	if diff := cmp.Diff(append(want, "image pintle:v1.2.3"), subjects); diff != "" {
		t.Errorf("subjects of the provenance (-want +got):\n%s", diff)
	}
	if d := provenance.Predicate.BuildDefinition.ResolvedDependencies; d[0].Digest["gitCommit"] != "abc" || !strings.HasSuffix(d[1].URI, "@"+runtime.Version()) {
		t.Errorf("the provenance has the dependencies %+v", d)
	}
}

func read(t *testing.T, folder, name string) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// TestVersion: other versions than tags are refused.
func TestVersion(t *testing.T) {
	for _, version := range []string{"", "1.2.3", "v1.2", "latest", "abc-dirty", "v1.2.3/../x"} {
		if err := (source{version: version}).release(t.TempDir()); err == nil || !strings.Contains(err.Error(), "v1.2.3") {
			t.Errorf("%q: %v", version, err)
		}
	}
}

// TestImage: what is pushed is the image of the archive: for both architectures, with the certificates
// and no user who is root.
func TestImage(t *testing.T) {
	out := written(t, sourceAt(repositoryRoot(t)))
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	reference := strings.TrimPrefix(server.URL, "http://") + "/pintle:" + version
	if err := pushImage(filepath.Join(out, "pintle_v1.2.3_image.tar"), reference); err != nil {
		t.Fatal(err)
	}
	ref, err := name.ParseReference(reference)
	if err != nil {
		t.Fatal(err)
	}
	for _, arch := range []string{"amd64", "arm64"} {
		image, err := remote.Image(ref, remote.WithPlatform(v1.Platform{OS: "linux", Architecture: arch}))
		if err != nil {
			t.Fatal(err)
		}
		config, err := image.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		labels := config.Config.Labels
		config.Config.Labels = nil
		if diff := cmp.Diff(v1.Config{User: "65532:65532", Entrypoint: []string{"/manager"}}, config.Config); diff != "" || config.Architecture != arch {
			t.Errorf("the image for %s (-want +got):\n%s", config.Architecture, diff)
		}
		if labels["org.opencontainers.image.version"] != version || labels["org.opencontainers.image.revision"] != "abc" {
			t.Errorf("labels %v", labels)
		}
		files := map[string]int64{}
		for r := tar.NewReader(mutate.Extract(image)); ; {
			header, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if files["/"+header.Name] = header.Mode; strings.HasSuffix(header.Name, ".crt") {
				content, err := io.ReadAll(r)
				if pool := x509.NewCertPool(); err != nil || !pool.AppendCertsFromPEM(content) || bytes.Count(content, []byte("BEGIN")) < 100 {
					t.Errorf("%d certificates: %v", bytes.Count(content, []byte("BEGIN")), err)
				}
			}
		}
		want := map[string]int64{
			"/manager": 0o755, "/tmp": 0o1777, "/etc": 0o755, "/etc/ssl": 0o755, "/etc/ssl/certs": 0o755, "/etc/ssl/certs/ca-certificates.crt": 0o644,
		}
		if !maps.Equal(files, want) {
			t.Errorf("the files of the image are %v, want %v", files, want)
		}
	}
}

// TestSBOM: it has the modules of an executable, here of this test, and the standard library.
func TestSBOM(t *testing.T) {
	executablePath, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "sbom")
	if err := sourceAt("").writeSBOM(executable{controller, "amd64", executablePath}, path); err != nil {
		t.Fatal(err)
	}
	bom := &cdx.BOM{}
	if err := cdx.NewBOMDecoder(bytes.NewReader(read(t, "", path)), cdx.BOMFileFormatJSON).Decode(bom); err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, c := range *bom.Components {
		found[c.Name] = c.Version != "" && strings.HasPrefix(c.PackageURL, "pkg:golang/"+c.Name+"@")
	}
	if !found["std"] || !found["helm.sh/helm/v3"] || bom.Metadata.Component.Version != version {
		t.Errorf("components %v of %+v", found, bom.Metadata.Component)
	}
}

// TestReproducible builds the executables of two copies of the repository, in other folders, time zones
// and languages. They are equal and static, and list all flags of helm-controller.
func TestReproducible(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	files := tracked(t)
	var outs []string
	for i, environment := range []map[string]string{{"TZ": "Asia/Tokyo", "LC_ALL": "C"}, {"TZ": "America/Lima", "GOFLAGS": "-race", "GOAMD64": "v3"}} {
		for key, value := range environment {
			t.Setenv(key, value)
		}
		s := sourceAt(copyOf(t, files, 0o644, time.Unix(1600000000+int64(i), 0)))
		s.architectures = []string{runtime.GOARCH}
		outs = append(outs, filepath.Join(t.TempDir(), "dist"))
		if err := s.release(outs[i]); err != nil {
			t.Fatal(err)
		}
	}
	same(t, outs[0], outs[1])

	folder := t.TempDir()
	for _, e := range untar(t, filepath.Join(outs[0], "pintle_v1.2.3_linux_"+runtime.GOARCH+".tar.gz")) {
		if err := os.WriteFile(filepath.Join(folder, e.name), e.content, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(folder, "pintle")
	file, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	for _, p := range file.Progs {
		if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
			t.Errorf("the controller is not static: it has a %s", p.Type)
		}
	}
	if got, want := execute(t, path, "--version"), "pintle v1.2.3 (revision abc, "+runtime.Version(); !strings.HasPrefix(got, want) {
		t.Errorf("the version is %q, want %q", got, want)
	}
	help := execute(t, path, "--help")
	theirs := strings.Fields(string(read(t, repositoryRoot(t), "internal/options/testdata/reference-flags.txt")))
	if len(theirs) != 37 {
		t.Errorf("%d flags of helm-controller", len(theirs))
	}
	for _, name := range theirs {
		if !strings.Contains("\n"+help, "\n      --"+name+" ") {
			t.Errorf("--%s is not listed", name)
		}
	}
}

// execute runs a program without an environment.
func execute(t *testing.T, path string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Dir, cmd.Env = t.TempDir(), []string{}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

func untar(t *testing.T, path string) []entry {
	t.Helper()
	gz, err := gzip.NewReader(bytes.NewReader(read(t, "", path)))
	if err != nil {
		t.Fatal(err)
	}
	entries, err := readTar(gz)
	if err != nil {
		t.Fatal(err)
	}
	return entries
}
