// Copyright 2026 The Pintle Authors
// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"debug/elf"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pintle-dev/pintle/test/harness"
)

// instruction is one of a Dockerfile's, with the stage that it belongs to.
type instruction struct {
	stage    int
	name     string
	argument string
}

// instructions reads a Dockerfile as far as ours goes.
func instructions(t *testing.T) []instruction {
	t.Helper()
	text := string(read(t, filepath.Join(harness.Root(), "Dockerfile")))
	var all []instruction
	stage := 0
	for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", " ")) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, argument, _ := strings.Cut(line, " ")
		if name == "FROM" {
			stage++
		}
		if !slices.Contains([]string{"ARG", "FROM", "ENV", "WORKDIR", "COPY", "RUN", "USER", "LABEL", "ENTRYPOINT"}, name) {
			t.Errorf("%q is no instruction that is known here", line)
		}
		all = append(all, instruction{stage, name, strings.Join(strings.Fields(argument), " ")})
	}
	return all
}

// TestDockerfile: no container engine is needed to see what the image would be. Nothing here
// builds it.
func TestDockerfile(t *testing.T) {
	all := instructions(t)
	final := map[string]string{}
	var built, copied, goVersion string
	for _, i := range all {
		switch {
		case i.stage == 2:
			final[i.name] += i.argument
		case i.name == "RUN":
			built += i.argument + "\n"
		case i.name == "COPY":
			copied += " " + i.argument
		case i.name == "ARG":
			if version, ok := strings.CutPrefix(i.argument, "GO_VERSION="); ok {
				goVersion = version
			}
		case i.name == "ENV" && !strings.Contains(i.argument, "CGO_ENABLED=0"):
			t.Errorf("it is linked with C: %s", i.argument)
		}
	}
	for _, label := range []string{"title", "licenses", "source", "version", "revision"} {
		if !strings.Contains(final["LABEL"], "org.opencontainers.image."+label+"=") {
			t.Errorf("the image has no label %s: %s", label, final["LABEL"])
		}
	}
	for _, part := range []string{"internal/version.version=${VERSION}", "internal/version.revision=${REVISION}"} {
		if !strings.Contains(built, part) {
			t.Errorf("the executable is not linked with %s:\n%s", part, built)
		}
	}
	delete(final, "LABEL")
	delete(final, "ARG")
	want := map[string]string{"FROM": "scratch", "COPY": "--from=builder /rootfs/ /", "USER": "65532:65532", "ENTRYPOINT": `["/manager"]`}
	if !maps.Equal(final, want) {
		t.Errorf("the image is made by %v, want %v", final, want)
	}
	for _, part := range []string{"go build -trimpath ", " -o /rootfs/manager ./", "cp /etc/ssl/certs/ca-certificates.crt /rootfs/etc/ssl/certs/"} {
		if !strings.Contains(built, part) {
			t.Errorf("nothing does %q:\n%s", part, built)
		}
	}
	_, rest, _ := strings.Cut(string(read(t, filepath.Join(harness.Root(), "go.mod"))), "\ngo ")
	if asked, _, _ := strings.Cut(rest, "\n"); !strings.HasPrefix(goVersion+".", strings.TrimSuffix(asked, ".0")+".") {
		t.Errorf("it is built with Go %s, and go.mod asks for %s", goVersion, asked)
	}
	ignored := string(read(t, filepath.Join(harness.Root(), ".dockerignore")))
	for _, file := range sources(t) {
		top, _, _ := strings.Cut(file, "/")
		if !slices.Contains(strings.Fields(copied), top) && !slices.Contains(strings.Fields(copied), top+"/") {
			t.Errorf("%s is not copied: %s", file, copied)
		}
		if !strings.Contains(ignored, "\n!"+top+"\n") || strings.Contains(file, "testdata") {
			t.Errorf(".dockerignore leaves out %s", file)
		}
	}
}

// sources are the files of this module that the program is made of.
func sources(t *testing.T) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-json=Dir,GoFiles,EmbedFiles,Module", ".")
	cmd.Dir = harness.Root()
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	all := []string{"go.mod", "go.sum"}
	for d := json.NewDecoder(strings.NewReader(string(out))); d.More(); {
		var p struct {
			Dir                 string
			GoFiles, EmbedFiles []string
			Module              *struct{ Main bool }
		}
		if err := d.Decode(&p); err != nil {
			t.Fatal(err)
		}
		if p.Module == nil || !p.Module.Main {
			continue
		}
		for _, name := range append(p.GoFiles, p.EmbedFiles...) {
			file, err := filepath.Rel(harness.Root(), filepath.Join(p.Dir, name))
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, file)
		}
	}
	if len(all) < 10 {
		t.Fatalf("the program is made of %v", all)
	}
	return all
}

// TestExecutable: built as the Dockerfile does, it needs no library and nothing around
// it, and lists all flags of helm-controller.
func TestExecutable(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	path := filepath.Join(t.TempDir(), "manager")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", path, "./")
	build.Dir, build.Env = harness.Root(), append(os.Environ(), "CGO_ENABLED=0", "GOTOOLCHAIN=local")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	file, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	for _, p := range file.Progs {
		if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
			t.Errorf("it is not static: it has a %s", p.Type)
		}
	}
	help := exec.CommandContext(t.Context(), path, "--help")
	help.Dir, help.Env = t.TempDir(), []string{}
	out, err := help.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	theirs := strings.Fields(string(read(t, filepath.Join(harness.Root(), "internal", "options", "testdata", "reference-flags.txt"))))
	if len(theirs) != 37 {
		t.Errorf("%d flags of helm-controller", len(theirs))
	}
	for _, name := range theirs {
		if !strings.Contains("\n"+string(out), "\n      --"+name+" ") {
			t.Errorf("--%s is not listed", name)
		}
	}
}
